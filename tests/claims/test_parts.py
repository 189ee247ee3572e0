"""Which samples learn, choose and test."""

import numpy as np

from ucad.claims.parts import parts_of
from ucad.data import InterventionalData


def test_enough_samples_leave_some_for_claims_alone():
    data = InterventionalData.from_arrays(np.random.default_rng(0).normal(size=(1000, 3)))
    parts = parts_of(data, 0.2, seed=0)
    assert [len(part.x) for part in parts] == [600, 200, 200]


def test_few_samples_serve_as_both_parts():
    data = InterventionalData.from_arrays(np.random.default_rng(0).normal(size=(90, 3)))
    assert parts_of(data, 0.2, seed=0) == (data, data, None)
