"""Readings with noise: factors are estimated as Gaussian conditioning has it, with an error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ucad.data import Scaling
from ucad.errors import InvalidInputError
from ucad.graph import FactorGraph
from ucad.scm import FactorSCM, LinearMechanism, estimated_state, load_scm, save_scm

Q = np.array([[1], [1], [0], [0], [0]], dtype=bool)
R = np.array([[0], [0], [1], [1], [1]], dtype=bool)
A = torch.tensor([[1.0, -0.5, 0.0, 0.0, 0.0]], dtype=torch.float64)
B = torch.tensor([[0.0], [0.0], [1.0], [-2.0], [0.7]], dtype=torch.float64)
OWN = torch.tensor([1.0, 2.0, 0.3, 0.5, 0.4], dtype=torch.float64)
NOISE = torch.tensor([0.8, 0.5, 0.6, 0.2, 0.9], dtype=torch.float64)


def _scm(noise: torch.Tensor | None = NOISE) -> FactorSCM:
    """The scale of what is left has the noise of readings and what is passed on in it."""
    left = OWN.clone()
    if noise is not None:
        left = (OWN**2 + noise**2 + (B @ A) ** 2 @ noise**2).sqrt()
    return FactorSCM(
        FactorGraph(Q, R),
        LinearMechanism(A, torch.tensor([0.3], dtype=torch.float64)),
        LinearMechanism(B, torch.arange(5, dtype=torch.float64)),
        left,
        reading_noise=noise,
    )


def _readings() -> tuple[torch.Tensor, torch.Tensor]:
    exact = replace(_scm(), noise_scale=OWN, reading_noise=None)
    state = exact.sample(40_000, seed=0)
    noise = torch.randn(state.x.shape, generator=torch.Generator().manual_seed(1)).double()
    return state.z, state.x + noise * NOISE


def test_the_estimate_is_the_regression_of_the_factor_on_all_readings() -> None:
    z, y = _readings()
    design = torch.cat([y, torch.ones(len(y), 1).double()], dim=1)
    best = design @ torch.linalg.lstsq(design, z).solution
    found = estimated_state(_scm(), y)
    torch.testing.assert_close(found.z, best, atol=0.05, rtol=0)
    torch.testing.assert_close(found.error, (found.z - z).std(dim=0), atol=0.02, rtol=0)


def test_without_reading_noise_the_estimate_is_the_state_map() -> None:
    _, y = _readings()
    found = estimated_state(_scm(None), y)
    torch.testing.assert_close(found.z, _scm(None).state_map(y))
    assert not found.error.any()


def test_units_change_nothing() -> None:
    _, y = _readings()
    scaling = Scaling(np.arange(5.0), np.array([2.0, 0.5, 3.0, 1.0, 4.0]))
    other = _scm().in_standard_units(scaling)
    standard = (y - torch.tensor(scaling.mean)) / torch.tensor(scaling.scale)
    for one, two in zip(estimated_state(_scm(), y), estimated_state(other, standard), strict=True):
        torch.testing.assert_close(one, two)


def test_reading_noise_is_stored(tmp_path: Path) -> None:
    save_scm(_scm(), tmp_path)
    torch.testing.assert_close(load_scm(tmp_path).reading_noise, NOISE)
    save_scm(_scm(None), tmp_path)
    assert load_scm(tmp_path).reading_noise is None


def test_negative_noise_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="'reading_noise' must have one entry"):
        replace(_scm(), reading_noise=-NOISE)
