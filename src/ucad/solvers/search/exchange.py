"""Trying every factor's place for every promising candidate."""

from __future__ import annotations

from collections.abc import Sequence

from ucad.data import InterventionalData
from ucad.solvers.search.causes import Causes
from ucad.solvers.search.functions import Function, distinct
from ucad.solvers.search.proposals import Proposer
from ucad.solvers.search.pruning import prune
from ucad.solvers.search.reanchor import most_missing, occupy, unexplained, vacate
from ucad.solvers.search.refinement import Model, close, polish
from ucad.solvers.search.settings import FitSettings

__all__ = ["exchange"]

N_ROUNDS = 3
N_TRIALS = 4
N_WEAK = 8


def exchange(
    data: InterventionalData,
    model: Model,
    pool: Sequence[Function],
    causes: Causes,
    settings: FitSettings,
    final: FitSettings,
) -> Model:
    """Replaces any factor by any of the most promising candidates, each fitted to the end.

    What `reanchor` does for the factors that are needed least, with more candidates: those that
    cheaper edges would allow, and what is left once a factor is gone. The best of all these models
    takes the place of the old one, as long as it is better. For small problems: O(m) fits of the
    whole model a round.
    """
    weak = Proposer(data, causes, settings.lenient())
    wide = distinct([*pool, *weak.anchors()], data.x)
    for _ in range(N_ROUNDS):
        best = model
        for k in range(len(model.factors)):
            spare = vacate(data, model, k, settings)
            missing = weak.missing(unexplained(data, spare), N_WEAK)
            candidates = distinct([*wide, *missing], data.x)
            for function, gains in most_missing(data, spare, k, candidates, settings, N_TRIALS):
                trial = occupy(data, spare, k, function, gains, settings)
                if trial is not None and close(trial, model, settings):
                    trial = prune(data, polish(data, trial, final, 2), final)
                    best = max(best, trial, key=lambda one: one.score)
        if best is model:
            break
        model = best
    return model
