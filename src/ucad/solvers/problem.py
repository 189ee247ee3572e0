"""`Problem`: all that a solver is given, in one object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ucad.data import InterventionalData, MaskedMoments
from ucad.data.scaling import spread_of
from ucad.errors import InvalidInputError
from ucad.scm.families import Family, Function
from ucad.solvers.admissible import Admissible
from ucad.solvers.budget import Budget
from ucad.solvers.prior import PriorKnowledge
from ucad.solvers.regression.explained_nats import explained_nats
from ucad.solvers.regression.fitting import ROUGH, THOROUGH, Effort, Fitter, Regression
from ucad.solvers.regression.weighted_moments import explained_nats_weighted

__all__ = ["PENALTY_PER_LOG_SAMPLE", "Problem", "Response"]

PENALTY_PER_LOG_SAMPLE = 2.0
"""An edge costs this many times log N nats: four times BIC's price of a parameter, since every
edge is the best of many that were tried."""

FLOOR = 1e-3
"""s₀, the variance that no explanation goes below, at variables of variance 1: without noise a
log-likelihood has no bound."""

STANDARD = (0.2, 5.0)
"""Standard deviations of what counts as standardised: a part of a standardised data set may be
off by such factors."""


class Response(NamedTuple):
    """What regressions fit in place of the variables, and how much every sample counts for each.

    Attributes:
        target: one column per variable.
        weights: 0 where a variable is left out, 1 on average elsewhere.
    """

    target: Float[np.ndarray, "samples variables"]
    weights: Float[np.ndarray, "samples variables"]


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, how many factors, which families of mechanisms, and who may act on whom.

    Attributes:
        data: what was measured, standardised.
        n_factors: how many factors to find.
        factor_family: what F_Z may be.
        variable_family: what F_X may be.
        admissible: what is known of directions.
        seed: random seed.
        budget: how long it may take.
        penalty: the price of an edge, in nats (natural-log units of likelihood).
        floor: s₀, the variance that no explanation goes below.
        noise: the variance of the noise with which every variable is read, or None for none.
        response: what linear functions are fitted to, if not to the variables themselves.
        noise_family: `gaussian`, `student`, `counts` or `auto`.
        shared: second moments of functions of the variables, by family: computed once.
    """

    data: InterventionalData
    n_factors: int
    factor_family: Family
    variable_family: Family
    admissible: Admissible
    seed: int = 0
    budget: Budget = field(default_factory=Budget)
    penalty: float = 0.0
    floor: float = FLOOR
    noise: Float[np.ndarray, " variables"] | None = None
    response: Response | None = None
    noise_family: str = "gaussian"
    shared: dict[str, MaskedMoments] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        data: InterventionalData,
        n_factors: int,
        families: tuple[Family, Family],
        *,
        prior: PriorKnowledge | None = None,
        seed: int = 0,
        budget: Budget | None = None,
    ) -> Problem:
        """Makes a problem of data and checks it.

        Raises:
            InvalidInputError: if no solver could work on it.
        """
        _check(data, n_factors, prior)
        return cls(
            data=data,
            n_factors=n_factors,
            factor_family=families[0],
            variable_family=families[1],
            admissible=Admissible.of(data, prior),
            seed=seed,
            budget=Budget() if budget is None else budget,
            penalty=PENALTY_PER_LOG_SAMPLE * float(np.log(max(data.n_samples, 2))),
        )

    def moments_of(self, family: Family) -> MaskedMoments:
        """The second moments of a family's functions of single variables, all in one matrix."""
        if family.is_affine:
            return self.data.moments
        if family.name not in self.shared:
            flat = family.features(self.data.x).reshape(self.data.n_samples, -1)
            self.shared[family.name] = MaskedMoments(flat, self.data.is_left_out)
        return self.shared[family.name]

    def free(self, j: int) -> Float[np.ndarray, " samples"]:
        """1 in the samples in which variable j has a term in the likelihood, else 0."""
        return self.data.moments.left_out.others(j).astype(np.float64)

    @property
    def is_linear(self) -> bool:
        """Whether a variable is an affine function of its low-level parents."""
        return self.factor_family.is_affine and self.variable_family.is_affine

    @property
    def reading_family(self) -> Family:
        """The family of a variable as a function of variables."""
        return self.variable_family if self.factor_family.is_affine else self.factor_family

    @property
    def has_linear_factors(self) -> bool:
        """Whether factors are affine and variables are not: then factors are directions."""
        return self.factor_family.is_affine and not self.variable_family.is_affine

    @property
    def reading_noise(self) -> Float[np.ndarray, "variables variables"] | None:
        """The covariance of the noise with which the variables are read, or None for none."""
        return None if self.noise is None else np.diag(self.noise)

    @property
    def targets(self) -> Float[np.ndarray, "samples variables"]:
        """What functions are fitted to: the variables, or the response in their place."""
        return self.data.x if self.response is None else self.response.target

    @property
    def weights(self) -> Float[np.ndarray, "samples variables"] | None:
        """How much every sample counts for each variable; None where all free ones do alike."""
        return None if self.response is None else self.response.weights

    def regression(self, j: int) -> Regression:
        """The regression of variable j."""
        weights = self.free(j) if self.weights is None else self.weights[:, j]
        return Regression(self.targets[:, j], weights)

    def explained_nats(
        self,
        columns: Float[np.ndarray, "samples columns"],
        targets: Float[np.ndarray, "samples variables"],
        family: Family,
        floor: float = 0.0,
    ) -> Float[np.ndarray, "variables columns"]:
        """Nats that functions of each column alone gain for each target where it is free."""
        if self.weights is None:
            return explained_nats(columns, targets, self.data.is_left_out, family, floor)
        return explained_nats_weighted(columns, targets, self.weights, floor)

    def noise_of(
        self, functions: Sequence[Function]
    ) -> Float[np.ndarray, "functions functions"] | None:
        """The covariance A D Aᵀ of the noise in linear functions A x of the readings."""
        if self.noise is None:
            return None
        A = np.zeros((len(functions), self.data.n_variables))
        for row, function in zip(A, functions, strict=True):
            row[function.parents] = function.weights[: len(function.parents)]
        noise: Float[np.ndarray, "functions functions"] = (A * self.noise) @ A.T
        return noise

    def fitter(self, family: Family, effort: Effort = ROUGH) -> Fitter:
        """Fits functions of readings, of a family, at the problem's price and floor."""
        return Fitter(
            family=family,
            effort=effort,
            floor=self.floor,
            penalty=self.penalty,
            seed=self.seed,
            noise=self.reading_noise,
        )

    def efforts(self) -> tuple[Effort, Effort]:
        """How trials are fitted, and how what is kept is: the same where fits are exact."""
        return (THOROUGH, THOROUGH) if self.is_linear else (ROUGH, THOROUGH)


def _check(data: InterventionalData, n_factors: int, prior: PriorKnowledge | None) -> None:
    if not 1 <= n_factors <= data.n_variables:
        raise InvalidInputError(
            f"'n_factors' must be at least 1 and at most the number of variables, "
            f"{data.n_variables}. Got {n_factors} instead."
        )
    scale = spread_of(data.x)
    varies = scale > 0
    if not ((scale[varies] > STANDARD[0]) & (scale[varies] < STANDARD[1])).all():
        raise InvalidInputError(
            "A solver wants standardised data. Got standard deviations from "
            f"{scale.min():.3g} to {scale.max():.3g}. Use data.standardised()."
        )
    if prior is not None:
        prior.check_shape(data.n_variables, n_factors)
