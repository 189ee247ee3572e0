"""A factor and its children, fitted together."""

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.scm.families import AFFINE, NETWORK, Affine
from ucad.solvers.regression.fitting import ROUGH, Fitter, Regression, unit_variance
from ucad.solvers.regression.joint import fit_together

NET = Fitter(family=NETWORK, effort=ROUGH, floor=1e-3, penalty=10.0)


@pytest.fixture(scope="module")
def data():
    """z = x0 + x1, x2 = sin 3z and x3 = z with noise: x2 folds the factor."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((800, 4))
    z = (x[:, 0] + x[:, 1]) / np.sqrt(2)
    x[:, 2] = np.sin(2 * z) + 0.1 * x[:, 2]
    x[:, 3] = z + 0.5 * x[:, 3]
    clamped = rng.random(x.shape) < 0.1
    clamped[:, :2] = False
    x[clamped] = rng.standard_normal(clamped.sum())
    return InterventionalData.from_arrays(x, clamped).standardised()


def errors(data, factor, functions, children):
    z = factor.values(data.x)[:, None]
    left = [data.x[:, j] - g.values(z) for j, g in zip(children, functions, strict=True)]
    free = [~data.is_intervened[:, j] for j in children]
    return np.array([np.mean(e[f] ** 2) for e, f in zip(left, free, strict=True)])


def test_a_factor_and_its_children_fitted_together_predict_better(data):
    children = np.array([2, 3])
    free = [Regression(data.x[:, j], (~data.is_intervened[:, j]).astype(float)) for j in children]
    line = Fitter(family=AFFINE, effort=ROUGH, floor=1e-3, penalty=10.0)
    factor = unit_variance(line.fit(data.x, np.array([0, 1]), free[0]), data.x)
    z = factor.values(data.x)[:, None]
    start = [NET.fit(z, np.array([0]), regression) for regression in free]
    found, functions = fit_together(data, z, 0, [factor, *start], children, NET)
    values = found.values(data.x)
    assert values.mean() == pytest.approx(0.0, abs=1e-5)
    assert values.std() == pytest.approx(1.0)
    before, after = errors(data, factor, start, children), errors(data, found, functions, children)
    assert np.log(after + 1e-3).sum() < np.log(before + 1e-3).sum()


def test_what_is_exact_and_linear_is_found_in_one_call(data):
    x = data.x.copy()
    x[:, 2] = 2 * x[:, 0] - x[:, 1]
    exact = InterventionalData.from_arrays(x)
    factor = Affine(np.array([0, 1]), np.array([1.0, 1.0]), 0.0)
    child = Affine(np.array([0]), np.array([0.5]), 0.0)
    z = factor.values(x)[:, None]
    fitted, (g,) = fit_together(exact, z, 0, [factor, child], np.array([2]), NET)
    assert errors(exact, fitted, [g], [2])[0] < 1e-3
    assert errors(exact, factor, [child], [2])[0] > 1.0


def test_clamped_samples_of_a_child_do_not_count(data):
    x = data.x.copy()
    x[data.is_intervened] = 50.0
    spoilt = InterventionalData.from_arrays(x, data.is_intervened)
    factor = Affine(np.array([0, 1]), np.array([0.7, 0.7]), 0.0)
    child = Affine(np.array([0]), np.array([0.5]), 0.0)
    z = factor.values(x)[:, None]
    one, other = (
        fit_together(part, z, 0, [factor, child], np.array([3]), NET)[0].weights
        for part in (data, spoilt)
    )
    np.testing.assert_allclose(one, other, rtol=1e-3)
