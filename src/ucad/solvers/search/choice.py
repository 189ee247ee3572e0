"""Choosing the factors among candidate functions, under an order over factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad.scm.families import Function
from ucad.solvers.budget import Budget
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import COMPARED, values_of
from ucad.solvers.regression.moments import FeatureMoments
from ucad.solvers.regression.stepwise import Selection
from ucad.solvers.regression.trees import GrowShrinkTrees, TargetMoments
from ucad.solvers.regression.weighted_moments import weighted_moments
from ucad.solvers.search.insert_candidates import Insertions, insertions_into

__all__ = ["Choice", "Order", "build_choice", "choose_factors", "edges_of", "escape", "promising"]

Order: TypeAlias = tuple[int, ...]

ALIKE = 0.95
"""Correlation above which two candidates stand for the same factor."""

N_ALIKE = 3
"""Candidates that stand for the same factor and are all kept: one may be mixed with another."""

EQUAL = 1e-6
"""Nats up to which two scores count as equal: sums of many terms differ by their order."""


@dataclass(frozen=True, eq=False)
class Choice:
    """Chooses m candidates and their order by the score of the whole model.

    score = Σ_j score(x_j | the factors x_j may have) − penalty · Σ_k |parents of k|

    An order over factors is all that acyclicity needs: x_j may be a child of every factor that
    precedes all the factors x_j feeds.

    Attributes:
        functions: the candidates, each of unit variance.
        values: their values, one column each.
        trees: the regressions of variables on functions of the candidates' values.
        parents: the variables each candidate looks at.
        barred: variables that cannot be children of a candidate, whatever the order.
        rank: the latest layer (or place in a binding order) among a candidate's parents, or None.
        budget: how long it may take.
    """

    functions: tuple[Function, ...]
    values: Float[np.ndarray, "samples candidates"]
    trees: GrowShrinkTrees
    parents: Bool[np.ndarray, "variables candidates"]
    barred: Bool[np.ndarray, "variables candidates"]
    rank: Int[np.ndarray, " candidates"] | None
    budget: Budget

    @property
    def n_functions(self) -> int:
        """How many functions of a candidate a variable may use."""
        return self.trees.width

    @cached_property
    def explainable(self) -> Int[np.ndarray, " some"]:
        """The variables that some candidate helps to predict."""
        worth = self.trees.first_choices().reshape(*self.barred.shape, -1).any(axis=2)
        return np.flatnonzero((worth & ~self.barred).any(axis=1))

    @cached_property
    def alike(self) -> Bool[np.ndarray, "candidates candidates"]:
        """Which candidates stand for the same factor."""
        return _alike(self.values)

    def allowed(self, order: Order) -> Bool[np.ndarray, "variables candidates"]:
        """Which chosen factors may have which variables as children."""
        may, m = np.zeros(self.parents.shape, dtype=bool), len(order)
        feeds = self.parents[:, order]
        first = np.where(feeds, np.arange(m), m).min(axis=1, initial=m)
        may[:, order] = (np.arange(m) < first[:, None]) & ~self.barred[:, order]
        return may

    def score(self, order: Order) -> float:
        """The score of one ordered choice, up to a constant."""
        some = self.explainable
        each = self.trees.scores(some, self.allowed(order)[some])
        return float(each.sum() - self.trees.penalty * self.parents[:, order].sum())

    def children(self, order: Order) -> Selection:
        """The regressions of all variables on the chosen factors."""
        may = self.allowed(order)
        return self.trees.select(np.arange(len(may)), may)

    def insertions(self, rests: Sequence[Order], pool: frozenset[int]) -> Insertions:
        """The scores of all ways to add one candidate of the pool to each of some orders."""
        self.budget.check()
        return insertions_into(self, np.array(rests, dtype=np.int64).reshape(len(rests), -1), pool)


def build_choice(functions: Sequence[Function], problem: Problem) -> Choice:
    """Collects the moments of all candidates with all variables.

    Candidates are not blurred: directions are settled by now, and among exact models the number
    of edges alone should count.
    """
    data, known = problem.data, problem.admissible
    values = values_of(functions, data.x)
    features = problem.variable_family.features(values)
    flat = features.reshape(data.n_samples, -1)
    noise = problem.noise_of(functions)
    moments: TargetMoments
    if problem.weights is None:
        moments = FeatureMoments(flat, data.x, data.moments.left_out, problem.floor, noise)
    else:
        everything = [np.arange(flat.shape[1])] * data.n_variables
        moments = weighted_moments(
            flat, problem.targets, problem.weights, everything, problem.floor
        )
    parents = _parents(functions, data.n_variables)
    rank = None
    if known.position is not None:
        rank = np.where(parents, known.position[:, None], -1).max(axis=0)
    return Choice(
        functions=tuple(functions),
        values=values,
        trees=GrowShrinkTrees(moments, problem.penalty, width=features.shape[2]),
        parents=parents,
        barred=~known.children_for(parents),
        rank=rank,
        budget=problem.budget,
    )


def promising(functions: Sequence[Function], problem: Problem, n_each: int) -> list[Function]:
    """The candidates that explain some variable best, each alone: so many for each variable.

    Of candidates that are nearly one, those stay that explain most in all.
    """
    data = problem.data
    values = values_of(functions, data.x)
    gains = problem.explained_nats(values, problem.targets)
    parents = _parents(functions, data.n_variables)
    gains[~problem.admissible.children_for(parents)] = 0.0
    gains = np.maximum(gains - problem.penalty, 0.0)
    best = np.argsort(-gains, axis=1, kind="stable")[:, :n_each]
    useful = np.unique(best[np.take_along_axis(gains, best, axis=1) > 0])
    total = gains.sum(axis=0) - problem.penalty * parents.sum(axis=0)
    alike = _alike(values)
    kept: list[int] = []
    for c in useful[np.argsort(-total[useful], kind="stable")]:
        if alike[c, kept].sum() < N_ALIKE:
            kept.append(int(c))
    return [functions[c] for c in sorted(kept)]


def _alike(
    values: Float[np.ndarray, "samples candidates"],
) -> Bool[np.ndarray, "candidates candidates"]:
    """Which columns stand for the same factor, in a regular subset of very many samples."""
    some = values[:: max(1, len(values) // COMPARED)]
    return np.asarray(np.abs(np.atleast_2d(np.corrcoef(some.T))) > ALIKE)


def _parents(
    functions: Sequence[Function], n_variables: int
) -> Bool[np.ndarray, "variables candidates"]:
    parents = np.zeros((n_variables, len(functions)), dtype=bool)
    for c, function in enumerate(functions):
        parents[function.parents, c] = True
    return parents


def choose_factors(choice: Choice, n_factors: int, start: Order = ()) -> Order:
    """Adds the best candidate until there are m, then replaces and reorders while it helps."""
    everything = frozenset(range(len(choice.functions)))
    return _climb(choice, n_factors, start, everything)[1]


def escape(choice: Choice, order: Order) -> Order:
    """Does without each factor in turn, and all that resemble it, and keeps what is better.

    Replacing one factor at a time cannot leave a choice in which one wrong factor forbids
    another right one.
    """
    best, chosen = choice.score(order), order
    for current in order:
        alike = choice.alike[current]
        allowed = frozenset(np.flatnonzero(~alike).tolist()) | (set(order) - {current})
        rest = tuple(c for c in order if c != current)
        better, changed = _climb(choice, len(order), rest, allowed)
        if better > best + EQUAL:
            best, chosen = better, changed
    return chosen


def edges_of(choice: Choice, order: Order) -> frozenset[bytes]:
    """The graph of a choice, whatever the order of its factors."""
    selected = choice.children(order).selected
    made = np.any(selected.reshape(len(selected), -1, choice.n_functions), axis=2)
    both = np.concatenate([choice.parents[:, order], made[:, list(order)]])
    return frozenset(column.tobytes() for column in both.T)


def _climb(
    choice: Choice, n_factors: int, order: Order, allowed: frozenset[int]
) -> tuple[float, Order]:
    """Adds candidates one by one; then moves or replaces one factor at a time while it helps."""
    while len(order) < min(n_factors, len(allowed)):
        _, order = choice.insertions([order], allowed).best(EQUAL)
    score = choice.score(order)
    while order:
        rests = [order[:slot] + order[slot + 1 :] for slot in range(len(order))]
        better, changed = choice.insertions(rests, allowed).best(EQUAL)
        if better <= score + EQUAL:
            break
        score, order = better, changed
    return score, order
