"""Factors of two fits are the same if each explains more than half of the other, and only then."""

import numpy as np
import pytest

from ucad.consensus.matching import MIN_LEVEL, chance_values, correlations, level_for, match
from ucad.simulate import paper_problem


@pytest.fixture
def z():
    return np.random.default_rng(0).standard_normal((500, 3))


def test_partners_are_found_whatever_their_order_sign_scale_and_offset(z):
    found = match(z, np.stack([5 - 2 * z[:, 2], z[:, 0], 0.1 * z[:, 1]], axis=1))
    assert found.partner == (1, 2, 0)
    assert np.sign(found.correlation).tolist() == [1, 1, -1]


def test_a_monotone_map_of_a_factor_is_the_same_factor(z):
    assert match(z, np.exp(3 * z)).partner == (0, 1, 2)


def test_an_unrelated_factor_has_no_partner(z):
    other = z.copy()
    other[:, 1] = np.random.default_rng(1).standard_normal(500)
    assert match(z, other).partner == (0, None, 2)


def test_a_factor_that_shares_a_third_of_its_variance_has_no_partner(z):
    mixed = z[:, [0]] + z[:, [1]] + z[:, [2]]
    assert match(z, mixed).partner == (None, None, None)


def test_one_factor_is_partner_of_one_other_only(z):
    twice = np.stack([z[:, 0], z[:, 0] + 0.1 * z[:, 1]], axis=1)
    assert match(twice, z[:, :1]).partner == (0, None)


def test_constant_factors_have_no_partner(z):
    assert match(np.zeros((500, 1)), z).n_matched == 0
    assert match(np.full((500, 1), 1e9), np.full((500, 1), 1e9)).n_matched == 0


def test_fits_without_factors_match_nothing(z):
    assert match(z, z[:, :0]).partner == (None, None, None)
    assert match(z[:, :0], z).partner == ()


def test_with_few_samples_chance_sets_the_level():
    assert level_for(2000, 6, 6) == MIN_LEVEL
    assert level_for(12, 6, 6) > MIN_LEVEL
    rng = np.random.default_rng(0)
    largest = [
        np.abs(correlations(rng.standard_normal((12, 6)), rng.standard_normal((12, 6)))).max()
        for _ in range(200)
    ]
    # Spearman's coefficient is looked at, too, so a little more than the nominal 5 %.
    assert np.mean(np.array(largest) > level_for(12, 6, 6)) < 0.15


def test_relabelled_variables_give_less_than_the_model_itself():
    problem = paper_problem("a", "16-3", seed=0, n_samples=600)
    values = chance_values(problem.scm, problem.scm, problem.train.x)
    assert 0.05 < np.median(values) < 0.9
