"""Reading factors off a variable: what it is a function of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ucad.data import InterventionalData
from ucad.solvers.search.causes import Causes
from ucad.solvers.search.directions import SPARSE, leading_direction, sparse_directions
from ucad.solvers.search.functions import (
    Function,
    FunctionConfig,
    Regression,
    fit_function,
    refit_if_stuck,
    unit_variance,
)
from ucad.solvers.search.settings import FitSettings
from ucad.solvers.search.single_index import fit_single_index
from ucad.solvers.search.sparse import (
    fit_sparse_function,
    interventional_gains,
    permutation_price,
)

__all__ = ["Reader"]

INDEX_SHARE = 0.02
HIDDEN_EVIDENCE = 6.0
N_CHEAPEST = 2

Variables = Int[np.ndarray, " ..."]


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads candidate factors, of unit variance, off variables or what is left of them.

    Attributes:
        data: the samples.
        causes: who may cause whom.
        settings: the model class and the score.
    """

    data: InterventionalData
    causes: Causes
    settings: FitSettings

    def factors_of_variable(
        self, j: int, parents: Variables, allowed: Variables, *, widen: bool
    ) -> Iterator[Function]:
        """What x_j is a function of; with `widen`, of causes too that screening missed.

        Where x_j is a function of a single linear factor, that factor is fitted with it.
        """
        regression = self._regression(self.data.x[:, j], j)
        fitted = self._fit(regression, parents, allowed)
        yield from self._factors_in(fitted)
        if self.causes.position is not None:
            return
        if widen:
            possible = np.flatnonzero(self.causes.not_below[:, j])
            yield from self._single_index(fitted, j, possible)
            wider = self._fit(regression, fitted.parents, possible, start=fitted)
            if self._gain(wider, fitted, regression) > self.settings.penalty:
                yield from self._factors_in(wider)
                yield from self._single_index(wider, j, possible)
                fitted = wider if self._linear_factors else self._narrower(wider, regression)
                yield from [] if fitted is wider else self._factors_in(fitted)
            yield from self._without_proxies(fitted, regression, possible)
        yield from self._with_hidden_causes(regression, fitted, allowed, j)

    def factors_of(
        self, target: Float[np.ndarray, " samples"], parents: Variables, allowed: Variables, j: int
    ) -> Iterator[Function]:
        """What is left of x_j as a function of the variables."""
        regression = self._regression(target, j)
        fitted = self._fit(regression, parents, allowed)
        yield from self._factors_in(fitted)
        if self.causes.position is None:
            yield from self._with_hidden_causes(regression, fitted, allowed, j)

    def _without_proxies(
        self, fitted: Function, regression: Regression, possible: Variables
    ) -> Iterator[Function]:
        """The same without variables that nobody clamps: one may stand for a factor of x_j."""
        never = self.causes.never_clamped
        clamped = fitted.parents[~never[fitted.parents]]
        if 0 < len(clamped) < len(fitted.parents):
            yield from self._factors_in(self._fit(regression, clamped, possible[~never[possible]]))

    @property
    def _linear_factors(self) -> bool:
        """Whether factors are linear and variables are not: then factors are directions."""
        return self.settings.variable_fit.hidden > 0 and not self.settings.factor_fit.hidden

    @property
    def _config(self) -> FunctionConfig:
        """How a variable as a function of variables is fitted."""
        return self.settings.variable_fit if self._linear_factors else self.settings.factor_fit

    def _regression(self, target: Float[np.ndarray, " samples"], j: int) -> Regression:
        return Regression(target, (~self.data.is_intervened[:, j]).astype(np.float64))

    def _fit(
        self,
        regression: Regression,
        parents: Variables,
        allowed: Variables,
        start: Function | None = None,
    ) -> Function:
        fitted = fit_sparse_function(
            self.data, parents, regression, allowed, self._config, start=start
        )
        return refit_if_stuck(self.data.x, fitted, regression, self._config)

    def _gain(self, new: Function, old: Function, regression: Regression) -> float:
        """Nats that one function gains over another, less the price of its parents."""
        after, before = (
            np.average(
                (regression.target - one.values(self.data.x)) ** 2, weights=regression.weights
            )
            for one in (new, old)
        )
        floor, count = self.settings.floor, int((regression.weights > 0).sum())
        price = self.settings.penalty * (len(new.parents) - len(old.parents))
        return float(count / 2 * np.log((before + floor) / (after + floor)) - price)

    def _narrower(self, fitted: Function, regression: Regression) -> Function:
        """The function without parents that it can do without once the others are fitted again."""
        while len(fitted.parents) > 1:
            price = permutation_price(self.data.x, fitted, regression, self.settings.floor)
            trials = (
                fit_function(
                    self.data.x,
                    np.delete(fitted.parents, at),
                    regression,
                    self._config,
                    start=fitted,
                )
                for at in np.argsort(price, kind="stable")[:N_CHEAPEST]
            )
            better = (trial for trial in trials if self._gain(trial, fitted, regression) > 0)
            chosen = next(better, None)
            if chosen is None:
                break
            fitted = chosen
        return fitted

    def _with_hidden_causes(
        self, regression: Regression, fitted: Function, allowed: Variables, j: int
    ) -> Iterator[Function]:
        """The function with a parent that screening missed because it acts through others."""
        if self._linear_factors:
            return
        gains = interventional_gains(self.data.x, fitted, regression, self.data.is_intervened)
        gains[~self.causes.not_below[:, j]] = 0.0
        best = int(np.argmax(gains))
        if gains[best] > HIDDEN_EVIDENCE:
            wider = np.union1d(fitted.parents, [best])
            found = self._fit(regression, wider, np.union1d(allowed, [best]))
            yield unit_variance(found, self.data.x)

    def _factors_in(self, fitted: Function) -> Iterator[Function]:
        """The function itself, or the linear functions it is a function of.

        If x_j = g(a·x), every gradient is a multiple of a; with several factors the gradients span
        their weights. E[∇f ∇fᵀ] has those directions as leading eigenvectors, and sparse vectors
        of their span are the factors themselves.
        """
        if not self._linear_factors:
            yield unit_variance(fitted, self.data.x)
            return
        gradient = fitted.gradient(self.data.x)
        values, vectors = np.linalg.eigh(gradient.T @ gradient / len(gradient))
        leading = vectors[:, values > INDEX_SHARE * values[-1]][:, ::-1]
        for direction in sparse_directions(leading[:, :2]):
            yield self._without_small_weights(fitted.parents, direction)

    def _single_index(self, fitted: Function, j: int, allowed: Variables) -> Iterator[Function]:
        """The linear factor x_j is a function of, if it is a function of one."""
        if self._linear_factors and len(fitted.parents):
            start = leading_direction(fitted.gradient(self.data.x), fitted.parents)
            yield fit_single_index(self.data, j, start, allowed, self._config).factor

    def _without_small_weights(
        self, parents: Variables, weights: Float[np.ndarray, " inputs"]
    ) -> Function:
        keep = np.abs(weights) > SPARSE * np.abs(weights).max()
        return unit_variance(Function(parents[keep], None, None, weights[keep], 0.0), self.data.x)
