"""The stages of one search."""

from dataclasses import replace

import numpy as np
import pytest

from tests.solvers.search.two_factors import measured, problem_of
from ucad.scm.families import AFFINE, NETWORK
from ucad.solvers.budget import Budget
from ucad.solvers.search.search import Search


@pytest.fixture(scope="module")
def clamped():
    rows = np.zeros((800, 8), dtype=bool)
    rows[:100, 0] = rows[100:200, 1] = True
    return measured(clamped=rows)


def test_stages_are_told_in_order_and_the_score_never_falls(clamped):
    told = []
    run = Search(problem_of(clamped), told.append).run()
    stages = [row["stage"] for row in run.trace]
    assert stages[0] == "who can cause whom"
    assert stages.index("choice of factors") < stages.index("joint fit") < stages.index("pruning")
    done = [event.done for event in told]
    assert len(done) == len(stages)
    assert done == sorted(done)
    scores = [row["score"] for row in run.trace]
    assert scores == sorted(scores)
    assert not run.interrupted
    assert not run.was_cut_short
    assert run.model.R[2:6].any(axis=1).all()


def test_moves_that_are_left_out_are_not_tried(clamped):
    curved = problem_of(clamped, (NETWORK, AFFINE))
    names = {row["stage"] for row in Search(curved).run().trace}
    without = Search(curved, leave_out=("other edges",)).run()
    assert "other edges" in names
    assert "other edges" not in {row["stage"] for row in without.trace}


def test_linear_problems_do_without_moves(clamped):
    names = {row["stage"] for row in Search(problem_of(clamped)).run().trace}
    assert not names & {"other starts", "other edges", "separate factors", "another factor"}


def test_out_of_time_before_it_begins_there_is_an_empty_model(clamped):
    late = replace(problem_of(clamped), budget=Budget(1e-9))
    run = Search(late).run()
    assert run.was_cut_short
    assert not run.model.Q.any()
    assert np.isfinite(run.model.score)


def test_candidates_of_which_none_is_promising_leave_a_model(clamped, monkeypatch):
    monkeypatch.setattr("ucad.solvers.search.search.promising", lambda *_: [])
    problem = problem_of(clamped)
    found = Search(problem).run()
    assert problem.admissible.allows(found.model.Q, found.model.R)


def test_candidates_serve_another_class_only_if_it_reads_variables_in_the_same_way(clamped):
    prepared = Search(problem_of(clamped, (NETWORK, AFFINE))).prepare()
    both, half = (problem_of(clamped, one) for one in ((NETWORK, NETWORK), (AFFINE, NETWORK)))
    assert prepared.serves(both)
    assert not prepared.serves(half)
    assert not prepared.serves(problem_of(clamped))
    assert prepared.in_class(both).problem.variable_family is NETWORK
    assert prepared.in_class(both).pool is prepared.pool
