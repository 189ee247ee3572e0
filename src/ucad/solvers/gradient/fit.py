"""`fit_gradient`: from data to a factor SCM by the paper's learner."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from pathlib import Path

import torch

from ucad._types import Progress
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.scm import FactorSCM
from ucad.solvers.gradient.candidates import Candidates, Learner, settle
from ucad.solvers.gradient.epoch import Configuration, Feasibility
from ucad.solvers.gradient.learner import make_learner
from ucad.solvers.gradient.mechanisms import Parameters, initial_parameters
from ucad.solvers.gradient.presets import GradientConfig, fast
from ucad.solvers.gradient.relaxed_graph import Edge
from ucad.solvers.gradient.restarts import restart_factors
from ucad.solvers.gradient.simplify import simplify
from ucad.solvers.gradient.state import Run
from ucad.solvers.gradient.training import Trained, train
from ucad.solvers.gradient.warm_start import parameters_of
from ucad.solvers.selection import advice_for
from ucad.solvers.status import FitResult, FitStatus

__all__ = ["fingerprint", "finish", "fit_gradient", "starting_points"]


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
) -> FitResult:
    """Fits a factor SCM by the paper's constrained objective.

    Args:
        data: what was measured, standardised (`data.standardised()`).
        n_factors: how many factors to look for.
        config: the settings; `fast(data.n_variables)` if not given.
        validation: held-out data for model selection; a fifth of `data` if not given.
        initial: a model to start from, of as many factors, in the units of the data. Trained
            beside the other starting points, and never made worse by the fit.
        seed: of everything random.
        device: where to train.
        progress: told how far the fit is.
        checkpoint: a file to keep the state of training in. If it exists, training goes on from
            there, with the same result as if it had never stopped.

    Returns:
        The model with its status. Ctrl-C ends the fit with the best model so far.
    """
    started = time.monotonic()
    config = fast(data.n_variables) if config is None else config
    _check(data, n_factors, initial)
    if config.prior is not None:
        config.prior.check_shape(data.n_variables, n_factors)
    if validation is None:
        split = data.split(0.8, 0.2, seed=seed)
        data, validation = split.train, split.validation
    learner = make_learner(data, validation, n_factors, config, device)
    identity = fingerprint(data, n_factors, config, seed, initial)
    run = Run(seed, progress, "training", checkpoint, identity)
    start, grid = starting_points(learner, config, n_factors, seed, initial)
    trained = train(learner.problem, learner.validation, start, grid, config.training, run)
    scm, status = finish(learner, trained, config, run, initial)
    status = replace(status, advice=(*status.advice, *_advice_on_scale(data)))
    nll = scm.nll(validation.x, validation.is_intervened)
    return FitResult(scm, status, nll, trained.history, time.monotonic() - started)


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
    """Makes one model of trained configurations: chosen, its bad factors restarted, simplified."""
    candidates = settle(learner, trained.parameters, run.seed)
    if config.training.feasibility is Feasibility.RELAXED and initial is None:
        at = candidates.best_trained(trained.violation)
    else:
        if initial is not None:
            candidates = candidates.joined(_as_candidate(learner, initial, run.seed))
        at = candidates.best(config.tie)
    best = candidates.row(at)
    n_feasible = int((trained.violation == 0).sum())
    notes = [
        f"{trained.epochs} epochs of {len(trained.nll)} configurations, {n_feasible} feasible."
    ]
    interrupted = trained.interrupted
    if learner.moments is None and config.restarts.rounds:
        n_variables = len(learner.variable_names)
        notes.append(f"No restarts of factors: moments of {n_variables} variables are too big.")
    elif config.restarts.rounds and not interrupted:
        best, restart_notes, interrupted = restart_factors(learner, best, config.restarts, run)
        notes += restart_notes
    if config.model.is_linear and not interrupted:
        best, interrupted = _simplified(learner, best, config, run.seed)
    status = _status(best, trained, interrupted, notes)
    dropped = best.removed_edges(0, among=~learner.problem.possible[Edge.NONE])
    status = replace(status, advice=(*status.advice, *_advice_on_prior(dropped)))
    return best.scm(0), status


def fingerprint(
    data: InterventionalData,
    n_factors: int,
    config: GradientConfig,
    seed: int,
    initial: FactorSCM | None = None,
) -> str:
    """Tells fits apart: a checkpoint of one is no use to another."""
    known = "" if config.prior is None else config.prior.statements()
    start = "" if initial is None else initial.factor_mechanism.uses().tolist()
    parts = (data.fingerprint, n_factors, config.model, config.constraints, config.training)
    text = repr((*parts, known, start, seed))
    return hashlib.sha256(text.encode()).hexdigest()


def _simplified(
    learner: Learner, best: Candidates, config: GradientConfig, seed: int
) -> tuple[Candidates, bool]:
    try:
        return simplify(learner, best, config.simplify, seed), False
    except KeyboardInterrupt:
        return best, True


def _as_candidate(learner: Learner, initial: FactorSCM, seed: int) -> Candidates:
    """The initial model itself, refitted on its own graph: the fit returns nothing worse."""
    dtype = learner.problem.objective.free_share.dtype
    parameters = parameters_of(initial, learner.model, dtype)
    return settle(learner, parameters, seed)


def _status(best: Candidates, trained: Trained, interrupted: bool, notes: list[str]) -> FitStatus:
    violations = best.violations[0]
    feasible = not violations
    if trained.rollbacks:
        notes.append(f"{trained.rollbacks} steps back from values that were not finite.")
    if interrupted:
        reason = "Interrupted; this is the best model so far."
    elif feasible:
        reason = "All constraints hold."
    else:
        reason = "No configuration met all constraints; this is the least infeasible model."
    return FitStatus(
        converged=feasible and not interrupted,
        feasible=feasible,
        interrupted=interrupted,
        reason=reason,
        violations=violations,
        removed_edges=best.removed_edges(0),
        advice=advice_for(violations),
        notes=tuple(notes),
    )


def _advice_on_prior(dropped: tuple[str, ...]) -> tuple[str, ...]:
    if not dropped:
        return ()
    return (f"The prior knowledge asks for a cycle: {', '.join(dropped)} had to go all the same.",)


def _advice_on_scale(data: InterventionalData) -> tuple[str, ...]:
    """The variance floor and the starting points are meant for variables of variance 1."""
    spread = data.x.std(axis=0)
    if spread.min() > 0.5 and spread.max() < 2:
        return ()
    return (
        "Standardise the data first (data.standardised()): standard deviations go from "
        f"{spread.min():.2g} to {spread.max():.2g}, and the settings are meant for 1.",
    )


def _check(data: InterventionalData, n_factors: int, initial: FactorSCM | None) -> None:
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
