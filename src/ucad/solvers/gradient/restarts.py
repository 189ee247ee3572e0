"""Restarts of dead or duplicate factors: drop the least useful one, grow another where it counts.

The paper's learner ends with factors that explain nothing in a fifth to a third of all cases. A
restart is a proposal like any other: trained, refitted, and kept only if the validation NLL falls.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

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
            trained = _train(learner, offers, settings, this)
            tried += len(trained["logits"])
            joined = best.joined(settle(learner, trained, this.seed))
            at = joined.best(learner.tie)
            failures = 0 if at else failures + 1
            accepted += at > 0
            best = joined.row(at)
    except KeyboardInterrupt:
        interrupted = True
    note = f"{accepted} of {tried} proposals to replace a factor were kept."
    return Restarted(best, (note,), interrupted)


def _train(learner: Learner, offers: Parameters, settings: RestartSettings, run: Run) -> Parameters:
    training = replace(learner.training, epochs=settings.epochs, patience=settings.epochs)
    one = Configuration(settings.learning_rate, settings.penalty_growth, 0, run.seed)
    grid = (one,) * len(offers["logits"])
    quiet = replace(run, stage="restarting factors", checkpoint=None)
    trained = train(learner.problem, learner.validation, offers, grid, training, quiet)
    if trained.interrupted:
        raise KeyboardInterrupt
    return trained.parameters
