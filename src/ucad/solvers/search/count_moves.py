"""Changes of a graph of counts, proposed by the working response and judged by the likelihood."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

from ucad.graph import boolean_product, transitive_closure
from ucad.scm.families.affine import Affine
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import unit_variance
from ucad.solvers.search.improve import tried
from ucad.solvers.search.model import Edit, Model, edited, polish, target_from_children
from ucad.solvers.search.pruning import prune

__all__ = ["count_moves"]

WITHIN = 0.25
"""Share of a parent's weight that may be left of it when one factor is taken out of another, for
the parent to count as one that is gone: weights of rare counts are known to a tenth or two."""

MIN_GONE = 2
"""Parents that must go: taking a factor out of another costs an edge to one child at least."""

MAX_NEW = 3
"""Further parents of a factor that are tried, one at a time, the most promising first."""


def count_moves(problem: Problem, model: Model, k: int) -> Iterator[Model]:
    """Models with a further parent of factor k, one less, or another factor taken out of it.

    Args:
        problem: with the working response around the model's own rates.
        model: of linear mechanisms.
        k: a factor with parents and children.
    """
    old, x = model.factors[k], problem.data.x
    assert isinstance(old, Affine)
    wider = [np.append(old.parents, i) for i in _further_parents(problem, model, k)]
    fewer = [np.delete(old.parents, at) for at in range(len(old.parents)) if len(old.parents) > 1]
    _, thorough = problem.efforts()
    for parents in [*wider, *fewer]:
        edit = Edit(model.R, {k: old.with_parents(np.sort(parents))})
        if problem.admissible.allows(edit.Q(model), edit.R):
            trial, touched = edited(problem, model, edit, thorough)
            trial = polish(problem, trial, thorough, 2)
            yield trial
            pruned = prune(problem, trial, thorough, only=touched)
            if pruned is not trial:
                yield pruned
    for other in np.flatnonzero(model.is_used):
        function = _taken_out(old, model.factors[other]) if other != k else None
        if function is not None:
            R = model.R.copy()
            R[:, other] |= R[:, k] & ~model.Q[:, other]
            apart = tried(problem, model, Edit(R, {k: unit_variance(function, x)}))
            if apart is not None:
                yield apart


def _further_parents(problem: Problem, model: Model, k: int) -> Int[np.ndarray, " variables"]:
    """The variables that gain most if factor k reads them, too: half of an edge's price or more.

    With t what the children say of z_k and w its precision, one more column x_i gains
    (Σ w x̃_i t)² / (2 Σ w x̃_i²) nats, where x̃_i is x_i less its regression on the parents.
    """
    said, x = target_from_children(problem, model, k), problem.data.x
    own = model.factors[k].parents
    below = transitive_closure(boolean_product(model.Q, model.R.T))
    possible = problem.admissible.parents_for(model.R)[:, k] & ~below[model.R[:, k]].any(axis=0)
    possible[own] = False
    new = np.flatnonzero(possible & ~model.R[:, k])
    root = np.sqrt(said.weights)
    design = np.column_stack([x[:, own], np.ones(len(x))]) * root[:, None]
    columns = np.column_stack([x[:, new], said.target]) * root[:, None]
    left = columns - design @ np.linalg.lstsq(design, columns, rcond=None)[0]
    rest = left[:, -1]
    nats = _gains(left[:, :-1], rest)
    best = np.argsort(-nats)[:MAX_NEW]
    return new[best[nats[best] > problem.penalty / 2]]


def _gains(
    columns: Float[np.ndarray, "samples columns"], rest: Float[np.ndarray, " samples"]
) -> Float[np.ndarray, " columns"]:
    """−N/2 log(1 − r²) of each column with what is left."""
    square = np.maximum((columns**2).sum(axis=0) * float(rest @ rest), 1e-300)
    share = np.clip((rest @ columns) ** 2 / square, 0.0, 1 - 1e-12)
    return np.asarray(-len(rest) / 2 * np.log1p(-share))


def _taken_out(function: Affine, other: object) -> Affine | None:
    """z_k − c z_l with the c at which most shared parents go; None if fewer than two do.

    A factor that was read off a child of both is z_k + c z_l, with the parents of both.
    """
    assert isinstance(other, Affine)
    shared, mine, theirs = np.intersect1d(function.parents, other.parents, return_indices=True)
    if len(shared) < MIN_GONE:
        return None
    own, taken = function.w[mine], other.w[theirs]
    ratios = own / np.where(taken == 0, np.inf, taken)
    gone = np.abs(own - ratios[:, None] * taken) <= WITHIN * np.abs(own)
    best = gone[int(np.argmax(gone.sum(axis=1)))]
    if best.sum() < MIN_GONE:
        return None
    c = float(own[best] @ taken[best] / (taken[best] @ taken[best]))
    both = np.union1d(function.parents, other.parents)
    w = function.with_parents(both).w - c * other.with_parents(both).w
    kept = ~np.isin(both, shared[best])
    return Affine(both[kept], w[kept], function.b - c * other.b) if kept.any() else None
