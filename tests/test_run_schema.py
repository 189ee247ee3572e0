"""What a run folder may hold: what is written passes, and what is off is named."""

import json
from dataclasses import asdict

import pytest

import ucad
from ucad.about_fit import plain_settings
from ucad.errors import FormatError
from ucad.run_schema import FACTORS, HISTORY, METRICS, RUN
from ucad.schema import check_shape
from ucad.solvers import FitStatus

STATUS = asdict(FitStatus(converged=True, feasible=True, reason="Done."))
GOOD = {
    "format": "ucad run",
    "schema_version": 2,
    "created": "2026-01-01T00:00:00",
    "versions": {"ucad": "0"},
    "settings": {"n_factors": 3},
    "data": {"n_samples": 5, "names": ["a"], "blank": None},
    "status": {"converged": True, "feasible": False, "reason": "Done."},
    "seconds": 1,
}


def through_json(value):
    return json.loads(json.dumps(value))


def test_every_status_that_a_fit_can_have_passes():
    full = {
        **STATUS,
        "violations": {"sparsity": 0.1},
        "open_directions": [["X1", "X2"]],
        "notes": ["a note"],
    }
    for status in (STATUS, full):
        check_shape(through_json({**GOOD, "status": status}), RUN, "run.json")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"n_factors": 2, "n_runs": 10, "n_jobs": -1, "layers": [0, 0, 1]},
        {"measurement": "gaussian", "measurement_noise": 0.5},
        {"measurement": "gaussian", "measurement_noise": [0.5, 0.25]},
        {"random_state": None, "runs_on": "ray"},
    ],
)
def test_all_settings_of_an_estimator_pass(changes):
    settings = plain_settings(ucad.UCAD(**changes).get_params(deep=False))
    check_shape(through_json({**GOOD, "settings": settings}), RUN, "run.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seconds": "long"}, "'seconds' must be a finite number"),
        ({"versions": {"ucad": 1}}, "versions"),
        ({"settings": {"n_factors": [3]}}, "n_factors"),
        ({"settings": {"layers": ["a"]}}, "layers"),
        ({"settings": {"standardise": "yes"}}, "standardise"),
        ({"status": {"converged": True, "feasible": True}}, "reason"),
        ({"status": {**GOOD["status"], "violations": {"a": "b"}}}, "violations"),
        ({"status": {**GOOD["status"], "open_directions": ["X1"]}}, "open_directions"),
        ({"data": {"x": {"deep": 1}}}, "data"),
    ],
)
def test_what_is_off_is_named(changes, message):
    with pytest.raises(FormatError, match=message):
        check_shape({**GOOD, **changes}, RUN, "run.json")


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ([{"stage": "a", "score": None}], HISTORY),
        ({"scores": [{"metric": "m", "value": 1.0, "low": None}]}, METRICS),
        (
            {
                "n_factors": 0,
                "plausible": [],
                "reason": "",
                "mechanisms": {"F_Z": "linear"},
                "is_held_out": True,
                "cut_short": "",
                "seconds": 0.1,
                "without_factors": None,
                "steps": [],
            },
            FACTORS,
        ),
    ],
)
def test_history_factors_and_metrics_may_have_gaps_but_no_other_kind(value, shape):
    check_shape(value, shape, "it")
    with pytest.raises(FormatError):
        check_shape("text", shape, "it")
    with pytest.raises(FormatError):
        check_shape([{"stage": {}}] if shape is HISTORY else {}, shape, "it")
