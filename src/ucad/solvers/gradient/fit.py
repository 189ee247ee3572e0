"""`fit_gradient`: from data to a factor SCM by the paper's learner."""

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
from ucad.solvers.gradient.candidates import Finished, best_of, settle
from ucad.solvers.gradient.checkpoint import Checkpoint
from ucad.solvers.gradient.exchange_factors import exchange_factors
from ucad.solvers.gradient.mechanisms import initial_parameters
from ucad.solvers.gradient.presets import fast
from ucad.solvers.gradient.problem import Learner
from ucad.solvers.gradient.relaxed_graph import Edge
from ucad.solvers.gradient.settings import Feasibility, GradientConfig
from ucad.solvers.gradient.training import Run, Trained, train
from ucad.solvers.problem import Problem
from ucad.solvers.selection import Candidate, advice_for, best_candidate
from ucad.solvers.status import FitResult, FitStatus

__all__ = ["best_trained", "fit_gradient"]

VALIDATION_SHARE = 0.2
"""Share of the samples that is kept for model selection where no validation data are given: as the
paper splits its own, four parts to train on and one to choose by."""


def fit_gradient(  # noqa: PLR0913  (the entry point: everything a user may say about one fit)
    data: InterventionalData,
    n_factors: int,
    *,
    config: GradientConfig | None = None,
    validation: InterventionalData | None = None,
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
    Problem.of(data, n_factors, (AFFINE, AFFINE), prior=config.prior)  # what every solver refuses
    notes: tuple[str, ...] = ()
    if validation is None:
        data, validation, notes = _split(data, seed)
    learner = Learner.of(data, validation, n_factors, config, device)
    kept = None
    if checkpoint is not None:
        kept = Checkpoint(checkpoint, _identity([data, validation], n_factors, config, seed))
    run = Run(seed, progress, kept, budget)
    like, grid = learner.problem.objective.free_share, config.training.grid(seed)
    drawn = initial_parameters(config.model, data.n_variables, n_factors, [c.seed for c in grid])
    trained = train(learner, {name: value.to(like) for name, value in drawn.items()}, grid, run)
    scm, status = _finish(learner, trained, run)
    status = replace(status, notes=(*status.notes, *notes))
    nll = scm.nll(validation.x, validation.is_left_out)
    return FitResult(scm, status, nll, trained.history, budget.seconds)


def best_trained(models: list[Finished], violation: list[float]) -> int:
    """The paper's choice: lowest NLL among the runs whose relaxed graph was feasible.

    `violation` is the sum of what each run violated in training. The argmax graph of a feasible
    run may still violate a constraint a little, such as the bound on sparsity; the status says so.
    """
    figures = [
        Candidate(model.figures.validation_nll, {"training": amount} if amount > 0 else {})
        for model, amount in zip(models, violation, strict=True)
    ]
    return best_candidate(figures)


def _finish(learner: Learner, trained: Trained, run: Run) -> tuple[FactorSCM, FitStatus]:
    """Makes one model of trained configurations: chosen, and its stuck factors exchanged."""
    config, names = learner.config, learner.variable_names
    models = settle(learner, trained.parameters, run.seed, run.budget)
    if config.training.feasibility is Feasibility.RELAXED:
        at = best_trained(models, trained.violation.tolist())
    else:
        at = best_of(models, config.tie)
    n_feasible = int((trained.violation == 0).sum())
    notes = [
        f"{trained.epochs} epochs of {len(models)} configurations, {n_feasible} feasible.",
        *trained.notes,
    ]
    best, interrupted = models[at], trained.interrupted
    if config.exchange_rounds and not interrupted and not run.budget.cut_short:
        best, note, interrupted = exchange_factors(learner, models, at, run)
        notes.append(note)
    status = _status(best.figures.violations, run.budget, interrupted)
    required = best.removed_edges(names, among=~learner.problem.possible[Edge.NONE])
    if required:
        asked = (
            f"The prior knowledge asks for a cycle: {', '.join(required)} had to go all the same."
        )
        status = replace(status, advice=(*status.advice, asked))
    removed = best.removed_edges(names)
    return best.scm(names), replace(status, removed_edges=removed, notes=tuple(notes))


def _status(violations: Mapping[str, float], budget: Budget, interrupted: bool) -> FitStatus:
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
        advice=advice,
    )


def _identity(
    data: list[InterventionalData], n_factors: int, config: GradientConfig, seed: int
) -> dict[str, str]:
    """Returns a digest of the data and one of all that training depends on beside them."""
    known = "" if config.prior is None else config.prior.statements()
    settings = (n_factors, seed, config.model, config.constraints, config.training, known)
    texts = {"data": repr([part.fingerprint for part in data]), "settings": repr(settings)}
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}


def _split(
    data: InterventionalData, seed: int
) -> tuple[InterventionalData, InterventionalData, tuple[str, ...]]:
    """Takes a fifth for validation; all data serve for both if there are too few to part with."""
    split = data.split(1 - VALIDATION_SHARE, VALIDATION_SHARE, seed=seed)
    if min(split.train.n_samples, split.validation.n_samples) > 0:
        return split.train, split.validation, ()
    note = "Too few samples to keep some for validation: the validation NLL is of the same data."
    return data, data, (note,)
