"""The whole search on small problems."""

import dataclasses

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.graph import in_anchors, out_anchors, topological_levels
from ucad.metrics import mean_correlation
from ucad.simulate import paper_problem
from ucad.solvers.prior import PriorKnowledge
from ucad.solvers.search import Mechanisms, SearchConfig, fit_search, score_structure
from ucad.solvers.search.account import undetermined
from ucad.solvers.search.solver import SearchRun

MLP_FACTORS = SearchConfig(factor_mechanism=Mechanisms.MLP)


@pytest.fixture(scope="module")
def linear():
    return paper_problem("b", "16-3", seed=1)


@pytest.fixture(scope="module")
def linear_result(linear):
    return fit_search(linear.train, linear.n_factors, validation=linear.validation)


def mcc(result, problem):
    learned = result.scm.state_map(problem.test.x).numpy()
    return mean_correlation(learned, problem.factors).values.mean()


@pytest.mark.parametrize("setting", ["a", "b", "h"])
def test_linear_factors_are_recovered(setting):
    size = "16-3" if setting != "h" else "64-6"
    problem = paper_problem(setting, size, seed=0)
    assert mcc(fit_search(problem.train, problem.n_factors), problem) > 0.999


def test_nonlinear_factors_are_recovered():
    problem = paper_problem("d", "16-3", seed=0, n_samples=4000)
    result = fit_search(problem.train, problem.n_factors, config=MLP_FACTORS)
    assert mcc(result, problem) > 0.99


def test_same_seed_same_result(linear, linear_result):
    again = fit_search(linear.train, linear.n_factors, validation=linear.validation)
    assert (again.scm.graph.Q == linear_result.scm.graph.Q).all()
    assert again.validation_nll == linear_result.validation_nll


def test_the_search_reaches_the_ceiling(linear, linear_result):
    ceiling = score_structure(linear.train, linear.scm.graph)
    assert linear_result.history[-1]["score"] >= ceiling.history[-1]["score"] - 1e-3
    assert (ceiling.scm.graph.Q == linear.scm.graph.Q).all()


def test_the_score_never_falls_along_the_trace(linear_result):
    scores = [row["score"] for row in linear_result.history]
    assert scores == sorted(scores)
    assert len(scores) >= 4


def test_layers_are_respected():
    problem = paper_problem("a", "16-3", seed=2)
    graph = fit_search(problem.train, problem.n_factors).scm.graph
    layer = problem.train.layer_of
    assert (layer[:, None] < layer[None, :])[graph.variable_adjacency].all()


def test_renaming_variables_leaves_the_factors_alone(linear, linear_result):
    order = np.random.default_rng(0).permutation(linear.train.n_variables)
    shuffled = linear.train.select_variables(order)
    result = fit_search(shuffled, linear.n_factors)
    old = {column[order].tobytes() for column in linear_result.scm.graph.Q.T}
    assert {column.tobytes() for column in result.scm.graph.Q.T} == old


def test_auto_keeps_linear_mechanisms_where_they_suffice(linear):
    part = linear.train.select(np.arange(0, linear.train.n_samples, 4))
    auto = SearchConfig(factor_mechanism=Mechanisms.AUTO)
    result = fit_search(part, linear.n_factors, config=auto)
    assert result.scm.factor_mechanism.is_affine
    assert {row["factor_mechanism"] for row in result.history} == {"linear", "mlp"}


def test_auto_takes_networks_where_linear_factors_do_not_fit():
    problem = paper_problem("d", "16-3", seed=0, n_samples=4000)
    auto = SearchConfig(factor_mechanism=Mechanisms.AUTO)
    result = fit_search(problem.train, problem.n_factors, config=auto)
    assert not result.scm.factor_mechanism.is_affine


def test_an_interrupted_search_returns_the_best_model_so_far(linear):
    def interrupt(event):
        if event.done == 3:
            raise KeyboardInterrupt

    result = fit_search(linear.train, linear.n_factors, progress=interrupt)
    assert result.status.interrupted
    assert not result.status.converged
    assert result.scm.graph.Q.any()


def test_an_order_that_misplaces_what_nobody_clamps_costs_no_factor():
    problem = paper_problem("b", "64-6", seed=12)  # found with ancestors alone, not with an order
    learned = fit_search(problem.train, 6).scm.state_map(problem.test.x).numpy()
    assert mean_correlation(learned, problem.factors).values.min() > 0.999


def test_interrupted_at_once_there_is_still_a_model(linear):
    def interrupt(event):
        raise KeyboardInterrupt

    result = fit_search(linear.train, linear.n_factors, progress=interrupt)
    assert not result.scm.graph.Q.any()
    assert np.isfinite(result.validation_nll)


def test_noise_alone_has_no_factors():
    x = np.random.default_rng(0).standard_normal((500, 8))
    result = fit_search(InterventionalData.from_arrays(x).standardised(), 2)
    assert not result.scm.graph.R.any()
    assert any("explains nothing" in note for note in result.status.notes)
    assert any("Nothing was clamped" in note for note in result.status.notes)


def test_known_edges_are_in_the_graph_and_forbidden_ones_are_not(linear, linear_result):
    Q, R = linear_result.scm.graph.Q, linear_result.scm.graph.R
    required, forbidden = np.zeros_like(Q), np.zeros_like(R)
    outsider = int(np.flatnonzero(~Q.any(axis=1) & ~R.any(axis=1))[0])
    required[outsider, 0] = True
    forbidden[np.flatnonzero(R[:, 1])[0], :] = True
    prior = PriorKnowledge(required_parent=required, forbidden_child=forbidden)
    graph = fit_search(linear.train, linear.n_factors, prior=prior).scm.graph
    assert graph.Q[outsider, 0]
    assert not (graph.R & forbidden).any()
    assert topological_levels(graph.factor_adjacency) is not None


@pytest.mark.parametrize("setting", ["b", "e"])
def test_true_anchors_never_hurt_and_name_the_factors(setting):
    problem = paper_problem(setting, "16-3", seed=3, n_samples=4000)
    graph, config = problem.scm.graph, MLP_FACTORS if setting == "e" else SearchConfig()
    prior = PriorKnowledge.with_anchors(in_anchors(graph.Q), out_anchors(graph.R))
    without = fit_search(problem.train, 3, config=config)
    told = fit_search(problem.train, 3, config=config, prior=prior)
    assert told.history[-1]["score"] >= without.history[-1]["score"] - 20
    assert mcc(told, problem) >= mcc(without, problem) - 1e-3
    learned = told.scm.state_map(problem.test.x).numpy()
    own = [np.corrcoef(z, y)[0, 1] for z, y in zip(learned.T, problem.factors.T, strict=True)]
    assert np.abs(own).min() > 0.95


@pytest.mark.parametrize("setting", ["b", "d"])
def test_a_true_edge_that_is_forbidden_is_not_found(setting):
    problem = paper_problem(setting, "16-3", seed=0, n_samples=4000)
    config = MLP_FACTORS if setting == "d" else SearchConfig()
    parent = np.zeros_like(problem.scm.graph.Q)
    child = parent.copy()
    parent[np.flatnonzero(problem.scm.graph.Q.any(axis=1))[0]] = True
    child[np.flatnonzero(problem.scm.graph.R.any(axis=1))[-1]] = True
    prior = PriorKnowledge(forbidden_parent=parent, forbidden_child=child)
    result = fit_search(problem.train, 3, config=config, prior=prior)
    assert not (result.scm.graph.Q & parent).any()
    assert not (result.scm.graph.R & child).any()
    scores = [row["score"] for row in result.history]
    assert scores[-1] == scores[-2]  # barred from the start: nothing is taken away at the end


def test_a_forbidden_direction_is_not_chosen_where_the_data_do_not_tell():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1000, 6))
    x[:, 1] = x[:, 0] + 0.3 * rng.standard_normal(1000)
    data = InterventionalData.from_arrays(x).standardised()
    for parent, child in [(0, 1), (1, 0)]:
        forbidden = np.zeros((6, 1), dtype=bool)
        forbidden[child] = True
        graph = fit_search(data, 1, prior=PriorKnowledge(forbidden_parent=forbidden)).scm.graph
        assert graph.Q[parent, 0]
        assert graph.R[child, 0]


def test_a_pair_that_nobody_clamps_is_said_to_have_no_direction():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1000, 6))
    x[:, 1] = x[:, 0] + 0.3 * rng.standard_normal(1000)
    x[:, 4] = x[:, 3] + 0.3 * rng.standard_normal(1000)
    clamped = np.zeros(x.shape, dtype=bool)
    clamped[:200, 3] = True
    x[:200, 3] = rng.standard_normal(200)
    x[:200, 4] = x[:200, 3] + 0.3 * rng.standard_normal(200)
    data = InterventionalData.from_arrays(x, clamped).standardised()
    result = fit_search(data, 2)
    assert sum("is a guess" in note for note in result.status.notes) == 1


def test_collinear_factors_are_named(linear):
    run = SearchRun(linear.train, 3, SearchConfig(), 0, None, None, 0.0)
    run.go()
    twice = run.model.with_factor(1, run.model.factors[0], linear.train)
    notes = list(undetermined(linear.train, twice, run.causes))
    assert any("Z1 and Z2 are collinear" in note for note in notes)


def test_nonlinear_factors_of_observations_alone_come_with_a_warning():
    problem = paper_problem("d", "16-3", seed=0)
    seen = InterventionalData.from_arrays(problem.test.x[:1000]).standardised()
    notes = fit_search(seen, problem.n_factors, config=MLP_FACTORS).status.notes
    assert any("Nothing was clamped" in note for note in notes)
    assert any("linear regressions" in note for note in notes)


@pytest.mark.parametrize("n_factors", [0, 16])
def test_an_impossible_number_of_factors_is_refused(linear, n_factors):
    with pytest.raises(InvalidInputError, match="n_factors"):
        fit_search(linear.train, n_factors)


def test_data_in_other_units_are_refused(linear):
    data = dataclasses.replace(linear.train, x=linear.train.x * 100)
    with pytest.raises(InvalidInputError, match="standardised"):
        fit_search(data, 3)


def test_a_prior_of_another_shape_is_refused(linear):
    prior = PriorKnowledge(required_parent=np.zeros((3, 2), dtype=bool))
    with pytest.raises(InvalidInputError, match="16 variables"):
        fit_search(linear.train, 3, prior=prior)
