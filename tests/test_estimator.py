"""The estimator keeps scikit-learn's contract and gives the model back in the user's units."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import ucad
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.metrics import mean_correlation

LINEAR = {"solver": "search", "factor_mechanism": "linear", "variable_mechanism": "linear"}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([ucad.UCAD(n_factors=1, **LINEAR), ucad.UCAD()])
def test_scikit_learns_own_checks(estimator, check):
    """All of them: none had to be left out."""
    check(estimator)


@pytest.fixture(scope="module")
def problem():
    return ucad.paper_problem("a", "16-3", seed=0, n_samples=2000)


@pytest.fixture(scope="module")
def model(problem):
    return ucad.UCAD(n_factors=3, **LINEAR).fit(problem.train)


def test_the_true_factors_are_found(problem, model):
    assert mean_correlation(model.transform(problem.test.x), problem.factors).mean > 0.99
    assert model.graph_.is_same_up_to_relabelling(problem.scm.graph)
    assert model.status_.converged
    assert model.certificate_.verdict
    assert model.history_


def test_factors_are_canonical_on_the_training_data(problem, model):
    z = model.transform(problem.train)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=0.1)
    np.testing.assert_allclose(z.std(axis=0), 1, atol=0.1)


def test_the_model_speaks_the_units_of_the_data(problem, model):
    raw = 100 + 7 * problem.train.x
    other = ucad.UCAD(n_factors=3, **LINEAR).fit(raw, interventions=problem.train.is_intervened)
    assert other.graph_.is_same_up_to_relabelling(model.graph_)
    expected = other.inverse_transform(other.transform(raw))
    made = other.graph_.R.any(axis=1)
    free = ~problem.train.is_intervened
    for j in np.flatnonzero(made):
        np.testing.assert_allclose(expected[free[:, j], j], raw[free[:, j], j], atol=1.0)
    assert other.scm_.sample(500).x.mean() == pytest.approx(100, abs=3)


def test_interventions_come_in_every_form(problem, model):
    data = problem.train
    names = data.variable_names
    lists = [[names[j] for j in np.flatnonzero(row)] for row in data.is_intervened]
    joined = [";".join(row) for row in lists]
    frame = pd.DataFrame(data.x, columns=names).assign(target=joined)
    fits = [
        ucad.UCAD(n_factors=3, **LINEAR).fit(data.x, interventions=data.is_intervened),
        ucad.UCAD(n_factors=3, **LINEAR).fit(frame[list(names)], interventions=lists),
        ucad.UCAD(n_factors=3, **LINEAR).fit(frame, interventions="target"),
    ]
    for fitted in fits:
        assert fitted.graph_.is_same_up_to_relabelling(model.graph_)
    assert list(fits[2].feature_names_in_) == list(names)


def test_score_is_the_mean_log_likelihood_without_the_clamped(problem, model):
    data = problem.validation
    expected = float(model.scm_.log_likelihood(data.x, data.is_intervened).mean())
    assert model.score(data) == pytest.approx(expected)
    assert model.score(data.x, interventions=data.is_intervened) == pytest.approx(expected)
    labels = [data.regime_names[r].replace("observational", "") for r in data.regime]
    assert model.score(data.x, interventions=labels) == pytest.approx(expected)


def test_frames_come_out_if_asked_for(problem, model):
    framed = clone(model).set_output(transform="pandas").fit(problem.train)
    assert list(framed.transform(problem.test.x).columns) == ["Z1", "Z2", "Z3"]
    assert list(model.get_feature_names_out()) == ["Z1", "Z2", "Z3"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_works_in_pipelines_and_grid_searches(problem):
    x = problem.train.x[:300, :8]
    pipeline = make_pipeline(StandardScaler(), ucad.UCAD(n_factors=2, **LINEAR))
    assert pipeline.fit_transform(x).shape == (300, 2)
    grid = GridSearchCV(ucad.UCAD(**LINEAR), {"n_factors": [1, 2]}, cv=2).fit(x)
    assert grid.best_params_["n_factors"] in (1, 2)


def test_a_fitted_model_survives_pickling_and_a_run_folder(tmp_path, problem, model):
    for back in (pickle.loads(pickle.dumps(model)), _saved(model, tmp_path / "run")):
        np.testing.assert_array_equal(
            back.transform(problem.test.x), model.transform(problem.test.x)
        )
        assert str(back.status_) == str(model.status_)
        assert back.certificate_ == model.certificate_
        assert back.get_params()["n_factors"] == 3


def _saved(model, folder):
    model.save(folder)
    return ucad.load(folder)


def test_the_same_seed_gives_the_same_model(problem, model):
    again = clone(model).fit(problem.train)
    np.testing.assert_array_equal(again.transform(problem.test.x), model.transform(problem.test.x))


def test_layers_given_to_the_estimator_are_kept(problem):
    layers = problem.train.layer_of
    fitted = ucad.UCAD(n_factors=3, layers=layers, **LINEAR).fit(
        problem.train.x, interventions=problem.train.is_intervened
    )
    assert fitted.graph_.respects_layers(layers)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_factors": 0}, "'n_factors' parameter must be a whole number"),
        ({"n_factors": 2.5}, "'n_factors' parameter must be a whole number"),
        ({"n_factors": 17}, "at most the number of variables, 16"),
        ({"solver": "serach"}, "Did you mean 'search'"),
        ({"factor_mechanism": "cubic"}, "auto, linear, mlp"),
        ({"validation_share": 1.0}, "at least 0 and below 1"),
        ({"layers": [0, 1]}, "one entry per variable"),
    ],
)
def test_wrong_parameters_are_refused_before_any_work(problem, settings, message):
    with pytest.raises(InvalidInputError, match=message):
        ucad.UCAD(**({"n_factors": 3} | settings)).fit(problem.train.x)


def test_misuse_is_explained(problem, model):
    with pytest.raises(InvalidInputError, match="brings its own interventions"):
        ucad.UCAD().fit(problem.train, interventions=problem.train.is_intervened)
    with pytest.raises(InvalidInputError, match="no such column"):
        ucad.UCAD().fit(problem.train.x, interventions="target")
    with pytest.raises(InvalidInputError, match="samples × 3 factors"):
        model.inverse_transform(np.zeros((2, 5)))
    with pytest.raises(NotFittedError):
        ucad.UCAD().transform(problem.test.x)


def test_not_converging_warns_once_and_is_in_the_status(problem, monkeypatch):
    from dataclasses import replace

    import ucad.learner as module

    def unfinished(*arguments, **options):
        result, path = original(*arguments, **options)
        status = replace(result.status, converged=False, reason="Ran out of epochs.")
        return replace(result, status=status), path

    original = module.fit_known
    monkeypatch.setattr(module, "fit_known", unfinished)
    with pytest.warns(ConvergenceWarning, match="Ran out of epochs") as caught:
        fitted = ucad.UCAD(n_factors=3, **LINEAR).fit(problem.train)
    assert len(caught) == 1
    assert not fitted.status_.converged


def test_observational_data_alone_are_enough_to_run():
    rng = np.random.default_rng(0)
    source = rng.normal(size=(300, 3))
    x = np.concatenate(
        [source, source @ rng.normal(size=(3, 2)) + 0.1 * rng.normal(size=(300, 2))], 1
    )
    model = ucad.UCAD(n_factors=2, **LINEAR).fit(InterventionalData.from_arrays(x))
    assert model.transform(x).shape == (300, 2)
