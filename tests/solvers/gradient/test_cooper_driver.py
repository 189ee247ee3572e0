import pytest
import torch

from tests.solvers.gradient.conftest import start_of, with_training
from ucad.solvers.gradient.cooper_driver import cooper_epoch
from ucad.solvers.gradient.epoch import batched_epoch, initial_state
from ucad.solvers.gradient.learner import make_learner
from ucad.solvers.gradient.state import Layout

GRIDS = {
    1: {"learning_rates": (1e-2,), "penalty_growths": (1.05,), "warm_up_epochs": (0,)},
    8: {
        "learning_rates": (1e-2, 3e-2),
        "penalty_growths": (1.01, 1.05),
        "warm_up_epochs": (0, 2),
    },
}


@pytest.mark.parametrize("K", [1, 8])
@pytest.mark.parametrize("which", ["problem", "layered"])
def test_our_lagrangian_follows_coopers_trajectory_to_rounding(K, which, request, config):
    data = request.getfixturevalue(which)
    config = with_training(config, **GRIDS[K])
    learner = make_learner(data.train, data.validation, 3, config)
    grid = config.training.grid(seed=0)
    assert len(grid) == K
    start = start_of(learner, [one.seed + at for at, one in enumerate(grid)])
    layout = Layout.of(start)
    ends = []
    for epoch in (batched_epoch, cooper_epoch):
        generator = torch.Generator().manual_seed(0)
        state = initial_state(layout, learner.problem, start, grid, config.training, generator)
        for _ in range(5):
            epoch(state, learner.problem, layout, config.training, generator)
            state.epoch += 1
        ends.append(state.values)
    assert (ends[0] - layout.flatten(start)).abs().max() > 0.1
    torch.testing.assert_close(*ends, rtol=0, atol=1e-11)
