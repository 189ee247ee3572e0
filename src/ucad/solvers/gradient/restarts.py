"""Restarts of dead or duplicate factors: drop the least useful one, grow another where it counts.

The paper's learner ends with factors that explain nothing in a fifth to a third of all cases. A
restart is a proposal like any other: refitted, and kept only if the validation NLL falls. If no
proposal helps as it is, all are trained on with their neighbours' edges free.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ucad.solvers.gradient.attachment import reattached
from ucad.solvers.gradient.candidates import Candidates, Learner, settle
from ucad.solvers.gradient.epoch import Configuration
from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.proposals import RestartSettings, propose
from ucad.solvers.gradient.state import Run
from ucad.solvers.gradient.training import train

__all__ = ["RestartSettings", "Restarted", "restart_factors"]


class Restarted(NamedTuple):
    """What came of it."""

    best: Candidates
    notes: tuple[str, ...]
    interrupted: bool


def restart_factors(
    learner: Learner, best: Candidates, settings: RestartSettings, run: Run
) -> Restarted:
    """Replaces bad factors as long as the validation NLL falls."""
    accepted, tried, failures = 0, 0, 0
    interrupted = False
    try:
        for round_ in range(settings.rounds):
            this = replace(run, seed=run.seed + round_)
            # After a round without success, the next one takes the next proposals in line.
            skip = failures * (settings.proposals - 1)
            offers = propose(learner, best, settings, skip, this.seed)
            if offers is None or failures == settings.patience:
                break
            tried += len(offers["logits"])
            linear = learner.model.is_linear
            as_is = reattached(learner, offers, settings.min_gain) if linear else offers
            better = _better(learner, best, settle(learner, as_is, this.seed))
            if better is None:
                trained = _train(learner, offers, settings, this)
                better = _better(learner, best, settle(learner, trained, this.seed))
            failures = failures + 1 if better is None else 0
            accepted += better is not None
            best = best if better is None else better
    except KeyboardInterrupt:
        interrupted = True
    note = f"{accepted} of {tried} proposals to replace a factor were kept."
    return Restarted(best, (note,), interrupted)


def _better(learner: Learner, best: Candidates, offered: Candidates) -> Candidates | None:
    """The best of what is offered, if it is better than what there was."""
    joined = best.joined(offered)
    at = joined.best(learner.tie)
    return joined.row(at) if at else None


def _train(learner: Learner, offers: Parameters, settings: RestartSettings, run: Run) -> Parameters:
    training = replace(learner.training, epochs=settings.epochs, patience=settings.epochs)
    one = Configuration(settings.learning_rate, settings.penalty_growth, 0, run.seed)
    grid = (one,) * len(offers["logits"])
    quiet = replace(run, stage="restarting factors", checkpoint=None)
    trained = train(learner.problem, learner.validation, offers, grid, training, quiet)
    if trained.interrupted:
        raise KeyboardInterrupt
    return trained.parameters
