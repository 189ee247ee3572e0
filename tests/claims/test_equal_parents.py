"""Which parents another variable could stand for, beside a check by correlations."""

import numpy as np
import pytest

from ucad.claims.equal_parents import MAX_LEFT, equal_parents
from ucad.data import InterventionalData

Q, R = np.zeros((2, 5, 2), dtype=bool)
Q[0, 0] = R[1, 0] = Q[1, 1] = Q[2, 1] = R[3, 1] = True
"""X1 → Z1 → X2; X2, X3 → Z2 → X4."""


def measured(acted_on, noise=0.0):
    """X2 = −2 X1 (+ noise) where it is free; sets of variables acted on in 300 samples each."""
    rng, n = np.random.default_rng(0), 300 * (1 + len(acted_on))
    x, clamps = rng.standard_normal((n, 5)), np.zeros((n, 5), dtype=bool)
    for number, some in enumerate(acted_on, 1):
        clamps[300 * number : 300 * (number + 1), some] = True
    made = 5.0 - 2.0 * x[:, 0] + noise * rng.standard_normal(n)
    x[:, 1] = np.where(clamps[:, 1], x[:, 1], made)
    x[:, 3] = np.where(clamps[:, 3], x[:, 3], x[:, 1] * x[:, 2] + rng.standard_normal(n))
    return InterventionalData.from_arrays(x, clamps)


def anything(_Q, _R):
    return True


@pytest.mark.parametrize(
    ("acted_on", "noise", "is_open"),
    [
        ([[0]], 0.0, True),
        ([[0], [1]], 0.0, False),
        ([[0], [1, 3]], 0.0, True),
        ([[0], [1, 3], [1, 2]], 0.0, False),
        ([[0]], 0.2, False),
        ([[0]], 0.02, True),
    ],
)
def test_a_copy_is_told_apart_only_where_it_was_acted_on_and_a_child_was_free(
    acted_on, noise, is_open
):
    data = measured(acted_on, noise)
    found = list(equal_parents(Q, R, data, lambda q, _r: not q[1, 0]))
    assert found == ([(1, 1, [0])] if is_open else [])
    free = ~data.is_left_out[:, 3]
    left = 1 - np.corrcoef(data.x[free, 0], data.x[free, 1])[0, 1] ** 2
    assert (left < MAX_LEFT) == is_open


def test_what_may_not_be_is_not_named():
    data = measured([[0]])
    assert (1, 1, [0]) in list(equal_parents(Q, R, data, anything))
    assert not list(equal_parents(Q, R, data, lambda _q, _r: False))


def test_variables_that_do_not_vary_where_a_factor_is_read_are_copies_of_nothing():
    data = measured([[3]])
    x = data.x.copy()
    x[~data.is_intervened[:, 3], :2] = 3.0
    still = InterventionalData.from_arrays(x, data.is_intervened)
    assert not [found for found in equal_parents(Q, R, still, anything) if found[1] == 1]
