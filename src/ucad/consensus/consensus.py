"""`find_consensus`: fits on parts of the samples, and what comes back in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ucad._types import Progress, ProgressEvent
from ucad.claims import Certificate
from ucad.consensus.consensus_model import consensus_graph, refitted
from ucad.consensus.counting import (
    Counts,
    count,
    edge_support,
    error_control,
    factor_support,
    fit_accounts,
)
from ucad.consensus.matching import MAX_COMMON_ROWS
from ucad.consensus.open_edges import OpenEdges, open_edges
from ucad.consensus.resampling import MIN_RUNS, Kind, plan
from ucad.consensus.running import STAGE, Fits, RunOptions, cost_sentence, run_fits
from ucad.consensus.support import STABLE, Graph, Support, adequacy_of
from ucad.data import InterventionalData
from ucad.data.context import Context
from ucad.graph import FactorGraph
from ucad.interrupts import Request
from ucad.scm import FactorSCM, at_average_context
from ucad.solvers import FitResult, FitStatus
from ucad.solvers.registry import SolveSettings

__all__ = ["Consensus", "common_samples", "find_consensus", "noted", "summarise", "together"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Consensus:
    """What came back.

    Attributes:
        support: of every factor and edge; None if too few fits were done.
        scm: the model of what is stable, None if nothing is.
        fits: the models of the fits, in the order of `support.fits`.
        n_left: fits that are still to be done, since somebody interrupted.
        note: why there is no support, or not of all fits; empty if all went well.
    """

    support: Support | None
    scm: FactorSCM | None
    fits: tuple[FactorSCM, ...]
    n_left: int = 0
    note: str = ""


def find_consensus(  # noqa: PLR0913  (the front door: everything by its own name)
    result: FitResult,
    scm: FactorSCM,
    data: InterventionalData,
    settings: SolveSettings,
    *,
    n_runs: int,
    certificate: Certificate | None = None,
    options: RunOptions | None = None,
    standardise: bool = True,
    progress: Progress | None = None,
    request: Request | None = None,
) -> Consensus:
    """Fits models to parts of the samples and sees what of a given model comes back.

    The cost is fixed and told before anything starts: `n_runs` full searches.

    Args:
        result: of the fit to all samples: how long it took.
        scm: its model, in the units of the data.
        data: the samples to deal out: all but those that only the certificate may see.
        settings: of that fit; the others differ in their seed alone.
        n_runs: how many fits; even.
        certificate: of the model, which decides whether support may be claimed.
        options: where the fits run.
        standardise: as in that fit.
        progress: told how far it is.
        request: to end, that came before; whenever one comes, what was done is kept.
    """
    options = RunOptions() if options is None else options
    draws = plan(n_runs, data.regime, settings.seed)
    if progress is not None:
        cost = cost_sentence(len(draws), result.seconds, options.n_workers)
        progress(ProgressEvent(STAGE, 0, len(draws), cost))
    try:
        if request is not None:
            request.answer()
        fits = run_fits(data, settings, draws, options, standardise=standardise, progress=progress)
        hanging = open_edges(scm, data, result.status.open_directions, certificate)
        return _counted(fits, len(draws), scm, data, settings, certificate, hanging)
    except KeyboardInterrupt:
        note = "The consensus was interrupted."
        return Consensus(support=None, scm=None, fits=(), n_left=len(draws), note=note)


def _counted(  # noqa: PLR0913  (as `find_consensus`)
    fits: Fits,
    n_runs: int,
    scm: FactorSCM,
    data: InterventionalData,
    settings: SolveSettings,
    certificate: Certificate | None,
    hanging: OpenEdges,
) -> Consensus:
    """What of a model came back in the fits that were done."""
    note = _note(fits, n_runs)
    if sum(fit.draw.kind is Kind.HALF for fit in fits.done) < MIN_RUNS:
        return Consensus(support=None, scm=None, fits=(), n_left=fits.n_left, note=note)
    data = at_average_context(scm, data)
    counts = count(scm, fits.done, common_samples(data).x)
    graph = consensus_graph(counts, data, settings.prior)
    stable = None if graph is None else refitted(graph, scm, data, settings.seed)
    support = summarise(counts, graph, certificate, hanging, n_failed=len(fits.errors))
    return Consensus(
        support=support,
        scm=stable,
        fits=tuple(fit.scm for fit in fits.done),
        n_left=fits.n_left,
        note=note,
    )


def together(first: InterventionalData, second: InterventionalData) -> InterventionalData:
    """Two parts of one data set as one, the samples of the first before those of the second."""
    if first is second:
        return first
    parts = (first, second)
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("x", "is_intervened", "regime")
    }
    if any(part.is_missing is not None for part in parts):
        missing = [part.is_missing for part in parts]
        known = [np.zeros(part.x.shape, dtype=bool) for part in parts]
        filled = [k if one is None else one for one, k in zip(missing, known, strict=True)]
        arrays["is_missing"] = np.concatenate(filled)
    if first.context is not None and second.context is not None:
        values = [first.context.values, second.context.aligned(first.context.names).values]
        arrays["context"] = Context(first.context.names, np.concatenate(values))
    return replace(first, **arrays)


def noted(status: FitStatus, found: Consensus) -> FitStatus:
    """How a fit ended, with what is to be said of its consensus."""
    if not found.n_left:
        return replace(status, notes=(*status.notes, found.note))
    advice = "The same call with the same checkpoint, or --resume, does the rest."
    return replace(status, converged=False, interrupted=True, reason=found.note, advice=(advice,))


def _note(fits: Fits, n_runs: int) -> str:
    if fits.n_left:
        return f"The consensus was interrupted after {n_runs - fits.n_left} of {n_runs} fits."
    if not fits.errors:
        return ""
    return f"{len(fits.errors)} of {n_runs} fits failed; the first error: {fits.errors[0]}"


def summarise(
    counts: Counts,
    consensus: FactorGraph | None,
    certificate: Certificate | None,
    hanging: OpenEdges | None = None,
    *,
    n_failed: int = 0,
) -> Support:
    """The shares, with intervals, error control and what the certificate says of the model."""
    adequacy, text = adequacy_of(certificate)
    hangs = None if hanging is None else hanging.has
    return Support(
        factors=factor_support(counts, () if consensus is None else consensus.factor_names),
        edges=tuple(
            row for graph in Graph for row in edge_support(counts, graph, consensus, hangs)
        ),
        control={graph: error_control(counts, graph) for graph in Graph},
        fits=fit_accounts(counts),
        threshold=STABLE,
        match_level=counts.level,
        n_failed=n_failed,
        adequacy=adequacy,
        adequacy_text=text,
    )


def common_samples(data: InterventionalData, seed: int = 0) -> InterventionalData:
    """Samples from every regime in proportion, on which factors of several fits are compared."""
    share = MAX_COMMON_ROWS / data.n_samples
    return data if share >= 1 else data.split(share, 1 - share, seed=seed).train
