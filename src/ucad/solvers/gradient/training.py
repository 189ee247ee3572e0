"""Training of K configurations at once: early stopping, best snapshots, checkpoints."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from ucad._types import Progress, ProgressEvent
from ucad.solvers.budget import Budget
from ucad.solvers.gradient.checkpoint import Checkpoint
from ucad.solvers.gradient.epoch import initial_state, train_epoch
from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.problem import Learner
from ucad.solvers.gradient.relaxed_graph import discrete_graph, expected_graph
from ucad.solvers.gradient.settings import Configuration, Feasibility
from ucad.solvers.gradient.state import Layout, Look, TrainingState
from ucad.solvers.status import HistoryRow

__all__ = ["Run", "Trained", "train"]

STAGE = "training"
"""What progress reports and the history call this."""

SECONDS_BETWEEN_CHECKPOINTS = 20.0
"""What an interruption without warning costs at most, beside writing a file of some MB."""


@dataclass(frozen=True)
class Run:
    """What belongs to one call rather than to the settings.

    Attributes:
        seed: random seed of the noise and the batches.
        progress: called after every look at the validation data.
        checkpoint: the file that keeps the state, if any.
        budget: how long the whole fit may take.
    """

    seed: int
    progress: Progress | None = None
    checkpoint: Checkpoint | None = None
    budget: Budget = field(default_factory=Budget)

    def tell(self, done: int, total: int | None, message: str) -> None:
        """Reports progress, if anybody listens."""
        if self.progress is not None:
            self.progress(ProgressEvent(STAGE, done, total, message))

    def save(self, state: TrainingState) -> None:
        """Writes the state, if it is kept anywhere."""
        if self.checkpoint is not None:
            self.checkpoint.save(state)


class Trained(NamedTuple):
    """What training hands on: the best snapshot of every configuration, and what happened."""

    parameters: Parameters
    nll: Float[Tensor, " configurations"]
    violation: Float[Tensor, " configurations"]
    epochs: int
    interrupted: bool
    history: tuple[HistoryRow, ...]
    notes: tuple[str, ...]
    about_checkpoint: str = ""


def train(
    learner: Learner, start: Parameters, grid: tuple[Configuration, ...], run: Run
) -> Trained:
    """Trains all configurations until each has run out of patience or epochs, or time is over."""
    generator = torch.Generator(device=start["logits"].device).manual_seed(run.seed)
    state = initial_state(learner.problem, start, learner.config.training, generator)
    about_checkpoint, notes = "", []
    if run.checkpoint is not None:
        fresh = state
        state, about_checkpoint = run.checkpoint.resume(fresh)
        if about_checkpoint:
            run.tell(state.epoch, None, about_checkpoint)
            notes = [about_checkpoint] if state is fresh else []  # a resumed fit is like any other
    loop, interrupted = _Loop(learner, Layout.of(start), grid, run, generator), False
    try:
        loop.run(state)
    except KeyboardInterrupt:
        interrupted = True
    run.save(state)
    if interrupted or run.budget.cut_short:
        loop.look(state)
    if state.n_broken:
        notes.append(f"{state.n_broken} configurations left, since values were not finite.")
    best = state.best
    return Trained(
        loop.layout.views(best.values),
        best.nll,
        best.violation,
        state.epoch,
        interrupted,
        state.history,
        tuple(notes),
        about_checkpoint,
    )


class _Loop:
    """One training run, epoch by epoch."""

    def __init__(
        self,
        learner: Learner,
        layout: Layout,
        grid: tuple[Configuration, ...],
        run: Run,
        generator: torch.Generator,
    ) -> None:
        self.learner, self.layout, self.grid = learner, layout, grid
        self.the_run, self.generator = run, generator
        self.settings = learner.config.training

    def run(self, state: TrainingState) -> None:
        """Trains as long as there are epochs, time and configurations left."""
        self.generator.set_state(state.noise)
        started, first, saved = time.monotonic(), state.epoch, time.monotonic()
        while state.epoch < self.settings.epochs and len(state.active.rows):
            if self.the_run.budget.is_over:
                return
            before = state.copied()
            try:
                looked = self._one_epoch(state)
            except KeyboardInterrupt:
                state.restore(before)  # whole epochs only: a resumed run ends the same
                raise
            if not looked:
                continue
            self._report(state, (time.monotonic() - started) / (state.epoch - first))
            if time.monotonic() - saved > SECONDS_BETWEEN_CHECKPOINTS:
                self.the_run.save(state)
                saved = time.monotonic()

    def look(self, state: TrainingState) -> None:
        """Compares every active configuration with its best snapshot."""
        active, problem, validation = state.active, self.learner.problem, self.learner.validation
        if not len(active.rows):
            return
        parameters = self.layout.views(active.values)
        logits = problem.logits(parameters)
        with torch.no_grad():
            if self.settings.feasibility is Feasibility.DISCRETE:
                graph = discrete_graph(logits, self.settings.confidence)
            else:
                graph = expected_graph(logits)
            violations = problem.constraints.violations(graph)
            nll = validation.profile_nll(parameters, graph)
        missed = violations.where(violations > self.settings.slack, 0).sum(dim=1)
        look = Look(active.values, nll, missed)
        state.best.update_(active.rows, look, state.epoch, self.settings.min_gain)

    def _one_epoch(self, state: TrainingState) -> bool:
        """Trains, looks if a look is due, and drops who is done; returns whether it looked."""
        problem, settings = self.learner.problem, self.settings
        nll = train_epoch(state, problem, self.layout, self.grid, settings, self.generator)
        state.epoch += 1
        state.noise = self.generator.get_state()
        is_finite = state.active.values.isfinite().all(dim=1) & nll.isfinite()
        state.n_broken += int((~is_finite).sum())
        state.active = state.active.only(is_finite)
        if state.epoch % settings.evaluate_every and state.epoch < settings.epochs:
            return False
        self.look(state)
        state.history = (*state.history, _figures(state))
        state.active = state.active.only(self._may_stay(state))
        return True

    def _may_stay(self, state: TrainingState) -> Tensor:
        """Who has patience left; it does not run out as long as constraints are violated."""
        active, best = state.active, state.best
        feasible = best.violation[active.rows] == 0
        patience = torch.where(feasible, self.settings.patience, self.settings.epochs)
        return state.epoch - best.epoch[active.rows] <= patience

    def _report(self, state: TrainingState, pace: float) -> None:
        row, left = state.history[-1], pace * (self.settings.epochs - state.epoch)
        self.the_run.tell(
            state.epoch,
            self.settings.epochs,
            f"{row['feasible']} of {len(state.best.nll)} feasible, "
            f"NLL {row['validation_nll']:.3f}, at most {left:.0f} s left",
        )


def _figures(state: TrainingState) -> HistoryRow:
    missed = state.best.violation
    return {
        "stage": STAGE,
        "epoch": state.epoch,
        "active": len(state.active.rows),
        "feasible": int((missed == 0).sum()),
        "validation_nll": float(state.best.nll[missed == missed.min()].min()),
    }
