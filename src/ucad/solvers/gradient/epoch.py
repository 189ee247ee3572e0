"""One epoch of primal-dual steps for all configurations at once."""

from __future__ import annotations

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from ucad.solvers.gradient.lagrangian import Adam, AugmentedLagrangian
from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.problem import RelaxedProblem
from ucad.solvers.gradient.relaxed_graph import expected_graph, gumbel_noise
from ucad.solvers.gradient.settings import Configuration, TrainingSettings
from ucad.solvers.gradient.state import Active, Best, Layout, TrainingState

__all__ = ["initial_state", "train_epoch"]


def initial_state(
    problem: RelaxedProblem,
    start: Parameters,
    settings: TrainingSettings,
    generator: torch.Generator,
) -> TrainingState:
    """Returns the state before the first epoch."""
    values = Layout.of(start).flatten(start)
    violations = problem.constraints.violations(expected_graph(problem.logits(start)))
    active = Active(
        rows=torch.arange(len(values), device=values.device),
        values=values.clone(),
        adam=Adam.start(values),
        lagrangian=AugmentedLagrangian.start(violations, settings.initial_penalty),
    )
    return TrainingState(active, Best.start(values), generator.get_state())


def train_epoch(
    state: TrainingState,
    problem: RelaxedProblem,
    layout: Layout,
    grid: tuple[Configuration, ...],
    settings: TrainingSettings,
    generator: torch.Generator,
) -> Float[Tensor, " active"]:
    """Takes one epoch of alternating dual and primal steps, in place; returns the last NLLs."""
    active, lagrangian = state.active, state.active.lagrangian
    rate, growth, warm_up = (
        active.values.new_tensor([getattr(one, name) for one in grid])[active.rows]
        for name in ("learning_rate", "penalty_growth", "warm_up_epochs")
    )
    noise = _draw_noise(state, layout, settings, generator)
    constrained = (state.epoch >= warm_up).to(active.values)
    was_constrained = (state.epoch - 1 >= warm_up).to(active.values)
    parameters = layout.leaves(active.values)
    for step in range(settings.steps_per_epoch):
        batch = problem.objective.draw(generator)
        nll, violations = problem.evaluate(parameters, noise[step], batch)
        # The dual step and the growth that belong to the point the last step, or epoch, led to.
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
    return nll.detach()


def _draw_noise(
    state: TrainingState, layout: Layout, settings: TrainingSettings, generator: torch.Generator
) -> Float[Tensor, "steps active kinds variables factors"]:
    """Draws an epoch's Gumbel noise for all configurations, so that leaving ones change nothing."""
    shape = (settings.steps_per_epoch, len(state.best.nll), *dict(layout.shapes)["logits"])
    noise = gumbel_noise(shape, generator, state.active.values.dtype)
    rows = state.active.rows
    return noise if len(rows) == shape[1] else noise[:, rows]
