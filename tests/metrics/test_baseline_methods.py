import numpy as np
import pytest
from sklearn.decomposition import SparsePCA

from ucad.errors import InvalidInputError
from ucad.metrics import baselines, mean_correlation
from ucad.metrics.baseline_methods import BASELINES, _few_rows_with_the_same_moments


def easy_problem(n_samples=1000):
    """Three independent, non-Gaussian factors with five variables each, and a little noise."""
    rng = np.random.default_rng(0)
    z = rng.uniform(-1, 1, (n_samples, 3)) * [1.0, 1.5, 2.0]
    loadings = np.kron(np.eye(3), np.ones((1, 5)))
    return z @ loadings + 0.1 * rng.standard_normal((n_samples, 15)), z


def test_rotating_baselines_recover_an_easy_problem():
    x, z = easy_problem()
    found = baselines(x, 3)
    for name in ("fast_ica", "factor_analysis_varimax", "sparse_pca"):
        assert mean_correlation(found[name].factors, z).mean > 0.97
        assert found[name].converged


def test_held_out_samples_are_transformed_by_what_was_fitted():
    x, _ = easy_problem()
    on_all, on_few = baselines(x, 3), baselines(x, 3, held_out=x[:10])
    for name in BASELINES:
        np.testing.assert_allclose(on_few[name].factors, on_all[name].factors[:10], atol=1e-9)


def test_sparse_pca_sees_the_data_only_through_its_moments():
    x, _ = easy_problem(200)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    few = _few_rows_with_the_same_moments(x)
    assert few.shape == (30, 15)
    np.testing.assert_allclose(few.T @ few, x.T @ x, atol=1e-9)
    fits = [SparsePCA(3, method="cd", random_state=0).fit(rows) for rows in (x, few)]
    np.testing.assert_allclose(*(fit.transform(x) for fit in fits), atol=1e-8)


def test_stopping_early_is_a_value_and_no_exception():
    gaussian = np.random.default_rng(0).standard_normal((50, 8))
    assert {type(found.converged) for found in baselines(gaussian, 7).values()} == {bool}


def test_held_out_samples_of_other_variables_are_refused():
    x, _ = easy_problem(50)
    with pytest.raises(InvalidInputError, match="must have the 15 variables"):
        baselines(x, 3, held_out=x[:, :4])
