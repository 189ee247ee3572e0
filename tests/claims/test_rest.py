from dataclasses import replace

import numpy as np
import pytest

import ucad
from ucad.data.rest import Rest, RestPart


@pytest.fixture(scope="module")
def problem():
    return ucad.paper_problem("a", "16-3", seed=0, n_samples=3000)


def fitted(problem, shift):
    """A fit to a third of the samples, the others shifted."""
    rows = np.random.default_rng(0).permutation(problem.train.n_samples)
    taken, left = np.sort(rows[:1000]), np.sort(rows[1000:])
    others = problem.train.select(left)
    others = replace(others, x=others.x + shift * ~others.is_intervened)
    rest = Rest(taken, len(left), lambda: iter([RestPart(left, others)]))
    data = replace(problem.train.select(taken), rest=rest, is_part=False)
    model = ucad.UCAD(3, solver="search", factor_mechanism="linear", variable_mechanism="linear")
    return model.fit(data)


def test_a_part_that_stands_for_the_rest_is_said_to(problem):
    status = fitted(problem, shift=0.0).status_
    assert f"Fitted to 1000 of {problem.train.n_samples} samples" in str(status)
    assert "no worse" in str(status)


def test_a_rest_that_the_model_does_not_fit_is_told(problem):
    status = fitted(problem, shift=0.5).status_
    assert "less likely by" in str(status)
    assert "does not stand for the others" in str(status)


def test_without_a_rest_nothing_is_said(problem):
    model = ucad.UCAD(3, solver="search", factor_mechanism="linear", variable_mechanism="linear")
    assert "Fitted to" not in str(model.fit(problem.train.select(np.arange(500))).status_)
