"""`fit_gradient`: from data to a factor SCM by the paper's learner."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import torch

from ucad._types import Progress
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.scm import FactorSCM
from ucad.solvers.budget import Budget
from ucad.solvers.gradient.candidates import Candidates, Learner, settle
from ucad.solvers.gradient.epoch import Configuration, Feasibility
from ucad.solvers.gradient.learner import make_learner
from ucad.solvers.gradient.mechanisms import Parameters, initial_parameters
from ucad.solvers.gradient.presets import GradientConfig, fast
from ucad.solvers.gradient.relaxed_graph import Edge
from ucad.solvers.gradient.replace_factor import replace_factors
from ucad.solvers.gradient.run import Checkpoint, Run
from ucad.solvers.gradient.training import Trained, train
from ucad.solvers.gradient.warm_start import parameters_of
from ucad.solvers.selection import advice_for
from ucad.solvers.status import FitResult, FitStatus

__all__ = ["finish", "fit_gradient", "identity_of", "starting_points"]

SCALES = (0.5, 2.0)
"""Standard deviations between these count as standardised. The variance floor and the starting
points are meant for 1; a split of standardised data stays well within."""


def fit_gradient(  # noqa: PLR0913  (the entry point: everything a user may say about one fit)
    data: InterventionalData,
    n_factors: int,
    *,
    config: GradientConfig | None = None,
    validation: InterventionalData | None = None,
    initial: FactorSCM | None = None,
    seed: int = 0,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
    checkpoint: Path | None = None,
    max_seconds: float | None = None,
) -> FitResult:
    """Fits a factor SCM by the paper's constrained objective.

    Args:
        data: what was measured, standardised (`data.standardised()`).
        n_factors: how many factors to look for.
        config: the settings; `fast(data.n_variables)` if not given.
        validation: held-out data for model selection; a fifth of `data` if not given.
        initial: a model to start from, with as many factors, in the units of the data. It is
            trained beside the other starting points, and never made worse by the fit.
        seed: random seed of the split, the starting points, the noise and the batches.
        device: where to train.
        progress: called with how far the fit is.
        checkpoint: a file that keeps the state of training. If it exists, training is resumed from
            there, with the same result as if it had never stopped; a file that is damaged or
            belongs to another fit is renamed to `<name>.stale`, and the status says so.
        max_seconds: limit on the time of the fit.

    Returns:
        The model with its status. Ctrl-C and the end of the time give the best model so far.
    """
    budget = Budget(max_seconds)
    config = fast(data.n_variables) if config is None else config
    _check(data, n_factors, config, initial)
    if validation is None:
        data, validation = _split(data, seed)
    learner = make_learner(data, validation, n_factors, config, device)
    kept = None
    if checkpoint is not None:
        kept = Checkpoint(
            checkpoint, identity_of([data, validation], n_factors, config, seed, initial)
        )
    run = Run(seed, progress, checkpoint=kept, budget=budget)
    start, grid = starting_points(learner, config, n_factors, seed, initial)
    trained = train(learner.problem, learner.validation, start, grid, config.training, run)
    scm, status = finish(learner, trained, config, run, initial)
    status = replace(status, advice=(*status.advice, *_advice_on_scale(data)))
    if validation is data:
        note = (
            "Too few samples to keep some for validation: the validation NLL is of the same data."
        )
        status = replace(status, notes=(*status.notes, note))
    nll = scm.nll(validation.x, validation.is_left_out)
    return FitResult(scm, status, nll, trained.history, budget.seconds)


def starting_points(
    learner: Learner,
    config: GradientConfig,
    n_factors: int,
    seed: int,
    initial: FactorSCM | None = None,
) -> tuple[Parameters, tuple[Configuration, ...]]:
    """Draws a starting point for every configuration of the grid, the initial model first."""
    grid = config.training.grid(seed)
    share = learner.problem.objective.free_share
    seeds = [one.seed for one in grid]
    n_variables = len(learner.variable_names)
    start = initial_parameters(config.model, n_variables, n_factors, seeds, share.dtype)
    if initial is not None:
        warm = parameters_of(initial, config.model, share.dtype)
        start = {name: torch.cat([warm[name], value]) for name, value in start.items()}
        grid = (grid[0]._replace(warm_up_epochs=0), *grid)
    return {name: value.to(share.device) for name, value in start.items()}, grid


def finish(
    learner: Learner,
    trained: Trained,
    config: GradientConfig,
    run: Run,
    initial: FactorSCM | None = None,
) -> tuple[FactorSCM, FitStatus]:
    """Makes one model of trained configurations: chosen, and its stuck factors replaced."""
    candidates = settle(learner, trained.parameters, run.seed, run.budget)
    if config.training.feasibility is Feasibility.RELAXED and initial is None:
        at = candidates.best_trained(trained.violation)
    else:
        if initial is not None:
            candidates = candidates.joined(_as_candidate(learner, initial, run))
        at = candidates.best(config.tie)
    best = candidates.row(at)
    n_feasible = int((trained.violation == 0).sum())
    notes = [
        f"{trained.epochs} epochs of {len(trained.nll)} configurations, {n_feasible} feasible.",
        *trained.notes,
    ]
    interrupted = trained.interrupted
    if config.replace_factor.rounds and not interrupted and not run.budget.cut_short:
        best, note, interrupted = replace_factors(
            learner, candidates, at, config.replace_factor, run
        )
        notes.append(note)
    status = _status(best, run.budget, interrupted, notes)
    dropped = best.removed_edges(0, among=~learner.problem.possible[Edge.NONE])
    return best.scm(0), replace(status, advice=(*status.advice, *_advice_on_prior(dropped)))


def identity_of(
    data: list[InterventionalData],
    n_factors: int,
    config: GradientConfig,
    seed: int,
    initial: FactorSCM | None = None,
) -> dict[str, str]:
    """Returns a digest of the data, the settings and the initial model: of all that matters."""
    known = "" if config.prior is None else config.prior.statements()
    settings = (n_factors, seed, config.model, config.constraints, config.training, known)
    parts = {} if initial is None else parameters_of(initial, config.model, torch.float64)
    texts = {
        "data": repr([part.fingerprint for part in data]),
        "settings": repr(settings),
        "initial model": repr({name: value.tolist() for name, value in parts.items()}),
    }
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}


def _as_candidate(learner: Learner, initial: FactorSCM, run: Run) -> Candidates:
    """Returns the initial model, refitted on its own graph: the fit returns nothing worse."""
    share = learner.problem.objective.free_share
    parameters = parameters_of(initial, learner.model, share.dtype)
    own = {name: value.to(share.device) for name, value in parameters.items()}
    return settle(learner, own, run.seed, run.budget)


def _status(best: Candidates, budget: Budget, interrupted: bool, notes: list[str]) -> FitStatus:
    violations = best.violations[0]
    feasible, advice = not violations, advice_for(violations)
    if interrupted:
        reason = "Interrupted; this is the best model so far."
    elif budget.cut_short:
        reason, advice = budget.reason, (budget.advice, *advice)
    elif feasible:
        reason = "All constraints hold."
    else:
        reason = "No configuration met all constraints; this is the least infeasible model."
    return FitStatus(
        converged=feasible and not interrupted and not budget.cut_short,
        feasible=feasible,
        interrupted=interrupted,
        reason=reason,
        violations=violations,
        removed_edges=best.removed_edges(0),
        advice=advice,
        notes=tuple(notes),
    )


def _advice_on_prior(dropped: tuple[str, ...]) -> tuple[str, ...]:
    if not dropped:
        return ()
    return (f"The prior knowledge asks for a cycle: {', '.join(dropped)} had to go all the same.",)


def _advice_on_scale(data: InterventionalData) -> tuple[str, ...]:
    spread = data.x.std(axis=0)
    if spread.min() > SCALES[0] and spread.max() < SCALES[1]:
        return ()
    return (
        "Standardise the data first (data.standardised()): standard deviations go from "
        f"{spread.min():.2g} to {spread.max():.2g}, and the settings are meant for 1.",
    )


def _split(data: InterventionalData, seed: int) -> tuple[InterventionalData, InterventionalData]:
    """Takes a fifth for validation; all data serve for both if there are too few to part with."""
    split = data.split(0.8, 0.2, seed=seed)
    if min(split.train.n_samples, split.validation.n_samples) == 0:
        return data, data
    return split.train, split.validation


def _check(
    data: InterventionalData, n_factors: int, config: GradientConfig, initial: FactorSCM | None
) -> None:
    if not 0 < n_factors < data.n_variables:
        raise InvalidInputError(
            "'n_factors' must be at least 1 and below the number of variables, "
            f"{data.n_variables}. Got {n_factors} instead."
        )
    if initial is not None:
        shape = (initial.graph.n_variables, initial.graph.n_factors)
        if shape != (data.n_variables, n_factors):
            raise InvalidInputError(
                f"'initial' must have {data.n_variables} variables and {n_factors} factors. "
                f"Got {shape[0]} and {shape[1]} instead."
            )
    if config.prior is not None:
        config.prior.check_shape(data.n_variables, n_factors)
