"""Changes of means that regimes bring, against a loop over samples."""

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.effects import measured_changes
from ucad.errors import InvalidInputError


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    x = rng.normal(5.0, [1.0, 2.0, 3.0], (60, 3))
    labels = [""] * 20 + ["X1"] * 15 + ["X2"] * 24 + ["X3"]
    x[35:59, 2] += 4.0
    return InterventionalData.from_targets(x, labels)


def test_without_controls_there_is_nothing_to_compare_with():
    x = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(InvalidInputError, match="0 samples are controls"):
        measured_changes(InterventionalData.from_targets(x, ["X1", "X2"] * 10))
    with pytest.raises(InvalidInputError, match="No regime"):
        measured_changes(InterventionalData.from_targets(x, [""] * 20))


def test_a_change_is_a_difference_of_means_in_spreads_of_the_controls(data):
    found = measured_changes(data)
    assert found.names == ("X1", "X2")  # one sample of X3 has no standard error
    assert found.n_samples.tolist() == [15, 24]
    control = data.x[:20]
    for row, rows in ((0, slice(20, 35)), (1, slice(35, 59))):
        part = data.x[rows]
        for j in range(3):
            sd = control[:, j].std()
            expected = (part[:, j].mean() - control[:, j].mean()) / sd
            error = np.sqrt(part[:, j].var(ddof=1) / sd**2 / len(part) + 1 / 20)
            assert found.change[row, j] == pytest.approx(expected)
            assert found.error[row, j] == pytest.approx(error)
    assert found.change[1, 2] > 0.9
    np.testing.assert_array_equal(found.targets, np.eye(2, 3, dtype=bool))
    np.testing.assert_array_equal(found.control, np.arange(20))


def test_a_variable_that_does_not_vary_in_the_controls_is_measured_in_its_own_units():
    x = np.zeros((8, 2))
    x[4:] = [1.0, 3.0]
    found = measured_changes(InterventionalData.from_targets(x, [""] * 4 + ["X1"] * 4))
    assert found.change[0].tolist() == [1.0, 3.0]
    assert found.sd.tolist() == [1.0, 1.0]


def test_the_others_are_all_regimes_but_one(data):
    assert measured_changes(data).others(0).tolist() == [1]


def test_errors_are_those_of_repeated_experiments():
    """Means of 25 against 40: the spread of the change over experiments is its standard error."""
    rng = np.random.default_rng(1)
    z = []
    for _ in range(200):
        x = rng.standard_normal((65, 1)) * 3
        found = measured_changes(InterventionalData.from_targets(x, [""] * 40 + ["X1"] * 25))
        z.append(found.change[0, 0] / found.error[0, 0])
    assert np.std(z) == pytest.approx(1.0, abs=0.15)


def test_one_control_is_not_enough():
    x = np.random.default_rng(0).normal(size=(9, 2))
    with pytest.raises(InvalidInputError, match="1 samples are controls"):
        measured_changes(InterventionalData.from_targets(x, [""] + ["X1"] * 8))
