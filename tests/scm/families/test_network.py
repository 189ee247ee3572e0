"""What only networks claim; what all families do is in test_families.py."""

import numpy as np
import torch

from ucad.scm.families import NETWORK, Affine
from ucad.scm.families.network import HIDDEN, WIDE_HIDDEN, MLPMechanism


def started(seed=0, *, wide=False):
    u = np.random.default_rng(1).standard_normal((100, 2))
    return NETWORK.start(np.array([0, 1]), u, np.tanh(u[:, 0]), np.ones(100), seed, wide=wide)


def test_another_seed_is_another_start_and_a_wide_one_has_more_units():
    assert (started().weights == started().weights).all()
    assert not np.allclose(started(0).w1, started(1).w1)
    assert len(started().b1) == HIDDEN < len(started(wide=True).b1) == WIDE_HIDDEN


def test_networks_of_different_widths_and_lines_are_one_mechanism():
    x = np.random.default_rng(2).standard_normal((50, 2))
    functions = [started(), started(wide=True), Affine(np.array([1]), np.array([2.0]), 0.3)]
    made = NETWORK.mechanism(functions, 2)(torch.from_numpy(x)).numpy()
    expected = np.stack([f.values(x) for f in functions], axis=1)
    np.testing.assert_allclose(made, expected, atol=1e-4)


def test_features_follow_a_random_network_of_one_input():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 1))
    y = np.tanh(x * rng.standard_normal(16)) @ rng.standard_normal(16)
    design = np.column_stack([NETWORK.features(x)[:, 0], np.ones(2000)])
    left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    assert left.var() < 1e-3 * y.var()


def test_many_samples_are_computed_in_blocks_with_the_same_values(monkeypatch):
    mechanism = NETWORK.mechanism([started(), started(1)], 2)
    x = torch.randn(64, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    whole = mechanism(x)
    monkeypatch.setattr("ucad.scm.families.network._BLOCK_ELEMENTS", 100)
    torch.testing.assert_close(mechanism(x), whole)


def test_a_target_without_inputs_is_a_constant_among_others():
    rng = torch.Generator().manual_seed(0)
    w1, b1, w2, b2 = (
        torch.randn(*shape, generator=rng) for shape in ((3, 4, 2), (3, 4), (3, 4), (3,))
    )
    w1[1] = 0.0
    inputs = torch.randn(5, 2, generator=rng)
    expected = (torch.tanh(torch.einsum("si,thi->sth", inputs, w1) + b1) * w2).sum(dim=2) + b2
    torch.testing.assert_close(MLPMechanism(w1, b1, w2, b2)(inputs), expected)
    only = torch.tensor([1])
    torch.testing.assert_close(MLPMechanism(w1, b1, w2, b2)(inputs, only), expected[:, only])


def test_weights_that_are_zero_still_learn():
    w1 = torch.zeros(1, 2, 3, requires_grad=True)
    made = MLPMechanism(w1, torch.zeros(1, 2), torch.ones(1, 2), torch.zeros(1))
    made(torch.ones(4, 3)).sum().backward()
    assert w1.grad is not None
    assert (w1.grad != 0).all()
