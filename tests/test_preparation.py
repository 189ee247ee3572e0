"""What a solver gets from what a user hands to `fit`, and what a finished fit comes to."""

import numpy as np
import pytest

import ucad
from ucad.errors import InvalidInputError
from ucad.preparation import prepare


@pytest.fixture(scope="module")
def data():
    drawn = ucad.paper_problem("a", "16-3", seed=0, n_samples=600).train
    return ucad.InterventionalData.from_arrays(drawn.x, drawn.is_intervened)


def test_a_solver_gets_standardised_samples_and_no_sample_twice(data):
    ready = prepare(ucad.UCAD(n_factors=3), data)
    train, _ = ready.standardised
    np.testing.assert_allclose(train.x.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(train.x.std(axis=0), 1, atol=1e-9)
    rows = np.concatenate([part.x for part in ready.parts if part is not None])
    assert len(np.unique(rows, axis=0)) == len(rows) == data.n_samples


def test_without_standardising_the_samples_stay_as_they_are(data):
    ready = prepare(ucad.UCAD(n_factors=3, standardise=False), data)
    np.testing.assert_array_equal(ready.standardised[0].x, ready.parts[0].x)


def test_a_column_given_twice_is_one_variable(data):
    twice = np.column_stack([data.x, data.x[:, 4]])
    ready = prepare(ucad.UCAD(n_factors=3), ucad.InterventionalData.from_arrays(twice))
    assert ready.data.n_variables == data.n_variables
    assert ready.columns.variable[-1] == ready.columns.variable[4]


def test_more_factors_than_variables_are_refused(data):
    with pytest.raises(InvalidInputError, match="at most the number of variables, 16. Got 17"):
        prepare(ucad.UCAD(n_factors=17), data)
