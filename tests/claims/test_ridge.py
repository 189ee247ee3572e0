"""Ridge regression and its penalty agree with scikit-learn and with the formulas written out."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge as OutsideRidge
from sklearn.linear_model import RidgeCV

from ucad.claims.ridge import CLIP, MAX_INPUTS_FOR_PRODUCTS, PENALTIES, STEPS, Ridge, curves, fitted

RNG = np.random.default_rng(0)
COLUMNS = RNG.standard_normal((80, 6)) * [1, 2, 3, 1, 1, 0.1] + 5
Y = COLUMNS[:, :2] @ [0.5, -0.3] + RNG.standard_normal(80)


def gcv(X, y, penalty):
    """(RSS / N) / (1 − tr H / N)², by the hat matrix H of the regression with an intercept."""
    n, p = X.shape
    H = np.ones((n, n)) / n + X @ np.linalg.solve(X.T @ X + penalty * n * np.eye(p), X.T)
    return ((y - H @ y) ** 2).mean() / (1 - np.trace(H) / n) ** 2


@pytest.mark.parametrize("noise", [0.01, 1.0, 30.0])
def test_the_penalty_minimises_gcv_and_the_weights_are_those_of_scikit_learn(noise):
    y = COLUMNS[:, 0] + noise * RNG.standard_normal(80)
    ridge = Ridge(COLUMNS)
    best = PENALTIES[np.argmin([gcv(ridge.X, y, penalty) for penalty in PENALTIES])]
    outside = OutsideRidge(alpha=best * len(y)).fit(ridge.X, y)
    np.testing.assert_allclose(ridge.weights(y[:, None])[:, 0], outside.coef_, rtol=1e-6)


def test_predictions_are_close_to_leave_one_out_by_scikit_learn():
    found = fitted(COLUMNS, Y)[0]
    outside = RidgeCV(alphas=PENALTIES * len(Y)).fit(Ridge(COLUMNS).X, Y)
    np.testing.assert_allclose(found, outside.predict(Ridge(COLUMNS).X), atol=0.1)


def test_several_targets_are_regressed_each_on_its_own():
    targets = np.stack([Y, RNG.standard_normal(80), Y**2], axis=1)
    together = Ridge(COLUMNS).weights(targets)
    alone = [Ridge(COLUMNS).weights(targets[:, [t]])[:, 0] for t in range(3)]
    np.testing.assert_allclose(together, np.stack(alone, axis=1), atol=1e-10)


def test_the_first_columns_alone_are_regressed_as_if_there_were_no_others():
    part, alone = Ridge(COLUMNS).first(3), Ridge(COLUMNS[:, :3])
    np.testing.assert_allclose(part.weights(Y[:, None]), alone.weights(Y[:, None]), atol=1e-12)


def test_noise_is_shrunk_to_nearly_nothing_and_a_signal_is_kept():
    X, rng = RNG.standard_normal((2000, 20)), np.random.default_rng(1)
    assert fitted(X, rng.standard_normal(2000))[0].var() < 0.02
    assert fitted(X, X[:, 0] + 0.1 * rng.standard_normal(2000))[0].var() > 0.9


def test_a_constant_column_changes_nothing():
    more = np.column_stack([COLUMNS, np.full(80, 7.0)])
    np.testing.assert_allclose(fitted(more, Y)[0], fitted(COLUMNS, Y)[0], atol=1e-10)


def test_the_units_of_the_columns_do_not_matter():
    np.testing.assert_allclose(fitted(100 * COLUMNS - 3, Y)[0], fitted(COLUMNS, Y)[0], atol=1e-8)


def test_other_rows_are_predicted_in_the_units_of_the_fitted_ones():
    at_fit, at_others = fitted(COLUMNS, Y, COLUMNS[10:20])
    np.testing.assert_allclose(at_others, at_fit[10:20])


def test_without_columns_the_mean_is_predicted():
    none = np.empty((80, 0))
    at_fit, at_others = fitted(none, Y, none[:3])
    assert at_fit == pytest.approx(np.full(80, Y.mean()))
    assert at_others == pytest.approx(np.full(3, Y.mean()))


def test_curves_are_the_columns_of_their_formula():
    u = np.random.default_rng(2).standard_normal((7, 3))
    found = curves(u, n_random=0)
    steps = [np.tanh(2 * (u - c)) for c in STEPS]
    products = np.stack([u[:, 0] * u[:, 1], u[:, 0] * u[:, 2], u[:, 1] * u[:, 2]], axis=1)
    np.testing.assert_allclose(
        found, np.concatenate([u, u**2, u**3 / 3, *steps, products], axis=1), atol=1e-12
    )


def test_curves_are_cut_so_that_no_single_sample_decides_but_stay_linear_in_it():
    far = curves(np.array([[100.0]]))
    assert far[0, 0] == 100.0
    assert np.abs(far[0, 1:]).max() == pytest.approx(CLIP**2)


def test_the_same_seed_gives_train_and_test_the_same_curves():
    u = np.random.default_rng(3).standard_normal((9, 2))
    np.testing.assert_array_equal(curves(u, seed=5)[4:], curves(u[4:], seed=5))
    assert not np.allclose(curves(u, seed=5), curves(u, seed=6))


@pytest.mark.parametrize(("n_inputs", "n_columns"), [(0, 0), (1, 8), (8, 92), (9, 27)])
def test_many_inputs_get_no_products_and_no_steps(n_inputs, n_columns):
    assert MAX_INPUTS_FOR_PRODUCTS == 8
    assert curves(np.ones((2, n_inputs)), n_random=0).shape == (2, n_columns)


def test_without_samples_nothing_is_predicted():
    nothing, three = np.zeros((0, 2)), np.ones((3, 2))
    at_fit, elsewhere = fitted(nothing, np.zeros(0), three)
    assert at_fit.shape == (0,)
    assert elsewhere.tolist() == [0.0, 0.0, 0.0]
