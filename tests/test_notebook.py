"""What notebooks show: everything is there, and no name can break out of its cell."""

from __future__ import annotations

import numpy as np

from ucad.claims import certify
from ucad.graph import FactorGraph
from ucad.notebook import MAX_ROWS, folded, table
from ucad.simulate import paper_problem
from ucad.solvers import FitStatus

HOSTILE = "<script>alert(1)</script>"


def test_a_graph_lists_its_factors_with_every_name_escaped():
    Q, R = np.array([[1], [0]], dtype=bool), np.array([[0], [1]], dtype=bool)
    shown = FactorGraph(Q, R, (HOSTILE, "b"), ("Z1",))._repr_html_()
    assert HOSTILE not in shown
    assert "&lt;script&gt;" in shown
    assert "Z1" in shown


def test_a_status_shows_its_text_and_folds_its_notes():
    status = FitStatus(converged=False, feasible=True, reason="Stopped.", notes=(HOSTILE, "b"))
    shown = status._repr_html_()
    assert "✗" in shown
    assert "Stopped." in shown
    assert "<details><summary>2 notes</summary>" in shown
    assert HOSTILE not in shown
    assert "details" not in FitStatus(converged=True, feasible=True, reason="Done.")._repr_html_()


def test_a_certificate_shows_what_may_not_be_claimed_first():
    problem = paper_problem("b", "16-3", 1, n_samples=400)
    certificate = certify(problem.scm, problem.train, held_out=problem.validation)
    shown = certificate._repr_html_()
    assert certificate.verdict.split(".")[0] in shown
    order = ["no", "partly", "not known", "yes"]
    answers = [one.answer.value for one in certificate.permissions]
    places = [shown.index(f">{answer}</td>") for answer in order if answer in answers]
    assert places == sorted(places)


def test_a_long_table_is_cut_and_says_so():
    shown = table(["n"], [[k] for k in range(MAX_ROWS + 5)])
    assert shown.count("<tr>") == MAX_ROWS + 1
    assert "and 5 more" in shown
    assert folded("nothing", "") == ""
