"""Which variables a function should look at."""

from dataclasses import replace

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.scm.families import AFFINE, FAMILIES, NETWORK
from ucad.solvers.regression.fitting import ROUGH, Fitter, Regression
from ucad.solvers.regression.parent_selection import _leading as leading
from ucad.solvers.regression.parent_selection import (
    causal_odds,
    fit_with_selection,
    interventional_gains,
    permutation_price,
    score_test,
)

NET = Fitter(family=NETWORK, effort=ROUGH, floor=1e-3, penalty=15.0)


def everything(y):
    return Regression(y, np.ones(len(y)))


@pytest.fixture(scope="module")
def product():
    """y = x0 + x0 · x1 with noise: x1 acts through x0 alone. x2 has nothing to do with it."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1000, 3))
    y = x[:, 0] + x[:, 0] * x[:, 1] + 0.5 * rng.standard_normal(1000)
    return InterventionalData.from_arrays(x), y


@pytest.fixture(scope="module")
def siblings():
    """x0 → x1 and x0 → y, both with noise, x1 and x0 set from outside in some samples."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1500, 3))
    z = np.tanh(x[:, 0])
    x[:, 1] = z + 0.05 * rng.standard_normal(1500)
    clamped = np.zeros(x.shape, dtype=bool)
    clamped[:200, 1] = clamped[200:400, 0] = True
    x[:200, 1] = rng.standard_normal(200)
    y = z + 0.3 * rng.standard_normal(1500)
    return InterventionalData.from_arrays(x, clamped), y


def test_the_score_test_finds_what_acts_through_another_and_nothing_else(product):
    data, y = product
    alone = NET.fit(data.x, np.array([0]), everything(y))
    gains = score_test(data.x, alone, everything(y), np.arange(3), NET)
    assert gains[0] == 0
    assert gains[1] > 100
    assert gains[2] < NET.penalty


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_score_test_is_what_a_regression_on_the_new_columns_explains(family):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((700, 5))
    y = x[:, 0] * (1 + x[:, 1]) + np.tanh(x[:, 2]) + 0.3 * rng.standard_normal(700)
    weights = rng.uniform(0, 2, 700) * (rng.uniform(size=700) > 0.2)
    fitter, regression = replace(NET, family=family), Regression(y, weights)
    function = fitter.fit(x, np.array([0, 3]), regression)
    found = score_test(x, function, regression, np.array([1, 3, 4]), fitter)
    rows = np.flatnonzero(weights)
    root, growth = regression.roots(rows), function.growth(x[rows])
    left = root * (y - function.values(x))[rows]
    for gain, i in zip(found[[0, 2]], (1, 4), strict=True):
        columns = growth(x[rows, i]).astype(np.float64) * root[:, None]
        rest = left - columns @ np.linalg.lstsq(columns, left, rcond=None)[0]
        share = 1 - (rest @ rest + 1e-3 * len(rows)) / (left @ left + 1e-3 * len(rows))
        nats = -len(rows) / 2 * np.log1p(-share) - columns.shape[1] / 2
        assert gain == pytest.approx(nats, abs=0.5)  # a ridge settles collinear columns
    assert found[1] == 0


def test_an_additive_score_test_overlooks_it(product):
    data, y = product
    line = replace(NET, family=AFFINE)
    alone = line.fit(data.x, np.array([0]), everything(y))
    assert score_test(data.x, alone, everything(y), np.arange(3), line)[1] < NET.penalty


def test_overlooked_parents_are_added_and_useless_ones_dropped(product):
    data, y = product
    found = fit_with_selection(data, np.array([0]), everything(y), np.arange(3), NET)
    assert found.parents.tolist() == [0, 1]
    dear = replace(NET, penalty=60.0)  # sixteen weights of x2 fit noise worth some 20 nats
    fewer = fit_with_selection(data, np.arange(3), everything(y), np.arange(3), dear)
    assert fewer.parents.tolist() == [0, 1]
    barred = fit_with_selection(data, np.array([0]), everything(y), np.array([0, 2]), NET)
    assert barred.parents.tolist() == [0]


def test_the_price_of_a_parent_is_high_if_it_matters(product):
    data, y = product
    fitted = NET.fit(data.x, np.arange(3), everything(y))
    price = permutation_price(data.x, fitted, everything(y), NET.floor)
    assert price[:2].min() > 10 * NET.penalty
    assert price[2] < 0.1 * price[:2].min()


def test_a_price_of_a_part_of_the_samples_is_nearly_that_of_all(product, monkeypatch):
    data, y = product
    fitted = NET.fit(data.x, np.arange(3), everything(y))
    whole = permutation_price(data.x, fitted, everything(y), NET.floor)
    monkeypatch.setattr("ucad.solvers.regression.parent_selection.PRICED", len(y) // 2)
    part = permutation_price(data.x, fitted, everything(y), NET.floor)
    assert (part != whole).any()
    np.testing.assert_allclose(part[:2], whole[:2], rtol=0.1)


def test_a_cause_goes_on_predicting_where_it_is_clamped_and_a_sibling_does_not(siblings):
    data, y = siblings
    both = NET.fit(data.x, np.array([0, 1, 2]), everything(y))
    sibling = NET.fit(data.x, np.array([1]), everything(y))
    cause = NET.fit(data.x, np.array([0]), everything(y))
    assert causal_odds(data, sibling, everything(y))[0] < -10
    assert causal_odds(data, cause, everything(y))[0] > 10
    assert causal_odds(data, both, everything(y))[2] == 0  # never acted on


def test_a_sibling_that_predicts_best_of_all_is_no_parent(siblings):
    data, y = siblings
    fitted = fit_with_selection(data, np.array([0, 1]), everything(y), np.arange(3), NET)
    assert fitted.parents.tolist() == [0]
    untouched = InterventionalData.from_arrays(data.x[400:])
    taken_in = fit_with_selection(
        untouched, np.array([1]), everything(y[400:]), np.array([1, 2]), NET
    )
    assert taken_in.parents.tolist() == [1]  # nothing shows it without interventions


def test_regimes_of_a_cause_show_it_and_constant_ones_show_nothing(product):
    data, y = product
    clamped, every = np.zeros(data.x.shape, dtype=bool), np.arange(data.x.shape[1])
    clamped[:300, 1], clamped[300:600, 2] = True, True
    alone = NET.fit(data.x, np.array([0]), everything(y))
    gains = interventional_gains(data.x, alone, everything(y), clamped, NETWORK, every)
    assert gains[1] > 6
    assert gains[2] < 6
    constant = data.x.copy()
    constant[:300, 1] = 1.0
    assert interventional_gains(constant, alone, everything(y), clamped, NETWORK, every)[1] == 0
    others = np.array([0, 2])
    assert interventional_gains(data.x, alone, everything(y), clamped, NETWORK, others)[1] == 0


@pytest.mark.parametrize("shape", [(30, 7), (7, 30)])
def test_leading_directions_are_those_of_a_singular_value_decomposition(shape):
    columns = np.random.default_rng(0).standard_normal(shape)
    left, size, _ = np.linalg.svd(columns)
    found, expected = leading(columns)[:, ::-1], left[:, :2] * size[:2]
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-9)
