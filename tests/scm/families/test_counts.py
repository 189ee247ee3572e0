"""Expected readings of counts, against sums over all counts."""

import numpy as np
import pytest
import torch
from scipy import stats

from ucad.scm import CountMechanism
from ucad.scm.families import AffineMap
from ucad.scm.families.counts import MAX_LOG_RATE, expected_log_count


def t(values):
    return torch.tensor(values, dtype=torch.float64)


F = CountMechanism(
    t([[0.7, 0.0], [-0.4, 0.9]]), t([0.5, 1.0]), t([0.3, 1e-3]), t([2.0, 0.5]), t([1.0, -1.0])
)
V = t([[0.3, -1.0], [1.2, 0.4], [-2.0, 2.0]])


def by_summation(v, target):
    """E[log(1 + c)] over all counts of the law."""
    k = np.arange(20_000)
    mu = np.exp(F.weight[target].numpy() @ v + float(F.bias[target]))
    phi = float(F.dispersion[target])
    p = stats.nbinom.pmf(k, 1 / phi, 1 / (1 + phi * mu))
    return float((np.log1p(k) * p).sum())


def test_the_expected_logarithm_of_a_count_is_that_of_a_sum_over_all_counts():
    k = np.arange(20_000)
    for log_rate, phi in [(-3.0, 0.2), (0.0, 1e-3), (2.0, 2.0), (5.0, 0.2)]:
        p = stats.nbinom.pmf(k, 1 / phi, 1 / (1 + phi * np.exp(log_rate)))
        made = expected_log_count(torch.tensor([[log_rate]]).double(), torch.tensor([phi]).double())
        assert float(made) == pytest.approx(float((np.log1p(k) * p).sum()), abs=1e-4)


def test_a_reading_is_expected_in_the_units_of_its_target():
    found = F(V).numpy()
    for sample, target in np.ndindex(3, 2):
        expected = float(F.scale[target]) * by_summation(V[sample].numpy(), target)
        assert found[sample, target] == pytest.approx(expected + float(F.shift[target]), abs=3e-4)


def test_some_targets_are_those_columns_of_all():
    torch.testing.assert_close(F(V, torch.tensor([1])), F(V)[:, 1:])


def test_other_units_of_targets_and_inputs_change_nothing_else():
    outer, inner = (
        AffineMap(t([3.0, -2.0]), t([0.5, 4.0])),
        AffineMap(t([2.0, 0.1]), t([1.0, -3.0])),
    )
    torch.testing.assert_close(F.after(outer)(V), outer.scale * F(V) + outer.shift)
    torch.testing.assert_close(F.before(inner)(V), F(inner.scale * V + inner.shift))


def test_no_slope_is_steeper_than_the_lipschitz_constant_and_some_come_near():
    v = torch.randn(4000, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 4
    v.requires_grad_()
    for target in range(2):
        (slope,) = torch.autograd.grad(F(v)[:, target].sum(), v)
        largest = slope.norm(dim=1).max()
        bound = F.lipschitz()[target]
        assert largest <= bound * (1 + 1e-3)  # to the error of the integral
        assert largest > 0.6 * bound


def test_rates_beyond_the_highest_stay_finite():
    far = expected_log_count(t([[MAX_LOG_RATE], [1e6], [-1e6]]), t([0.5]))
    assert torch.isfinite(far).all()
    assert far[0] == far[1]
    assert far[2] == 0


def test_the_logarithm_of_an_expected_count_is_never_below_the_expected_logarithm():
    """Jensen's inequality, the nearer the less the counts are spread."""
    log_rate = torch.linspace(-3, 8, 12, dtype=torch.float64)[:, None]
    even, spread = (expected_log_count(log_rate, t([phi])) for phi in (1e-4, 2.0))
    assert (spread < even).all()
    assert (even <= torch.log1p(log_rate.exp()) + 1e-4).all()
