"""Our batched Lagrangian takes the steps of Cooper, the library that the paper used."""

import pytest
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

from tests.solvers.gradient.conftest import start_of, with_training
from ucad.solvers.gradient.lagrangian import GROWTH_TOLERANCE
from ucad.solvers.gradient.problem import RelaxedProblem
from ucad.solvers.gradient.relaxed_graph import expected_graph, gumbel_noise
from ucad.solvers.gradient.state import Layout
from ucad.solvers.gradient.training import Training

EPOCHS = 5
GRID = {"learning_rates": (1e-2, 3e-2), "penalty_growths": (1.01, 1.05), "warm_up_epochs": (0, 2)}


class OneConfiguration(ConstrainedMinimizationProblem):
    """One configuration as Cooper sees it."""

    def __init__(self, problem, leaves, penalty):
        super().__init__()
        self.problem, self.leaves = problem, leaves
        start = self.violations().detach()
        multiplier = DenseMultiplier(init=torch.zeros_like(start), dtype=start.dtype)
        coefficient = DensePenaltyCoefficient(torch.full_like(start, penalty))
        kind, form = ConstraintType.INEQUALITY, formulations.AugmentedLagrangian
        self.conditions = Constraint(kind, form, multiplier, coefficient)

    def violations(self):
        graph = expected_graph(self.problem.logits(self.leaves))
        return self.problem.constraints.violations(graph).flatten()

    def likelihood(self, noise):
        return self.problem.evaluate(self.leaves, noise, torch.empty(0)).nll.sum()

    def compute_cmp_state(self, noise):
        return CMPState(self.likelihood(noise), self.compute_violations().observed_constraints)

    def compute_violations(self):
        return CMPState(
            observed_constraints={self.conditions: ConstraintState(violation=self.violations())}
        )


def coopers_end(learner, start, one, row, noise):
    """Trains one configuration by Cooper, on its own rows of the noise."""
    settings = learner.config.training
    leaves = {name: value[row, None].clone().requires_grad_() for name, value in start.items()}
    cmp = OneConfiguration(learner, leaves, settings.initial_penalty)
    primal = torch.optim.Adam(leaves.values(), lr=one.learning_rate)
    dual_rate = settings.dual_rate_share * one.learning_rate
    dual = torch.optim.SGD(cmp.dual_parameters(), lr=dual_rate, maximize=True)
    optimiser = AlternatingPrimalDualOptimizer(cmp, primal, dual)
    growth = MultiplicativePenaltyCoefficientUpdater(
        one.penalty_growth, violation_tolerance=GROWTH_TOLERANCE, has_restart=False
    )
    for epoch in range(EPOCHS):
        for step in noise[epoch][:, row, None]:
            if epoch < one.warm_up_epochs:
                primal.zero_grad()
                cmp.likelihood(step).backward()
                primal.step()
            else:
                roll = optimiser.roll(compute_cmp_state_kwargs={"noise": step})
        if epoch >= one.warm_up_epochs:
            growth.step(roll.cmp_state.observed_constraints)
    return Layout.of(start).flatten({name: leaf.detach() for name, leaf in leaves.items()})


@pytest.mark.parametrize("which", ["problem", "layered"])
def test_our_lagrangian_follows_coopers_trajectory_to_rounding(which, request, config):
    data = request.getfixturevalue(which)
    config = with_training(config, **GRID)
    learner = RelaxedProblem.of(data.train, data.validation, 3, config)
    grid = config.training.grid(seed=0)
    start = start_of(learner, [one.seed + at for at, one in enumerate(grid)])
    training = Training(learner, start, grid, seed=0)
    state = training.first_state()
    for _ in range(EPOCHS):
        training.epoch(state)
    ours = state.active.values
    shape = (config.training.steps_per_epoch, *start["logits"].shape)
    generator = torch.Generator().manual_seed(0)
    noise = [gumbel_noise(shape, generator, ours.dtype) for _ in range(EPOCHS)]
    theirs = [coopers_end(learner, start, one, at, noise) for at, one in enumerate(grid)]
    assert len(grid) == 8
    assert (ours - training.layout.flatten(start)).abs().max() > 0.1
    torch.testing.assert_close(ours, torch.cat(theirs), rtol=0, atol=1e-11)
