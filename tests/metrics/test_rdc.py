import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ucad.errors import InvalidInputError
from ucad.metrics import RDCSettings, randomised_dependence


def mean_rdc(make, n_draws=20, **settings):
    """The mean over fresh samples and frequencies at N = 1,000."""
    values = []
    for seed in range(n_draws):
        x, y = make(np.random.default_rng(seed))
        found = randomised_dependence(x[:, None], y[:, None], RDCSettings(seed=seed, **settings))
        values.append(found.values[0, 0])
    return np.mean(values)


def relation(f, noise=0.0):
    def make(rng):
        x = rng.standard_normal(1000)
        return x, f(x) + noise * rng.standard_normal(1000)

    return make


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (relation(lambda x: x, noise=0.1), 0.994),
        (relation(np.square), 0.991),
        (relation(lambda x: np.sin(3 * x)), 0.765),
        (relation(lambda x: (x > 0).astype(float)), 0.927),
        (relation(np.zeros_like, noise=1.0), 0.064),
    ],
    ids=["linear", "quadratic", "sine", "binary", "independent"],
)
def test_textbook_relations_have_the_known_values(make, expected):
    assert mean_rdc(make) == pytest.approx(expected, abs=0.02)


def test_a_cosine_is_seen_once_the_frequencies_are_wide_enough():
    def on(low, high):
        def make(rng):
            x = rng.uniform(low, high, 1000)
            return x, np.cos(5 * x)

        return make

    assert mean_rdc(on(0, 1)) > 0.99
    assert mean_rdc(on(-1, 1)) < 0.7
    assert mean_rdc(on(-1, 1), scale=3.0) > 0.99


def test_removing_the_bias_brings_independent_samples_near_zero():
    make = relation(np.zeros_like, noise=1.0)
    assert mean_rdc(make, remove_bias=True) < 0.5 * mean_rdc(make)
    assert mean_rdc(relation(lambda x: x), remove_bias=True) == pytest.approx(1.0)


def test_the_bias_shrinks_with_the_root_of_the_samples_as_stated():
    rng = np.random.default_rng(0)
    for n_samples in (500, 8000):
        x, y = rng.standard_normal((2, n_samples, 8))
        expected = np.sqrt(2 * 3 / n_samples)
        found = randomised_dependence(x, y).values.mean()
        assert found == pytest.approx(expected, rel=0.25)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 40), st.floats(0.01, 20))
def test_coefficients_stay_in_the_unit_interval(seed, n_samples, scale):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((n_samples, 2)), rng.integers(0, 3, (n_samples, 2)).astype(float)
    y[:2] = [[0, 1], [1, 0]]
    values = randomised_dependence(x, y, RDCSettings(scale=scale)).values
    assert np.all((values >= 0) & (values <= 1))


def test_one_seed_gives_one_value():
    x, y = np.random.default_rng(0).standard_normal((2, 100, 3))
    first, second = (randomised_dependence(x, y, RDCSettings(seed=4)).values for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, randomised_dependence(x, y, RDCSettings(seed=5)).values)


@pytest.mark.parametrize("name", ["n_features", "scale", "tolerance", "n_permutations"])
def test_settings_that_mean_nothing_are_refused(name):
    with pytest.raises(InvalidInputError, match=f"The '{name}' setting of RDCSettings"):
        RDCSettings(**{name: type(getattr(RDCSettings, name))(0)})
