"""Best snapshots, and parameters in one flat vector."""

import torch

from tests.solvers.gradient.conftest import start_of
from ucad.solvers.gradient.state import Best, Layout, Look


def test_feasible_snapshots_come_before_infeasible_ones_and_then_the_nll_decides():
    best = Best.start(torch.zeros(1, 1))
    row = torch.tensor([0])

    def offer(nll: float, violation: float, epoch: int) -> bool:
        look = Look(*(torch.tensor(one) for one in ([[float(epoch)]], [nll], [violation])))
        return bool(best.update_(row, look, epoch))

    assert offer(1.0, 0.5, 0)
    assert not offer(0.1, 0.6, 1)
    assert offer(2.0, 0.0, 2)
    assert not offer(-5.0, 0.1, 3)
    assert offer(1.5, 0.0, 4)
    assert not offer(float("nan"), 0.0, 5)
    assert best.epoch.item() == 4


def test_flattening_and_viewing_are_inverse(learner):
    start = start_of(learner, [0, 1])
    layout = Layout.of(start)
    views = layout.views(layout.flatten(start))
    assert all(torch.equal(views[name], value) for name, value in start.items())
