"""The bottleneck solver: factors of dense layers, singled out by independence."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ucad.claims import certify
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.metrics import mean_correlation
from ucad.solvers import SolveSettings, solve
from ucad.solvers.layered import BottleneckConfig, fit_bottleneck

CONFIG = BottleneckConfig(epochs=25, batch_size=256, hidden=24)


@pytest.fixture(scope="module")
def fitted(mixed):
    return fit_bottleneck(mixed[0], 2, config=CONFIG)


def test_a_coin_hidden_in_dense_layers_is_the_first_factor(mixed, fitted):
    data, z = mixed
    learned = fitted.scm.state_map(data.x[:3000]).numpy()
    assert float(fitted.history[0]["r2"]) > 0.95
    assert abs(np.corrcoef(learned[:, 0], z[:3000, 0])[0, 1]) > 0.95
    assert mean_correlation(learned, z[:3000]).mean > 0.95


def test_standardised_data_give_the_same_factors_in_standard_units(mixed):
    data, _ = mixed
    config = BottleneckConfig(epochs=2, batch_size=512, hidden=8)
    plain, standard = data, data.standardised()
    raw = fit_bottleneck(plain, 2, config=config).scm.state_map(plain.x)
    scaled = fit_bottleneck(standard, 2, config=config).scm.state_map(standard.x)
    assert torch.allclose(raw, scaled, atol=1e-3)


def test_the_same_seed_gives_the_same_model(mixed):
    data, _ = mixed
    config = BottleneckConfig(epochs=1, hidden=4)
    first, second = (fit_bottleneck(data, 2, config=config, seed=5).scm for _ in range(2))
    assert torch.equal(first.state_map(data.x), second.state_map(data.x))


def test_the_certificate_does_not_claim_anchors(mixed, fitted):
    data, _ = mixed
    graph = fitted.scm.graph
    assert not graph.in_anchors.any()
    assert not graph.out_anchors.any()
    found = certify(fitted.scm, data)
    assert not found.may_claim("factors")
    assert not found.may_claim("values")


def test_data_without_layers_are_refused():
    data = InterventionalData.from_arrays(np.random.default_rng(0).normal(size=(20, 4)))
    with pytest.raises(InvalidInputError, match="layer_of"):
        fit_bottleneck(data, 2)


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(InvalidInputError, match="'epochs' setting"):
        BottleneckConfig(epochs=0)


def test_a_budget_that_ends_gives_a_model_and_says_so(mixed):
    data, _ = mixed
    config = BottleneckConfig(epochs=100_000, batch_size=256, hidden=8)
    result = fit_bottleneck(data, 2, config=config, max_seconds=0.3)
    assert not result.status.converged
    assert not result.status.interrupted
    assert result.status.reason == "The budget of 0.3 s ended."
    assert "max_seconds" in str(result.status)
    assert np.isfinite(result.validation_nll)
    assert result.seconds < 5


def test_a_budget_that_suffices_changes_nothing(mixed):
    data, _ = mixed
    config = BottleneckConfig(epochs=1, hidden=4)
    free, limited = (fit_bottleneck(data, 2, config=config, max_seconds=s) for s in (None, 600.0))
    assert free.validation_nll == limited.validation_nll
    assert limited.status.converged


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_budget_that_makes_no_sense_is_refused(mixed, seconds):
    with pytest.raises(InvalidInputError, match="'max_seconds' parameter"):
        fit_bottleneck(mixed[0], 2, max_seconds=seconds)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 12), st.integers(1, 4), st.integers(1, 4), st.integers(0, 99))
def test_tiny_random_layers_are_fitted_without_a_crash(n_samples, n_first, n_second, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_samples, n_first + n_second))
    x = np.maximum(x, 0) if seed % 3 == 1 else np.sign(x) if seed % 3 == 2 else x
    x[:2] = [[0.0], [1.0]]  # no column is constant
    layers = [0] * n_first + [1] * n_second
    data = InterventionalData.from_arrays(x, layer_of=layers).standardised()
    for solver in ("bottleneck", "switch", "rectified"):
        found = solve(data, SolveSettings(n_factors=1, solver=solver), validation=data)
        assert np.isfinite(found.validation_nll)
        assert torch.isfinite(found.scm.state_map(data.x)).all()
