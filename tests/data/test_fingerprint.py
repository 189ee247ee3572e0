"""A digest of a data set: the same for the same data, another for anything else."""

from dataclasses import replace

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.data.fingerprint import fingerprint_of

X = np.random.default_rng(0).normal(size=(6, 3))
DATA = InterventionalData.from_targets(X, ["", "", "X1", "X1", "X2", "X2"])


def other_value():
    x = X.copy()
    x[5, 2] = np.nextafter(x[5, 2], 1)
    return InterventionalData.from_targets(x, ["", "", "X1", "X1", "X2", "X2"])


CHANGED = {
    "one value by one bit": other_value(),
    "a name": replace(DATA, variable_names=("X1", "X2", "Y")),
    "what was acted on": InterventionalData.from_targets(X, ["", "", "X1", "X1", "X2", "X3"]),
    "layers": replace(DATA, layer_of=np.array([0, 0, 1])),
    "context": DATA.with_context({"batch": [0.0, 1, 0, 1, 0, 1]}),
}


def test_the_same_data_have_the_same_fingerprint_however_they_lie_in_memory():
    twin = replace(DATA, x=np.asfortranarray(X.copy()))
    assert fingerprint_of(twin) == fingerprint_of(DATA)


@pytest.mark.parametrize("name", CHANGED)
def test_any_change_gives_another(name):
    assert fingerprint_of(CHANGED[name]) != fingerprint_of(DATA)
