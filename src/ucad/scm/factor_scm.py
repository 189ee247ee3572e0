"""`FactorSCM`: the one model class, for the truth and for what is learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias, cast

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ucad.data import Scaling
from ucad.errors import InvalidInputError, did_you_mean
from ucad.graph import FactorGraph
from ucad.parameters import as_whole_number
from ucad.scm.checks import check_model
from ucad.scm.context import ContextEffect
from ucad.scm.families import AffineMap, Mechanism, StackedMechanism, Targets
from ucad.scm.families.base import ALL
from ucad.scm.interventions import (
    IDENTITY,
    Clamp,
    Intervention,
    InterventionLike,
    MechanismFunction,
    as_intervention,
    replaced,
)
from ucad.scm.mechanisms import Bijection, Reparametrised
from ucad.scm.noise import GAUSSIAN, Given, NoiseFamily

__all__ = ["VARIANCE_FLOOR", "Covariates", "FactorSCM", "Matrix", "Seed", "State"]

VARIANCE_FLOOR = 1e-4
"""The smallest variance a likelihood uses, as in the paper: noiseless variables have none."""

SAMPLES_AT_ONCE = 4096
"""Samples whose likelihood is computed at a time: 40 MB per array at 1,200 variables."""

Seed: TypeAlias = int | torch.Generator
Matrix: TypeAlias = Float[Tensor, "samples columns"] | Float[np.ndarray, "samples columns"]
Covariates: TypeAlias = (
    Float[Tensor, "samples covariates"] | Float[np.ndarray, "samples covariates"]
)


class State(NamedTuple):
    """A solution of the model: the values of the variables and of the factors."""

    x: Float[Tensor, "samples variables"]
    z: Float[Tensor, "samples factors"]


@dataclass(frozen=True, eq=False)
class FactorSCM:
    """A factor SCM: z = F_Z(x) and x = F_X(z) + u along an f-DAG, u_j ~ N(0, noise_scale_j²).

    The law of u may be another one (`ucad.scm.noise`), of mean 0 given z. Factors carry no noise of
    their own. The context u holds one value a variable. A part of it may be observed: covariates w
    add C (w − w̄) to x, see `ContextEffect`. Methods that take `covariates` are at the average
    context w̄ without them.

    Definition "Factor SCM"; the mechanisms are those of section "f-SCMs build causal abstractions".

    Attributes:
        graph: which variable feeds which factor and which factor makes which variable.
        factor_mechanism: F_Z, variables to factors; must be blind to what `graph.Q` leaves out.
        variable_mechanism: F_X, factors to variables; must be blind to what `graph.R` leaves out.
        noise_scale: the standard deviation of u, one a variable.
        intervention: what has been done to the model so far.
        context: what observed covariates do to the variables, if there are any.
        reading_noise: the standard deviation of the noise with which every variable is read, or
            None for none; it is part of `noise_scale`, and no mechanism sees it.
        noise: the law of a variable given its factors.
    """

    graph: FactorGraph
    factor_mechanism: Mechanism
    variable_mechanism: Mechanism
    noise_scale: Float[Tensor, " variables"]
    intervention: Intervention = IDENTITY
    context: ContextEffect | None = None
    reading_noise: Float[Tensor, " variables"] | None = None
    noise: NoiseFamily = GAUSSIAN

    def __post_init__(self) -> None:
        check_model(self)

    def do(self, intervention: InterventionLike) -> FactorSCM:
        """Returns M^i: the model under an intervention on variables or factors.

        Args:
            intervention: an `Intervention`, or a mapping from names to values.
        """
        intervention = as_intervention(intervention)
        known = (*self.graph.variable_names, *self.graph.factor_names)
        for name, replacement in intervention.replacements.items():
            if name not in known:
                raise InvalidInputError(
                    f"There is no variable or factor '{name}'.{did_you_mean(name, known)}"
                )
            if isinstance(replacement, Clamp):
                raise InvalidInputError("An image of ω applies to the high-level model.")
        return replace(self, intervention=self.intervention.then(intervention))

    def state_map(
        self, x: Matrix, covariates: Covariates | None = None
    ) -> Float[Tensor, "samples factors"]:
        """τ: the factors of given variables, τ(x)_Z = F_Z(x_{Pa_Z}).

        With covariates that act on readings, F_Z(x − C (w − w̄)).
        """
        return self.factor_mechanism(self.without_context(x, covariates))

    def expected_variables(
        self, z: Matrix, covariates: Covariates | None = None, targets: Targets = ALL
    ) -> Float[Tensor, "samples some_variables"]:
        """F_X(z): the variables expected from given factors, without noise.

        With covariates that act jointly with the factors, F_X(z, w).
        """
        z = self.tensor(z)
        if covariates is None or self.context is None or self.context.joint is None:
            return self.variable_mechanism(z, targets)
        return self.context.expected(z, covariates, targets)

    def draw_context(self, n_samples: int, seed: Seed = 0) -> Float[Tensor, "samples variables"]:
        """Draws u ~ N(0, diag(noise_scale²)), or what another law leaves of samples of F_X(z)."""
        generator = (
            seed
            if isinstance(seed, torch.Generator)
            else torch.Generator().manual_seed(as_whole_number(seed, "seed", low=0, high=2**63 - 1))
        )
        shape = (as_whole_number(n_samples, "n_samples", low=0), self.graph.n_variables)
        draws = torch.randn(shape, generator=generator, dtype=self.noise_scale.dtype)
        if self.noise is GAUSSIAN:
            return draws.to(self.noise_scale) * self.noise_scale
        state = self._drawn(draws.to(self.noise_scale))
        return state.x - self.expected_variables(state.z)

    def sample(self, n_samples: int, seed: Seed = 0, covariates: Covariates | None = None) -> State:
        """Draws contexts and solves the model, at given covariates or at their average."""
        if self.noise is GAUSSIAN or covariates is not None:
            return self.solve(self.draw_context(n_samples, seed), covariates=covariates)
        normal = replace(self, noise=GAUSSIAN, noise_scale=torch.ones_like(self.noise_scale))
        return self._drawn(normal.draw_context(n_samples, seed))

    def solve(
        self,
        context: Matrix,
        intervention: InterventionLike = IDENTITY,
        covariates: Covariates | None = None,
    ) -> State:
        """Solve(M^i; u): the only solution of the model's equations for each context.

        Goes through the f-DAG by topological levels, all nodes of a level at once:
        O(samples · edges) for linear mechanisms.
        """
        if intervention:
            return self.do(intervention).solve(context, covariates=covariates)
        inner, outer = self._offsets(covariates)
        u = self.tensor(context) + inner
        state = self._solved(
            u, lambda z, some: self.expected_variables(z, covariates, some) + u[:, some]
        )
        return State(state.x + outer, state.z)

    def _drawn(self, normal: Float[Tensor, "samples variables"]) -> State:
        """The solution whose variables lie at given normal quantiles of their laws.

        An intervention that looks at the context of a variable finds none: it is drawn with it.
        """
        quantile = torch.special.ndtr(normal)

        def made(z: Tensor, some: Tensor) -> Tensor:
            given = Given(self.variable_mechanism, z, self.noise_scale, some)
            return self.noise.draw(quantile[:, some], given)

        return self._solved(torch.zeros_like(normal), made)

    def _solved(self, u: Tensor, made: Callable[[Tensor, Tensor], Tensor]) -> State:
        """Goes through the levels; variables are made of the factors before them."""
        x, z = torch.zeros_like(u), u.new_zeros(len(u), self.graph.n_factors)
        for level in range(int(self.graph.factor_level.max(initial=-1)) + 2):
            variables = self._nodes(self.graph.variable_level == level)
            x[:, variables] = made(z, variables)
            self._replace_variables(x, z, u, variables)
            factors = self._nodes(self.graph.factor_level == level)
            z[:, factors] = self.factor_mechanism(x, factors)
            self._replace_factors(x, z, factors)
        return State(x, z)

    def abduct(
        self,
        x: Matrix,
        is_intervened: Bool[np.ndarray, "samples variables"] | None = None,
        covariates: Covariates | None = None,
    ) -> Float[Tensor, "samples variables"]:
        """The context of observed samples, u = x − F_X(τ(x)), less what is due to covariates.

        The context of a clamped variable has left no trace in x: it is set to 0.
        """
        x = self.without_context(x, covariates)
        context = x - self.expected_variables(self.factor_mechanism(x), covariates)
        context = context - self._offsets(covariates)[0]
        if is_intervened is None:
            return context
        return context.masked_fill(torch.tensor(is_intervened, device=x.device), 0.0)

    def counterfactual(
        self,
        x: Matrix,
        intervention: InterventionLike,
        is_intervened: Bool[np.ndarray, "samples variables"] | None = None,
    ) -> State:
        """What the observed samples would have been under an intervention: abduct, then solve."""
        return self.solve(self.abduct(x, is_intervened), intervention)

    def log_likelihood(
        self,
        x: Matrix,
        is_intervened: Bool[np.ndarray, "samples variables"] | None = None,
        covariates: Covariates | None = None,
        *,
        variance_floor: float = VARIANCE_FLOOR,
    ) -> Float[Tensor, " samples"]:
        """Σ_{X not clamped} log N(x_X; F_X(τ(x)), max(noise_scale_X², floor)) of every sample.

        Of another noise family its own log-likelihood; of counts that is a probability.
        """
        z = self.state_map(x, covariates)
        given = Given(self.variable_mechanism, z, self.noise_scale)
        left_out = None if is_intervened is None else torch.tensor(is_intervened, device=z.device)
        read = self.tensor(x)
        if covariates is not None:
            # What covariates add is taken off: the law is that at the average context.
            read = self.expected_variables(z) + self.abduct(x, covariates=covariates)
        terms = self.noise.log_prob(read, given, variance_floor, left_out)
        if left_out is not None:
            terms = terms.masked_fill(left_out, 0.0)
        return terms.sum(dim=1)

    def quantile_residuals(self, x: Matrix) -> Float[Tensor, "samples variables"]:
        """Where every value lies in its law given the factors, as N(0, 1) if the law is right."""
        x = self.tensor(x)
        given = Given(self.variable_mechanism, self.factor_mechanism(x), self.noise_scale)
        return self.noise.quantile_residual(x, given)

    def nll(
        self,
        x: Matrix,
        is_intervened: Bool[np.ndarray, "samples variables"] | None = None,
        covariates: Covariates | None = None,
        *,
        variance_floor: float = VARIANCE_FLOOR,
    ) -> float:
        """The negative log-likelihood per sample and variable, as the paper reports it."""
        size, total = len(x) if covariates is not None else SAMPLES_AT_ONCE, 0.0
        for start in range(0, len(x), max(size, 1)):
            rows = slice(start, start + size)
            flags = None if is_intervened is None else is_intervened[rows]
            part = self.log_likelihood(x[rows], flags, covariates, variance_floor=variance_floor)
            total += float(part.sum())
        free = x.shape[0] * x.shape[1] - (0 if is_intervened is None else int(is_intervened.sum()))
        return -total / free

    def reparametrised(self, reparametrisation: Sequence[Bijection] | AffineMap) -> FactorSCM:
        """The 𝒳-equivalent model with F̃_Z = ρ⁻¹ ∘ F_Z and F̃_X(z) = F_X(ρ(z)).

        Lemma "Reparameterization symmetry". Affine maps are folded into the weights.
        """
        if isinstance(reparametrisation, AffineMap):
            F_Z, F_X = self._parametric_mechanisms()
            return replace(
                self,
                factor_mechanism=F_Z.after(reparametrisation.inverse()),
                variable_mechanism=F_X.before(reparametrisation),
                context=self.context and self.context.with_factors(reparametrisation),
            )
        rho = tuple(reparametrisation)
        return replace(
            self,
            factor_mechanism=Reparametrised(self.factor_mechanism, targets=rho),
            variable_mechanism=Reparametrised(self.variable_mechanism, inputs=rho),
        )

    def canonical(self, x: Matrix) -> FactorSCM:
        """The 𝒳-equivalent model whose factors have mean 0 and variance 1 on the given samples.

        The sign makes the factor's strongest anchor (the in- or out-anchor most correlated with
        it; any neighbour if it has none) correlate positively with it. A constant factor is only
        centred.
        """
        if not self.graph.n_factors:
            return self
        x = self.tensor(x)
        z = self.state_map(x)
        mean, scale = z.mean(dim=0), z.std(dim=0, correction=0)
        scale = torch.where(scale > 0, scale, 1.0)
        return self.reparametrised(AffineMap(scale * self._signs(x, (z - mean) / scale), mean))

    def in_original_units(self, scaling: Scaling) -> FactorSCM:
        """The model of x when this one is of (x − mean) / scale; the factors stay what they are."""
        mean, scale = (torch.as_tensor(part).to(self.noise_scale) for part in scaling)
        to_original = AffineMap(scale, mean)
        F_Z, F_X = self._parametric_mechanisms()
        return replace(
            self,
            factor_mechanism=F_Z.before(to_original.inverse()),
            variable_mechanism=F_X.after(to_original),
            noise_scale=self.noise_scale * scale,
            context=self.context and self.context.in_units(to_original),
            reading_noise=None if self.reading_noise is None else self.reading_noise * scale,
        )

    def in_standard_units(self, scaling: Scaling) -> FactorSCM:
        """The model of (x − mean) / scale when this one is of x."""
        return self.in_original_units(Scaling(-scaling.mean / scaling.scale, 1 / scaling.scale))

    def tensor(self, values: Matrix) -> Tensor:
        """Takes arrays and tensors to the type and device of the model."""
        if isinstance(values, np.ndarray):
            values = torch.tensor(np.ascontiguousarray(values))
        return values.to(self.noise_scale)

    def variable_function(self, variable: str) -> MechanismFunction:
        """F_X of one variable, as a function of its factor parents and its own context."""
        j = self.graph.variable_index(variable)
        return _one_target(self.variable_mechanism, j, np.flatnonzero(self.graph.R[j]))

    def factor_function(self, factor: str) -> MechanismFunction:
        """F_Z of one factor, as a function of its variable parents; factors have no context."""
        k = self.graph.factor_index(factor)
        return _one_target(self.factor_mechanism, k, np.flatnonzero(self.graph.Q[:, k]))

    def without_context(self, x: Matrix, covariates: Covariates | None) -> Tensor:
        """What factors read: x without what covariates add to readings."""
        is_read = self.context is not None and self.context.on_readings
        if covariates is None or not is_read:
            return self.tensor(x)
        return self.tensor(x) - self._offsets(covariates)[1]

    def _offsets(self, covariates: Covariates | None) -> tuple[Tensor, Tensor]:
        """What covariates add to mechanisms, and what they add to readings."""
        none = self.noise_scale.new_zeros(())
        if covariates is None or self.context is None:
            return none, none
        offset = self.context.offset(covariates).to(self.noise_scale)
        return (none, offset) if self.context.on_readings else (offset, none)

    def _nodes(self, which: Bool[np.ndarray, " nodes"]) -> Tensor:
        return torch.from_numpy(np.flatnonzero(which)).to(self.noise_scale.device)

    def _parametric_mechanisms(self) -> tuple[StackedMechanism, StackedMechanism]:
        F_Z, F_X = self.factor_mechanism, self.variable_mechanism
        if isinstance(F_Z, Reparametrised) or isinstance(F_X, Reparametrised):
            raise InvalidInputError("Apply affine maps before arbitrary bijections.")
        return cast(StackedMechanism, F_Z), cast(StackedMechanism, F_X)

    def _replace_variables(self, x: Tensor, z: Tensor, u: Tensor, variables: Tensor) -> None:
        for j in variables.tolist():
            name = self.graph.variable_names[j]
            if name in self.intervention.replacements:
                new = self._replaced(name, self.variable_function(name))
                x[:, j] = new(z[:, np.flatnonzero(self.graph.R[j])], u[:, j])

    def _replace_factors(self, x: Tensor, z: Tensor, factors: Tensor) -> None:
        for k in factors.tolist():
            name = self.graph.factor_names[k]
            if name in self.intervention.replacements:
                new = self._replaced(name, self.factor_function(name))
                z[:, k] = new(x[:, np.flatnonzero(self.graph.Q[:, k])], x.new_zeros(len(x)))

    def _replaced(self, name: str, mechanism: MechanismFunction) -> MechanismFunction:
        return replaced(self.intervention.replacements[name], mechanism)

    def _signs(self, x: Tensor, z: Tensor) -> Float[Tensor, " factors"]:
        graph = self.graph
        standard = (x - x.mean(dim=0)) / x.std(dim=0, correction=0).clamp_min(1e-300)
        correlation = (standard.T @ z / len(x)).cpu().numpy()
        anchors = graph.in_anchors | graph.out_anchors
        near = np.where(anchors.any(axis=0), anchors, graph.Q | graph.R)
        strongest = np.where(near, np.abs(correlation), -1.0).argmax(axis=0)
        signs = np.sign(correlation[strongest, np.arange(graph.n_factors)])
        return self.tensor(np.where(signs == 0, 1.0, signs)[None])[0]


def _one_target(mechanism: Mechanism, target: int, parents: np.ndarray) -> MechanismFunction:
    def function(values: Tensor, context: Tensor) -> Tensor:
        inputs = values.new_zeros(len(values), mechanism.uses().shape[1])
        inputs[:, parents] = values
        return mechanism(inputs, torch.tensor([target]))[:, 0] + context

    return function
