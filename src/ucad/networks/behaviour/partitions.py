"""Partitions of the inputs into concepts: the finest that a site holds, coarser, or by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ucad.networks.behaviour.blocks import Block, Blocks
from ucad.networks.behaviour.concepts import BlockConcept, Concept
from ucad.networks.behaviour.discrete_factors import ClassReadout
from ucad.networks.behaviour.gap_fit import GapData, read_gap
from ucad.networks.behaviour.reports import CERTIFIED
from ucad.networks.behaviour.tuning import Decoded, decode_gap

__all__ = ["MIN_READABLE", "decoded_partition"]

MIN_READABLE = 0.9
"""Share of unseen inputs, classes balanced, on which a concept must be read out right for the site
to hold it; in place of concepts that it does not hold, others are tried."""


def decoded_partition(
    data: GapData, blocks: Blocks | None
) -> tuple[GapData, tuple[float, ...], Decoded]:
    """The finest concepts that the site holds and that steer; else those that it holds.

    If it holds none, those that are read best.

    Args:
        data: the gap, with the finest blocks as its concepts.
        blocks: all that were found; None for the states of a recurrent network.
    """
    held: tuple[GapData, tuple[float, ...], Decoded] | None = None
    missed: list[tuple[GapData, tuple[ClassReadout, ...], tuple[float, ...]]] = []
    for some, readouts, scores in _read_partitions(data, blocks):
        if min(scores) < MIN_READABLE:
            missed.append((some, readouts, scores))
            continue
        found = decode_gap(some, readouts)
        if found.quality.agreement >= CERTIFIED:
            return some, scores, found
        held = held or (some, scores, found)
    if held is not None:
        return held
    best, readouts, scores = max(missed, key=lambda one: min(one[2]))
    return best, scores, decode_gap(best, readouts)


def _read_partitions(
    data: GapData, blocks: Blocks | None
) -> Iterator[tuple[GapData, tuple[ClassReadout, ...], tuple[float, ...]]]:
    """Every partition with its read-outs; each next one depends on what the last one reads worst.

    First ever larger blocks in place of the one that is read worst, as a late site may hold no
    more. Then, from the finest blocks again, those that are read too badly to steer are taken
    apart: a site before the layers that compute a concept holds the inputs of it.
    """
    if not all(isinstance(one, BlockConcept) for one in data.concepts):
        blocks = None  # a state has no parts
    for change in (_coarser, _apart):
        concepts: tuple[Concept, ...] | None = data.concepts
        is_first = change is _coarser
        while concepts is not None:
            some = replace(data, concepts=concepts)
            readouts, scores = read_gap(some)
            if is_first or concepts != data.concepts:
                yield some, readouts, scores
            concepts = None if blocks is None else change(blocks, concepts, scores)


def _coarser(
    blocks: Blocks, concepts: Sequence[Concept], scores: Sequence[float]
) -> tuple[Concept, ...] | None:
    """The partition with a larger block in place of the one that is read worst."""
    now = _blocks_of(concepts)
    larger = blocks.coarser(now, now[int(np.argmin(scores))])
    return None if larger is None else tuple(map(BlockConcept, larger))


def _apart(
    blocks: Blocks, concepts: Sequence[Concept], scores: Sequence[float]
) -> tuple[Concept, ...] | None:
    """The partition with single features in place of the blocks that are read too badly."""
    of_name = {one.name: one for one in blocks.singles}
    found: list[Block] = []
    for block, score in zip(_blocks_of(concepts), scores, strict=True):
        is_kept = score >= CERTIFIED or len(block.features) == 1
        found += [block] if is_kept else [of_name[one.name] for one in block.features]
    return tuple(map(BlockConcept, found)) if len(found) > len(concepts) else None


def _blocks_of(concepts: Sequence[Concept]) -> list[Block]:
    return [one.block for one in concepts if isinstance(one, BlockConcept)]
