import pytest

from ucad.errors import InvalidInputError
from ucad.solvers.selection import Candidate, advice_for, best_candidate


def test_the_feasible_run_with_the_lowest_nll_is_chosen():
    runs = [Candidate(0.3, {}), Candidate(0.2, {}), Candidate(-1.0, {"acyclicity": 1e-3})]
    assert best_candidate(runs) == 1


def test_without_a_feasible_run_the_least_infeasible_one_is_chosen():
    runs = [Candidate(0.1, {"sparsity": 0.2}), Candidate(0.9, {"sparsity": 0.05})]
    assert best_candidate(runs) == 1


def test_among_equally_likely_runs_the_sparser_one_is_chosen():
    runs = [Candidate(0.3, {}, n_edges=9), Candidate(0.3004, {}, n_edges=7), Candidate(0.4, {})]
    assert best_candidate(runs) == 0
    assert best_candidate(runs, tie=1e-3) == 1


def test_all_data_decide_between_equally_sparse_models_in_a_tie():
    noise = Candidate(0.3, {}, n_edges=7, pooled_nll=0.32)
    weak = Candidate(0.3001, {}, n_edges=7, pooled_nll=0.31)
    assert best_candidate([noise, weak], tie=1e-3) == 1
    assert best_candidate([noise, weak], tie=1e-5) == 0


def test_no_run_at_all_is_refused():
    with pytest.raises(InvalidInputError, match="at least one"):
        best_candidate([])


def test_every_kind_of_violation_has_advice_and_none_has_none():
    for name in ("acyclicity", "layer order of Z1", "in-anchor of Z2", "out-anchor of Z1"):
        assert len(advice_for({name: 0.1})) == 2
    assert "0.1" in advice_for({"sparsity": 0.1})[0]
    assert advice_for({}) == ()
