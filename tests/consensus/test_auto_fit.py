"""A fit that finds the number of its factors."""

import numpy as np
import pytest

import ucad
from ucad.errors import InvalidInputError
from ucad.metrics import mean_correlation

LINEAR = {"factor_mechanism": "linear", "variable_mechanism": "linear"}


@pytest.fixture(scope="module")
def noise():
    return np.random.default_rng(0).standard_normal((300, 5))


def test_auto_gives_the_model_of_the_number_that_is_found():
    problem = ucad.paper_problem("b", "16-3", seed=1, n_samples=3000)
    model = ucad.UCAD(n_factors="auto", **LINEAR).fit(problem.train)
    assert model.graph_.n_factors == 3
    assert mean_correlation(problem.factors, model.transform(problem.test.x)).mean > 0.99
    assert model.path_["n_factors"] == 3
    assert model.status_.notes[0].startswith("The number of factors was found: 3")


def test_data_without_structure_give_a_model_of_no_factors(noise, tmp_path):
    model = ucad.UCAD().fit(noise)
    assert model.transform(noise).shape == (300, 0)
    assert model.inverse_transform(np.zeros((2, 0))).shape == (2, 5)
    assert "no low-rank structure" in str(model.status_)
    assert model.certificate_.verdict.startswith("The model has no factors")
    assert not model.certificate_.may_claim("graph")
    model.save(tmp_path / "run")
    again = ucad.load(tmp_path / "run")
    assert again.path_ == model.path_
    assert again.score(noise) == pytest.approx(model.score(noise))


def test_a_known_number_leaves_no_path(noise):
    assert ucad.UCAD(n_factors=1, **LINEAR).fit(noise).path_ is None


def test_dense_layers_need_a_number(noise):
    with pytest.raises(InvalidInputError, match="Say how many factors"):
        ucad.UCAD(solver="bottleneck", layers=[0, 0, 0, 1, 1]).fit(noise)


def test_any_other_word_than_auto_is_refused(noise):
    with pytest.raises(InvalidInputError, match="or 'auto'"):
        ucad.UCAD(n_factors="some").fit(noise)
