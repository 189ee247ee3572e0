"""The abstraction: ℒ and ℋ as models of their own, the maps τ and ω between them, and Δ̂."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ucad.data import InterventionalData
from ucad.errors import InvalidInputError, did_you_mean
from ucad.graph import topological_levels
from ucad.scm.bound import ErrorBound, error_bound, propagation
from ucad.scm.factor_scm import FactorSCM, Matrix, Seed
from ucad.scm.interventions import (
    IDENTITY,
    Clamp,
    Constant,
    Function,
    Inside,
    Intervention,
    InterventionLike,
    MechanismFunction,
    Transform,
    as_intervention,
    hard,
    replaced,
)

__all__ = [
    "Abstraction",
    "AbstractionError",
    "CollapsedModel",
    "HighLevelModel",
    "LowLevelModel",
    "RegimeError",
]


@dataclass(frozen=True, eq=False)
class CollapsedModel(ABC):
    """An SCM over one kind of node of an f-SCM, the other kind collapsed into its mechanisms.

    Both levels share the context u of the f-SCM.

    Attributes:
        scm: the f-SCM, without any intervention.
        intervention: what has been done to this model.
    """

    scm: FactorSCM
    intervention: Intervention = IDENTITY

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The nodes of this model."""

    @property
    @abstractmethod
    def adjacency(self) -> Bool[np.ndarray, "nodes nodes"]:
        """The causal graph of this model; a row is a cause."""

    def do(self, intervention: InterventionLike) -> CollapsedModel:
        """Returns the model under an intervention on its nodes."""
        intervention = as_intervention(intervention)
        for name in intervention.replacements:
            if name not in self.names:
                raise InvalidInputError(
                    f"This model has no node '{name}'.{did_you_mean(name, self.names)}"
                )
        return replace(self, intervention=self.intervention.then(intervention))

    def sample(self, n_samples: int, seed: Seed = 0) -> Float[Tensor, "samples nodes"]:
        """Draws contexts and solves the model."""
        return self.solve(self.scm.draw_context(n_samples, seed))

    def solve(
        self, context: Matrix, intervention: InterventionLike = IDENTITY
    ) -> Float[Tensor, "samples nodes"]:
        """The only solution for each context, by topological levels of this model's own graph."""
        if intervention:
            return self.do(intervention).solve(context)
        u = self.scm.tensor(context)
        values = u.new_zeros(len(u), len(self.names))
        levels = topological_levels(self.adjacency)
        assert levels is not None, "a collapsed f-DAG is acyclic"
        for level in range(int(levels.max(initial=-1)) + 1):
            self._advance(values, u, np.flatnonzero(levels == level))
        return values

    def mechanism(self, node: str) -> MechanismFunction:
        """F^L_X or F^H_Z: a function of the node's parents in this model and of the whole context.

        The parents come in the order of `names`; the context is samples × variables.
        """
        position = self.names.index(node)
        parents = np.flatnonzero(self.adjacency[:, position])

        def function(values: Tensor, context: Tensor) -> Tensor:
            full = values.new_zeros(len(values), len(self.names))
            full[:, parents] = values
            return self._collapsed(full, context, np.array([position]), {})[:, 0]

        return function

    def _advance(self, values: Tensor, u: Tensor, nodes: np.ndarray) -> None:
        values[:, nodes] = self._collapsed(values, u, nodes, {})
        for node in nodes.tolist():
            replacement = self.intervention.replacements.get(self.names[node])
            if isinstance(replacement, Clamp):
                inner = self._collapsed(values, u, np.array([node]), replacement.values)
                values[:, node] = inner[:, 0]
            elif replacement is not None:
                parents = values[:, np.flatnonzero(self.adjacency[:, node])]
                new = replaced(replacement, _closing_over(self.mechanism(self.names[node]), u))
                values[:, node] = new(parents, self._own_context(u, node))

    @abstractmethod
    def _own_context(self, u: Tensor, node: int) -> Tensor:
        """The context that belongs to one node."""

    @abstractmethod
    def _collapsed(
        self, values: Tensor, u: Tensor, nodes: np.ndarray, inside: Mapping[str, Inside]
    ) -> Tensor:
        """The collapsed mechanisms of some nodes, with the variables of `inside` held constant."""


@dataclass(frozen=True, eq=False)
class LowLevelModel(CollapsedModel):
    """ℒ: the variables alone, F^L_X(x, u) = F_X({F_Z(x_{Pa_Z})}_{Z ∈ Pa_X}, u)."""

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self.scm.graph.variable_names

    @property
    def adjacency(self) -> Bool[np.ndarray, "nodes nodes"]:
        """A."""
        return self.scm.graph.variable_adjacency

    def _own_context(self, u: Tensor, node: int) -> Tensor:
        return u[:, node]

    def _collapsed(
        self, values: Tensor, u: Tensor, nodes: np.ndarray, inside: Mapping[str, Inside]
    ) -> Tensor:
        if inside:
            raise InvalidInputError("An image of ω applies to the high-level model.")
        z = self.scm.factor_mechanism(values)
        return self.scm.variable_mechanism(z, torch.from_numpy(nodes)) + u[:, nodes]


@dataclass(frozen=True, eq=False)
class HighLevelModel(CollapsedModel):
    """ℋ: the factors alone, F^H_Z(z, u) = F_Z({F_X(z_{Pa_X}, u)}_{X ∈ Pa_Z})."""

    @property
    def names(self) -> tuple[str, ...]:
        """The factors."""
        return self.scm.graph.factor_names

    @property
    def adjacency(self) -> Bool[np.ndarray, "nodes nodes"]:
        """B."""
        return self.scm.graph.factor_adjacency

    def _own_context(self, u: Tensor, node: int) -> Tensor:  # noqa: ARG002 - factors have none
        return u.new_zeros(len(u))

    def _collapsed(
        self, values: Tensor, u: Tensor, nodes: np.ndarray, inside: Mapping[str, Inside]
    ) -> Tensor:
        x = self.scm.variable_mechanism(values) + u
        for name, value in inside.items():
            j = self.scm.graph.variable_index(name)
            if isinstance(value, Function | Transform):
                new = replaced(value, self.scm.variable_function(name))
                x[:, j] = new(values[:, np.flatnonzero(self.scm.graph.R[j])], u[:, j])
            else:
                x[:, j] = torch.as_tensor(value).to(x)
        return self.scm.factor_mechanism(x, torch.from_numpy(nodes))


class RegimeError(NamedTuple):
    """How far the diagram is from commuting, and how far at most.

    Attributes:
        error: Δ̂.
        bound: what the theorem guarantees.
    """

    error: float
    bound: ErrorBound


class AbstractionError(NamedTuple):
    """Δ̂ and its bound, over all samples and for every regime present, by name."""

    overall: RegimeError
    by_regime: dict[str, RegimeError]


@dataclass(frozen=True, eq=False)
class Abstraction:
    """ℋ as a causal abstraction of ℒ: the two models and the maps τ and ω between them.

    Theorem "Uniform transformation": τ(Solve(ℒ^i; u)) = Solve(ℋ^ω(i); u) for every hard
    intervention i on the variables and every context u.
    """

    scm: FactorSCM

    @cached_property
    def low_level(self) -> LowLevelModel:
        """ℒ."""
        return LowLevelModel(self.scm)

    @cached_property
    def high_level(self) -> HighLevelModel:
        """ℋ."""
        return HighLevelModel(self.scm)

    def state_map(self, x: Matrix) -> Float[Tensor, "samples factors"]:
        """τ(x)_Z = F_Z(x_{Pa_Z})."""
        return self.scm.state_map(x)

    def intervention_map(self, intervention: InterventionLike) -> Intervention:
        """ω: what an intervention on variables is at the level of the factors.

        Its support is ⋃_{X ∈ I_L} Ch_X; for each Z of it the mechanistic support
        K_Z = I_L ∩ Pa_Z holds the variables whose F_X inside F^H_Z is replaced: by the constant
        C_X for a hard intervention, by F̃_X or I_X⟨F_X⟩ for a soft or parametric one, so that

        F^H_Z(z, u) = F_Z({F̃_X(z_{Pa_X}, u_X)}_{X ∈ K_Z}, {F_X(z_{Pa_X}, u_X)}_{X ∈ Pa_Z ∖ K_Z}).

        A soft one does not cut X from its parents: B stays as it is.

        Raises:
            InvalidInputError: it acts on factors already, or names an unknown variable.
        """
        intervention = as_intervention(intervention)
        clamps: dict[str, dict[str, Inside]] = {}
        for variable, replacement in intervention.replacements.items():
            self.scm.graph.variable_index(variable)
            if isinstance(replacement, Clamp):
                raise InvalidInputError("An image of ω acts on factors already.")
            inner = replacement.value if isinstance(replacement, Constant) else replacement
            for factor in self.scm.graph.children(variable):
                clamps.setdefault(factor, {})[variable] = inner
        return Intervention({factor: Clamp(values) for factor, values in clamps.items()})

    def gap(self, context: Matrix, intervention: InterventionLike) -> float:
        """The largest |τ(Solve(ℒ^i; u)) − Solve(ℋ^ω(i); u)|; rounding, if the diagram commutes."""
        low = self.state_map(self.low_level.solve(context, intervention))
        high = self.high_level.solve(context, self.intervention_map(intervention))
        return float((low - high).abs().max()) if low.numel() else 0.0

    def data_context(self, data: InterventionalData) -> Float[Tensor, "samples variables"]:
        """The context that both levels share when all we have is data.

        Noise of variables with parents was not observed: it is set to 0. A variable without
        parents *is* its context, up to the constant its mechanism adds.
        """
        context = self.scm.abduct(data.x, data.is_intervened)
        has_parents = torch.from_numpy(self.scm.graph.R.any(axis=1))
        return context.masked_fill(has_parents.to(context.device), 0.0)

    def error(self, data: InterventionalData) -> AbstractionError:
        """Δ̂ = E d_H(τ̂(x), Solve(ℋ^ω̂(i); u)), squared Euclidean, per regime and overall.

        The context is `data_context`: the values of the variables without parents and the clamped
        values, other noise at zero.

        Theorem "Approximate transformation bound".
        """
        by_regime, total, growth = {}, 0.0, propagation(self.scm)
        for regime in np.unique(data.regime):
            part = data.select(np.flatnonzero(data.regime == regime))
            distance = self._distance(part)
            total += float(distance.sum())
            error = RegimeError(float(distance.mean()), error_bound(self.scm, part, growth=growth))
            by_regime[data.regime_names[regime]] = error
        overall = RegimeError(total / data.n_samples, error_bound(self.scm, data, growth=growth))
        return AbstractionError(overall, by_regime)

    def _distance(self, data: InterventionalData) -> Float[Tensor, " samples"]:
        """d_H of every sample of one regime."""
        x = self.scm.tensor(data.x)
        clamped = np.flatnonzero(data.is_intervened[0])
        do = hard({data.variable_names[j]: x[:, j] for j in clamped})
        predicted = self.high_level.solve(self.data_context(data), self.intervention_map(do))
        return ((self.state_map(x) - predicted) ** 2).sum(dim=1)


def _closing_over(
    mechanism: Callable[[Tensor, Tensor], Tensor], context: Tensor
) -> MechanismFunction:
    """A collapsed mechanism needs the whole context; a replacement sees only the node's own."""
    return lambda parents, _own: mechanism(parents, context)
