"""What was really done to targets: fits that believe in clamps, and what speaks against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool

from ucad.claims.answers import listed
from ucad.claims.clamps import listening_regimes
from ucad.claims.samples import TestSamples
from ucad.data import InterventionalData
from ucad.data.kinds import RegimeKind
from ucad.scm import FactorSCM
from ucad.solvers.status import Fit, FitResult

__all__ = ["fit_by_kind", "is_doubtful", "told_as_clamps", "with_nothing_believed"]

UNTOLD = "of what kind the interventions are (tell it: --intervention, or with_kinds)"
"""What keeps a graph from being claimed in full where regimes given as clamps proved to be none."""


def fit_by_kind(
    data: InterventionalData,
    validation: InterventionalData,
    fit: Fit,
    doubting: FitResult | None = None,
) -> FitResult:
    """Fits, and where kinds of interventions are not told asks the model what they were.

    Clamps are believed first: they tell most. If in some regime a target still goes with what its
    factors predict, the data are fitted again with nothing believed of the regimes that were not
    told; the better model then says in which of them targets listen, and if it is not all, a
    third fit believes in the others. The fit with the highest held-out likelihood is kept. Where
    some regimes proved soft, others may be so too weakly to be seen: for claims, nothing is
    believed of them.

    Args:
        data: what to learn from.
        validation: held-out samples.
        fit: fits samples.
        doubting: a fit that believes nothing of untold regimes, where clamps made no sense before.
    """
    untold = _untold(data)
    if doubting is not None:
        trials = [doubting]
    else:
        first = fit(data, validation)
        if not is_doubtful(first.scm, data):
            return _noted(first, data)
        trials = [first, fit(with_nothing_believed(data), validation)]
    best = _best(trials, validation)
    soft = untold & _listening(best.scm, data)
    found = _with(data, soft, RegimeKind.SOFT)
    if soft.any() and not soft[untold].all():
        best = _best([*trials, fit(found, validation)], validation)
    doubts = soft.any() or doubting is not None
    return _noted(best, found, untold & ~soft if doubts else None)


def is_doubtful(scm: FactorSCM, data: InterventionalData) -> bool:
    """Whether by this model some regime whose kind is not told was no clamp."""
    untold = _untold(data)
    return bool(untold.any() and _listening(scm, data)[untold].any())


def with_nothing_believed(data: InterventionalData) -> InterventionalData:
    """The data with an unknown kind in all regimes whose kind is not told."""
    return _with(data, _untold(data), RegimeKind.UNKNOWN)


def told_as_clamps(data: InterventionalData) -> InterventionalData:
    """The data with clamps in all regimes whose kind is not told."""
    return _with(data, _untold(data), RegimeKind.CLAMP)


def _untold(data: InterventionalData) -> Bool[np.ndarray, " regimes"]:
    """The regimes with measured targets whose kind is not told."""
    kinds = [data.kind_of(regime) for regime in range(data.n_regimes)]
    auto = np.array([kind is RegimeKind.AUTO for kind in kinds], dtype=bool)
    return np.asarray(auto & data.targets.any(axis=1))


def _with(
    data: InterventionalData, which: Bool[np.ndarray, " regimes"], kind: RegimeKind
) -> InterventionalData:
    old = data.kinds or (RegimeKind.AUTO,) * data.n_regimes
    kinds = tuple(kind if chosen else one for chosen, one in zip(which, old, strict=True))
    return replace(data, kinds=kinds)


def _listening(scm: FactorSCM, data: InterventionalData) -> Bool[np.ndarray, " regimes"]:
    """The regimes in which some target still goes with what its factors predict."""
    names = listening_regimes(TestSamples.of(scm, data.complete, None, 0))
    return np.isin(data.regime_names, list(names))


def _best(results: Sequence[FitResult], validation: InterventionalData) -> FitResult:
    """The one of the highest held-out likelihood."""
    return min(results, key=lambda one: one.scm.nll(validation.x, validation.is_left_out))


def _noted(
    result: FitResult,
    data: InterventionalData,
    doubted: Bool[np.ndarray, " regimes"] | None = None,
) -> FitResult:
    """The result with the kinds that claims may rest on, and a sentence if some are no clamps."""
    believed = data if doubted is None else _with(data, doubted, RegimeKind.UNKNOWN)
    result = replace(result, kinds=believed.kinds)
    if doubted is not None:  # found from the same samples as the graph
        guesses = (*result.status.guesses, UNTOLD)
        result = replace(result, status=replace(result.status, guesses=guesses))
    soft = [
        name
        for regime, name in enumerate(data.regime_names)
        if data.kind_of(regime).may_listen and data.targets[regime].any()
    ]
    if not soft:
        return result
    if doubted is not None:
        result = replace(result, status=replace(result.status, soft_regimes=tuple(soft)))
    note = (
        f"Of {int(data.targets.any(axis=1).sum())} regimes, {len(soft)} may not have clamped "
        f"their targets ({listed(soft)}): these may still depend on their parents, and nothing "
        "is concluded that would need a clamp."
    )
    if doubted is not None and doubted.any():
        note += f" Nor is anything claimed from the {int(doubted.sum())} of unknown kind."
    return result.with_notes(note)
