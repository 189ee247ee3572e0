"""Slopes of active units, and the directions they name."""

import numpy as np

from ucad.solvers.layered.active_slopes import active_slopes, anchor_directions


def test_units_that_are_never_active_are_left_out():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    slopes = active_slopes(x, np.c_[np.maximum(0, x[:, 0]), np.zeros(400)])
    assert slopes.is_read.tolist() == [True, False]
    assert np.allclose(slopes.slope, [[1, 0, 0], [0, 0, 0]])


def test_directions_are_the_anchors_even_where_shared_slopes_are_more():
    slopes = np.array([[1.0, 0, 0, 0], [2, 0, 0, 0], [0, 1, 0, 1], [0, 3, 0, 3]])
    shared = np.tile(slopes[0] + slopes[2], (3, 1))
    found = anchor_directions(np.r_[slopes, shared], 2)
    assert np.allclose(np.abs(np.sort(found @ [1.0, 0, 0, 0])), [0, 1])
