"""Cooper as the driver of the primal-dual steps, as in the paper.

Cooper's multipliers are flat and its optimisers have one learning rate, so configurations that
share their rates are stacked, and each such group has an optimiser of its own. The trajectory is
that of `batched_epoch`, which takes all configurations at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from cooper.cmp import CMPState, ConstrainedMinimizationProblem
from cooper.constraints.constraint import Constraint
from cooper.constraints.constraint_state import ConstraintState
from cooper.formulations import formulations
from cooper.multipliers.multipliers import DenseMultiplier
from cooper.optim.constrained_optimizers.alternating_optimizer import (
    AlternatingPrimalDualOptimizer,
)
from cooper.penalty_coefficients.penalty_coefficient_updaters import (
    MultiplicativePenaltyCoefficientUpdater,
)
from cooper.penalty_coefficients.penalty_coefficients import DensePenaltyCoefficient
from cooper.utils.annotations import ConstraintType
from jaxtyping import Float, Int
from torch import Tensor

from ucad.solvers.gradient.epoch import TrainingSettings, draw_noise
from ucad.solvers.gradient.lagrangian import GROWTH_TOLERANCE, AugmentedLagrangian
from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.problem import RelaxedProblem
from ucad.solvers.gradient.state import Layout, TrainingState

__all__ = ["cooper_epoch"]


def cooper_epoch(
    state: TrainingState,
    problem: RelaxedProblem,
    layout: Layout,
    settings: TrainingSettings,
    generator: torch.Generator,
) -> Float[Tensor, " active"]:
    """Takes one epoch of Cooper's alternating updates for every group of configurations."""
    noise = draw_noise(state, layout, settings, generator)
    temperature = settings.temperature.at(state.epoch)
    batches = [problem.objective.draw(generator) for _ in range(settings.steps_per_epoch)]
    steps = [(noise[at], temperature, batch) for at, batch in enumerate(batches)]
    nll = torch.zeros_like(state.rate)
    for rows in _groups(state):
        own = [(kept[rows], *rest) for kept, *rest in steps]
        nll[rows] = _Group(state, rows, problem, layout, settings).run(own)
    return nll


def _groups(state: TrainingState) -> Iterator[Int[Tensor, " members"]]:
    """Positions of configurations with the same learning rate, growth, warm-up and clock."""
    keys = (state.rate, state.growth, state.warm_up.to(state.rate), state.adam.steps)
    columns = torch.stack(keys, dim=1)
    _, group_of = torch.unique(columns, dim=0, return_inverse=True)
    for group in range(int(group_of.max()) + 1):
        yield (group_of == group).nonzero(as_tuple=True)[0]


class _StackedProblem(ConstrainedMinimizationProblem):
    """A group of configurations as one problem: the sum of their objectives, all constraints."""

    def __init__(
        self, problem: RelaxedProblem, parameters: Parameters, lagrangian: AugmentedLagrangian
    ) -> None:
        super().__init__()
        self.problem = problem
        self.parameters = parameters
        start = lagrangian.multipliers.flatten()
        self.multiplier = DenseMultiplier(init=start, dtype=start.dtype)
        self.penalty = DensePenaltyCoefficient(lagrangian.penalty_coefficient.flatten())
        self.conditions = Constraint(
            ConstraintType.INEQUALITY,
            formulations.AugmentedLagrangian,
            self.multiplier,
            self.penalty,
        )

    def likelihood(self, noise: Tensor, temperature: float, batch: Tensor) -> Float[Tensor, ""]:
        """The objective alone, for the warm-up."""
        nll = self.problem.evaluate(self.parameters, noise, temperature, batch).nll
        self.last_nll = nll.detach()
        return nll.sum()

    def compute_cmp_state(self, noise: Tensor, temperature: float, batch: Tensor) -> CMPState:
        """The objective of one step and the constraints."""
        nll, violations = self.problem.evaluate(self.parameters, noise, temperature, batch)
        self.last_nll = nll.detach()
        observed = {self.conditions: ConstraintState(violation=violations.flatten())}
        return CMPState(loss=nll.sum(), observed_constraints=observed)

    def compute_violations(self) -> CMPState:
        """The constraints alone, for the dual step; without it Cooper evaluates all twice."""
        graph = self.problem.expected_graph(self.parameters)
        violations = self.problem.constraints.violations(graph, self.parameters)
        observed = {self.conditions: ConstraintState(violation=violations.flatten())}
        return CMPState(observed_constraints=observed)


class _Group:
    """One group for one epoch: out of the state, through Cooper, and back into the state."""

    def __init__(
        self,
        state: TrainingState,
        rows: Int[Tensor, " members"],
        problem: RelaxedProblem,
        layout: Layout,
        settings: TrainingSettings,
    ) -> None:
        self.state, self.rows, self.layout = state, rows, layout
        views = layout.views(state.values[rows])
        self.leaves = {name: view.clone().requires_grad_() for name, view in views.items()}
        lagrangian = AugmentedLagrangian(
            state.lagrangian.multipliers[rows], state.lagrangian.penalty_coefficient[rows]
        )
        self.cmp = _StackedProblem(problem, self.leaves, lagrangian)
        rate = float(state.rate[rows[0]])
        self.primal = self._adam(rate)
        dual = torch.optim.SGD(
            self.cmp.dual_parameters(), lr=settings.dual_rate_share * rate, maximize=True
        )
        self.optimiser = AlternatingPrimalDualOptimizer(self.cmp, self.primal, dual)
        # A restart would undo the growth as soon as a constraint holds.
        self.growth = MultiplicativePenaltyCoefficientUpdater(
            float(state.growth[rows[0]]), violation_tolerance=GROWTH_TOLERANCE, has_restart=False
        )

    def run(self, steps: list[tuple[Any, ...]]) -> Float[Tensor, " members"]:
        """Takes all steps and writes the result back."""
        warming_up = self.state.epoch < int(self.state.warm_up[self.rows[0]])
        for step in steps:
            if warming_up:
                self.primal.zero_grad()
                torch.autograd.backward(self.cmp.likelihood(*step))
                self.primal.step()
            else:
                names = ("noise", "temperature", "batch")
                kwargs = dict(zip(names, step, strict=True))
                roll = self.optimiser.roll(compute_cmp_state_kwargs=kwargs)
        if not warming_up:
            self.growth.step(roll.cmp_state.observed_constraints)
        self._write_back()
        return self.cmp.last_nll

    def _adam(self, rate: float) -> torch.optim.Adam:
        """Adam with the memory it had at the end of the last epoch."""
        adam = torch.optim.Adam(self.leaves.values(), lr=rate)
        memory = self.state.adam
        steps = memory.steps[self.rows[0]]
        means, squares = (
            self.layout.views(kept[self.rows]) for kept in (memory.mean, memory.square)
        )
        if float(steps) > 0:
            for name, leaf in self.leaves.items():
                adam.state[leaf] = {
                    "step": steps.clone().float().cpu(),
                    "exp_avg": means[name].clone(),
                    "exp_avg_sq": squares[name].clone(),
                }
        return adam

    def _write_back(self) -> None:
        state, rows, layout = self.state, self.rows, self.layout
        memory = {name: self.primal.state[leaf] for name, leaf in self.leaves.items()}
        values = {name: leaf.detach() for name, leaf in self.leaves.items()}
        state.values[rows] = layout.flatten(values)
        for kept, key in ((state.adam.mean, "exp_avg"), (state.adam.square, "exp_avg_sq")):
            kept[rows] = layout.flatten({name: own[key] for name, own in memory.items()})
        state.adam.steps[rows] = next(iter(memory.values()))["step"].to(state.adam.steps)
        multipliers, penalties = (
            part.clone()
            for part in (state.lagrangian.multipliers, state.lagrangian.penalty_coefficient)
        )
        multipliers[rows] = self.cmp.multiplier.weight.detach().view(len(rows), -1)
        penalties[rows] = self.cmp.penalty.value.view(len(rows), -1)
        state.lagrangian = AugmentedLagrangian(multipliers, penalties)
