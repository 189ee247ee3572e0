"""Equivalence by behaviour: settings after which a network decides alike in every context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int
from scipy.cluster.hierarchy import fcluster, linkage

from ucad.networks.features import Feature, hybrid
from ucad.networks.subject import Subject

__all__ = ["Classes", "block_signatures", "find_classes", "state_signatures"]

MAX_DISTANCE = 0.10
"""Share of contexts in which two settings of one class may decide differently, on average: a
network that is right 19 times in 20 has pairs of equal settings that differ in one in ten."""

MIN_SHARE = 0.05
"""Share of the settings that a class must have; smaller ones are errors of the network, and their
settings go to the nearest class."""

N_SETTINGS, N_CONTEXTS = 150, 200
"""Settings that are clustered, and contexts that each is tried in: distances are then known to a
few hundredths, for 30,000 passes."""

Signatures = Int[np.ndarray, "settings contexts"]


class Classes(NamedTuple):
    """Classes of settings, each with its typical decisions over the contexts.

    Attributes:
        centres: one row per class, the largest first.
        shares: of the settings that were clustered.
        margin: mean distance between settings of different classes less the mean within classes;
            0 if there is one class.
    """

    centres: Int[np.ndarray, "classes contexts"]
    shares: tuple[float, ...]
    margin: float

    @property
    def n_classes(self) -> int:
        """How many."""
        return len(self.centres)

    def labels(self, signatures: Signatures) -> Int[np.ndarray, " settings"]:
        """The nearest class of every setting."""
        away = [(signatures != centre).mean(axis=1) for centre in self.centres]
        return np.asarray(np.argmin(away, axis=0))


def find_classes(signatures: Signatures) -> Classes:
    """Clusters settings by the share of contexts in which decisions differ (average linkage).

    >>> found = find_classes(np.repeat([[0, 0, 1], [1, 0, 1]], [30, 20], axis=0))
    >>> found.n_classes, found.shares
    (2, (0.6, 0.4))
    """
    n = len(signatures)
    distance = np.stack([(signatures != one).mean(axis=1) for one in signatures])
    tree = linkage(distance[np.triu_indices(n, k=1)], method="average")
    label = fcluster(tree, t=MAX_DISTANCE, criterion="distance")
    names, counts = np.unique(label, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    kept = [k for k in order if counts[k] >= MIN_SHARE * n] or [order[0]]
    centres = np.stack([_mode(signatures[label == names[k]]) for k in kept])
    same = label[:, None] == label
    margin = 0.0
    if not same.all():
        margin = float(distance[~same].mean() - distance[same].mean())
    return Classes(centres, tuple(float(counts[k] / n) for k in kept), margin)


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
