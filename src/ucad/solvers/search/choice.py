"""Choosing the factors among candidate functions, under an order over factors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool

from ucad.scm.families import Function
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import values_of
from ucad.solvers.regression.moments import FeatureMoments
from ucad.solvers.regression.trees import GrowShrinkTrees, TargetMoments
from ucad.solvers.regression.weighted_moments import WeightedFeatureMoments
from ucad.solvers.search.ordered_choice import Choice, Order, alike

__all__ = ["build_choice", "choose_factors", "edges_of", "escape", "promising"]

N_ALIKE = 3
"""Candidates that stand for the same factor and are all kept: one may be mixed with another."""

MAX_NODES = 6_000_000
"""Numbers that the trees of a choice may hold in their first level, at 40 bytes each, and again
for every factor: where all variables go with all candidates, those that explain most are kept."""

LEAST_EACH = 4
"""Candidates per factor that are kept in any case."""

EQUAL = 1e-6
"""Nats up to which two scores count as equal: sums of many terms differ by their order."""


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
        moments = WeightedFeatureMoments(flat, problem.targets, problem.weights, problem.floor)
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

    Of candidates that are nearly one, those stay that explain most in all; and so do those of very
    many, each of which explains something of very many variables.
    """
    data = problem.data
    values = values_of(functions, data.x)
    gains = problem.explained_nats(values, problem.targets, problem.variable_family)
    parents = _parents(functions, data.n_variables)
    gains[~problem.admissible.children_for(parents)] = 0.0
    gains = np.maximum(gains - problem.penalty, 0.0)
    best = np.argsort(-gains, axis=1, kind="stable")[:, :n_each]
    useful = np.unique(best[np.take_along_axis(gains, best, axis=1) > 0])
    total = gains.sum(axis=0) - problem.penalty * parents.sum(axis=0)
    same = alike(values)
    kept: list[int] = []
    for c in useful[np.argsort(-total[useful], kind="stable")]:
        if same[c, kept].sum() < N_ALIKE:
            kept.append(int(c))
    n_nodes = np.cumsum((gains[:, kept] > 0).sum(axis=0)) * np.arange(1, len(kept) + 1)
    n_kept = max(int((n_nodes <= MAX_NODES).sum()), LEAST_EACH * problem.n_factors)
    return [functions[c] for c in sorted(kept[:n_kept])]


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
        other = ~choice.alike[current]
        allowed = frozenset(np.flatnonzero(other).tolist()) | (set(order) - {current})
        rest = tuple(c for c in order if c != current)
        better, changed = _climb(choice, len(order), rest, allowed)
        if better > best + EQUAL:
            best, chosen = better, changed
    return chosen


def edges_of(choice: Choice, order: Order) -> frozenset[bytes]:
    """The graph of a choice, whatever the order of its factors."""
    made = choice.made(choice.children(order))
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
