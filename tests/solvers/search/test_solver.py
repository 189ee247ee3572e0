"""The whole search on small problems."""

from dataclasses import replace

import numpy as np
import pytest

import ucad
from ucad.data import InterventionalData
from ucad.graph import in_anchors, out_anchors, topological_levels
from ucad.metrics import mean_correlation
from ucad.scm.families import AFFINE, NETWORK, SPLINE
from ucad.simulate import paper_problem, world_problem
from ucad.simulate.worlds import screen_problem
from ucad.solvers import PriorKnowledge, SolveSettings, solve
from ucad.solvers.search import fit_search

MLP_FACTORS = (NETWORK, AFFINE)


@pytest.fixture(scope="module")
def linear():
    return paper_problem("b", "16-3", seed=1, n_samples=4000)


@pytest.fixture(scope="module")
def linear_result(linear):
    return fit_search(linear.train, linear.n_factors, validation=linear.validation)


def mcc(result, problem):
    learned = result.scm.state_map(problem.test.x).numpy()
    return mean_correlation(learned, problem.factors).values.mean()


@pytest.mark.parametrize("clamp", ["constant", "random", "knockdown"])
@pytest.mark.parametrize("shape", ["independent", "chain"])
def test_screens_are_recovered_exactly_with_their_directions(clamp, shape):
    share = 1.0 if clamp == "knockdown" else None
    problem = screen_problem(
        1, clamp=clamp, shape=shape, share_targeted=share, parents=4, children=8, signal=(0.5, 0.95)
    )
    result = fit_search(problem.train, 2)
    assert result.scm.graph.is_same_up_to_relabelling(problem.graph)
    assert mcc(result, problem) > 0.99


@pytest.mark.parametrize(
    ("setting", "families"),
    [
        ("a", (AFFINE, AFFINE)),
        ("b", (AFFINE, AFFINE)),
        ("c", MLP_FACTORS),
        ("e", MLP_FACTORS),
    ],
)
def test_factors_of_the_paper_are_recovered(setting, families):
    problem = paper_problem(setting, "16-3", seed=0, n_samples=4000)
    result = fit_search(problem.train, problem.n_factors, families=families)
    assert mcc(result, problem) > (0.999 if families[0] is AFFINE else 0.97)


@pytest.mark.parametrize("family", [NETWORK, SPLINE], ids=["mlp", "spline"])
def test_factors_that_are_no_member_of_any_family_are_found_better_than_by_chance(family):
    problem = world_problem("relu", 0, n_samples=4000)
    result = fit_search(problem.train, problem.n_factors, families=(family, AFFINE))
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((len(problem.factors), problem.n_factors))
    chance = mean_correlation(noise, problem.factors).values.mean()
    assert mcc(result, problem) > 0.6 > 3 * chance
    assert np.isfinite(result.validation_nll)


def test_the_default_keeps_linear_mechanisms_where_they_suffice(linear):
    model = ucad.UCAD(n_factors=3).fit(linear.train)
    assert model.scm_.factor_mechanism.is_affine
    assert model.scm_.variable_mechanism.is_affine
    assert {row["factor_mechanism"] for row in model.history_} == {"linear"}
    assert mean_correlation(model.transform(linear.test.x), linear.factors).mean > 0.999


@pytest.mark.slow
def test_the_default_takes_networks_where_linear_factors_do_not_fit():
    problem = paper_problem("e", "16-3", seed=0, n_samples=3000)
    result = solve(problem.train, SolveSettings(n_factors=3), validation=problem.validation)
    assert not result.scm.factor_mechanism.is_affine
    assert any("standard errors" in note for note in result.status.notes)


def test_same_seed_same_result(linear, linear_result):
    again = fit_search(linear.train, linear.n_factors, validation=linear.validation)
    assert (again.scm.graph.Q == linear_result.scm.graph.Q).all()
    assert again.validation_nll == linear_result.validation_nll


def test_the_score_never_falls_along_the_trace(linear_result):
    scores = [row["score"] for row in linear_result.history]
    assert scores == sorted(scores)
    assert len(scores) >= 4


def test_renaming_variables_leaves_the_factors_alone(linear, linear_result):
    order = np.random.default_rng(0).permutation(linear.train.n_variables)
    result = fit_search(linear.train.select_variables(order), linear.n_factors)
    old = {column[order].tobytes() for column in linear_result.scm.graph.Q.T}
    assert {column.tobytes() for column in result.scm.graph.Q.T} == old


def interrupting(at):
    told = []

    def interrupt(event):
        told.append(event)
        if len(told) == at:
            raise KeyboardInterrupt

    return interrupt


def test_an_interrupted_search_returns_the_best_model_so_far(linear, linear_result):
    result = fit_search(linear.train, linear.n_factors, progress=interrupting(4))
    assert result.status.interrupted
    assert not result.status.converged
    assert result.scm.graph.Q.any()
    assert len(result.history) == 4
    assert not linear_result.status.interrupted


def test_interrupted_at_once_there_is_still_a_model(linear):
    result = fit_search(linear.train, linear.n_factors, progress=interrupting(1))
    assert not result.scm.graph.Q.any()
    assert np.isfinite(result.validation_nll)


def test_noise_alone_has_no_factors_worth_their_edges():
    x = np.random.default_rng(0).standard_normal((500, 8))
    result = fit_search(InterventionalData.from_arrays(x).standardised(), 2)
    assert result.scm.graph.R.sum() <= 4
    assert not result.status.feasible or result.status.notes


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
    assert (R & forbidden).any()  # which is found where it is allowed


def test_a_parent_forbidden_to_one_factor_is_not_found_under_its_name(linear):
    """Anchors name the factors; the first factor may then not have what the truth gives it."""
    graph = linear.scm.graph
    each = in_anchors(graph.Q)
    first = each & (np.cumsum(each, axis=0) == 1)
    anchors = PriorKnowledge.with_anchors(first, out_anchors(graph.R))
    k, i = (int(v) for v in np.argwhere((graph.Q & ~first).T)[0])
    barred = anchors.forbidden_parent.copy()
    barred[i, k] = True
    told = replace(anchors, forbidden_parent=barred)
    assert fit_search(linear.train, 3, prior=anchors).scm.graph.Q[i, k]
    without = fit_search(linear.train, 3, prior=told).scm.graph
    assert not without.Q[i, k]
    assert (without.Q[anchors.required_parent]).all()


@pytest.mark.parametrize("at", [2, 3, 4, 5])
def test_prior_knowledge_holds_whenever_a_search_is_interrupted(linear, at):
    graph = linear.scm.graph
    prior = PriorKnowledge.with_anchors(in_anchors(graph.Q), out_anchors(graph.R))
    found = fit_search(linear.train, 3, prior=prior, progress=interrupting(at)).scm.graph
    assert not (found.Q & prior.forbidden_parent).any()
    assert not (found.R & prior.forbidden_child).any()
    assert found.Q[prior.required_parent].all()
    assert found.R[prior.required_child].all()


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
