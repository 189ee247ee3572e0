"""Judging factors by the network's own answers, on inputs that nothing was fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ucad.networks.behaviour.gap_fit import ENOUGH_KEPT, GapData, GapModel
from ucad.networks.behaviour.reports import FactorReport

__all__ = ["judged_factors"]


def judged_factors(
    data: GapData, model: GapModel, scores: Sequence[float]
) -> tuple[FactorReport, ...]:
    """One line per factor: how often its swaps end as the network itself decides.

    Where some do so in less than 0.99 of the pairs, agreement is also taken among *typical* pairs:
    their inputs decide as their class in nine contexts of ten. The others lie at a threshold, where
    the network's own answers are no function of the concepts' values.

    Args:
        data: the gap; its part for tests is used.
        model: read-outs and decoder.
        scores: how often every concept is read right.
    """
    rows = data.parts.test
    swaps = data.pairs(rows)
    lines = [
        FactorReport("", one.name, one.n_classes, score, 0.0, one.feature_names)
        for one, score in zip(data.concepts, scores, strict=True)
    ]
    lines = [
        replace(line, agreement=one.agreement(model, replaces=True), n_unseen=_n_unseen(data))
        for line, one in zip(lines, swaps, strict=True)
    ]
    if min(line.agreement for line in lines) >= ENOUGH_KEPT:
        return tuple(lines)
    values = [concept.values(data.subject, rows) for concept in data.concepts]
    found = []
    for line, one in zip(lines, swaps, strict=True):
        among = one.typical(rows, values)
        agreed = one.agreement(model, replaces=True, among=among) if among.any() else 0.0
        share = float(among.mean())
        found.append(replace(line, typical_share=share, typical_agreement=agreed))
    return tuple(found)


def _n_unseen(data: GapData) -> int:
    """Different inputs to report on; none where there were too few to keep some apart."""
    return len(np.setdiff1d(data.parts.test, data.parts.train))
