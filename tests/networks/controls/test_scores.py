import numpy as np
import pytest
import torch

from ucad.networks.controls.decoders import fit_decoders
from ucad.networks.controls.readings import raw_inputs
from ucad.networks.controls.scores import Verdict, compared, compared_anew, scored

CHANGES = np.arange(400) % 2 == 0


def test_a_control_is_only_above_a_factor_if_it_is_with_both_decoders():
    weak, strong, control = (np.random.default_rng(0).random(400) < p for p in (0.5, 0.97, 0.9))
    assert compared_anew(weak, weak, control, CHANGES).verdict is Verdict.BELOW
    assert compared_anew(weak, strong, control, CHANGES).verdict is Verdict.TIED
    assert compared_anew(strong, weak, weak, CHANGES).verdict is Verdict.ABOVE


def test_a_score_weighs_both_kinds_alike_and_its_interval_covers_the_truth():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(300):
        score = scored(rng.random(400) < np.where(CHANGES, 0.9, 0.7), CHANGES)
        covered += score.low <= 0.8 <= score.high
    assert covered / 300 > 0.9


def test_ties_are_ties_and_differences_are_seen():
    rng = np.random.default_rng(1)
    good, bad = rng.random(400) < 0.95, rng.random(400) < 0.6
    assert compared(good, bad, CHANGES).verdict is Verdict.ABOVE
    assert compared(bad, good, CHANGES).verdict is Verdict.BELOW
    one_worse = good.copy()
    one_worse[np.flatnonzero(good)[0]] = False
    assert compared(good, one_worse, CHANGES).verdict is Verdict.TIED
    both = [compared(good, bad, CHANGES), compared(good, good, CHANGES)]
    assert Verdict.of(both) is Verdict.TIED


def test_decoders_trained_together_explain_what_their_readings_hold():
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(1500, 2, generator=generator)
    y = torch.stack([torch.sin(3 * z[:, 0]), z[:, 1], (z[:, 0] > 0) * 1.0], dim=1)
    noise = torch.randn(1500, 2, generator=generator)
    found = fit_decoders(torch.stack([z, noise]), y)
    assert found.r_squared[0] > 0.95
    assert found.r_squared[1] < 0.15
    made = found.one(0, z)
    assert float(((made - y) ** 2).mean() / y.var(dim=0).mean()) == pytest.approx(
        1 - found.r_squared[0], abs=0.01
    )
    linear = fit_decoders(torch.stack([z]), y, linear=True)
    assert 0.4 < linear.r_squared[0] < 0.9


def test_context_is_given_to_every_decoder():
    z, w = torch.randn(800, 1), torch.randint(2, (800, 1)).double()
    y = torch.cat([z * w.float()], dim=1)
    without = fit_decoders(z[None], y).r_squared[0]
    found = fit_decoders(z[None].double(), y.double(), w)
    assert found.r_squared[0] > 0.98 > without + 0.2


def test_raw_inputs_of_too_many_columns_are_none():
    assert raw_inputs(np.random.default_rng(0).normal(size=(5, 2001))) is None
    assert raw_inputs({"ids": np.arange(100)[:, None], "@mask": np.ones((100, 1))}) is None
    assert raw_inputs(np.ones((4, 2))) is None
