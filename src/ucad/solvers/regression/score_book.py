"""The best score of a target given the candidates it may use, each looked up once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64

from ucad.solvers.regression.moments import LocalMoments
from ucad.solvers.regression.stepwise import Problems, blurred, select_features, shrink
from ucad.solvers.regression.trees import GrowShrinkTrees

__all__ = ["ScoreBook"]

BATCH = 4096
"""Eliminations per batch: some 130 MiB of inverse matrices at 64 features."""


@dataclass(frozen=True, eq=False)
class ScoreBook:
    """Scores of targets, by forward selection and, with noise, by elimination: the better one.

    A set of candidates is known by the sum of random 64-bit tokens, one per candidate and one per
    target: two of a million sets have the same sum with a probability below 1e-7.

    Attributes:
        moments: the candidates of every target and their moments.
        penalty: the price of a feature.
        blur: the noise with which features are thought to be measured.
        backward: whether features are also selected by elimination from the full set.
    """

    moments: LocalMoments
    penalty: float
    blur: float = 0.0
    backward: bool = False
    known: dict[int, float] = field(default_factory=dict)

    @cached_property
    def trees(self) -> GrowShrinkTrees:
        """All forward selections."""
        return GrowShrinkTrees(self.moments, self.penalty, blur=self.blur)

    @cached_property
    def tokens(self) -> UInt64[np.ndarray, " both"]:
        """Of every candidate, then of every target."""
        n_targets, size = self.moments.gram.shape[:2]
        return np.random.default_rng(0).integers(2**64, size=size + n_targets, dtype=np.uint64)

    def scores(
        self, which: Int[np.ndarray, " problems"], allowed: Bool[np.ndarray, "problems k"]
    ) -> Float[np.ndarray, " problems"]:
        """Returns the score of target `which[b]` given the candidates `allowed[b]`."""
        found = self.trees.scores(which, allowed)
        return np.maximum(found, self._eliminated(which, allowed)) if self.backward else found

    def selected(self) -> Bool[np.ndarray, "targets k"]:
        """What every target selects of all its candidates."""
        found = np.zeros(self.moments.exists.shape, dtype=bool)
        for some in np.array_split(np.arange(len(found)), -(-len(found) // BATCH)):
            problems = Problems(
                self.moments.gram, self.moments.n_samples, some, self.moments.exists[some]
            )
            both = select_features(problems, self.penalty, backward=self.backward, blur=self.blur)
            found[some] = both.selected
        return found

    def _eliminated(
        self, which: Int[np.ndarray, " problems"], allowed: Bool[np.ndarray, "problems k"]
    ) -> Float[np.ndarray, " problems"]:
        k = allowed.shape[1]
        keys = self.tokens[k + which] + allowed @ self.tokens[:k]
        names = keys.tolist()
        first = {key: at for at, key in enumerate(names) if key not in self.known}
        new = np.array(sorted(first.values(), key=lambda at: allowed[at].sum()), dtype=np.int64)
        for some in np.array_split(new, -(-len(new) // BATCH)) if len(new) else []:
            scores = self._elimination(which[some], allowed[some]).tolist()
            self.known.update(zip((names[at] for at in some), scores, strict=True))
        return np.array([self.known[key] for key in names])

    def _elimination(
        self, which: Int[np.ndarray, " problems"], allowed: Bool[np.ndarray, "problems k"]
    ) -> Float[np.ndarray, " problems"]:
        """Elimination from all that is allowed; the moments of no more than that are copied."""
        most = int(allowed.sum(axis=1).max(initial=0))
        order = np.argsort(~allowed, axis=1, kind="stable")[:, :most]
        picked = np.where(np.take_along_axis(allowed, order, axis=1), order, -1)
        problems = Problems(self.moments.gram, self.moments.n_samples, which, allowed)
        return blurred(problems, shrink(problems, self.penalty, picked), self.blur).score
