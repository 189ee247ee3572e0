"""One epoch of primal-dual steps for all configurations, and its settings."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from ucad.errors import InvalidInputError
from ucad.solvers.gradient.lagrangian import Adam, AugmentedLagrangian
from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.problem import RelaxedProblem
from ucad.solvers.gradient.relaxed_graph import Sampling, TemperatureSchedule, gumbel_noise
from ucad.solvers.gradient.state import Best, Layout, TrainingState

__all__ = [
    "SEED_STRIDE",
    "Configuration",
    "Driver",
    "Epoch",
    "Feasibility",
    "TrainingSettings",
    "batched_epoch",
    "draw_noise",
    "initial_state",
]


SEED_STRIDE = 1_000_003
"""Distance between the seeds of the starting points of two consecutive fits: a prime far above the
number of starts of one fit, so that no two fits share one."""


class Feasibility(Enum):
    """Which graph must meet the constraints: that of probabilities (the paper), or the argmax."""

    RELAXED = "relaxed"
    DISCRETE = "discrete"


class Driver(Enum):
    """Who takes the primal-dual steps: our batched Lagrangian, or Cooper (same trajectory)."""

    BATCHED = "batched"
    COOPER = "cooper"


class Configuration(NamedTuple):
    """One member of the grid."""

    learning_rate: float
    penalty_growth: float
    warm_up_epochs: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """How the constrained problem is solved. The grid is rates × growths × warm-ups × seeds.

    Attributes:
        learning_rates: learning rates of the primal Adam.
        penalty_growths: factor per epoch on the penalty of a violated constraint.
        warm_up_epochs: epochs in which only the likelihood counts.
        n_seeds: starting points for each combination of the above.
        dual_rate_share: the dual learning rate as a share of the primal one.
        initial_penalty: ρ_c at the start, above 0.
        epochs: largest number of epochs.
        steps_per_epoch: Adam steps between two growths of the penalty.
        batch_size: samples per step, where minibatches are used.
        patience: epochs without a better feasible snapshot before a configuration leaves.
        min_gain: a validation NLL that is lower by less does not renew patience.
        evaluate_every: epochs between two looks at the validation data.
        sampling: how graphs are drawn.
        temperature: temperature of the Gumbel-softmax.
        feasibility: which graph must meet the constraints.
        slack: a constraint that is violated by no more than this counts as met.
        confidence: an edge exists if its total probability is above this.
        driver: who takes the steps.
    """

    learning_rates: tuple[float, ...] = (3e-2,)
    penalty_growths: tuple[float, ...] = (1.025,)
    warm_up_epochs: tuple[int, ...] = (50, 100)
    n_seeds: int = 8
    dual_rate_share: float = 0.2
    initial_penalty: float = 1.0
    epochs: int = 300
    steps_per_epoch: int = 4
    batch_size: int = 512
    patience: int = 100
    min_gain: float = 0.0
    evaluate_every: int = 10
    sampling: Sampling = Sampling.SOFT
    temperature: TemperatureSchedule = field(default_factory=TemperatureSchedule)
    feasibility: Feasibility = Feasibility.DISCRETE
    slack: float = 0.0
    confidence: float = 0.5
    driver: Driver = Driver.BATCHED

    def __post_init__(self) -> None:
        positive = ("n_seeds", "initial_penalty", "epochs", "steps_per_epoch", "batch_size")
        for name in (*positive, "evaluate_every", "patience", "dual_rate_share"):
            _require(getattr(self, name) > 0, name, "above 0", getattr(self, name))
        for name in ("learning_rates", "penalty_growths", "warm_up_epochs"):
            _require(len(getattr(self, name)) > 0, name, "not empty", getattr(self, name))
        for rate in self.learning_rates:
            _require(rate > 0, "learning_rates", "above 0", rate)
        for growth in self.penalty_growths:
            _require(growth >= 1, "penalty_growths", "at least 1", growth)
        for name in ("min_gain", "slack"):
            _require(getattr(self, name) >= 0, name, "at least 0", getattr(self, name))
        for epochs in self.warm_up_epochs:
            _require(epochs >= 0, "warm_up_epochs", "at least 0", epochs)
        _require(0 < self.confidence < 1, "confidence", "between 0 and 1", self.confidence)

    def grid(self, seed: int) -> tuple[Configuration, ...]:
        """Returns all configurations; the seeds of the starting points follow from one seed."""
        seeds = [seed * SEED_STRIDE + s for s in range(self.n_seeds)]
        return tuple(
            Configuration(*one)
            for one in itertools.product(
                self.learning_rates, self.penalty_growths, self.warm_up_epochs, seeds
            )
        )


Epoch: TypeAlias = Callable[
    [TrainingState, RelaxedProblem, Layout, TrainingSettings, torch.Generator], Tensor
]
"""Takes every active configuration through one epoch, in place; returns the last NLLs."""


def initial_state(
    layout: Layout,
    problem: RelaxedProblem,
    start: Parameters,
    grid: tuple[Configuration, ...],
    settings: TrainingSettings,
    generator: torch.Generator,
) -> TrainingState:
    """Returns the state before the first epoch."""
    values = layout.flatten(start)

    def column(name: str) -> Float[Tensor, " configurations"]:
        return values.new_tensor([getattr(one, name) for one in grid])

    violations = problem.constraints.violations(problem.expected_graph(start), start)
    rows = torch.arange(len(grid), device=values.device)
    return TrainingState(
        rows=rows,
        values=values.clone(),
        adam=Adam.start(values),
        lagrangian=AugmentedLagrangian.start(violations, settings.initial_penalty),
        rate=column("learning_rate"),
        growth=column("penalty_growth"),
        warm_up=column("warm_up_epochs").long(),
        rollbacks=torch.zeros_like(rows),
        best=Best.start(values),
        epoch=0,
        noise=generator.get_state(),
    )


def batched_epoch(
    state: TrainingState,
    problem: RelaxedProblem,
    layout: Layout,
    settings: TrainingSettings,
    generator: torch.Generator,
) -> Float[Tensor, " active"]:
    """Takes one epoch of alternating dual and primal steps with our own Lagrangian."""
    noise = draw_noise(state, layout, settings, generator)
    temperature = settings.temperature.at(state.epoch)
    constrained = (state.epoch >= state.warm_up).to(state.values)
    was_constrained = (state.epoch - 1 >= state.warm_up).to(state.values)
    leaves = [view.detach() for view in layout.views(state.values).values()]
    for leaf in leaves:
        leaf.requires_grad_()
    parameters = dict(zip((name for name, _ in layout.shapes), leaves, strict=True))
    for step in range(settings.steps_per_epoch):
        batch = problem.objective.draw(generator)
        nll, violations = problem.evaluate(parameters, noise[step], temperature, batch)
        # The dual step and the growth that belong to the point the last step, or epoch, led to.
        owed = constrained if step else was_constrained
        dual_rate = settings.dual_rate_share * state.rate * owed
        state.lagrangian = state.lagrangian.ascend(violations.detach(), dual_rate)
        if step == 0:
            growth = torch.where(owed > 0, state.growth, 1.0)
            state.lagrangian = state.lagrangian.grow(violations.detach(), growth)
        loss = nll + constrained * state.lagrangian.penalty(violations)
        gradients = torch.autograd.grad(loss.sum(), leaves)
        gradient = torch.cat([one.flatten(1) for one in gradients], dim=1)
        state.adam.step_(state.values, gradient, state.rate)
    return nll.detach()


def draw_noise(
    state: TrainingState, layout: Layout, settings: TrainingSettings, generator: torch.Generator
) -> Float[Tensor, "steps active kinds variables factors"]:
    """Draws an epoch's Gumbel noise for all configurations, so that leaving ones change nothing."""
    shape = (settings.steps_per_epoch, len(state.best.nll), *dict(layout.shapes)["logits"])
    noise = gumbel_noise(shape, generator, state.values.dtype)
    return noise if len(state.rows) == shape[1] else noise[:, state.rows]


def _require(holds: bool, name: str, wanted: str, got: object) -> None:
    if not holds:
        raise InvalidInputError(
            f"The '{name}' setting of TrainingSettings must be {wanted}. Got {got} instead."
        )
