"""Linear regressions of many variables from shared moments."""

import numpy as np

from ucad.data.moments import RowsByVariable
from ucad.solvers.regression.affine_fits import affine_fits


def samples(seed=0):
    rng = np.random.default_rng(seed)
    z, x = rng.standard_normal((300, 3)), rng.standard_normal((300, 4)) + 2.0
    x += z @ rng.standard_normal((3, 4))
    return z, x, rng.random((300, 4)) < 0.1


def test_each_variable_is_its_least_squares_fit_where_it_is_free():
    z, x, out = samples()
    parents = [np.array([0, 2]), np.array([1]), np.array([0, 1, 2])]
    variables = [0, 1, 3]
    fits = affine_fits(z, x, RowsByVariable.of(out), variables, parents)
    for j, some, (function, error) in zip(variables, parents, fits, strict=True):
        rows = ~out[:, j]
        design = np.column_stack([z[:, some], np.ones(len(z))])[rows]
        best, (left,), *_ = np.linalg.lstsq(design, x[rows, j], rcond=None)
        np.testing.assert_allclose(function.weights, best, atol=1e-9)
        np.testing.assert_allclose(error, left / rows.sum(), atol=1e-9)


def test_collinear_columns_are_left_to_others_and_exact_relations_have_no_negative_error():
    z, x, out = samples()
    z[:, 1] = z[:, 0]
    x[:, 0] = 3 * z[:, 2] - 1
    fits = affine_fits(
        z, x, RowsByVariable.of(out & False), [1, 0], [np.array([0, 1]), np.array([2])]
    )
    assert next(fits) is None
    function, error = next(fits)
    assert abs(function.b + 1) < 1e-9
    assert 0 <= error < 1e-12
