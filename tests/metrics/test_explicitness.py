import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ucad.errors import InvalidInputError
from ucad.metrics import Decoder, explicitness, mean_correlation
from ucad.metrics.explicitness import held_out_rows

seeds = st.integers(0, 2**32 - 1)


def nonlinear_factors(n_samples=600):
    rng = np.random.default_rng(0)
    true = rng.standard_normal((n_samples, 2))
    return np.column_stack([true[:, 0], true[:, 1] + true[:, 0] ** 2]), true


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_linear_explicitness_does_not_see_invertible_mixing_but_mcc_does(seed):
    rng = np.random.default_rng(seed)
    true = rng.standard_normal((100, 3))
    learned = true + 0.5 * rng.standard_normal((100, 3))
    mixing = np.eye(3) + np.triu(rng.uniform(1, 2, (3, 3)), k=1)
    np.testing.assert_allclose(
        explicitness(learned @ mixing + 7.0, true).per_factor,
        explicitness(learned, true).per_factor,
        atol=1e-9,
    )
    assert mean_correlation(true @ mixing, true).mean < 0.95


@settings(max_examples=10, deadline=None)
@given(seeds, st.permutations(range(3)), st.permutations(range(2)))
def test_relabelling_factors_only_permutes_linear_explicitness(seed, learned_order, true_order):
    rng = np.random.default_rng(seed)
    learned, true = rng.standard_normal((50, 3)), rng.standard_normal((50, 2))
    np.testing.assert_allclose(
        explicitness(learned[:, learned_order], true[:, true_order]).per_factor,
        explicitness(learned, true).per_factor[true_order],
        atol=1e-9,
    )


def test_a_network_reads_off_what_a_line_cannot():
    learned, true = nonlinear_factors()
    by_line, by_network = (explicitness(learned, true, decoder) for decoder in Decoder)
    assert by_line.per_factor[1] < 0.6
    assert by_network.per_factor[1] > 0.9
    assert "MLPRegressor" in str(by_network)


@pytest.mark.parametrize("decoder", list(Decoder))
def test_unrelated_factors_explain_nothing_on_held_out_samples(decoder):
    learned, true = np.random.default_rng(1).standard_normal((2, 400, 2))
    assert abs(explicitness(learned, true, decoder).mean) < 0.15


@pytest.mark.parametrize("decoder", list(Decoder))
def test_few_samples_are_enough_for_every_decoder(decoder):
    z = np.random.default_rng(0).standard_normal((12, 2))
    assert np.isfinite(explicitness(z, z, decoder).mean)


def test_a_duplicated_learned_factor_does_no_harm():
    z = np.random.default_rng(0).standard_normal((100, 2))
    assert explicitness(z[:, [0, 0, 1]], z).mean == pytest.approx(1.0)


@pytest.mark.parametrize(("n_samples", "fraction"), [(4, 0.2), (100, 0.0), (100, 1.0), (4, 0.9)])
def test_splits_that_leave_nothing_to_fit_or_score_are_refused(n_samples, fraction):
    with pytest.raises(InvalidInputError, match=r"split|test_fraction"):
        held_out_rows(n_samples, fraction, seed=0)


def test_a_split_uses_every_sample_once():
    rows = held_out_rows(50, 0.3, seed=1)
    assert sorted([*rows.train, *rows.test]) == list(range(50))
