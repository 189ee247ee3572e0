"""Claims about which noise is taken, and about the search on counts."""

import numpy as np
import pytest

import ucad
from ucad.errors import InvalidInputError
from ucad.metrics import Correlation, mean_correlation
from ucad.simulate.worlds import world_problem
from ucad.solvers.registry import SolveSettings
from ucad.solvers.search import noise_choice

LINEAR = {"factor_mechanism": "linear", "variable_mechanism": "linear"}


def correlation(model, problem) -> float:
    z = model.transform(problem.test)
    return float(mean_correlation(z, problem.factors, Correlation.PEARSON).values.mean())


@pytest.fixture(scope="module")
def sparse():
    return world_problem("counts-90", 1)


def test_factors_are_found_among_counts_nine_of_ten_of_which_are_zero(sparse, tmp_path):
    model = ucad.UCAD(3, noise="counts").fit(sparse.train)
    assert correlation(model, sparse) > 0.95
    wrong = np.asarray(model.graph_.variable_adjacency) & ~sparse.graph.variable_adjacency
    assert not wrong.any()
    assert model.scm_.noise.name == "counts"
    model.save(tmp_path / "run")
    again = ucad.load(tmp_path / "run")
    np.testing.assert_array_equal(again.transform(sparse.test), model.transform(sparse.test))


def test_counts_are_told_from_normal_values_and_heavy_tails_from_light_ones():
    few = {"n_variables": 10, "n_factors": 1, "n_samples": 2200}
    for world, noise in (("discrete", "counts"), ("student-t", "student"), ("planted", "gaussian")):
        problem = world_problem(world, 3, **few)
        model = ucad.UCAD(1).fit(problem.train)
        assert model.scm_.noise.name == noise, world


@pytest.mark.parametrize(("world", "is_said"), [("discrete", True), ("planted", False)])
def test_of_very_many_values_counts_are_tried_if_asked_for(world, is_said, monkeypatch):
    monkeypatch.setattr(noise_choice, "MAX_TRIED", 1000)
    problem = world_problem(world, 3, n_variables=10, n_factors=1, n_samples=2200)
    model = ucad.UCAD(1, **LINEAR).fit(problem.train)
    assert model.scm_.noise.name != "counts"
    assert (noise_choice.NOT_TRIED in model.status_.notes) == is_said
    if is_said:
        assert ucad.UCAD(1, noise="counts", **LINEAR).fit(problem.train).scm_.noise.name == "counts"


def test_values_that_are_no_counts_are_refused_as_counts():
    problem = world_problem("planted", 0, n_variables=8, n_factors=1, n_samples=900)
    with pytest.raises(InvalidInputError, match="noise='counts' wants"):
        ucad.UCAD(1, noise="counts").fit(problem.train)


def test_only_the_search_fits_other_noise():
    with pytest.raises(InvalidInputError, match="only normal noise"):
        SolveSettings(n_factors=1, solver="gradient", noise_family="student")


def test_exponentials_are_fitted_as_logarithms_and_transformed_as_they_come(tmp_path):
    few = {"n_variables": 10, "n_factors": 1, "n_samples": 2200}
    problem = world_problem("exponential", 2, **few)
    model = ucad.UCAD(1).fit(problem.train)
    assert set(model.reads_.kinds) == {"log"}
    assert any("log of 10 of 10" in note for note in model.status_.notes)
    raw = problem.test.unstandardised().x
    np.testing.assert_allclose(model.transform(raw), model.transform(problem.test), atol=1e-9)
    model.save(tmp_path / "run")
    np.testing.assert_array_equal(ucad.load(tmp_path / "run").transform(raw), model.transform(raw))
    assert model.inverse_transform(model.transform(raw)).min() > 0


def test_counts_with_a_context_are_refused_with_what_to_say_instead():
    problem = world_problem("counts-50", 0, n_variables=10, n_factors=1, n_samples=300)
    lane = np.arange(problem.train.n_samples) % 2.0
    with pytest.raises(InvalidInputError, match="measurement='counts'"):
        ucad.UCAD(1, noise="counts").fit(problem.train.with_context({"lane": lane}))
