"""Draws of what lies behind noisy readings have the law of the variables, if the model is right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.claims.models import SCM, System, answers, direct_edge
from ucad.claims import certify
from ucad.claims.readings import drawn_behind, has_noisy_readings, without_reading_noise
from ucad.claims.verdict import NOISY_READINGS
from ucad.scm.measurement import weights_of

NOISE = 0.4


def told(scm, noise=NOISE):
    """The model of readings: what F_X leaves of them is noise of three kinds."""
    A, B = weights_of(scm)
    D = torch.full((8,), noise**2).double()
    left = scm.noise_scale**2 + D + (B @ A) ** 2 @ D
    return replace(scm, noise_scale=left.sqrt(), reading_noise=D.sqrt())


def read(system, noise=NOISE, n_samples=6000, seed=0):
    data = system.draw(n_samples, seed)
    errors = np.random.default_rng(seed + 1).standard_normal(data.x.shape)
    return replace(data, x=data.x + noise * errors), data


def certified(scm, system):
    parts = read(system)[0].split(0.75, 0.25, seed=0)
    return certify(scm, parts.train, held_out=parts.validation)


@pytest.mark.parametrize("action", ["random", "constant"])
def test_draws_have_the_moments_of_the_variables_in_every_regime(action):
    y, truth = read(System(action=action), n_samples=18_000)
    x = drawn_behind(told(SCM), y, 7).x
    for label in range(truth.n_regimes):
        rows = truth.regime == label
        assert np.allclose(x[rows].mean(axis=0), truth.x[rows].mean(axis=0), atol=0.1)
        assert np.allclose(np.cov(x[rows].T), np.cov(truth.x[rows].T), atol=0.15)


def test_residuals_of_draws_are_independent_and_those_of_readings_are_not():
    y, _ = read(System(), n_samples=18_000)
    x = drawn_behind(told(SCM), y, 7).x
    siblings = []
    for values in (x, y.x):
        e = values - SCM.expected_variables(SCM.state_map(values)).numpy()
        free = ~y.is_intervened[:, [6, 7]].any(axis=1)
        siblings.append(abs(np.corrcoef(e[free, 6], e[free, 7])[0, 1]))
    assert siblings[0] < 0.03 < 0.2 < siblings[1]


def test_a_right_model_of_noisy_readings_is_claimed_in_part():
    found = certified(told(SCM), System())
    assert answers(found)["graph"] == answers(found)["values"] == "partly"
    assert NOISY_READINGS in found.may_claim("graph").conditions
    assert found["noise"].answer == found["left"].answer == "yes"


def test_the_same_readings_refute_a_model_that_is_not_told():
    assert answers(certified(SCM, System()))["graph"] == "no"


@pytest.mark.parametrize(
    "system",
    [
        System(direct=direct_edge(0, 6)),
        System(loading=0.6 * np.eye(8)[4] + 0.6 * np.eye(8)[6]),
    ],
    ids=["direct edge", "hidden cause"],
)
def test_draws_do_not_hide_what_is_wrong(system):
    assert answers(certified(told(SCM), system))["graph"] == "no"


def test_without_reading_noise_nothing_is_drawn():
    assert not has_noisy_readings(SCM)
    assert has_noisy_readings(told(SCM))
    own = without_reading_noise(told(SCM))
    assert own.reading_noise is None
    assert torch.allclose(own.noise_scale, SCM.noise_scale)
