"""Depths that do not follow what a regime does: where some genes rise, others look fallen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ucad.data.formats.counted import unit_depth
from ucad.data.formats.options import ReadOptions

__all__ = ["Composition", "Units", "composition", "units"]

MIN_GENES = 30
"""Genes over which the median of ratios is taken at the least: of few genes, most may change."""

MIN_EXPECTED = 10.0
"""Counts that a gene must have by expectation in a regime for its ratio to count: known to a third
then, and to a few per cent in the median of 30."""

MIN_TOLD = 0.05
"""The smallest correction that is told, as a share of the depth."""

Blocks = Iterable[tuple[int, Any]]


class Units(NamedTuple):
    """The count that becomes 1 before the logarithm, per sample, and what was done to it."""

    unit: Float[np.ndarray, " samples"] | None
    notes: tuple[str, ...]


def units(
    blocks: Blocks,
    labels: Sequence[str],
    depth: Float[np.ndarray, " samples"],
    options: ReadOptions,
) -> Units:
    """The unit of every sample as `unit_depth` has it; with `counts`, of corrected depths."""
    if not options.counts:
        return Units(unit_depth(depth, options), ())
    found = composition(blocks, labels, options.control, depth)
    return Units(unit_depth(depth * found.factor, options), found.notes)


class Composition(NamedTuple):
    """By how much the total of every sample is too large as a measure of its depth."""

    factor: Float[np.ndarray, " samples"]
    notes: tuple[str, ...]


def composition(
    blocks: Blocks,
    labels: Sequence[str],
    control: str,
    depth: Float[np.ndarray, " samples"],
) -> Composition:
    """The median over genes of their share in a regime against that in the controls.

    A total that a few strong genes double makes all others look halved. Most genes are taken not
    to change, so the median ratio is what the total is off by (the median of ratios of DESeq,
    over the sums of a regime, for single cells have too many zeros). Without controls, all
    samples are what regimes are compared with. One pass over the counts.

    Args:
        blocks: the counts, with the number of the first row of each block.
        labels: the regime of every sample.
        control: the label of controls, besides the empty one.
        depth: the total of every sample.
    """
    names = ["" if label.strip() == control else label.strip() for label in labels]
    kinds, member = np.unique(names, return_inverse=True)
    totals = _totals(blocks, member, len(kinds))
    size = np.bincount(member, np.where(np.isfinite(depth), depth, 0.0), minlength=len(kinds))
    at_rest = int(np.flatnonzero(kinds == "")[0]) if (kinds == "").any() else None
    base = totals.sum(axis=0) if at_rest is None else totals[at_rest]
    share = base / max(float(base.sum()), 1.0)
    factor = np.ones(len(kinds))
    for regime in range(len(kinds)):
        expected = share * size[regime]
        seen = expected >= MIN_EXPECTED
        if regime != at_rest and seen.sum() >= MIN_GENES:
            ratio = float(np.median(totals[regime, seen] / expected[seen]))
            factor[regime] = ratio if 0 < ratio < np.inf else 1.0
    return Composition(factor[member], _notes(kinds, factor))


def _totals(
    blocks: Blocks, member: Int[np.ndarray, " samples"], n_regimes: int
) -> Float[np.ndarray, "regimes variables"]:
    from scipy.sparse import csr_array

    found: Any = 0.0
    for start, block in blocks:
        rows = member[start : start + block.shape[0]]
        places = (rows, np.arange(len(rows)))
        belongs = csr_array((np.ones(len(rows)), places), shape=(n_regimes, len(rows)))
        total = belongs @ block
        found = found + np.asarray(total.todense() if hasattr(total, "todense") else total)
    totals: Float[np.ndarray, "regimes variables"] = np.nan_to_num(np.asarray(found), posinf=0.0)
    return totals


def _notes(kinds: np.ndarray, factor: Float[np.ndarray, " regimes"]) -> tuple[str, ...]:
    off = np.abs(factor - 1)
    changed = np.flatnonzero(off >= MIN_TOLD)
    if not len(changed):
        return ()
    most = int(np.argmax(off))
    return (
        f"The depth of {len(changed)} regime(s) was corrected for what they do to the total, most "
        f"by a factor of {factor[most]:.2f} ('{kinds[most]}'): the median gene does not change.",
    )
