import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import seeds
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError


def small(n_samples=60, n_variables=4, seed=0, layered=False) -> InterventionalData:
    """Five regimes: observational, two single targets, one double, one that clamps nothing seen."""
    rng = np.random.default_rng(seed)
    labels = np.resize(["", "a", "b", "a;c", "unseen"], n_samples).tolist()
    return InterventionalData.from_targets(
        rng.normal(size=(n_samples, n_variables)),
        labels,
        variable_names=("a", "b", "c", "d")[:n_variables],
        layer_of=[0, 0, 1, 1] if layered else None,
    )


def test_targets_become_regimes_and_clamps():
    data = small()
    assert data.regime_names == ("observational", "a", "b", "a;c", "unseen")
    assert data.targets.tolist() == [
        [False, False, False, False],
        [True, False, False, False],
        [False, True, False, False],
        [True, False, True, False],
        [False, False, False, False],
    ]
    assert data.unmeasured_regimes == ("unseen",)


def test_a_combination_with_an_unmeasured_target_acts_on_something_hidden():
    labels = np.resize(["", "a", "a;unseen", "a;b", "unseen"], 60).tolist()
    x = np.random.default_rng(0).normal(size=(60, 2))
    data = InterventionalData.from_targets(x, labels, variable_names=("a", "b|c"))
    hidden = dict(zip(data.regime_names, data.acts_on_hidden.tolist(), strict=True))
    assert hidden == {"observational": False, "a": False, "a;unseen": True, "a;b": False,
                      "unseen": True}  # fmt: skip
    assert data.unmeasured_regimes == ("unseen",)
    assert "a and something that was not measured" in str(data.summary())


def test_a_control_label_is_observational():
    x = np.random.default_rng(0).normal(size=(3, 1))
    data = InterventionalData.from_targets(x, ["control", "", "X1"], control="control")
    assert data.regime.tolist() == [0, 0, 1]


def test_regimes_are_derived_from_what_is_clamped_in_order_of_appearance():
    clamps = np.array([[0, 1], [0, 0], [1, 0], [0, 1]], dtype=bool)
    data = InterventionalData.from_arrays(np.arange(8.0).reshape(4, 2) ** 2, clamps)
    assert data.regime.tolist() == [1, 0, 2, 1]
    assert data.regime_names == ("observational", "X2", "X1")
    no_control = InterventionalData.from_arrays(
        np.arange(6.0).reshape(3, 2) ** 2, np.array([[0, 1], [1, 0], [0, 1]], dtype=bool)
    )
    assert no_control.regime.tolist() == [1, 2, 1]


def test_a_data_set_cannot_be_changed():
    source = np.random.default_rng(0).normal(size=(5, 2))
    data = InterventionalData.from_arrays(source)
    with pytest.raises(ValueError, match="read-only"):
        data.x[0, 0] = 1.0
    source[0, 0] = 1e9
    assert data.x[0, 0] != 1e9


BAD = np.arange(12.0).reshape(4, 3) ** 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.zeros(4)}, "samples × variables"),
        ({"x": np.zeros((0, 3))}, "at least one of each"),
        ({"x": BAD.astype(str)}, "must hold numbers"),
        ({"x": np.where(BAD == 16, np.nan, BAD)}, "nan at row 1, column 'X2'"),
        ({"x": np.where(BAD >= 100, np.inf, BAD)}, "inf at row 3, column 'X2'"),
        ({"x": np.where(BAD[:1] == 1, 7.0, BAD)}, "never change.*'X2'"),
        ({"variable_names": ["a", "b", "a"]}, "Used twice: 'a'"),
        ({"variable_names": ["a", "b"]}, "one name per variable, 3. Got 2"),
        ({"variable_names": ["a", "", "c"]}, "empty name"),
        ({"is_intervened": np.zeros((4, 2), dtype=bool)}, "shape of 'x'"),
        ({"is_intervened": np.tile([True, False, False], (4, 1))}, "clamped in every sample.*'X1'"),
        ({"layer_of": [0, 1]}, "one entry per variable, 3"),
    ],
)
def test_bad_input_is_refused_and_the_message_says_where(change, message):
    arguments = {"x": BAD} | change
    with pytest.raises(InvalidInputError, match=message):
        InterventionalData.from_arrays(**arguments)


def test_regimes_that_clamp_different_variables_are_refused():
    clamps = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool)
    names = ("a", "b", "c")
    with pytest.raises(InvalidInputError, match="In regime 1, sample 1 differs from sample 0"):
        InterventionalData(BAD, clamps, np.array([1, 1, 0, 0]), names)
    with pytest.raises(InvalidInputError, match="Regime 0 is observational"):
        InterventionalData(BAD, clamps, np.array([0, 1, 2, 2]), names)
    with pytest.raises(InvalidInputError, match="positive numbers"):
        InterventionalData(BAD, clamps, np.array([1, 2, -1, -1]), names)


def test_splits_keep_every_sample_once_and_every_regime_in_proportion():
    data = small(100)
    parts = data.split(0.6, 0.2, 0.2, seed=3)
    rows = np.concatenate([part.x for part in parts])
    assert sorted(map(tuple, rows)) == sorted(map(tuple, data.x))
    for part, share in zip(parts, (0.6, 0.2, 0.2), strict=True):
        assert np.bincount(part.regime).tolist() == [round(20 * share)] * 5
    again = data.split(0.6, 0.2, 0.2, seed=3)
    assert all((a.x == b.x).all() for a, b in zip(parts, again, strict=True))


def test_regime_splits_share_no_regime_and_train_on_observations():
    parts = small().split_regimes(1, 2, seed=0)
    present = [set(part.regime.tolist()) for part in parts]
    assert 0 in present[0]
    assert [len(regimes) for regimes in present] == [2, 1, 2]
    assert set.union(*present) == {0, 1, 2, 3, 4}
    assert sum(map(len, present)) == 5
    assert parts.test.regime_names == small().regime_names


def test_impossible_splits_are_refused():
    with pytest.raises(InvalidInputError, match="sum to 1"):
        small().split(0.5, 0.2, 0.2)
    with pytest.raises(InvalidInputError, match="leave at least one interventional regime"):
        small().split_regimes(2, 2)


@given(seeds)
def test_standardisation_is_remembered_and_can_be_undone(seed):
    data = small(seed=seed)
    shifted = InterventionalData.from_arrays(
        5 + 3 * data.x, data.is_intervened, variable_names=data.variable_names
    )
    standard = shifted.standardised()
    np.testing.assert_allclose(standard.x.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(standard.x.std(axis=0), 1)
    np.testing.assert_allclose(standard.unstandardised().x, shifted.x)
    np.testing.assert_allclose(standard.standardised().unstandardised().x, shifted.x)
    other = shifted.select(np.arange(10)).standardised(standard.scaling)
    np.testing.assert_allclose(other.x, standard.x[:10])


@given(seeds, st.integers(2, 30))
def test_masked_moments_are_those_of_the_samples_that_do_not_clamp_the_target(seed, n_samples):
    data = small(n_samples, seed=seed)
    for j, (matrix, count) in enumerate(data.moments):
        free = data.x[~data.is_intervened[:, j]]
        assert count == len(free)
        if count:
            np.testing.assert_allclose(matrix, free.T @ free / count, atol=1e-12)
    assert len(data.moments) == data.n_variables


def test_the_fingerprint_sees_every_part():
    data = small()
    assert data.fingerprint == small().fingerprint
    variants = [small(seed=1), small(layered=True), data.select(np.arange(59))]
    assert len({data.fingerprint, *(v.fingerprint for v in variants)}) == 4


def test_a_choice_of_variables_keeps_names_layers_and_scaling():
    data = small(layered=True).standardised()
    chosen = data.select_variables(np.array([3, 0]))
    assert chosen.variable_names == ("d", "a")
    assert chosen.layer_of.tolist() == [1, 0]
    np.testing.assert_allclose(chosen.unstandardised().x, small().x[:, [3, 0]])
