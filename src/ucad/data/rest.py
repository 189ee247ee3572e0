"""Samples that a file holds and a data set does not: chosen within regimes, and kept in reach."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Int

from ucad.errors import InvalidInputError

if TYPE_CHECKING:
    from ucad.data.dataset import InterventionalData

__all__ = ["DEFAULT_MEMORY", "Rest", "RestPart", "check_memory", "rows_within"]

DEFAULT_MEMORY = 4.0
"""GiB that reading and fitting may take, if nothing is said; the same on every machine, so that the
same samples are chosen."""

ROWS_SHARE = 0.5
"""The part of the memory for samples; the other is for what grows with pairs of variables."""

BYTES_PER_VALUE = 96
"""What a value takes while a model is fitted, in bytes: x and what was acted on, the parts that are
learned from and tested on, these standardised, and residuals. A linear fit of 20,000 × 400 took 94
beyond what Python and torch take by themselves (`python -m benchmarks.files h5ad --fit`)."""

MIN_ROWS = 1_000
"""Samples that are read in any case: with fewer, no fit of many variables means anything."""

MIN_PER_REGIME = 30
"""Samples of a regime that are read in any case, if it has so many."""


class RestPart(NamedTuple):
    """Some samples that were left out: their numbers in the file, and the samples."""

    rows: Int[np.ndarray, " rows"]
    data: InterventionalData


@dataclass(frozen=True)
class Rest:
    """The samples of a file that were left out since they do not fit.

    Attributes:
        taken: the numbers of the samples that were read.
        n_samples: how many were left out.
        parts: reads them, some at a time; samples with missing values are passed over.
    """

    taken: Int[np.ndarray, " taken"]
    n_samples: int
    parts: Callable[[], Iterator[RestPart]]

    @property
    def note(self) -> str:
        """What a user must know."""
        n = len(self.taken)
        return (
            f"{n} of {n + self.n_samples} samples are read, drawn at random within regimes: all "
            f"of them would not fit into the memory allowed (--memory)."
        )


def check_memory(memory: float) -> None:
    """Refuses what is no amount of memory."""
    if not memory > 0:
        raise InvalidInputError(f"'memory' must be a number of GiB above 0. Got {memory} instead.")


def rows_within(
    groups: Sequence[Hashable], n_variables: int, memory: float, seed: int = 0
) -> Int[np.ndarray, " rows"]:
    """The samples to read, ascending: all if they fit, else a random part of every regime.

    >>> groups = ["a"] * 2000 + ["b"] * 40
    >>> rows = rows_within(groups, 1000, 0.18)
    >>> len(rows), int((rows >= 2000).sum())
    (1016, 30)

    Args:
        groups: the regime of every sample, by whatever tells them apart.
        n_variables: variables that are kept.
        memory: GiB for reading and fitting.
        seed: of the choice.
    """
    n_samples = len(groups)
    most = memory * 2**30 * ROWS_SHARE / (BYTES_PER_VALUE * max(1, n_variables))
    share = max(most, MIN_ROWS) / max(1, n_samples)
    if share >= 1:
        return np.arange(n_samples)
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    regime = np.array([numbers[group] for group in groups])
    order = np.random.default_rng(seed).permutation(n_samples)
    order = order[np.argsort(regime[order], kind="stable")]
    sizes = np.bincount(regime)
    n_taken = np.maximum(np.floor(share * sizes), np.minimum(sizes, MIN_PER_REGIME)).astype(int)
    place = np.arange(n_samples) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(order[place < np.repeat(n_taken, sizes)])
