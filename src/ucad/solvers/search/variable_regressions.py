"""Reading factors off a variable: what it is a function of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from ucad.data import InterventionalData
from ucad.scm.families import Affine, Function
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import Fitter, Regression, unit_variance
from ucad.solvers.regression.parent_selection import (
    MIN_ROWS,
    fit_with_selection,
    interventional_gains,
    permutation_price,
)
from ucad.solvers.search.causes import Causes
from ucad.solvers.search.single_index import (
    NEGLIGIBLE,
    sparse_directions,
)

__all__ = ["VariableRegressions"]

INDEX_SHARE = 0.02
"""Share of the largest eigenvalue of E[∇f ∇fᵀ] above which a direction counts as one of x_j's."""

HIDDEN_EVIDENCE = 6.0
"""Nats, beyond the price of its directions, for a cause that acts only through others."""

SHOWN = -5.0
"""Nats of a test inside a variable's own regimes above which it may be a cause. The test takes off
eight for its four directions, so that a sibling of the target has −6 ± 1.4."""

MAX_WIDER = 4
"""Rounds of looking for causes that screening missed: the better the fit, the more tests show."""

N_CHEAPEST = 2
"""Parents tried when a function is made narrower: the two of the lowest price."""

Variables = Int[np.ndarray, " ..."]


@dataclass(frozen=True, eq=False)
class VariableRegressions:
    """Reads candidate factors, of unit variance, off variables or what is left of them.

    Attributes:
        problem: the problem.
        causes: who may cause whom.
    """

    problem: Problem
    causes: Causes

    @cached_property
    def fitter(self) -> Fitter:
        """Fits a variable as a function of variables."""
        return self.problem.fitter(self.problem.reading_family)

    @property
    def data(self) -> InterventionalData:
        """The samples."""
        return self.problem.data

    @property
    def is_searched(self) -> bool:
        """Whether directions have to be found: layers tell them."""
        return self.problem.admissible.layer_of is None

    def factors_of_variable(
        self, j: int, parents: Variables, allowed: Variables, *, widen: bool
    ) -> Iterator[Function]:
        """What x_j is a function of; with `widen`, of causes too that screening missed."""
        self.problem.budget.check()
        regression = self.problem.regression(j)
        fitted = self._fit(regression, parents, allowed)
        yield from self._factors_in(fitted)
        if not self.is_searched or self.problem.is_linear:
            return
        if widen:
            possible = np.flatnonzero(self.problem.admissible.may_precede[:, j])
            wider = self._wider(fitted, regression, possible)
            if wider is not fitted:
                yield from self._factors_in(wider)
                narrow = wider
                if not self.problem.has_linear_factors:
                    narrow = self._narrower(wider, regression)
                yield from [] if narrow is wider else self._factors_in(narrow)
                fitted = narrow
            likely = self._likely(fitted, regression, possible)
            yield from self._without_proxies(fitted, regression, likely)
        yield from self._with_hidden_causes(regression, fitted, allowed, j)

    def factors_of(
        self, target: Float[np.ndarray, " samples"], parents: Variables, allowed: Variables, j: int
    ) -> Iterator[Function]:
        """What is left of x_j as a function of the variables."""
        self.problem.budget.check()
        regression = self._regression(target, j)
        fitted = self._fit(regression, parents, allowed)
        yield from self._factors_in(fitted)
        if self.is_searched and not self.problem.is_linear:
            yield from self._with_hidden_causes(regression, fitted, allowed, j)

    def _wider(self, fitted: Function, regression: Regression, possible: Variables) -> Function:
        """The function with causes that screening missed, as long as more of them pay."""
        for _ in range(MAX_WIDER):
            likely = self._likely(fitted, regression, possible)
            wider = self._fit(regression, fitted.parents, likely, start=fitted)
            if self._gain(wider, fitted, regression) <= self.problem.penalty:
                break
            fitted = wider
        return fitted

    def _likely(self, fitted: Function, regression: Regression, possible: Variables) -> Variables:
        """Of possible causes those of which no intervention says that they are none.

        A sibling of the target predicts it as well as a cause does, but not where the sibling is
        set from outside. What is seldom set stays possible.
        """
        gains = interventional_gains(
            self.data.x, fitted, regression, self.data.is_set, self.fitter.family, possible
        )
        n_set = self.data.is_set[regression.weights > 0].sum(axis=0)
        is_parent = np.isin(possible, fitted.parents)
        return possible[is_parent | (n_set[possible] < MIN_ROWS) | (gains[possible] > SHOWN)]

    def _without_proxies(
        self, fitted: Function, regression: Regression, possible: Variables
    ) -> Iterator[Function]:
        """The same without variables never acted on: one may stand for a factor of x_j."""
        never = self.causes.never_acted_on
        rest = fitted.parents[~never[fitted.parents]]
        if 0 < len(rest) < len(fitted.parents):
            yield from self._factors_in(self._fit(regression, rest, possible[~never[possible]]))

    def _regression(self, target: Float[np.ndarray, " samples"], j: int) -> Regression:
        return self.problem.regression(j)._replace(target=target)

    def _fit(
        self,
        regression: Regression,
        parents: Variables,
        allowed: Variables,
        start: Function | None = None,
    ) -> Function:
        fitted = fit_with_selection(self.data, parents, regression, allowed, self.fitter, start)
        noisy = self.causes.is_noisy
        return self.fitter.refit_stuck(self.data.x, fitted, regression, noisy=noisy)

    def _gain(self, new: Function, old: Function, regression: Regression) -> float:
        """Nats that one function gains over another, less the price of its parents."""
        after, before = (regression.error(one, self.data.x) for one in (new, old))
        price = self.problem.penalty * (len(new.parents) - len(old.parents))
        return self.fitter.nats(regression, before, after) - price

    def _narrower(self, fitted: Function, regression: Regression) -> Function:
        """The function without parents that it can do without once the others are fitted again."""
        whole, brief = fitted, self.fitter.briefly
        while len(fitted.parents) > 1:
            price = permutation_price(self.data.x, fitted, regression, self.problem.floor)
            trials = (
                brief.fit(self.data.x, np.delete(fitted.parents, at), regression, fitted)
                for at in np.argsort(price, kind="stable")[:N_CHEAPEST]
            )
            better = (trial for trial in trials if self._gain(trial, fitted, regression) > 0)
            chosen = next(better, None)
            if chosen is None:
                break
            fitted = chosen
        if fitted is whole:
            return whole
        return self.fitter.fit(self.data.x, fitted.parents, regression, fitted)

    def _with_hidden_causes(
        self, regression: Regression, fitted: Function, allowed: Variables, j: int
    ) -> Iterator[Function]:
        """The function with a parent that screening missed because it acts through others."""
        if self.problem.has_linear_factors:
            return
        possible = np.flatnonzero(self.problem.admissible.may_precede[:, j])
        gains = interventional_gains(
            self.data.x, fitted, regression, self.data.is_set, self.fitter.family, possible
        )
        best = int(np.argmax(gains))
        if gains[best] > HIDDEN_EVIDENCE:
            wider = np.union1d(fitted.parents, [best])
            found = self._fit(regression, wider, np.union1d(allowed, [best]))
            yield unit_variance(found, self.data.x)

    def _factors_in(self, fitted: Function) -> Iterator[Function]:
        """The function itself, or the linear functions it is a function of.

        If x_j = g(a·x), every gradient is a multiple of a; with several factors the gradients span
        their weights. E[∇f ∇fᵀ] has those directions as leading eigenvectors, and sparse vectors
        of their span are the factors themselves. A function that is flat at every sample has none.
        """
        if not self.problem.has_linear_factors:
            yield unit_variance(fitted, self.data.x)
            return
        gradient = fitted.gradient(self.data.x)
        values, vectors = np.linalg.eigh((gradient.T @ gradient / len(gradient)).astype(np.float64))
        leading = vectors[:, values > INDEX_SHARE * values[-1]][:, ::-1]
        if leading.shape[1] == 0:
            return
        for direction in sparse_directions(leading[:, :2]):
            keep = np.abs(direction) > NEGLIGIBLE * np.abs(direction).max()
            yield unit_variance(Affine(fitted.parents[keep], direction[keep], 0.0), self.data.x)
