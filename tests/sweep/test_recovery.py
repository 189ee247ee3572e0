"""One task of recovery: what it may say, what is equal, and what is measured."""

from dataclasses import replace

import numpy as np
import pytest

from tests.consensus.made_fits import without
from ucad.errors import InvalidInputError
from ucad.simulate import SETTINGS, paper_problem
from ucad.solvers import FitResult, FitStatus
from ucad.sweep.recovery import (
    MetricSet,
    RecoveryTask,
    canonical,
    compared_with_truth,
    not_identifiable,
    recover,
)

FIRST = {"setting": "b", "size": "16-3", "seed": 0}


@pytest.fixture(scope="module")
def problem():
    return paper_problem("b", "16-3", seed=3, n_samples=300)


def the_truth(problem):
    status = FitStatus(converged=True, feasible=True, reason="made by hand")
    return FitResult(problem.scm, status, float("nan"), (), 0.0)


def test_what_is_at_its_default_does_not_make_another_task():
    full = RecoveryTask(**FIRST)
    assert canonical({**vars(full)}) == FIRST
    assert canonical({**FIRST, "noise_scale": 1}) == canonical({**FIRST, "noise_scale": 1.0})
    assert canonical({**FIRST, "extra_factors": 1}) == {**FIRST, "extra_factors": 1}


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ({"setting": "a"}, "must say its size and seed"),
        ({**FIRST, "solvr": "auto"}, "no option 'solvr'. Did you mean 'solver'"),
        ({**FIRST, "solver": "serch"}, "Did you mean 'search'"),
        ({**FIRST, "metrics": "some"}, "'metrics' of a task must be one of all, fast"),
    ],
)
def test_a_task_that_makes_no_sense_is_refused(task, message):
    with pytest.raises(InvalidInputError, match=message):
        canonical(task)


@pytest.mark.parametrize("setting", SETTINGS)
def test_true_mechanisms_are_those_of_the_setting(setting):
    row = SETTINGS[setting]
    kinds = RecoveryTask(**{**FIRST, "setting": setting}).kinds
    assert kinds == tuple(
        "linear" if linear else "mlp" for linear in (row.linear_factors, row.linear_variables)
    )
    both = RecoveryTask(**{**FIRST, "setting": setting, "mechanisms": "auto"}).kinds
    assert both == ("auto", "auto")


def test_a_task_simulates_what_it_says():
    told = RecoveryTask(**FIRST, n_samples=200, noise_scale=2.0, n_regimes=3, n_unanchored=1)
    problem = told.problem()
    assert problem.train.n_samples + problem.validation.n_samples == 200
    assert problem.train.n_regimes == 4
    assert not problem.scm.graph.has_anchors
    own = RecoveryTask(**FIRST, n_samples=200).problem()
    assert own.train.n_regimes == 17
    assert (own.scm.noise_scale[own.scm.graph.R.any(axis=1)] == 0).all()


def test_the_truth_agrees_with_itself(problem):
    found = compared_with_truth(problem, the_truth(problem), MetricSet.FAST)
    assert found["exact"]
    assert found["shd"] == 0
    assert found["mcc_pearson"] == pytest.approx(1.0)
    assert found["dag_violation"] == pytest.approx(-1e-6)
    assert found["n_edges"] == problem.scm.graph.Q.sum() + problem.scm.graph.R.sum()
    assert found["validation_nll"] is None  # not a number, and JSON has none


def test_one_edge_too_few_is_one_edge_wrong(problem):
    graph = problem.scm.graph
    k = int(np.argmax(graph.Q.sum(axis=0)))
    parent = graph.parents(graph.factor_names[k])[0]
    pruned = without(problem.scm, (parent, graph.factor_names[k]))
    found = compared_with_truth(problem, replace(the_truth(problem), scm=pruned), MetricSet.FAST)
    assert (found["exact_Q"], found["exact_R"], found["exact"]) == (False, True, False)
    assert found["n_edges"] == graph.Q.sum() + graph.R.sum() - 1
    assert found["shd"] == 1


def hidden_from(problem, *, targets):
    """The problem with only these variables ever clamped."""
    acted = np.zeros_like(problem.train.is_intervened)
    regime = np.arange(len(acted)) % (len(targets) + 1)
    for number, target in enumerate(targets, start=1):
        acted[regime == number, target] = True
    train = type(problem.train).from_arrays(problem.train.x, acted)
    return replace(problem, train=train)


def test_chains_through_variables_that_nobody_clamps_are_told(problem):
    graph = problem.scm.graph
    links = np.argwhere(graph.Q & graph.R.any(axis=1)[:, None])
    assert len(links)
    told = "\n".join(not_identifiable(hidden_from(problem, targets=())))
    for i, k in links:
        assert f"A chain goes through X{i + 1} into Z{k + 1}," in told
    clamped = hidden_from(problem, targets=range(16))
    assert list(not_identifiable(clamped)) == []


def test_where_there_are_layers_directions_are_known():
    problem = paper_problem("a", "16-3", seed=0, n_samples=300)
    bare = replace(problem.train, is_intervened=np.zeros_like(problem.train.is_intervened))
    assert list(not_identifiable(replace(problem, train=bare))) == []


def test_a_true_factor_that_was_not_asked_for_counts_nothing():
    small = {"setting": "b", "size": "16-3", "seed": 0, "n_samples": 600, "metrics": "fast"}
    all_three, one = recover(small), recover({**small, "extra_factors": -2})
    assert all_three["mcc_pearson"] > 0.9
    assert one["n_factors"] == 1
    assert one["mcc_pearson"] <= 1 / 3
    assert one["score_above_ceiling"] < 0
    assert {"fit_seconds", "fit_cpu_seconds", "ceiling_seconds"} <= one["about"].keys()
