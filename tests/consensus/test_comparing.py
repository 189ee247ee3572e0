"""Two runs agree where they have the same factors and edges, and unrelated ones do not."""

import json

import numpy as np
import pytest

import ucad
from ucad.cli import main
from ucad.consensus.comparing import compare_models
from ucad.consensus.support import Graph
from ucad.errors import InvalidInputError
from ucad.simulate import paper_problem


@pytest.fixture(scope="module")
def problem():
    return paper_problem("b", "16-3", seed=1, n_samples=1200)


@pytest.fixture(scope="module")
def other():
    return paper_problem("b", "16-3", seed=2, n_samples=1200)


def agreement(found, graph):
    return next(one for one in found.edges if one.graph is graph)


def test_a_model_agrees_with_itself_whatever_the_order_of_its_factors(problem):
    scm = problem.scm
    turned = scm.canonical(problem.train.x)
    found = compare_models(scm, turned, [problem.train])
    assert found.n_agreeing == 3
    assert all(abs(pair.correlation) > 0.999 for pair in found.factors)
    assert all(one.jaccard == 1 and one.n_reversed == 0 for one in found.edges)
    assert "more than unrelated" in found.verdict


def test_unrelated_models_agree_no_more_than_chance(problem, other):
    found = compare_models(problem.scm, other.scm, [problem.train])
    A = agreement(found, Graph.A)
    assert found.n_agreeing < 3
    assert A.jaccard <= max(A.chance_high, 0.1)
    assert len(found.only_second) == 3 - found.n_agreeing


def test_a_factor_too_few_has_no_partner(problem):
    fits = [
        ucad.UCAD(m, factor_mechanism="linear", variable_mechanism="linear").fit(problem.train)
        for m in (3, 2)
    ]
    found = ucad.compare(*fits)
    assert found.n_agreeing <= 2
    assert [pair.second for pair in found.factors].count(None) >= 1
    assert json.loads(found.to_json())["verdict"] == found.verdict


def test_models_are_compared_on_the_variables_that_they_share(problem):
    names = [f"Y{i}" for i in range(14)]
    from ucad.graph import FactorGraph
    from ucad.scm import FactorSCM

    scm = problem.scm
    renamed = (*scm.graph.variable_names[:2], *names)
    graph = FactorGraph(scm.graph.Q, scm.graph.R, renamed, scm.graph.factor_names)
    second = FactorSCM(graph, scm.factor_mechanism, scm.variable_mechanism, scm.noise_scale)
    found = compare_models(scm, second, [problem.train])
    assert len(found.only_in_one) == 28
    alone = FactorGraph(scm.graph.Q, scm.graph.R, tuple(f"Y{i}" for i in range(16)))
    third = FactorSCM(alone, scm.factor_mechanism, scm.variable_mechanism, scm.noise_scale)
    with pytest.raises(InvalidInputError, match="share at least 2 variables"):
        compare_models(scm, third, [problem.train])


def test_edges_that_point_the_other_way_are_counted(problem):
    from ucad.consensus.comparing import _edges
    from ucad.consensus.matching import Matching
    from ucad.graph import FactorGraph

    Q = np.array([[1], [1], [0], [0]], dtype=bool)
    forwards, backwards = FactorGraph(Q, ~Q), FactorGraph(~Q, Q)
    found = _edges(forwards, backwards, Matching((0,), (1.0,)), seed=0)
    assert {one.graph.value: one.n_reversed for one in found} == {"Q": 2, "R": 2, "A": 4, "B": 0}


def test_the_command_compares_run_folders_and_predicts_with_intervals(problem, tmp_path, capsys):
    model = ucad.UCAD(3, n_runs=4, factor_mechanism="linear", variable_mechanism="linear")
    model.fit(problem.train).save(tmp_path / "run")
    with pytest.raises(SystemExit) as ended:
        main(["compare", str(tmp_path / "run"), str(tmp_path / "run"), "--json"])
    assert ended.value.code == 0
    assert all(pair["second"] for pair in json.loads(capsys.readouterr().out)["factors"])
    parent = model.graph_.variable_names[int(np.argwhere(model.graph_.Q)[0, 0])]
    with pytest.raises(SystemExit) as ended:
        main(["predict", str(tmp_path / "run"), f"{parent}=1", "--json"])
    assert ended.value.code == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert all(row["low"] - 0.1 <= row["shift_in_sd"] <= row["high"] + 0.1 for row in rows)
    assert any(row["kind"] == "factor" and row["moved"] == 1 for row in rows)
