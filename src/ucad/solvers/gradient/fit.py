"""`fit_gradient`: from data to a factor SCM by the paper's problem."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch

from ucad._types import Progress
from ucad.data import InterventionalData
from ucad.scm import FactorSCM
from ucad.scm.families import AFFINE
from ucad.solvers.budget import Budget
from ucad.solvers.gradient.candidates import best_of, settle
from ucad.solvers.gradient.checkpoint import Checkpoint
from ucad.solvers.gradient.mechanisms import initial_parameters
from ucad.solvers.gradient.presets import fast
from ucad.solvers.gradient.problem import RelaxedProblem
from ucad.solvers.gradient.relaxed_graph import Edge
from ucad.solvers.gradient.settings import GradientConfig
from ucad.solvers.gradient.training import Run, Trained, train
from ucad.solvers.problem import Problem
from ucad.solvers.status import FitResult, FitStatus

__all__ = ["advice_for", "fit_gradient"]


def fit_gradient(  # noqa: PLR0913  (the entry point: everything a user may say about one fit)
    data: InterventionalData,
    n_factors: int,
    *,
    validation: InterventionalData,
    config: GradientConfig | None = None,
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
        validation: held-out data in the same units, by which training stops and a model is chosen.
        config: the settings; `fast(data.n_variables)` if not given.
        seed: random seed of the starting points, the noise and the batches.
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
    Problem.of(data, n_factors, (AFFINE, AFFINE), prior=config.prior)  # what every solver refuses
    problem = RelaxedProblem.of(data, validation, n_factors, config, device)
    kept = None
    if checkpoint is not None:
        fingerprints = [data.fingerprint, validation.fingerprint]
        kept = Checkpoint(
            checkpoint,
            {"data": _digest(fingerprints), "settings": _digest(n_factors, seed, config)},
        )
    run = Run(seed, progress, kept, budget)
    like, grid = problem.objective.free_share, config.training.grid(seed)
    drawn = initial_parameters(config.model, data.n_variables, n_factors, [c.seed for c in grid])
    trained = train(problem, {name: value.to(like) for name, value in drawn.items()}, grid, run)
    scm, status = _finish(problem, trained, run)
    nll = scm.nll(validation.x, validation.is_left_out)
    return FitResult(scm, status, nll, trained.history, budget.seconds)


def advice_for(violations: Mapping[str, float]) -> tuple[str, ...]:
    """Returns what to try against each kind of violation, one sentence each.

    >>> advice_for({"out-anchor of Z2": 0.99})[0]
    'Ask for fewer factors: one without an anchor of its own often has nothing left to explain.'
    """
    advice = []
    if any("anchor" in name for name in violations):
        advice.append(
            "Ask for fewer factors: one without an anchor of its own often has nothing left to "
            "explain."
        )
    if "sparsity" in violations:
        excess = violations["sparsity"]
        advice.append(f"Raise 'sparsity_tolerance' by at least {excess:.2g}, or train for longer.")
    if any(name == "acyclicity" or name.startswith("layer") for name in violations):
        advice.append("Raise 'penalty_growths' or 'epochs', so that cycles are punished harder.")
    if violations:
        advice.append("Try more seeds ('n_seeds').")
    return tuple(advice)


def _finish(problem: RelaxedProblem, trained: Trained, run: Run) -> tuple[FactorSCM, FitStatus]:
    """Chooses one model of the trained configurations."""
    names = problem.variable_names
    models = settle(problem, trained.parameters, run.seed, run.budget)
    violation = trained.violation.tolist()
    best = models[best_of(models, violation, problem.config.tie)]
    status = _status(best.violations).unless_cut_short(run.budget, trained.interrupted)
    advice, required = status.advice, ~problem.possible[Edge.NONE]
    if lost := best.graph.removed_edges(names, among=required):
        asked = f"The prior knowledge asks for a cycle: {', '.join(lost)} had to go all the same."
        advice = (*advice, asked)
    n_feasible = violation.count(0.0)
    ended = f"{trained.epochs} epochs of {len(models)} configurations, {n_feasible} feasible."
    return best.scm(names), replace(
        status,
        advice=advice,
        removed_edges=best.graph.removed_edges(names),
        notes=(ended, *trained.notes),
    )


def _status(violations: Mapping[str, float]) -> FitStatus:
    feasible = not violations
    reason = "No configuration met all constraints; this is the least infeasible model."
    return FitStatus(
        converged=feasible,
        feasible=feasible,
        reason="All constraints hold." if feasible else reason,
        violations=violations,
        advice=advice_for(violations),
    )


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()
