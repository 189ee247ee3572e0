"""The noise of readings: counts are recognised, and their noise is what a second reading shows."""

from __future__ import annotations

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.data.readings import counts_behind, noise_from_replicates, reading_noise
from ucad.errors import InvalidInputError


def _counts(mean: float = 4.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    level = mean * np.exp(0.4 * rng.standard_normal((3000, 6)) - 0.08)
    depth = np.exp(0.4 * rng.standard_normal((3000, 1)))
    return rng.poisson(level * depth).astype(float), level, depth


@pytest.mark.parametrize("per_cell", [1.0, 37.5])
def test_depth_is_found_behind_log_normalised_counts(per_cell: float) -> None:
    counts, _, depth = _counts()
    found = counts_behind(np.log1p(per_cell * counts / depth))
    assert found is not None
    assert found.is_logged
    has_small = (counts == 1).any(axis=1)
    np.testing.assert_allclose(found.depth[has_small] * per_cell, depth[has_small, 0], rtol=1e-6)


def test_counts_themselves_are_counts() -> None:
    found = counts_behind(_counts()[0])
    assert found is not None
    assert not found.is_logged


@pytest.mark.parametrize("values", ["normal", "log-normal", "zeros"])
def test_other_values_are_no_counts(values: str) -> None:
    x = np.random.default_rng(0).standard_normal((500, 6))
    assert counts_behind({"normal": x, "log-normal": np.exp(x), "zeros": 0 * x}[values]) is None


@pytest.mark.parametrize("mean", [1.0, 4.0, 30.0])
def test_the_noise_of_counts_is_the_difference_of_two_readings(mean: float) -> None:
    counts, level, depth = _counts(mean)
    again = np.random.default_rng(1).poisson(level * depth)
    y, other = (np.log1p(k / depth) for k in (counts, again))
    noise = reading_noise(InterventionalData.from_arrays(y), "counts")
    np.testing.assert_allclose(noise, ((y - other) ** 2).mean(axis=0) / 2, rtol=0.15)


def test_noise_is_in_the_units_of_standardised_data() -> None:
    counts, _, depth = _counts()
    data = InterventionalData.from_arrays(np.log1p(counts / depth))
    noise, standard = (reading_noise(one, "counts") for one in (data, data.standardised()))
    assert noise is not None
    np.testing.assert_allclose(standard, noise / data.x.var(axis=0), rtol=1e-6)


def test_auto_takes_counts_for_counts_and_nothing_else_for_noise() -> None:
    data = InterventionalData.from_arrays(_counts()[0])
    np.testing.assert_allclose(reading_noise(data, "auto"), data.x.mean(axis=0))
    exact = InterventionalData.from_arrays(np.random.default_rng(0).standard_normal((50, 3)))
    assert reading_noise(exact, "auto") is None
    assert reading_noise(exact, "none") is None


def test_replicates_give_the_noise_within_a_sample() -> None:
    rng = np.random.default_rng(0)
    truth = 5 * rng.standard_normal((2000, 2))
    x = np.concatenate([truth, truth]) + rng.standard_normal((4000, 2)) * [0.5, 2.0]
    noise = noise_from_replicates(x, [*range(2000), *range(2000)])
    np.testing.assert_allclose(noise, [0.5, 2.0], rtol=0.05)
    with pytest.raises(InvalidInputError, match="more than once"):
        noise_from_replicates(x, range(4000))


@pytest.mark.parametrize(
    ("measurement", "noise", "message"),
    [
        ("poisson", None, "must be one of none, gaussian, counts, auto"),
        ("gaussian", None, "wants 'measurement_noise'"),
        ("gaussian", [1.0, 2.0], "one for each of 3 variables"),
        ("gaussian", -1.0, "of at least 0"),
        ("none", 0.5, "goes with measurement='gaussian'"),
        ("counts", None, "neither"),
    ],
)
def test_what_cannot_be_is_refused(measurement: str, noise: object, message: str) -> None:
    data = InterventionalData.from_arrays(np.random.default_rng(0).standard_normal((50, 3)))
    with pytest.raises(InvalidInputError, match=message):
        reading_noise(data, measurement, noise)  # type: ignore[arg-type]
