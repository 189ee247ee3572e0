"""Products of two variables that predict a third."""

import numpy as np
import pytest

from ucad.solvers.regression.pairs import MAX_PAIRED, best_pairs


@pytest.fixture
def product():
    """x_3 = x_0 x_2 + noise, four more variables that have nothing to do with it."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1500, 8))
    x[:, 3] = (x[:, 0] * x[:, 2] + 0.7 * x[:, 3]) / 1.22
    return x, np.zeros(x.shape, dtype=bool), ~np.eye(8, dtype=bool)


def test_the_causes_of_a_product_are_found_though_neither_shows_alone(product):
    x, nothing, everybody = product
    assert abs(np.corrcoef(x[:, 0], x[:, 3])[0, 1]) < 0.1
    found = best_pairs(x, x, nothing, everybody)
    assert found.pairs[3].tolist() == [0, 2]
    assert found.nats[3] > 100


def test_variables_that_no_product_predicts_gain_nothing(product):
    x, nothing, everybody = product
    assert (best_pairs(x, x, nothing, everybody).nats[[1, 4, 5, 6, 7]] == 0).all()


def test_a_pair_of_which_one_may_not_precede_the_target_is_not_proposed(product):
    x, nothing, everybody = product
    everybody[2, 3] = False
    assert best_pairs(x, x, nothing, everybody).nats[3] == 0


def test_samples_left_out_of_a_target_do_not_count(product):
    x, left_out, everybody = product
    x[:700, 3], left_out[:700, 3] = 50.0, True
    assert best_pairs(x, x, left_out, everybody).nats[3] > 50


def test_very_many_variables_are_not_paired():
    x = np.random.default_rng(0).standard_normal((20, MAX_PAIRED + 1))
    nothing = np.zeros(x.shape, dtype=bool)
    assert (best_pairs(x, x, nothing, ~np.eye(x.shape[1], dtype=bool)).nats == 0).all()
