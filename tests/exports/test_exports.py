"""A run as other tools read it: nothing is missing, and every format gives the same edges."""

from __future__ import annotations

import csv
import json

import networkx as nx
import numpy as np
import pytest

from ucad.consensus.support import Graph
from ucad.errors import FormatError, InvalidInputError
from ucad.exports import FORMATS, edges_of, export
from ucad.graph import FactorGraph
from ucad.runs import Run
from ucad.simulate import paper_problem
from ucad.solvers import FitStatus


def run_of(graph_names=None, *, with_sample=True):
    problem = paper_problem("b", "16-3", 1, n_samples=300)
    scm, data = problem.scm, problem.train
    if graph_names is not None:
        from dataclasses import replace

        names = (*graph_names, *scm.graph.variable_names[len(graph_names) :])
        graph = FactorGraph(scm.graph.Q, scm.graph.R, names, scm.graph.factor_names)
        scm, data = replace(scm, graph=graph), replace(data, variable_names=names, regime_names=())
    status = FitStatus(converged=True, feasible=True, reason="Done.")
    return Run(scm=scm, status=status, sample=data if with_sample else None)


@pytest.fixture(scope="module")
def run():
    return run_of()


def test_the_edges_are_those_of_all_four_graphs(run):
    graph, edges = run.scm.graph, edges_of(run)
    counts = {which: sum(edge.graph is which for edge in edges) for which in Graph}
    assert counts[Graph.Q] == graph.Q.sum()
    assert counts[Graph.R] == graph.R.sum()
    assert counts[Graph.A] == graph.variable_adjacency.sum()
    assert counts[Graph.B] == graph.factor_adjacency.sum()
    assert all(edge.strength for edge in edges if edge.graph in (Graph.Q, Graph.R))


def test_graphml_is_read_back_with_kinds_and_strengths(run, tmp_path):
    read = nx.read_graphml(export(run, tmp_path / "g.graphml", "graphml"))
    assert nx.is_directed_acyclic_graph(read)
    assert read.nodes["Z1"]["kind"] == "factor"
    wanted = {(e.cause, e.effect): e.strength for e in edges_of(run) if e.strength is not None}
    assert {(a, b): d["strength"] for a, b, d in read.edges(data=True)} == wanted


def test_csv_has_a_row_per_edge(run, tmp_path):
    with export(run, tmp_path / "e.csv", "csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(r["cause"], r["effect"], r["graph"]) for r in rows] == [e[:3] for e in edges_of(run)]


def test_json_holds_the_weights_of_a_linear_model(run, tmp_path):
    found = json.loads(export(run, tmp_path / "m.json", "json").read_text())
    weight = np.array(found["linear_mechanisms"]["F_Z"]["weight"])
    np.testing.assert_allclose(weight, run.scm.factor_mechanism.weight)
    assert found["status"]["reason"] == "Done."


def test_dowhy_gets_an_acyclic_graph_with_a_column_for_every_node(run, tmp_path):
    folder = export(run, tmp_path / "d", "dowhy")
    graph = nx.read_gml(folder / "graph.gml")
    with (folder / "samples.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert nx.is_directed_acyclic_graph(graph)
    assert sorted(header) == sorted(graph.nodes)
    assert len(rows) == int((run.sample.regime == 0).sum())
    compile((folder / "load.py").read_text(), "load.py", "exec")


def test_names_that_xml_cannot_hold_do_not_break_a_file(tmp_path):
    run = run_of(("a & <b>", "c\x01d", 'quote"d', "semi;colon"))
    for name in FORMATS:
        export(run, tmp_path / name, name)
    assert "a & <b>" in nx.read_graphml(tmp_path / "graphml").nodes


def test_without_samples_edges_have_no_strength_and_dowhy_is_refused(tmp_path):
    run = run_of(with_sample=False)
    assert all(edge.strength is None for edge in edges_of(run))
    with pytest.raises(FormatError, match="no sample"):
        export(run, tmp_path / "d", "dowhy")
    assert not (tmp_path / "d").exists()


def test_a_misspelt_format_is_refused_with_a_suggestion(run, tmp_path):
    with pytest.raises(InvalidInputError, match="Did you mean 'graphml'"):
        export(run, tmp_path / "g", "graphm")
