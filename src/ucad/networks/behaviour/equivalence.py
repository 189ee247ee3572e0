"""Equivalence by behaviour: settings after which a network decides alike in every context."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.cluster.hierarchy import fcluster, linkage

from ucad.networks.features import Feature, hybrid
from ucad.networks.subject import Subject

__all__ = [
    "MIN_GAP_DISTANCE",
    "N_CONTEXTS",
    "N_SETTINGS",
    "Classes",
    "Resolution",
    "Signatures",
    "block_signatures",
    "find_classes",
    "state_signatures",
]

MAX_DISTANCE = 0.10
"""Share of contexts in which two settings of one class may decide differently, on average: a
network that is right 19 times in 20 has pairs of equal settings that differ in one in ten."""

MIN_SHARE = 0.05
"""Share of the settings that a class must have; smaller ones are errors of the network, and their
settings go to the nearest class."""

MIN_GAP_DISTANCE = 0.02
"""Share of contexts from which on a gap between distances can separate classes: 4 of 200, since a
single context may lie at a threshold of the network."""

GAP = 5.0
"""Ratio of neighbouring heights of the tree that is a gap. Where settings act gradually, that is
where they lie on a line, halving them again and again gives ratios of about 2."""

MIN_CLEAR_SHARE = 0.02
"""As `MIN_SHARE`, where there is a gap: three settings in 150 that agree with each other and are
away from all others are no errors. In x₁ ∧ x₂ ∧ x₃ ∧ x₄ one setting in 16 is a class."""

N_SETTINGS, N_CONTEXTS = 150, 200
"""Settings that are clustered, and contexts that each is tried in: distances are then known to a
few hundredths, for 30,000 passes."""

Signatures = Int[np.ndarray, "settings contexts"]


class Resolution(StrEnum):
    """How settings are told apart.

    `FINE` cuts the tree of settings at the first gap between distances, if there is one: a network
    that makes no errors shows differences in one context of fifty. `COARSE` always cuts at
    `MAX_DISTANCE`, so that a network which is wrong about some settings has no class for them.
    """

    FINE = "fine"
    COARSE = "coarse"


class Classes(NamedTuple):
    """Classes of settings, each with its typical decisions over the contexts.

    Attributes:
        centres: one row per class, the largest first.
        shares: of the settings that were clustered.
        margin: mean distance between settings of different classes less the mean within classes;
            0 if there is one class.
        is_clear: whether a gap between distances separates them.
    """

    centres: Int[np.ndarray, "classes contexts"]
    shares: tuple[float, ...]
    margin: float
    is_clear: bool = False

    @property
    def n_classes(self) -> int:
        """How many."""
        return len(self.centres)

    @property
    def covered(self) -> float:
        """Share of the settings that are in one of the classes; the others are like no one else."""
        return sum(self.shares)

    def apart(self) -> Classes:
        """Those that differ from every larger one in more than two of the steps of the cuts.

        Settings at a threshold of the network form small classes between two others; settings that
        act gradually are cut into pieces that lie one step apart, so that few of them are left.
        """
        kept: list[int] = []
        for k, centre in enumerate(self.centres):
            far = (self.centres[kept] != centre).mean(axis=1) > 2 * MAX_DISTANCE
            if far.all():
                kept.append(k)
        return self._replace(centres=self.centres[kept], shares=tuple(self.shares[k] for k in kept))

    def labels(self, signatures: Signatures) -> Int[np.ndarray, " settings"]:
        """The nearest class of every setting."""
        return np.asarray(np.argmin(self._distances(signatures), axis=0))

    def are_typical(self, signatures: Signatures) -> Bool[np.ndarray, " settings"]:
        """Whether every setting decides as its class in nine contexts of ten.

        A value at a threshold of the network acts as one class in some contexts and as another in
        others: no variable with as many values as there are classes can stand for it.
        """
        return np.asarray(np.min(self._distances(signatures), axis=0) <= MAX_DISTANCE)

    def _distances(self, signatures: Signatures) -> Float[np.ndarray, "classes settings"]:
        return np.stack([(signatures != centre).mean(axis=1) for centre in self.centres])

    def telling(self, most: int) -> Int[np.ndarray, " some"]:
        """Contexts in which the classes decide differently, as many of every pair of classes."""
        pairs = list(combinations(range(self.n_classes), 2))
        each = -(-most // max(1, len(pairs)))
        some = [np.flatnonzero(self.centres[a] != self.centres[b])[:each] for a, b in pairs]
        return np.unique(np.concatenate([np.zeros(1, dtype=np.int64), *some]))

    def seen_in(self, contexts: Int[np.ndarray, " some"]) -> Classes:
        """The same classes by some of the contexts."""
        return self._replace(centres=self.centres[:, contexts])


def find_classes(signatures: Signatures, resolution: Resolution = Resolution.COARSE) -> Classes:
    """Clusters settings by the share of contexts in which decisions differ (average linkage).

    >>> found = find_classes(np.repeat([[0, 0, 1], [1, 0, 1]], [30, 20], axis=0))
    >>> found.n_classes, found.shares
    (2, (0.6, 0.4))
    """
    n = len(signatures)
    distance = np.stack([(signatures != one).mean(axis=1) for one in signatures])
    tree = linkage(distance[np.triu_indices(n, k=1)], method="average")
    cut, is_clear = _cut(tree[:, 2], resolution)
    label = fcluster(tree, t=cut, criterion="distance")
    names, counts = np.unique(label, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    least = MIN_CLEAR_SHARE if is_clear else MIN_SHARE
    kept = [k for k in order if counts[k] >= least * n] or [order[0]]
    centres = np.stack([_mode(signatures[label == names[k]]) for k in kept])
    same = label[:, None] == label
    margin = 0.0
    if not same.all():
        margin = float(distance[~same].mean() - distance[same].mean())
    return Classes(centres, tuple(float(counts[k] / n) for k in kept), margin, is_clear)


def _cut(heights: Float[np.ndarray, " merges"], resolution: Resolution) -> tuple[float, bool]:
    """Where the tree is cut, and whether there is a gap."""
    if resolution is Resolution.COARSE:
        return MAX_DISTANCE, False
    below = np.r_[0.0, heights[:-1]]
    gaps = np.flatnonzero(heights >= np.maximum(MIN_GAP_DISTANCE, GAP * below))
    if not len(gaps) or below[gaps[0]] > MAX_DISTANCE:
        return MAX_DISTANCE, False
    return min(MAX_DISTANCE, float(below[gaps[0]] + heights[gaps[0]]) / 2), True


def block_signatures(
    subject: Subject, block: Sequence[Feature], settings: np.ndarray, contexts: np.ndarray
) -> Signatures:
    """Decisions on hybrids: the features of a block from every setting, the rest from contexts."""

    def decide(base: np.ndarray, source: np.ndarray) -> np.ndarray:
        return subject.decisions(hybrid(subject.rows(base), subject.rows(source), block))

    return _crossed(decide, settings, contexts, subject.batch_size)


def state_signatures(
    subject: Subject, site: int, settings: np.ndarray, contexts: np.ndarray
) -> Signatures:
    """Decisions when a site's state is taken from every setting, on its way to the next site only.

    For a recurrent network these are Nerode's classes: prefixes of the input that no suffix tells
    apart.
    """
    values = subject.at(site).units(subject.rows(np.unique(settings)))[0]
    place = {int(row): k for k, row in enumerate(np.unique(settings))}

    def decide(base: np.ndarray, source: np.ndarray) -> np.ndarray:
        inputs = subject.rows(base)
        given = values[[place[int(row)] for row in source]]
        child = subject.edge_values(inputs, site, given)
        return subject.decisions(inputs, site + 1, child)

    return _crossed(decide, settings, contexts, subject.batch_size)


def _crossed(decide: object, settings: np.ndarray, contexts: np.ndarray, size: int) -> Signatures:
    """Decisions of every setting in every context, in portions of about one batch."""
    assert callable(decide)
    step = max(1, size // len(contexts))
    rows = []
    for start in range(0, len(settings), step):
        some = settings[start : start + step]
        base, source = np.tile(contexts, len(some)), np.repeat(some, len(contexts))
        rows.append(np.asarray(decide(base, source)).reshape(len(some), len(contexts)))
    return np.concatenate(rows).astype(np.int64)


def _mode(signatures: Signatures) -> Int[np.ndarray, " contexts"]:
    """The most frequent decision in every context."""
    found = []
    for column in signatures.T:
        values, counts = np.unique(column, return_counts=True)
        found.append(values[counts.argmax()])
    return np.array(found)
