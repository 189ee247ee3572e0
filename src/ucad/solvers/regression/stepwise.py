"""Which features predict a target: stepwise selection by BIC, many regressions in lock-step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

__all__ = ["COLLINEAR", "Problems", "Selection", "blurred", "select_features", "shrink"]

MIN_PACKED = 8
"""Columns below which packing costs more than it saves."""

COLLINEAR = 1e-9
"""Share of a feature's variance below which the features before it explain all of it."""


class Problems(NamedTuple):
    """Many regressions, each over the moments of one target.

    Attributes:
        gram: the moments, the target's being the last row and column of each.
        n_samples: how many samples each of the moments stands for.
        which: for every problem, the row of `gram` it looks at.
        allowed: for every problem, the features that may be used.
    """

    gram: Float[np.ndarray, "targets k+1 k+1"]
    n_samples: Float[np.ndarray, " targets"]
    which: Int[np.ndarray, " problems"]
    allowed: Bool[np.ndarray, "problems k"]


class Selection(NamedTuple):
    """The features chosen, their coefficients, and how well they do.

    Attributes:
        selected: which features are used.
        coefficients: their least-squares coefficients, 0 elsewhere.
        residual: the variance left.
        score: −N/2 · log(residual) − penalty · number of features; higher is better.
    """

    selected: Bool[np.ndarray, "problems k"]
    coefficients: Float[np.ndarray, "problems k"]
    residual: Float[np.ndarray, " problems"]
    score: Float[np.ndarray, " problems"]


def select_features(
    problems: Problems, penalty: float, *, backward: bool = True, blur: float = 0.0
) -> Selection:
    """The better of forward selection (grow, then shrink) and backward elimination.

    Growing takes siblings for parents: the best single predictor of a noisy child is a sibling,
    and once siblings are in, one true parent alone gains next to nothing. Eliminating from the
    full set does not, since the Markov blanket of a leaf is its parent set. Without noise the full
    set is collinear, so `backward` can be left out.

    With a blur, what is chosen is scored as if every feature were measured with noise of that
    variance, residual + blur · ‖β‖²: a deterministic relation then has a price in every direction
    in which it can be solved.

    All problems advance together: one step is one column of a pivoted Cholesky factorisation in
    each. Forward O(k p²) per problem with p features chosen, backward O(k³).

    >>> gram = np.array([[[1.0, 0.0, 0.8], [0.0, 1.0, 0.1], [0.8, 0.1, 1.0]]])
    >>> one = Problems(gram, np.array([100.0]), np.array([0]), np.ones((1, 2), dtype=bool))
    >>> select_features(one, penalty=3.0).selected
    array([[ True, False]])
    """
    found = blurred(problems, shrink(problems, penalty, _grow(problems, penalty)), blur)
    if not backward:
        return found
    k = problems.allowed.shape[1]
    everything = np.where(problems.allowed, np.arange(k), -1)
    other = blurred(problems, shrink(problems, penalty, everything), blur)
    better = other.score > found.score
    return Selection(
        *(
            np.where(better.reshape(-1, *[1] * (new.ndim - 1)), new, old)
            for new, old in zip(other, found, strict=True)
        )
    )


def blurred(problems: Problems, found: Selection, blur: float) -> Selection:
    """The same selection, scored as if its features were measured with noise."""
    if not blur:
        return found
    blurred = found.residual + blur * (found.coefficients**2).sum(axis=1)
    half = problems.n_samples[problems.which] / 2
    return found._replace(score=found.score - half * np.log(blurred / found.residual))


def _grow(problems: Problems, penalty: float) -> Int[np.ndarray, "problems p"]:
    """Forward selection; returns the chosen features in order, −1 where a problem had finished."""
    n_problems, k = problems.allowed.shape
    picked = np.full((n_problems, k), -1, dtype=np.int64)
    alive = np.arange(n_problems)
    which, free = problems.which, problems.allowed
    half = problems.n_samples[which] / 2
    diagonal = problems.gram[:, np.arange(k + 1), np.arange(k + 1)][which]
    variance, cross = diagonal.copy(), problems.gram[which, k]
    rows = np.zeros((n_problems, 0, k + 1))
    for step in range(k):
        share = cross[:, :k] ** 2 / (np.maximum(variance[:, :k], COLLINEAR) * variance[:, k:])
        share = np.where(free & (variance[:, :k] > COLLINEAR * diagonal[:, :k]), share, -1.0)
        best = np.argmax(share, axis=1)
        top = np.take_along_axis(share, best[:, None], axis=1)[:, 0]
        gain = -half * np.log1p(-np.clip(top, 0.0, 1 - 1e-12))
        keep = (top >= 0) & (gain > penalty)
        if not keep.any():
            return picked[:, :step]
        alive, which, best, half = alive[keep], which[keep], best[keep], half[keep]
        picked[alive, step] = best
        free, diagonal, variance, cross, rows = (
            part[keep] for part in (free, diagonal, variance, cross, rows)
        )
        this = np.arange(len(alive))
        column = problems.gram[which, best]
        column = column - np.einsum("bs,bsk->bk", rows[this, :, best], rows)
        row = column / np.sqrt(np.maximum(column[this, best], COLLINEAR))[:, None]
        rows = np.concatenate([rows, row[:, None]], axis=1)
        variance = variance - row**2
        cross = cross - row * row[:, k:]
        free = free.copy()
        free[this, best] = False
    return picked


def shrink(problems: Problems, penalty: float, picked: Int[np.ndarray, "problems p"]) -> Selection:
    """Backward elimination by downdating the inverse Gram matrix of what was picked."""
    pack = _Pack.of(problems, picked)
    present, beta = np.zeros(picked.shape, dtype=bool), np.zeros(picked.shape)
    residual = pack.residual.copy()
    while True:
        dropped = pack.drop_worst(penalty)
        n_left = int(pack.present.sum(axis=1).max(initial=0))
        is_wide = 2 * n_left <= pack.present.shape[1] > MIN_PACKED
        if len(dropped) and not (is_wide or 2 * len(dropped) <= len(pack.row)):
            continue
        present[pack.row] = False
        present[pack.row[:, None], pack.place] = pack.present
        beta[pack.row[:, None], pack.place] = pack.beta
        residual[pack.row] = pack.residual
        if not len(dropped):
            return _selection(problems, picked, present, beta, residual, penalty)
        pack = pack.packed(dropped, n_left)


@dataclass(eq=False)
class _Pack:
    """Eliminations that go on, with no more columns than some of them still need.

    Attributes:
        row: which problem each is.
        place: which of its picks each column is.
        half: half of its samples.
        present: which columns are left.
        inverse: the inverse Gram matrix of those; 1 on the diagonal of others.
        beta: their coefficients, 0 elsewhere.
        residual: the variance left.
    """

    row: Int[np.ndarray, " b"]
    place: Int[np.ndarray, "b p"]
    half: Float[np.ndarray, " b"]
    present: Bool[np.ndarray, "b p"]
    inverse: Float[np.ndarray, "b p p"]
    beta: Float[np.ndarray, "b p"]
    residual: Float[np.ndarray, " b"]

    @classmethod
    def of(cls, problems: Problems, picked: Int[np.ndarray, "problems p"]) -> _Pack:
        k, which, present = problems.allowed.shape[1], problems.which, picked >= 0
        index = np.where(present, picked, k)
        gram = problems.gram[which[:, None, None], index[:, :, None], index[:, None, :]]
        pair = present[:, :, None] & present[:, None, :]
        inverse = np.linalg.inv(np.where(pair, gram, np.eye(picked.shape[1])))
        to_target = np.where(present, problems.gram[which[:, None], index, k], 0.0)
        beta = np.einsum("bpq,bq->bp", inverse, to_target)
        residual = problems.gram[which, k, k] - (beta * to_target).sum(axis=1)
        row, half = np.arange(len(which)), problems.n_samples[which] / 2
        place = np.tile(np.arange(picked.shape[1]), (len(which), 1))
        return cls(row, place, half, present, inverse, beta, residual)

    def drop_worst(self, penalty: float) -> Int[np.ndarray, " dropped"]:
        """Takes the cheapest feature out of every problem in which it is not worth its price."""
        if not self.present.shape[1]:
            return np.zeros(0, dtype=np.int64)
        spare = np.diagonal(self.inverse, axis1=1, axis2=2)
        share = np.where(self.present, self.beta**2 / (spare * self.residual[:, None]), np.inf)
        worst = np.argmin(share, axis=1)
        lowest = np.take_along_axis(share, worst[:, None], axis=1)[:, 0]
        with np.errstate(invalid="ignore"):  # nothing is dropped where noise taken off leaves < 0
            at = np.flatnonzero(self.half * np.log1p(lowest) < penalty)
        out = worst[at]
        column, pivot = self.inverse[at, :, out], self.inverse[at, out, out]
        lost = self.beta[at, out]
        self.residual[at] += lost**2 / pivot
        self.beta[at] -= column * (lost / pivot)[:, None]
        self.inverse[at] -= column[:, :, None] * (column / pivot[:, None])[:, None, :]
        self.inverse[at, out, out] = 1.0
        self.present[at, out] = False
        self.beta[at, out] = 0.0
        return at

    def packed(self, at: Int[np.ndarray, " some"], n_left: int) -> _Pack:
        """Some of the problems, with the columns that are left."""
        order = np.argsort(~self.present[at], axis=1, kind="stable")[:, :n_left]
        rows = at[:, None]
        return _Pack(
            self.row[at],
            self.place[rows, order],
            self.half[at],
            self.present[rows, order],
            self.inverse[at[:, None, None], order[:, :, None], order[:, None, :]],
            self.beta[rows, order],
            self.residual[at],
        )


def _selection(
    problems: Problems,
    picked: Int[np.ndarray, "problems p"],
    present: Bool[np.ndarray, "problems p"],
    beta: Float[np.ndarray, "problems p"],
    residual: Float[np.ndarray, " problems"],
    penalty: float,
) -> Selection:
    selected = np.zeros(problems.allowed.shape, dtype=bool)
    coefficients = np.zeros(problems.allowed.shape)
    rows, columns = np.nonzero(present)
    selected[rows, picked[rows, columns]] = True
    coefficients[rows, picked[rows, columns]] = beta[rows, columns]
    residual = np.maximum(residual, COLLINEAR)
    half = problems.n_samples[problems.which] / 2
    score = -half * np.log(residual) - penalty * selected.sum(axis=1)
    return Selection(selected, coefficients, residual, score)
