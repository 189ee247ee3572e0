"""Is anything left? Whether unseen samples of a variable are predictable beyond its factors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from ucad.claims.columns import Choice, Columns, Source, choose, columns_for, screening_scores
from ucad.claims.ridge import N_RANDOM_FEATURES, N_RANDOM_IF_LARGE, Ridge, curves, fitted
from ucad.claims.samples import Rows, TestSamples

__all__ = [
    "MAX_P",
    "MIN_SHARE",
    "Adequacy",
    "Finding",
    "Learner",
    "LeftOver",
    "Level",
    "leftover",
    "studentised",
]

MAX_P = 1e-3
"""The P value, times the number of variables, below which something is left."""

MIN_SHARE = 0.01
"""The share of a variable's variance above which something is left. Each condition alone fails on
true graphs: P < .05 in 6 of 84 problems, a share above .01 in 7 of 64; both together in none."""

MAX_TESTED = 64
"""Of the variables of a large model, so many are tested: those whose residuals single columns
predict best on fitting rows."""

NOTHING_LEFT = 1e-6
"""The share of variance below which a residual is rounding: noiseless models are not refuted."""

MIN_TEST_ROWS = 30
"""Test samples below which a studentised mean is not nearly normal."""


class Level(IntEnum):
    """What is allowed for before asking whether anything is left.

    SHAPE: nothing; a finding may be only the shape of F_X. GRAPH: any smooth function of z_pa(j); a
    finding is not the shape of F_X. PARENTS: any smooth function of the low-level parents; a
    finding means that x_j depends on something that is no low-level parent, or on a regime.
    """

    SHAPE = 0
    GRAPH = 1
    PARENTS = 2


class LeftOver(NamedTuple):
    """The test of one variable at one level.

    T = Σ e h / √Σ e² h² over test rows, both centred, h learned on fitting rows;
    P = n · Φ̄(T); share g = mean(2 e h − h²) / Var x_j.
    """

    T: float
    P: float
    share: float

    @property
    def is_found(self) -> bool:
        """Both conditions, for the same variable."""
        return self.P < MAX_P and self.share > MIN_SHARE


@dataclass(frozen=True)
class Finding:
    """A variable of which something is left.

    Attributes:
        variable: its name.
        level: at which level.
        leftover: the test.
        sources: what predicts it, the strongest first, each with its part of Σ e h.
    """

    variable: str
    level: int
    leftover: LeftOver
    sources: tuple[tuple[Source, float], ...]


def leftover(
    e: Float[np.ndarray, " rows"], h: Float[np.ndarray, " rows"], n_tests: int
) -> LeftOver:
    """T, P and g of a residual and of what was predicted for it.

    >>> e = np.array([1.0, -1.0, 2.0, -2.0])
    >>> leftover(e, 0 * e, 1).T
    0.0
    """
    e, h = e - e.mean(), h - h.mean()
    T = studentised(e, h)
    return LeftOver(T, float(n_tests * ndtr(-T)), float((2 * e * h - h**2).mean()))


def studentised(a: Float[np.ndarray, " rows"], b: Float[np.ndarray, " rows"]) -> float:
    """Σ a b / √Σ a² b²: about N(0, 1) if the products have mean 0, whatever their spread.

    >>> studentised(np.array([1.0, -1.0, 1.0, -1.0]), np.ones(4))
    0.0
    """
    products = a * b
    size = float(np.sqrt((products**2).sum()))
    return float(products.sum()) / size if size > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Learner:
    """What it takes to learn h_j on the fitting rows of one fold and to test it on the others.

    Attributes:
        ridge: the columns over fitting rows.
        columns: what they are made of.
        choice: how they were chosen.
        X_test: the columns over test rows, in the units of the ridge.
        fit: the fitting rows in which j is free.
        test: the test rows in which j is free.
    """

    ridge: Ridge
    columns: Columns
    choice: Choice
    X_test: Float[np.ndarray, "_ _"]
    fit: Rows
    test: Rows

    def n_used(self, level: int) -> int:
        """How many of the columns a level uses."""
        used = (len(self.columns.sources), self.columns.n_parents_end, self.columns.n_outside)
        return used[level]


@dataclass(frozen=True, eq=False)
class Adequacy:
    """The tests of the variables of one model on one set of samples."""

    samples: TestSamples

    @cached_property
    def tested(self) -> list[int]:
        """The variables that are tested: all, or those most predictable on fitting rows."""
        if not self.samples.is_large:
            return list(range(self.samples.n_variables))
        by_value, by_regime = self._scores[0]
        best = np.maximum(by_value.max(axis=1), by_regime.max(axis=1, initial=0.0))
        return [int(j) for j in np.sort(np.argsort(-best, kind="stable")[:MAX_TESTED])]

    @cached_property
    def _scores(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return [screening_scores(self.samples, fold.fit) for fold in self.samples.folds]

    def _scores_of(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        return self._scores[number]

    def has_rows(self, j: int) -> bool:
        """Whether there are enough samples in which variable j is free, in every fold."""
        free = [self.samples.free(j, rows) for fold in self.samples.folds for rows in fold]
        return min(map(len, free)) >= MIN_TEST_ROWS // len(self.samples.folds)

    def learners(self, j: int, extra: tuple[int, ...] = ()) -> list[Learner]:
        """One per fold; none where too few rows or nothing but rounding is left.

        Args:
            j: the variable.
            extra: non-descendants that get columns whatever they are worth.
        """
        samples, found = self.samples, []
        for number, fold in enumerate(samples.folds):
            fit, test = samples.free(j, fold.fit), samples.free(j, fold.test)
            if not self.has_rows(j) or samples.residual[fit, j].var() < NOTHING_LEFT:
                continue
            choice = choose(samples, j, fit, partial(self._scores_of, number))
            more = [i for i in extra if i not in choice.variables]
            choice = replace(choice, variables=np.append(choice.variables, more).astype(np.int64))
            columns = columns_for(samples, j, fit, choice)
            ridge = Ridge(columns.values)
            X_test = ridge.standardised(columns_for(samples, j, test, choice).values)
            found.append(Learner(ridge, columns, choice, X_test, fit, test))
        return found

    def residual(
        self, j: int, level: int, learner: Learner
    ) -> tuple[Float[np.ndarray, " fit"], Float[np.ndarray, " test"]]:
        """e_j, or e_j − s_j(inputs) with the smoother s_j learned on the fitting rows."""
        samples, fit, test = self.samples, learner.fit, learner.test
        e_fit, e_test = samples.residual[fit, j], samples.residual[test, j]
        if level == Level.SHAPE:
            return e_fit, e_test
        if level == Level.GRAPH:
            inputs, values = samples.factors_of[j], samples.z
        else:
            inputs = np.flatnonzero(samples.graph.variable_adjacency[:, j])
            values = samples.x
        n_random = N_RANDOM_IF_LARGE if samples.is_large else N_RANDOM_FEATURES
        u_fit, u_test = (
            curves(values[np.ix_(rows, inputs)], n_random=n_random) for rows in (fit, test)
        )
        s_fit, s_test = fitted(u_fit, e_fit, u_test)
        return e_fit - s_fit, e_test - s_test

    def test(
        self, j: int, level: int, learners: Sequence[Learner]
    ) -> tuple[LeftOver, tuple[tuple[Source, float], ...]]:
        """Tests one variable at one level, over all folds together; ranks what predicts it."""
        e_all, h_all = [], []
        by_source: dict[Source, float] = defaultdict(float)
        for learner in learners:
            n_used = learner.n_used(level)
            e_fit, e_test = self.residual(j, level, learner)
            X_test = learner.X_test[:, :n_used]
            w = learner.ridge.first(n_used).weights(e_fit[:, None])[:, 0]
            added = (e_test - e_test.mean()) @ X_test * w
            for source, part in zip(learner.columns.sources[:n_used], added, strict=True):
                by_source[source] += float(part)
            e_all.append(e_test)
            h_all.append(X_test @ w)
        if not e_all:
            return LeftOver(0.0, 1.0, 0.0), ()
        result = leftover(np.concatenate(e_all), np.concatenate(h_all), self.samples.n_variables)
        total = max(sum(part for part in by_source.values() if part > 0), 1e-300)
        ranked = sorted(by_source.items(), key=lambda item: -item[1])
        return result, tuple((source, part / total) for source, part in ranked if part > 0)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All findings at levels 0 and 1, and at level 2 where there is one at level 1."""
        found = []
        for j in self.tested:
            learners = self.learners(j)
            for level in (Level.SHAPE, Level.GRAPH, Level.PARENTS):
                result, sources = self.test(j, level, learners)
                if result.is_found:
                    name = self.samples.graph.variable_names[j]
                    found.append(Finding(name, level, result, sources))
                elif level == Level.GRAPH:
                    break
        return tuple(found)

    def at(self, level: int) -> tuple[Finding, ...]:
        """The findings at one level, the largest first."""
        chosen = [finding for finding in self.findings if finding.level == level]
        return tuple(sorted(chosen, key=lambda finding: -finding.leftover.share))
