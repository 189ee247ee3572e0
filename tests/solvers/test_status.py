import json
import pickle

import pytest

from ucad.errors import FormatError
from ucad.solvers.budget import Budget
from ucad.solvers.status import FitStatus


def infeasible() -> FitStatus:
    return FitStatus(
        converged=False,
        feasible=False,
        interrupted=True,
        reason="Stopped by hand.",
        violations={"anchors": 0.5},
        removed_edges=("x3 -> z0",),
        advice=("Train for longer.",),
        notes=("Two factors were restarted.",),
    )


def test_the_text_is_the_reason_the_violations_and_the_advice():
    text = str(infeasible())
    assert text == (
        "Stopped by hand. Violated: anchors by 0.5. Removed to get a DAG: x3 -> z0. "
        "Train for longer."
    )


def test_a_status_survives_json():
    status = infeasible()
    assert FitStatus.from_json(json.loads(json.dumps(status.to_json()))) == status


def test_what_was_left_undecided_survives_json():
    status = FitStatus(
        converged=True,
        feasible=True,
        reason="No move helps.",
        open_directions=(("X1", "X2"),),
        guesses=("the place of X3",),
        soft_regimes=("X4",),
    )
    plain = json.loads(json.dumps(status.to_json()))
    assert plain["open_directions"] == [["X1", "X2"]]
    assert FitStatus.from_json(plain) == status


def test_a_status_can_be_sent_to_another_process():
    status = infeasible()
    assert pickle.loads(pickle.dumps(status)) == status


def test_a_status_keeps_its_own_copy_of_the_violations():
    violations = {"anchors": 0.5}
    status = FitStatus(converged=True, feasible=True, reason="Done.", violations=violations)
    violations["anchors"] = 2.0
    assert status.violations["anchors"] == 0.5


def test_an_unknown_field_is_refused_with_a_suggestion():
    with pytest.raises(FormatError, match="Did you mean 'feasible'"):
        FitStatus.from_json({"converged": True, "feasable": True, "reason": ""})


def test_a_missing_field_is_named():
    with pytest.raises(FormatError, match="reason"):
        FitStatus.from_json({"converged": True, "feasible": True})


def test_a_fit_that_was_cut_short_has_not_converged_and_says_by_what():
    done = FitStatus(converged=True, feasible=True, reason="All done.", advice=("Look.",))
    budget = Budget(60.0)
    assert done.unless_cut_short(budget) is done
    stopped = done.unless_cut_short(budget, interrupted=True)
    assert stopped.interrupted
    assert not stopped.converged
    assert stopped.advice == ("Look.",)
    budget.cut_short = True
    over = done.unless_cut_short(budget)
    assert not over.converged
    assert not over.interrupted
    assert over.reason == "The budget of 60 s ended."
    assert over.advice == (budget.advice, "Look.")
