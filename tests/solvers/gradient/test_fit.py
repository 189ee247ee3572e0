from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.solvers.gradient.conftest import with_training
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.scm.families import AFFINE, NETWORK
from ucad.solvers.gradient import (
    ConstraintSettings,
    ModelSettings,
    fast,
    fit_gradient,
)
from ucad.solvers.gradient.fit import advice_for
from ucad.solvers.gradient.minibatch_objective import MinibatchObjective
from ucad.solvers.gradient.problem import RelaxedProblem
from ucad.solvers.prior import PriorKnowledge


def fit(problem, config, **more):
    return fit_gradient(
        problem.train, 3, config=config, validation=problem.validation, seed=0, **more
    )


def matched_correlation(problem, scm) -> float:
    from scipy.optimize import linear_sum_assignment

    found = scm.state_map(problem.test.x).numpy()
    correlation = np.nan_to_num(np.abs(np.corrcoef(problem.factors.T, found.T)[:3, 3:]))
    rows, columns = linear_sum_assignment(-correlation)
    return float(correlation[rows, columns].mean())


@pytest.mark.slow
def test_a_small_layered_problem_is_recovered(layered):
    config = with_training(fast(16), n_seeds=6, epochs=120, penalty_growths=(1.06,))
    result = fit(layered, config)
    assert result.status.feasible, str(result.status)
    assert matched_correlation(layered, result.scm) > 0.98
    assert result.history[0]["epoch"] == 10


def test_the_same_seed_gives_the_same_model(problem, config):
    one, two = fit(problem, config), fit(problem, config)
    assert one.validation_nll == two.validation_nll
    assert torch.equal(one.scm.factor_mechanism.weight, two.scm.factor_mechanism.weight)


def test_an_unfinished_fit_is_a_value_with_violations_and_advice(problem, config):
    config = with_training(config, epochs=1)
    strict = replace(config, constraints=ConstraintSettings(sparsity_tolerance=0.01))
    result = fit(problem, strict)
    assert not result.status.feasible
    assert not result.status.converged
    assert result.status.violations
    assert result.status.advice
    assert np.isfinite(result.validation_nll)


def test_data_that_are_not_standardised_are_refused(problem):
    large = replace(problem.train, x=100 * problem.train.x)
    with pytest.raises(InvalidInputError, match="wants standardised data"):
        fit_gradient(large, 3, validation=problem.validation)


def stop_at(epoch: int):
    def stop(event):
        if event.done >= epoch:
            raise KeyboardInterrupt

    return stop


def test_ctrl_c_ends_the_fit_with_a_model(problem, config):
    result = fit(problem, config, progress=stop_at(1))
    assert result.status.interrupted
    assert not result.status.converged
    assert np.isfinite(result.validation_nll)


def test_a_fit_is_resumed_from_its_checkpoint_to_the_same_model(problem, config, tmp_path):
    path = tmp_path / "state.safetensors"
    whole = fit(problem, config)
    stopped = fit(problem, config, progress=stop_at(8), checkpoint=path)
    assert stopped.status.interrupted
    resumed = fit(problem, config, checkpoint=path)
    assert resumed.validation_nll == whole.validation_nll
    assert resumed.history == whole.history
    path.unlink()
    first = fit(problem, config, checkpoint=path)
    again = fit(problem, config, checkpoint=path)  # finds the run finished
    assert whole.validation_nll == first.validation_nll == again.validation_nll
    other = fit(problem, with_training(config, epochs=13), checkpoint=path)
    assert any("other settings" in note for note in other.status.notes)
    assert (tmp_path / "state.safetensors.stale").exists()


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10_000), n_samples=st.integers(1, 9), n_variables=st.integers(2, 5))
def test_tiny_random_arrays_are_fitted_without_a_crash(seed, n_samples, n_variables):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_samples, n_variables)) * 10.0 ** rng.integers(-9, 9)
    x = [x, np.round(x), np.sign(x), x[:, [0] * n_variables]][seed % 4]
    clamped = (rng.random(x.shape) < 0.3) & (seed % 5 > 1)
    try:
        data = InterventionalData.from_arrays(x, clamped)
    except InvalidInputError:
        assume(False)  # constant, or never free
    factor, variable = (AFFINE if rng.random() < 0.5 else NETWORK for _ in range(2))
    model = ModelSettings(factor_family=factor, variable_family=variable, hidden=3)
    quick = with_training(fast(n_variables, model), n_seeds=1, epochs=8, evaluate_every=4)
    n_factors = int(rng.integers(1, n_variables))
    config = replace(quick, refit_steps=10)
    data = data.standardised()
    found = fit_gradient(data, n_factors, validation=data, config=config, seed=seed)
    assert np.isfinite(found.validation_nll)
    assert torch.isfinite(found.scm.state_map(data.x)).all()


def test_a_budget_that_ends_gives_the_best_model_so_far_and_says_so(problem, config):
    endless = with_training(config, epochs=1_000_000, patience=1_000_000)
    result = fit(problem, endless, max_seconds=0.5)
    assert result.status.reason == "The budget of 0.5 s ended."
    assert not result.status.converged
    assert not result.status.interrupted
    assert any("max_seconds" in advice for advice in result.status.advice)
    assert np.isfinite(result.validation_nll)
    assert result.seconds < 10


def test_a_budget_that_suffices_changes_nothing(problem, config):
    free, limited = (fit(problem, config, max_seconds=seconds) for seconds in (None, 600.0))
    assert free.validation_nll == limited.validation_nll
    assert free.status == limited.status


def test_a_fit_that_ran_out_of_time_is_resumed_to_the_same_model(problem, config, tmp_path):
    path = tmp_path / "state.safetensors"
    config = with_training(config, epochs=80)
    whole = fit(problem, config)
    short = fit(problem, config, checkpoint=path, max_seconds=0.05)
    assert not short.status.converged
    resumed = fit(problem, config, checkpoint=path)
    assert resumed.validation_nll == whole.validation_nll
    assert resumed.history == whole.history


def test_prior_knowledge_is_kept_to(problem, config):
    names = problem.train.variable_names
    edges = {"anchors": [f"Z2 -> {names[4]}"], "required": [f"{names[5]} -> Z1"]}
    prior = PriorKnowledge.from_edges(names, 3, **edges)
    result = fit(problem, replace(config, prior=prior))
    assert result.scm.graph.R[4].tolist() == [False, True, False]
    assert result.scm.graph.Q[5, 0]


def test_a_required_cycle_is_broken_and_said_to_be(problem, config):
    a, b, *_ = names = problem.train.variable_names
    cycle = [f"{a} -> Z1", f"Z1 -> {b}", f"{b} -> Z2", f"Z2 -> {a}"]
    prior = PriorKnowledge.from_edges(names, 3, required=cycle)
    status = fit(problem, replace(with_training(config, epochs=2), prior=prior)).status
    assert len(set(status.removed_edges) & set(cycle)) == 1
    assert any("asks for a cycle" in advice for advice in status.advice)


def test_prior_knowledge_about_another_number_of_factors_is_refused(problem, config):
    prior = PriorKnowledge.from_edges(problem.train.variable_names, 2, required=["Z1 -> X1"])
    with pytest.raises(InvalidInputError, match="16 variables and 3 factors"):
        fit(problem, replace(config, prior=prior))


def test_linear_mechanisms_of_many_variables_are_trained_without_moments(
    problem, config, monkeypatch
):
    monkeypatch.setattr("ucad.solvers.gradient.moment_objective.MAX_MOMENT_BYTES", 8 * 15 * 16**2)
    config = with_training(config, epochs=4)
    learner = RelaxedProblem.of(problem.train, problem.validation, 3, config)
    assert isinstance(learner.objective, MinibatchObjective)
    assert np.isfinite(fit(problem, config).validation_nll)


def test_layers_of_the_data_are_kept_to(layered, config):
    graph = fit(layered, config).scm.graph
    layer_of = layered.train.layer_of
    assert not graph.R[layer_of == 0].any()
    assert not graph.Q[layer_of == layer_of.max()].any()


@pytest.mark.parametrize("linear_variables", [True, False])
def test_networks_can_be_learned_too(problem, config, linear_variables):
    kind = AFFINE if linear_variables else NETWORK
    model = ModelSettings(factor_family=NETWORK, variable_family=kind, hidden=4)
    result = fit(problem, replace(with_training(config, epochs=4), model=model))
    assert np.isfinite(result.validation_nll)
    assert result.scm.factor_mechanism.w1.shape == (3, 4, 16)


@pytest.mark.parametrize("n_factors", [0, 17])
def test_a_number_of_factors_out_of_range_is_refused(problem, n_factors):
    with pytest.raises(InvalidInputError, match="'n_factors' must be at least 1"):
        fit_gradient(problem.train, n_factors, validation=problem.validation)


def test_every_kind_of_violation_has_advice_and_none_has_none():
    for name in ("acyclicity", "layer order of Z1", "in-anchor of Z2", "out-anchor of Z1"):
        assert len(advice_for({name: 0.1})) == 2
    assert "0.1" in advice_for({"sparsity": 0.1})[0]
    assert advice_for({}) == ()
