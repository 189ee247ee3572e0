"""Training of K configurations at once: early stopping, best snapshots, roll-back, checkpoints."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from ucad._types import ProgressEvent
from ucad.solvers.gradient.epoch import (
    Configuration,
    Driver,
    Epoch,
    Feasibility,
    TrainingSettings,
    batched_epoch,
    initial_state,
)
from ucad.solvers.gradient.lagrangian import AugmentedLagrangian
from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.objective import Objective, profile_nll
from ucad.solvers.gradient.problem import RelaxedProblem
from ucad.solvers.gradient.run import Run
from ucad.solvers.gradient.state import HistoryRow, Layout, Look, TrainingState

__all__ = ["Trained", "train"]

logger = logging.getLogger(__name__)

MAX_ROLLBACKS = 5
"""A configuration leaves after so many returns from values that are not finite. Each halves its
learning rate: at a thirty-second of what was asked for, it would not get anywhere."""

SECONDS_BETWEEN_CHECKPOINTS = 20.0
"""What an interruption without warning costs at most, beside writing a file of some MB."""


class Trained(NamedTuple):
    """What training hands on: the best snapshot of every configuration, and what happened."""

    parameters: Parameters
    nll: Float[Tensor, " configurations"]
    violation: Float[Tensor, " configurations"]
    epochs: int
    interrupted: bool
    history: tuple[HistoryRow, ...]
    notes: tuple[str, ...]


def train(
    problem: RelaxedProblem,
    validation: Objective,
    start: Parameters,
    grid: tuple[Configuration, ...],
    settings: TrainingSettings,
    run: Run,
) -> Trained:
    """Trains all configurations until each has run out of patience or epochs, or time is over."""
    layout = Layout.of(start)
    generator = torch.Generator(device=start["logits"].device).manual_seed(run.seed)
    first = initial_state(layout, problem, start, grid, settings, generator)
    state, note = run.resumed(first)
    loop = _Loop(problem, validation, layout, settings, run)
    interrupted = False
    try:
        loop.run(state, generator)
    except KeyboardInterrupt:
        interrupted = True
    run.save(state)
    if interrupted or run.budget.cut_short:
        loop.look(state)
    notes = [note] if note else []
    if state.n_rollbacks:
        notes.append(f"{state.n_rollbacks} steps back from values that were not finite.")
    return Trained(
        layout.views(state.best.values),
        state.best.nll,
        state.best.violation,
        state.epoch,
        interrupted,
        tuple(state.history),
        tuple(notes),
    )


@dataclass(eq=False)
class _Loop:
    """One training run, epoch by epoch."""

    problem: RelaxedProblem
    validation: Objective
    layout: Layout
    settings: TrainingSettings
    run_: Run

    def run(self, state: TrainingState, generator: torch.Generator) -> None:
        epoch = self._epoch()
        generator.set_state(state.noise)
        started, first, saved = time.monotonic(), state.epoch, time.monotonic()
        while state.epoch < self.settings.epochs and len(state.rows):
            if self.run_.budget.is_over:
                return
            before = state.copied()
            try:
                looked = self._one_epoch(epoch, state, before, generator)
            except KeyboardInterrupt:
                state.restore(before)  # whole epochs only: a resumed run ends the same
                raise
            if not looked:
                continue
            self._report(state, (time.monotonic() - started) / (state.epoch - first))
            if time.monotonic() - saved > SECONDS_BETWEEN_CHECKPOINTS:
                self.run_.save(state)
                saved = time.monotonic()

    def look(self, state: TrainingState) -> None:
        """Compares every active configuration with its best snapshot."""
        if not len(state.rows):
            return
        parameters = self.layout.views(state.values)
        validation = self.validation.of_rows(state.rows)
        with torch.no_grad():
            if self.settings.feasibility is Feasibility.DISCRETE:
                graph = self.problem.discrete_graph(parameters, self.settings.confidence)
            else:
                graph = self.problem.expected_graph(parameters)
            violations = self.problem.constraints.violations(graph, parameters)
            variance = validation.residual_variance(parameters, graph)
        nll = profile_nll(variance, validation.free_share, validation.variance_floor)
        missed = violations.where(violations > self.settings.slack, 0).sum(dim=1)
        look = Look(state.values, nll, missed)
        state.best.update(state.rows, look, state.epoch, self.settings.min_gain)

    def _problem_of(self, state: TrainingState) -> RelaxedProblem:
        """The problem of the configurations still in training."""
        whole = self.problem.objective
        own = whole.of_rows(state.rows)
        return self.problem if own is whole else replace(self.problem, objective=own)

    def _epoch(self) -> Epoch:
        if self.settings.driver is Driver.BATCHED:
            return batched_epoch
        from ucad.solvers.gradient.cooper_driver import cooper_epoch

        return cooper_epoch

    def _one_epoch(
        self, epoch: Epoch, state: TrainingState, before: TrainingState, generator: torch.Generator
    ) -> bool:
        """Trains, looks if a look is due, and drops who is done; returns whether it looked."""
        problem = self._problem_of(state)
        nll = epoch(state, problem, self.layout, self.settings, generator)
        state.epoch += 1
        state.noise = generator.get_state()
        broken = ~(state.values.isfinite().all(dim=1) & nll.isfinite())
        if bool(broken.any()):
            self._roll_back(state, before, broken)
        last = state.epoch == self.settings.epochs
        if state.epoch % self.settings.evaluate_every and not last:
            return False
        self.look(state)
        state.history.append(self._figures(state))
        state.keep(state.epoch - state.best.epoch[state.rows] <= self._patience(state))
        state.keep(state.rollbacks <= MAX_ROLLBACKS)
        return True

    def _roll_back(self, state: TrainingState, before: TrainingState, broken: Tensor) -> None:
        """Returns broken configurations to the start of the epoch, with half the step."""
        lagrangian = before.lagrangian
        state.values[broken] = before.values[broken]
        state.rate[broken] *= 0.5
        state.rollbacks[broken] += 1
        for memory in (state.adam.mean, state.adam.square):
            memory[broken] = 0
        state.adam.steps[broken] = 0
        state.lagrangian = AugmentedLagrangian(
            torch.where(broken[:, None], lagrangian.multipliers, state.lagrangian.multipliers),
            torch.where(
                broken[:, None],
                lagrangian.penalty_coefficient,
                state.lagrangian.penalty_coefficient,
            ),
        )
        state.n_rollbacks += int(broken.sum())
        logger.info("epoch %d: %d configurations rolled back", state.epoch, int(broken.sum()))

    def _patience(self, state: TrainingState) -> Tensor:
        """Returns after how many epochs to give up; never, as long as constraints are violated."""
        feasible = state.best.violation[state.rows] == 0
        return torch.where(feasible, self.settings.patience, self.settings.epochs)

    def _figures(self, state: TrainingState) -> HistoryRow:
        missed = state.best.violation
        lowest = float(state.best.nll[missed == missed.min()].min())
        return {
            "stage": self.run_.stage,
            "epoch": state.epoch,
            "active": len(state.rows),
            "feasible": int((missed == 0).sum()),
            "validation_nll": lowest,
        }

    def _report(self, state: TrainingState, pace: float) -> None:
        if self.run_.progress is None:
            return
        row, left = state.history[-1], pace * (self.settings.epochs - state.epoch)
        text = (
            f"{row['feasible']} of {len(state.best.nll)} feasible, NLL {row['validation_nll']:.3f}"
        )
        message = f"{text}, at most {left:.0f} s left"
        done = ProgressEvent(self.run_.stage, state.epoch, self.settings.epochs, message)
        self.run_.progress(done)
