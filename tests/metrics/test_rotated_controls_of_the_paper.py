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


@cache
def true_factors(setting, size, seed):
    return paper_problem(setting, size, seed, n_samples=500).factors


def ground_truth_rotated(setting, size, *, standardised, n_graphs=5):
    """Mean and standard deviation over graphs, each the mean over rotations."""
    levels = []
    for seed in range(n_graphs):
        z = true_factors(setting, size, seed)
        settings = RotationSettings(seed=seed, n_rotations=30, standardised=standardised)
        levels.append(rotated_controls(z[:, :1], z, settings=settings).true_rotated.mean)
    return np.mean(levels), np.std(levels)


@pytest.mark.parametrize("setting", ["c", "d", "e"])
def test_at_64_6_the_rotated_truth_has_the_papers_level_within_its_error(setting):
    # The error is the spread over graphs, the paper's 5 and our 5.
    paper_mean, paper_std = PAPER[setting, "64-6"]
    mean, std = ground_truth_rotated(setting, "64-6", standardised=False)
    assert abs(mean - paper_mean) <= np.hypot(std, paper_std)


@pytest.mark.parametrize("setting", ["c", "d", "e"])
def test_at_16_3_the_rotated_truth_is_above_the_papers_level(setting):
    # A known gap: ours is near 0.77, the paper's near 0.69, and standardising would widen it to
    # 0.15. MCC(learned, rotated truth), the other reading of the paper's column, needs the paper's
    # imperfect learned factors to compare.
    plain, standardised = (
        ground_truth_rotated(setting, "16-3", standardised=choice)[0] for choice in (False, True)
    )
    assert 0 < plain - PAPER[setting, "16-3"][0] < 0.12
    assert plain < standardised
