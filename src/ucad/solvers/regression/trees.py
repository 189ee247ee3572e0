"""Grow–shrink trees: every forward selection of a target, each step of which is made only once.

Which features are selected depends on what is allowed only through what is picked on the way. So
the selections of a target from all sets of features it may be offered form a tree: a node is what
was picked so far, its features ranked by what each would gain next, and a set of features walks
from the root to the first of the ranking that it holds, until none is worth its price (as in BOSS,
Andrews et al. 2023). A walk costs a look-up per pick; only new nodes cost a regression.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad.solvers.regression.stepwise import COLLINEAR, Problems, Selection, blurred, shrink

__all__ = ["GrowShrinkTrees", "TargetMoments", "Walk"]

AT_ONCE = 2**21
"""Numbers in one block of walks: 16 MiB in double precision."""


@runtime_checkable
class TargetMoments(Protocol):
    """The second moments of features, and of every target with them, as each target sees them."""

    @property
    def n_samples(self) -> Float[np.ndarray, " targets"]:
        """N_j, the samples in which a target is free."""
        ...

    @property
    def variance(self) -> Float[np.ndarray, "targets features"]:
        """Of every feature over those samples."""
        ...

    @property
    def cross(self) -> Float[np.ndarray, "targets features"]:
        """The covariance of every feature with the target."""
        ...

    @property
    def own(self) -> Float[np.ndarray, " targets"]:
        """The variance of the target, with the floor."""
        ...

    def columns(
        self, which: Int[np.ndarray, " some"], features: Int[np.ndarray, " some"]
    ) -> Float[np.ndarray, "some features"]:
        """The covariances of one feature with all others, each for one target."""
        ...


class Walk(NamedTuple):
    """Where sets of features end, and what they passed by.

    Attributes:
        nodes: the last node of every walk.
        passed: pairs (walk, feature) of features ranked above what was picked, or at the end above
            the price: only these would change the selection if they were allowed as well.
    """

    nodes: Int[np.ndarray, " walks"]
    passed: Int[np.ndarray, "pairs two"]


class GrowShrinkTrees:
    """One tree per target, grown where walks need it.

    score(j, S) = −N_j/2 · log(residual) − penalty · #selected

    Args:
        moments: of the features with every target.
        penalty: the price of a feature, in nats.
        blur: the noise with which features are thought to be measured when they are scored.
        width: how many features in a row are allowed or not together: functions of one candidate.
    """

    def __init__(
        self, moments: TargetMoments, penalty: float, *, blur: float = 0.0, width: int = 1
    ) -> None:
        """Makes the roots: nothing picked."""
        self.moments, self.penalty, self.blur, self.width = moments, penalty, blur, width
        n_targets, self.n_features = moments.variance.shape
        self.size = n_targets
        self._parts: dict[str, np.ndarray] = {
            "target": np.arange(n_targets),
            "parent": np.full(n_targets, -1),
            "picked": np.full(n_targets, -1),
            "depth": np.zeros(n_targets, dtype=np.int64),
            "variance": moments.variance.copy(),
            "cross": moments.cross.copy(),
            "left": moments.own.copy(),
            "row": np.zeros((n_targets, 0)),
            "ranking": np.full((n_targets, 1), -1),
            "child": np.full((n_targets, 1), -1),
            "n_ranked": np.zeros(n_targets, dtype=np.int64),
            "score": np.full(n_targets, np.nan),
        }
        self._parts["row"] = np.zeros((n_targets, self.n_features))
        self._rank(np.arange(n_targets))

    def __getattr__(self, name: str) -> np.ndarray:
        """A field of all nodes."""
        try:
            return self.__dict__["_parts"][name]
        except KeyError as error:
            raise AttributeError(name) from error

    def first_choices(self) -> Bool[np.ndarray, "targets features"]:
        """Which features are worth their price to a target, each alone."""
        n_targets = len(self.moments.own)
        worth = np.zeros((n_targets, self.n_features + 1), dtype=bool)
        worth[np.arange(n_targets)[:, None], self.ranking[:n_targets]] = True
        return worth[:, :-1]

    def scores(
        self, which: Int[np.ndarray, " walks"], allowed: Bool[np.ndarray, "walks candidates"]
    ) -> Float[np.ndarray, " walks"]:
        """The score of target `which[b]` given the candidates `allowed[b]`."""
        return self.score_of(self.walk(which, allowed).nodes)

    def walk(
        self,
        which: Int[np.ndarray, " walks"],
        allowed: Bool[np.ndarray, "walks candidates"],
        *,
        trace: bool = False,
    ) -> Walk:
        """Walks from the roots of some targets; with `trace`, tells what was passed by."""
        nodes, passed = which.copy(), [np.zeros((0, 2), dtype=np.int64)]
        deepest = max(int(self.n_ranked[: self.size].max(initial=0)), 1)
        for some in _blocks(len(which), deepest):
            active = np.arange(some.start, min(some.stop, len(which)))
            while len(active):
                at = nodes[active]
                n_ranked = self.n_ranked[at]
                ranking = self.ranking[at][:, : int(n_ranked.max(initial=0))]
                there = ranking >= 0
                may = there & allowed[active[:, None], ranking // self.width]
                found = may.any(axis=1)
                first = np.where(found, may.argmax(axis=1) if may.size else 0, n_ranked)
                if trace:
                    above = there & (np.arange(ranking.shape[1]) < first[:, None])
                    walk, place = np.nonzero(above)
                    passed.append(np.stack([active[walk], ranking[walk, place]], axis=1))
                active = active[found]
                nodes[active] = self._children(at[found], first[found])
        return Walk(nodes, np.concatenate(passed))

    def score_of(self, nodes: Int[np.ndarray, " walks"]) -> Float[np.ndarray, " walks"]:
        """The scores of what some nodes keep."""
        new = np.unique(nodes[np.isnan(self.score[nodes])])
        for some, found in self._kept(new):
            self.score[some] = found.score
        scores: Float[np.ndarray, " walks"] = self.score[nodes]
        return scores

    def select(
        self, which: Int[np.ndarray, " walks"], allowed: Bool[np.ndarray, "walks candidates"]
    ) -> Selection:
        """Which features target `which[b]` selects of the candidates `allowed[b]`, and how."""
        nodes = self.walk(which, allowed).nodes
        shape = (len(which), self.n_features)
        chosen = Selection(
            np.zeros(shape, dtype=bool), np.zeros(shape), self.left[nodes], self.score_of(nodes)
        )
        for some, found in self._kept(np.unique(nodes)):
            picks = self._picks(some)
            at = np.searchsorted(some, nodes)
            rows = np.flatnonzero((at < len(some)) & (some[np.minimum(at, len(some) - 1)] == nodes))
            at = at[rows]
            chosen.selected[rows[:, None], picks[at]] = found.selected[at]
            chosen.coefficients[rows[:, None], picks[at]] = found.coefficients[at]
            chosen.residual[rows] = found.residual[at]
        return chosen

    def _kept(
        self, nodes: Int[np.ndarray, " some"]
    ) -> Iterator[tuple[Int[np.ndarray, " same"], Selection]]:
        """What is left of the picks of some nodes after shrinking, depth by depth."""
        for depth in np.unique(self.depth[nodes]).tolist():
            some = nodes[self.depth[nodes] == depth]
            picks, target = self._picks(some), self.target[some]
            rows, at = [], some
            for _ in range(depth):
                rows.append(np.take_along_axis(self.row[at], picks, axis=1))
                at = self.parent[at]
            gram = np.zeros((len(some), depth + 1, depth + 1))
            if depth:
                lower = np.stack(rows, axis=1)
                gram[:, :depth, :depth] = np.einsum("bsi,bsj->bij", lower, lower)
                to = np.take_along_axis(self.moments.cross[target], picks, axis=1)
                gram[:, :depth, depth] = gram[:, depth, :depth] = to
            gram[:, depth, depth] = self.moments.own[target]
            everything = np.ones((len(some), depth), dtype=bool)
            own = np.arange(len(some))
            problems = Problems(gram, self.moments.n_samples[target], own, everything)
            picked = np.tile(np.arange(depth), (len(some), 1))
            yield some, blurred(problems, shrink(problems, self.penalty, picked), self.blur)

    def _picks(self, nodes: Int[np.ndarray, " same"]) -> Int[np.ndarray, "same depth"]:
        """What nodes of one depth have picked, the last first."""
        picks, at = [], nodes
        for _ in range(int(self.depth[nodes[0]])):
            picks.append(self.picked[at])
            at = self.parent[at]
        return np.stack(picks, axis=1) if picks else np.zeros((len(nodes), 0), dtype=np.int64)

    def _children(
        self, nodes: Int[np.ndarray, " some"], places: Int[np.ndarray, " some"]
    ) -> Int[np.ndarray, " some"]:
        """The nodes after picking the feature at a place of each ranking, made where missing."""
        if not len(nodes):
            return nodes
        missing = self.child[nodes, places] < 0
        if missing.any():
            key = np.unique(nodes[missing] * self.child.shape[1] + places[missing])
            self._make(*np.divmod(key, self.child.shape[1]))
        children: Int[np.ndarray, " some"] = self.child[nodes, places]
        return children

    def _make(self, nodes: Int[np.ndarray, " new"], places: Int[np.ndarray, " new"]) -> None:
        """One column of a pivoted Cholesky factorisation for each new node."""
        feature, target = self.ranking[nodes, places], self.target[nodes]
        this, column, at = np.arange(len(nodes)), self.moments.columns(target, feature), nodes
        for _ in range(int(self.depth[nodes].max())):
            column = column - self.row[at, feature][:, None] * self.row[at]
            at = np.where(self.parent[at] < 0, at, self.parent[at])
        pivot = np.sqrt(np.maximum(column[this, feature], COLLINEAR))
        row, to = column / pivot[:, None], self.cross[nodes, feature] / pivot
        variance = self.variance[nodes] - row**2
        variance[this, feature] = 0.0
        self._append(
            target=target,
            parent=nodes,
            picked=feature,
            depth=self.depth[nodes] + 1,
            variance=variance,
            cross=self.cross[nodes] - row * to[:, None],
            left=self.left[nodes] - to**2,
            row=row,
        )
        new = np.arange(self.size - len(nodes), self.size)
        self.child[nodes, places] = new
        self._rank(new)

    def _append(self, **new: np.ndarray) -> None:
        n_new = len(new["target"])
        needed, there = self.size + n_new, len(self.target)
        if needed > there:
            more = max(needed - there, there)
            for name, part in self._parts.items():
                empty = np.full((more, *part.shape[1:]), np.nan if name == "score" else 0)
                self._parts[name] = np.concatenate([part, empty.astype(part.dtype)])
        for name in ("ranking", "child"):
            self._parts[name][self.size : needed] = -1
        for name, part in new.items():
            self._parts[name][self.size : needed] = part
        self.size = needed

    def _rank(self, nodes: Int[np.ndarray, " new"]) -> None:
        """Orders the features worth their price by what each explains of what is left."""
        variance, target = self.variance[nodes], self.target[nodes]
        share = self.cross[nodes] ** 2
        share /= np.maximum(variance, COLLINEAR) * self.left[nodes][:, None]
        share[variance <= COLLINEAR * self.moments.variance[target]] = 0.0
        half = self.moments.n_samples[target][:, None] / 2
        worth = -half * np.log1p(-np.clip(share, 0.0, 1 - 1e-12)) > self.penalty
        count = worth.sum(axis=1)
        widest, there = int(count.max(initial=0)), self.ranking.shape[1]
        if widest > there:
            for name in ("ranking", "child"):
                wider = np.full((len(self._parts[name]), widest), -1)
                wider[:, :there] = self._parts[name]
                self._parts[name] = wider
        order = np.argsort(np.where(worth, -share, np.inf), axis=1, kind="stable")[:, :widest]
        order[np.arange(widest) >= count[:, None]] = -1
        self.ranking[nodes, :widest] = order
        self.n_ranked[nodes] = count


def _blocks(n_walks: int, width: int) -> Iterator[slice]:
    size = max(1, AT_ONCE // width)
    return (slice(start, start + size) for start in range(0, n_walks, size))
