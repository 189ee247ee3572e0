"""The column "Ground-truth rotated" of the paper's mini table, on true factors of our simulator."""

from functools import cache

import numpy as np
import pytest

from ucad.metrics import RotationSettings, rotated_controls
from ucad.simulate import paper_problem

PAPER = {
    ("c", "16-3"): (0.70, 0.03),
    ("c", "64-6"): (0.69, 0.03),
    ("d", "16-3"): (0.68, 0.09),
    ("d", "64-6"): (0.64, 0.05),
    ("e", "16-3"): (0.68, 0.05),
    ("e", "64-6"): (0.67, 0.03),
}


N_GRAPHS = 5  # of the paper's table, one random rotation each


@cache
def rotated(setting, size):
    """MCC(z U, z) of many rotations of the true factors of many graphs."""
    levels = []
    for seed in range(8):
        z = paper_problem(setting, size, seed, n_samples=300).factors[:300]
        for rotation in range(5):
            settings = RotationSettings(seed=rotation, n_rotations=1, standardised=False)
            levels.append(rotated_controls(z[:, :1], z, settings=settings).true_rotated.mean)
    return np.array(levels)


@pytest.mark.parametrize(("setting", "size"), PAPER)
def test_the_papers_level_is_within_the_error_of_a_mean_over_five_graphs(setting, size):
    """Two standard errors of the difference between the paper's five graphs and ours."""
    mean, std = PAPER[setting, size]
    ours = rotated(setting, size)
    standard_error = np.hypot(std, ours.std()) / np.sqrt(N_GRAPHS)
    assert abs(ours.mean() - mean) <= 2 * standard_error


@pytest.mark.parametrize("setting", ["c", "d", "e"])
def test_at_16_3_ours_is_on_the_high_side(setting):
    """Within the error each time, and above the paper three times of three."""
    assert 0 < rotated(setting, "16-3").mean() - PAPER[setting, "16-3"][0] < 0.12
