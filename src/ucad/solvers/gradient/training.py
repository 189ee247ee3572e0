"""Training of K configurations at once: primal-dual epochs, early stopping, best snapshots."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from ucad._types import Progress, ProgressEvent
from ucad.solvers.budget import Budget
from ucad.solvers.gradient.checkpoint import Checkpoint
from ucad.solvers.gradient.lagrangian import Adam, AugmentedLagrangian
from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.problem import RelaxedProblem
from ucad.solvers.gradient.relaxed_graph import discrete_graph, expected_graph, gumbel_noise
from ucad.solvers.gradient.settings import Configuration, Feasibility
from ucad.solvers.gradient.state import Active, Best, Layout, Look, TrainingState
from ucad.solvers.status import HistoryRow

__all__ = ["Run", "Trained", "Training", "train"]

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
    problem: RelaxedProblem, start: Parameters, grid: tuple[Configuration, ...], run: Run
) -> Trained:
    """Trains all configurations until each has run out of patience or epochs, or time is over."""
    training = Training(problem, start, grid, run.seed)
    state = training.first_state()
    about_checkpoint, notes = "", []
    if run.checkpoint is not None:
        fresh = state
        state, about_checkpoint = run.checkpoint.resume(fresh)
        if about_checkpoint:
            run.tell(state.epoch, None, about_checkpoint)
            notes = [about_checkpoint] if state is fresh else []  # a resumed fit is like any other
    interrupted = False
    try:
        _run_epochs(training, state, run)
    except KeyboardInterrupt:
        interrupted = True
    run.save(state)
    if interrupted or run.budget.cut_short:
        training.look(state)
    if state.n_broken:
        notes.append(f"{state.n_broken} configurations left, since values were not finite.")
    best = state.best
    return Trained(
        training.layout.views(best.values),
        best.nll,
        best.violation,
        state.epoch,
        interrupted,
        state.history,
        tuple(notes),
        about_checkpoint,
    )


def _run_epochs(training: Training, state: TrainingState, run: Run) -> None:
    """Trains as long as there are epochs, time and configurations left."""
    training.generator.set_state(state.noise)
    started, first, saved = time.monotonic(), state.epoch, time.monotonic()
    n_epochs = training.settings.epochs
    while state.epoch < n_epochs and len(state.active.rows) and not run.budget.is_over:
        before = state.copied()
        try:
            looked = training.advance(state)
        except KeyboardInterrupt:
            state.restore(before)  # whole epochs only: a resumed run ends the same
            raise
        if not looked:
            continue
        now, row = time.monotonic(), state.history[-1]
        left = (now - started) / (state.epoch - first) * (n_epochs - state.epoch)
        told = f"{row['feasible']} of {len(state.best.nll)} feasible, "
        told += f"NLL {row['validation_nll']:.3f}, at most {left:.0f} s left"
        run.tell(state.epoch, n_epochs, told)
        if now - saved > SECONDS_BETWEEN_CHECKPOINTS:
            run.save(state)
            saved = time.monotonic()


class Training:
    """How one epoch leads to the next, for all configurations of a grid.

    What changes is the state, which is passed in; only the random generator is kept here, and the
    state knows where it stands.
    """

    def __init__(
        self, problem: RelaxedProblem, start: Parameters, grid: tuple[Configuration, ...], seed: int
    ) -> None:
        self.problem, self.start, self.grid = problem, start, grid
        self.settings = problem.config.training
        self.layout = Layout.of(start)
        self.generator = torch.Generator(device=start["logits"].device).manual_seed(seed)

    def first_state(self) -> TrainingState:
        """Returns the state before the first epoch."""
        problem, values = self.problem, self.layout.flatten(self.start)
        violations = problem.constraints.violations(expected_graph(problem.logits(self.start)))
        active = Active(
            rows=torch.arange(len(values), device=values.device),
            values=values.clone(),
            adam=Adam.start(values),
            lagrangian=AugmentedLagrangian.start(violations, self.settings.initial_penalty),
        )
        return TrainingState(active, Best.start(values), self.generator.get_state())

    def advance(self, state: TrainingState) -> bool:
        """Trains an epoch, looks if a look is due, and drops who is done; returns if it looked."""
        nll = self.epoch(state)
        state.noise = self.generator.get_state()
        is_finite = state.active.values.isfinite().all(dim=1) & nll.isfinite()
        state.n_broken += int((~is_finite).sum())
        state.active = state.active.only(is_finite)
        if state.epoch % self.settings.evaluate_every and state.epoch < self.settings.epochs:
            return False
        self.look(state)
        state.history = (*state.history, _figures(state))
        state.active = state.active.only(self._may_stay(state))
        return True

    def epoch(self, state: TrainingState) -> Float[Tensor, " active"]:
        """Takes one epoch of alternating dual and primal steps, in place; returns the last NLLs."""
        problem, settings = self.problem, self.settings
        active, lagrangian = state.active, state.active.lagrangian
        rate, growth, warm_up = (
            active.values.new_tensor([getattr(one, name) for one in self.grid])[active.rows]
            for name in ("learning_rate", "penalty_growth", "warm_up_epochs")
        )
        noise = self._draw_noise(active)
        constrained = (state.epoch >= warm_up).to(active.values)
        was_constrained = (state.epoch - 1 >= warm_up).to(active.values)
        parameters = self.layout.leaves(active.values)
        for step in range(settings.steps_per_epoch):
            batch = problem.objective.draw(self.generator)
            nll, violations = problem.evaluate(parameters, noise[step], batch)
            # The dual step and growth that belong to the point the last step, or epoch, led to.
            owed = constrained if step else was_constrained
            dual_rate = settings.dual_rate_share * rate * owed
            lagrangian = lagrangian.ascend(violations.detach(), dual_rate)
            if step == 0:
                growth = torch.where(owed > 0, growth, 1.0)
                lagrangian = lagrangian.grow(violations.detach(), growth)
            loss = nll + constrained * lagrangian.penalty(violations)
            gradients = torch.autograd.grad(loss.sum(), list(parameters.values()))
            gradient = torch.cat([one.flatten(1) for one in gradients], dim=1)
            active.adam.step_(active.values, gradient, rate)
        state.active = replace(active, lagrangian=lagrangian)
        state.epoch += 1
        return nll.detach()

    def look(self, state: TrainingState) -> None:
        """Compares every active configuration with its best snapshot."""
        active, problem, settings = state.active, self.problem, self.settings
        if not len(active.rows):
            return
        parameters = self.layout.views(active.values)
        logits = problem.logits(parameters)
        with torch.no_grad():
            if settings.feasibility is Feasibility.DISCRETE:
                graph = discrete_graph(logits, settings.confidence)
            else:
                graph = expected_graph(logits)
            violations = problem.constraints.violations(graph)
            nll = problem.validation.profile_nll(parameters, graph)
        missed = violations.where(violations > settings.slack, 0).sum(dim=1)
        look = Look(active.values, nll, missed)
        state.best.update_(active.rows, look, state.epoch, settings.min_gain)

    def _draw_noise(self, active: Active) -> Float[Tensor, "steps active kinds variables factors"]:
        """Draws Gumbel noise for all configurations, so that those that leave change nothing."""
        shape = (self.settings.steps_per_epoch, *self.start["logits"].shape)
        noise = gumbel_noise(shape, self.generator, active.values.dtype)
        return noise if len(active.rows) == shape[1] else noise[:, active.rows]

    def _may_stay(self, state: TrainingState) -> Tensor:
        """Who has patience left; it does not run out as long as constraints are violated."""
        active, best = state.active, state.best
        feasible = best.violation[active.rows] == 0
        patience = torch.where(feasible, self.settings.patience, self.settings.epochs)
        return state.epoch - best.epoch[active.rows] <= patience


def _figures(state: TrainingState) -> HistoryRow:
    missed = state.best.violation
    return {
        "stage": STAGE,
        "epoch": state.epoch,
        "active": len(state.active.rows),
        "feasible": int((missed == 0).sum()),
        "validation_nll": float(state.best.nll[missed == missed.min()].min()),
    }
