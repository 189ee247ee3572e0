"""Workers get the data as they were told: kinds of interventions, units and context."""

import numpy as np

from ucad.consensus.fits import _stored, store
from ucad.data import InterventionalData


def test_stored_data_keep_kinds_units_and_context(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(2.0, 3.0, size=(60, 3))
    data = InterventionalData.from_targets(x, ["", "X1", "X2"] * 20)
    data = data.with_kinds({"X1": "soft"}).with_context({"batch": ["a", "b"] * 30}).standardised()
    store(data, tmp_path)
    found = _stored(str(tmp_path), data.fingerprint)
    assert found.kinds == data.kinds
    assert found.scaling is not None
    np.testing.assert_array_equal(found.unstandardised().x, data.unstandardised().x)
    assert found.context is not None
    assert found.context.names == data.context.names


def test_plain_data_are_stored_as_they_are(tmp_path):
    x = np.random.default_rng(0).normal(size=(60, 3))
    data = InterventionalData.from_targets(x, ["", "X1", "X2"] * 20)
    store(data, tmp_path)
    found = _stored(str(tmp_path), data.fingerprint)
    assert found.scaling is None
    assert found.kinds == data.kinds
