"""Which features predict a target: stepwise selection by BIC, many regressions in lock-step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64

from ucad.solvers.regression.moments import LocalMoments

__all__ = ["Problems", "ScoreBook", "Selection", "select_features"]

COLLINEAR = 1e-9
"""Share of a feature's variance below which the features before it explain all of it."""

BATCH = 4096
"""Regressions per batch: some 100 MiB of intermediate arrays at 50 features."""


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
    found = _blurred(problems, _shrink(problems, penalty, _grow(problems, penalty)), blur)
    if not backward:
        return found
    k = problems.allowed.shape[1]
    everything = np.where(problems.allowed, np.arange(k), -1)
    other = _blurred(problems, _shrink(problems, penalty, everything), blur)
    better = other.score > found.score
    return Selection(
        *(
            np.where(better.reshape(-1, *[1] * (new.ndim - 1)), new, old)
            for new, old in zip(other, found, strict=True)
        )
    )


def _blurred(problems: Problems, found: Selection, blur: float) -> Selection:
    if not blur:
        return found
    blurred = found.residual + blur * (found.coefficients**2).sum(axis=1)
    half = problems.n_samples[problems.which] / 2
    return found._replace(score=found.score - half * np.log(blurred / found.residual))


@dataclass(frozen=True, eq=False)
class ScoreBook:
    """The best score of a target given the candidates it may use, each looked up once.

    A set of candidates is known by the sum of random 64-bit tokens, one per candidate and one per
    target: two of a million sets have the same sum with a probability below 1e-7.

    Attributes:
        moments: the candidates of every target and their moments.
        penalty: the price of a feature.
        blur: the noise with which features are thought to be measured.
        width: how many features in a row are allowed or not together: functions of one candidate.
        backward: whether features are also selected by elimination from the full set.
    """

    moments: LocalMoments
    penalty: float
    blur: float = 0.0
    width: int = 1
    backward: bool = False
    known: dict[int, float] = field(default_factory=dict)

    @cached_property
    def tokens(self) -> UInt64[np.ndarray, " both"]:
        """Of every candidate, then of every target."""
        n_targets, size = self.moments.gram.shape[:2]
        both = (size - 1) // self.width + n_targets
        return np.random.default_rng(0).integers(2**64, size=both, dtype=np.uint64)

    def scores(
        self, which: Int[np.ndarray, " problems"], allowed: Bool[np.ndarray, "problems candidates"]
    ) -> Float[np.ndarray, " problems"]:
        """Returns the score of target `which[b]` given the candidates `allowed[b]`."""
        keys = self.tokens[allowed.shape[1] + which] + allowed @ self.tokens[: allowed.shape[1]]
        return self._look_up(keys, lambda rows: self.select(which[rows], allowed[rows]))

    def scores_among(
        self,
        which: Int[np.ndarray, " problems"],
        few: Int[np.ndarray, "problems few"],
        allowed: Bool[np.ndarray, "problems few"],
    ) -> Float[np.ndarray, " problems"]:
        """The same where target `which[b]` may use those of the candidates `few[b]` allowed it."""
        n_candidates = len(self.tokens) - len(self.moments.gram)
        tokens = np.where(allowed, self.tokens[few], np.uint64(0))
        keys = self.tokens[n_candidates + which] + tokens.sum(axis=1, dtype=np.uint64)

        def select(rows: Int[np.ndarray, " some"]) -> Selection:
            first = np.argsort(~allowed[rows], axis=1, kind="stable")
            first = first[:, : int(allowed[rows].sum(axis=1).max(initial=0))]
            some, may = (np.take_along_axis(part[rows], first, axis=1) for part in (few, allowed))
            columns = some[:, :, None] * self.width + np.arange(self.width)
            columns = columns.reshape(len(rows), -1)
            return self._among(which[rows], columns, np.repeat(may, self.width, axis=1))

        return self._look_up(keys, select)

    def select(
        self, which: Int[np.ndarray, " problems"], allowed: Bool[np.ndarray, "problems candidates"]
    ) -> Selection:
        """Returns what is chosen, besides the score."""
        allowed = np.repeat(allowed, self.width, axis=1)
        k = allowed.shape[1]
        most = int(allowed.sum(axis=1).max(initial=0))
        if 2 * most > k:
            problems = Problems(self.moments.gram, self.moments.n_samples, which, allowed)
            return self._chosen(problems)
        narrow = np.argsort(~allowed, axis=1, kind="stable")[:, :most]
        found = self._among(which, narrow, np.take_along_axis(allowed, narrow, axis=1))
        wide = Selection(np.zeros(allowed.shape, dtype=bool), np.zeros(allowed.shape), *found[2:])
        np.put_along_axis(wide.selected, narrow, found.selected, axis=1)
        np.put_along_axis(wide.coefficients, narrow, found.coefficients, axis=1)
        return wide

    def _among(
        self,
        which: Int[np.ndarray, " problems"],
        features: Int[np.ndarray, "problems few"],
        allowed: Bool[np.ndarray, "problems few"],
    ) -> Selection:
        """The selection among a few features of each problem, with their moments taken out."""
        last = np.full((len(which), 1), self.moments.gram.shape[1] - 1)
        columns = np.concatenate([features, last], axis=1)
        gram = self.moments.gram[which[:, None, None], columns[:, :, None], columns[:, None, :]]
        own = np.arange(len(which))
        problems = Problems(gram, self.moments.n_samples[which], own, allowed)
        return self._chosen(problems)

    def _chosen(self, problems: Problems) -> Selection:
        return select_features(problems, self.penalty, backward=self.backward, blur=self.blur)

    def _look_up(
        self,
        keys: UInt64[np.ndarray, " problems"],
        select: Callable[[Int[np.ndarray, " some"]], Selection],
    ) -> Float[np.ndarray, " problems"]:
        distinct, first, back = np.unique(keys, return_index=True, return_inverse=True)
        names = distinct.tolist()
        new = np.array([at for at, key in enumerate(names) if key not in self.known], dtype=int)
        for some in np.array_split(new, -(-len(new) // BATCH)) if len(new) else []:
            scores = select(first[some]).score.tolist()
            self.known.update(zip(distinct[some].tolist(), scores, strict=True))
        found: Float[np.ndarray, " problems"] = np.array([self.known[key] for key in names])[back]
        return found


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


def _shrink(problems: Problems, penalty: float, picked: Int[np.ndarray, "problems p"]) -> Selection:
    """Backward elimination by downdating the inverse Gram matrix of what was picked."""
    n_problems, k = problems.allowed.shape
    size = picked.shape[1]
    present, this = picked >= 0, np.arange(n_problems)
    half = problems.n_samples[problems.which] / 2
    index = np.where(present, picked, k)
    which = problems.which
    gram = problems.gram[which[:, None, None], index[:, :, None], index[:, None, :]]
    pair = present[:, :, None] & present[:, None, :]
    inverse = np.linalg.inv(np.where(pair, gram, np.eye(size)))
    to_target = np.where(present, problems.gram[which[:, None], index, k], 0.0)
    beta = np.einsum("bpq,bq->bp", inverse, to_target)
    residual = problems.gram[which, k, k] - (beta * to_target).sum(axis=1)
    for _ in range(size):
        spare = np.diagonal(inverse, axis1=1, axis2=2)
        price = half[:, None] * np.log1p(beta**2 / (spare * residual[:, None]))
        price = np.where(present, price, np.inf)
        worst = np.argmin(price, axis=1)
        drop = price[this, worst] < penalty
        if not drop.any():
            break
        at, out = this[drop], worst[drop]
        column, pivot, lost = inverse[at, :, out], inverse[at, out, out], beta[at, out]
        residual[at] += lost**2 / pivot
        beta[at] -= column * (lost / pivot)[:, None]
        inverse[at] -= column[:, :, None] * column[:, None, :] / pivot[:, None, None]
        inverse[at, out, out] = 1.0
        present[at, out] = False
        beta[at, out] = 0.0
    return _selection(problems, picked, present, beta, residual, penalty)


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
