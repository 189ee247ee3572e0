"""The score of a known graph: what a search is compared with."""

from __future__ import annotations

import time

from ucad.data import InterventionalData
from ucad.graph import FactorGraph
from ucad.solvers.search.account import fit_status
from ucad.solvers.search.export import as_scm
from ucad.solvers.search.refinement import polish
from ucad.solvers.search.restart import restart
from ucad.solvers.search.settings import SearchConfig
from ucad.solvers.search.start import model_of_graph
from ucad.solvers.search.unfold import unfold
from ucad.solvers.status import FitResult

__all__ = ["score_structure"]


def score_structure(
    data: InterventionalData,
    graph: FactorGraph,
    *,
    config: SearchConfig | None = None,
    validation: InterventionalData | None = None,
    seed: int = 0,
) -> FitResult:
    """The ceiling: the same refinement, started from a given graph.

    If its score (the last row of the history) is above that of a search, the search is at fault;
    if it is below, the data do not tell.
    """
    started = time.monotonic()
    config = (SearchConfig() if config is None else config).classes()[-1]
    settings = config.settings(data.n_samples, seed)
    model = model_of_graph(data, graph, settings)
    final = config.final(settings)
    if settings.variable_fit.hidden:
        model = unfold(data, model, settings, final)
    model = polish(data, model, final, 2 * config.n_polish)
    model = polish(data, restart(data, model, final), final, config.n_polish)
    held_out = data if validation is None else validation
    scm = as_scm(model, data)
    return FitResult(
        scm,
        fit_status(data, model, None, interrupted=False),
        scm.nll(held_out.x, held_out.is_intervened),
        ({"stage": "given graph", "score": model.score},),
        time.monotonic() - started,
    )
