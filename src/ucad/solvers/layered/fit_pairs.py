"""The loop all layered solvers share: every pair in its own units, then one model of the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from ucad.data import InterventionalData
from ucad.scm import FactorSCM
from ucad.solvers.budget import Budget
from ucad.solvers.layered.layer_pairs import LayerPair, PairData
from ucad.solvers.layered.pair_model import PairModel, assemble
from ucad.solvers.status import FitResult, FitStatus, HistoryRow

__all__ = ["FitPair", "PairFit", "StatusOf", "fit_pairs"]

MAX_SCORED_SAMPLES = 20_000
"""The validation NLL is taken of at most so many samples. Its standard error is then below a
hundredth of the spread of the NLL between samples, and a recording may have millions."""


class PairFit(NamedTuple):
    """What was found in one pair of layers.

    Attributes:
        model: in the units of `PairData`.
        figures: what the history says of it.
        interrupted: whether the user stopped the fit here.
    """

    model: PairModel
    figures: HistoryRow
    interrupted: bool = False


FitPair: TypeAlias = Callable[[int, PairData, bool], PairFit]
"""Fits pair number k; the last argument says whether the user has stopped an earlier one."""


StatusOf: TypeAlias = Callable[[Sequence[HistoryRow]], FitStatus]
"""The status of a fit that was done, by what its history says of every pair."""


def fit_pairs(
    data: InterventionalData,
    pairs: Sequence[LayerPair],
    fit_pair: FitPair,
    status_of: StatusOf,
    validation: InterventionalData | None,
    budget: Budget,
) -> FitResult:
    """Fits pair after pair and puts the models together."""
    models: list[PairModel] = []
    history: list[HistoryRow] = []
    interrupted = False
    for number, pair in enumerate(pairs):
        pair_data = PairData.of(data, pair)
        found = fit_pair(number, pair_data, interrupted)
        units = (pair_data.causes, pair_data.effects, pair_data.context)
        models.append(found.model.in_units(*units))
        history.append({"pair": number, **found.figures})
        interrupted |= found.interrupted
    scm = assemble(data.x, data.variable_names, models, data.context)
    nll = _held_out_nll(scm, data if validation is None else validation)
    status = status_of(history).unless_cut_short(budget, interrupted)
    return FitResult(scm, status, nll, tuple(history), budget.seconds)


def _held_out_nll(scm: FactorSCM, scored: InterventionalData) -> float:
    if scored.n_samples > MAX_SCORED_SAMPLES:
        share = MAX_SCORED_SAMPLES / scored.n_samples
        scored = scored.split(share, 1 - share).train
    w = None if scored.context is None else scored.context.values
    return scm.nll(scored.x, scored.is_left_out, w)
