"""`fit_gradient`: from data to a factor SCM by the paper's learner."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from ucad._types import Progress
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.scm import FactorSCM
from ucad.solvers.gradient.candidates import Candidates, Learner, settle
from ucad.solvers.gradient.epoch import Feasibility
from ucad.solvers.gradient.mechanisms import initial_parameters
from ucad.solvers.gradient.objective import (
    MomentObjective,
    Objective,
    make_objective,
    masked_moments,
    moments_fit_in_memory,
)
from ucad.solvers.gradient.presets import GradientConfig, fast
from ucad.solvers.gradient.problem import Constraints, RelaxedProblem
from ucad.solvers.gradient.relaxed_graph import Edge, Sampling, possible_edges
from ucad.solvers.gradient.restarts import restart_factors
from ucad.solvers.gradient.simplify import simplify
from ucad.solvers.gradient.state import Run
from ucad.solvers.gradient.training import Trained, train
from ucad.solvers.gradient.warm_start import parameters_of
from ucad.solvers.selection import advice_for
from ucad.solvers.status import FitResult, FitStatus

__all__ = ["fit_gradient", "make_learner"]


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
    fingerprint = _fingerprint(data, n_factors, config, initial, seed)
    run = Run(seed, progress, "training", checkpoint, fingerprint)
    trained = _train(learner, config, n_factors, initial, run)
    candidates = settle(learner, trained.parameters, seed)
    if config.training.feasibility is Feasibility.RELAXED and initial is None:
        at = candidates.best_trained(trained.violation)
    else:
        if initial is not None:
            candidates = candidates.joined(_as_candidate(learner, initial, seed))
        at = candidates.best(config.tie)
    best = candidates.row(at)
    n_feasible = int((trained.violation == 0).sum())
    notes = [
        f"{trained.epochs} epochs of {len(trained.nll)} configurations, {n_feasible} feasible."
    ]
    interrupted = trained.interrupted
    if learner.moments is None and config.restarts.rounds:
        notes.append(
            f"No restarts of factors: moments of {data.n_variables} variables are too big."
        )
    elif config.restarts.rounds and not interrupted:
        best, restart_notes, interrupted = restart_factors(learner, best, config.restarts, run)
        notes += restart_notes
    if config.model.is_linear and not interrupted:
        best, interrupted = _simplified(learner, best, config, seed)
    status = _status(best, trained, interrupted, notes)
    dropped = best.removed_edges(0, among=~learner.problem.possible[Edge.NONE])
    advice = (*status.advice, *_advice_on_prior(dropped), *_advice_on_scale(data))
    status = replace(status, advice=advice)
    scm = best.scm(0)
    nll = scm.nll(validation.x, validation.is_intervened)
    return FitResult(scm, status, nll, trained.history, time.monotonic() - started)


def _simplified(
    learner: Learner, best: Candidates, config: GradientConfig, seed: int
) -> tuple[Candidates, bool]:
    try:
        return simplify(learner, best, config.simplify, seed), False
    except KeyboardInterrupt:
        return best, True


def make_learner(
    data: InterventionalData,
    validation: InterventionalData,
    n_factors: int,
    config: GradientConfig,
    device: torch.device | str = "cpu",
) -> Learner:
    """Puts data and settings together into one fitting problem."""
    possible = possible_edges(data.n_variables, n_factors, config.prior, data.layer_of).to(device)
    layer_of = None if data.layer_of is None else torch.tensor(data.layer_of, device=device)
    batch_size = config.training.batch_size
    train_objective, validation_objective = (
        make_objective(part, config.model, batch_size=batch_size, device=device)
        for part in (data, validation)
    )
    constraints = Constraints(config.constraints, layer_of)
    problem = RelaxedProblem(train_objective, constraints, possible, _sampling(config, data))
    return Learner(
        problem,
        validation_objective,
        config.model,
        config.training,
        config.refit,
        config.tie,
        _moments(data, train_objective),
        data.variable_names,
    )


def _moments(data: InterventionalData, objective: Objective) -> Tensor | None:
    """The moments restarts need: those of the objective, if it has any, or made here."""
    if isinstance(objective, MomentObjective):
        return objective.moments
    if not moments_fit_in_memory(data.n_variables):
        return None
    return masked_moments(data).to(objective.free_share.device)


def _sampling(config: GradientConfig, data: InterventionalData) -> Sampling:
    """As asked for; but only moments can leave a variable out of its own prediction.

    Where soft samples meet minibatches, the samples have to do it.
    """
    sampling = config.training.sampling
    from_moments = config.model.is_linear and moments_fit_in_memory(data.n_variables)
    return Sampling.EXCLUSIVE if sampling is Sampling.SOFT and not from_moments else sampling


def _train(
    learner: Learner,
    config: GradientConfig,
    n_factors: int,
    initial: FactorSCM | None,
    run: Run,
) -> Trained:
    grid = config.training.grid(run.seed)
    dtype = learner.problem.objective.free_share.dtype
    seeds = [one.seed for one in grid]
    n_variables = len(learner.variable_names)
    start = initial_parameters(config.model, n_variables, n_factors, seeds, dtype)
    if initial is not None:
        warm = parameters_of(initial, config.model, dtype)
        start = {name: torch.cat([warm[name], value]) for name, value in start.items()}
        grid = (grid[0]._replace(warm_up_epochs=0), *grid)
    device = learner.problem.objective.free_share.device
    start = {name: value.to(device) for name, value in start.items()}
    return train(learner.problem, learner.validation, start, grid, config.training, run)


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


def _fingerprint(
    data: InterventionalData,
    n_factors: int,
    config: GradientConfig,
    initial: FactorSCM | None,
    seed: int,
) -> str:
    known = "" if config.prior is None else config.prior.statements()
    start = "" if initial is None else initial.factor_mechanism.uses().tolist()
    parts = (data.fingerprint, n_factors, config.model, config.constraints, config.training)
    text = repr((*parts, known, start, seed))
    return hashlib.sha256(text.encode()).hexdigest()


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
