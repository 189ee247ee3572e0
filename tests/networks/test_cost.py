"""What will be run, counted by hand; the seconds are the rows times one timed row."""

import numpy as np
import pytest
import torch

from tests.networks.models import mlp
from ucad.networks import cost as module
from ucad.networks.cost import FitCost, fit_cost, recording_cost, rows_per_pass
from ucad.networks.recording import RecordSettings
from ucad.networks.sites import Site
from ucad.networks.subject import Subject

INPUTS = torch.randn(60, 5)


@pytest.fixture(autouse=True)
def two_seconds_per_row(monkeypatch):
    """Nothing is timed in a test."""
    monkeypatch.setattr(module, "_seconds_per_row", lambda *_: 2.0)


@pytest.mark.parametrize(
    ("settings", "observed", "clamps"),
    [
        ({"per_clamp": 7}, 60, 10),
        ({"per_clamp": 7, "observational": 40}, 40, 10),
        ({"per_clamp": 7, "observational": 1000}, 60, 10),
        ({"per_clamp": 7, "each_unit": False, "groups": (("1[0]", "1[1]"),)}, 60, 1),
    ],
)
def test_a_recording_runs_every_clamp_beside_what_is_only_observed(settings, observed, clamps):
    found = recording_cost(mlp(), INPUTS, ["1", "3"], RecordSettings(**settings))
    assert found.units == {"1": 6, "3": 4}
    assert (found.observational, found.clamps) == (observed, clamps)
    assert found.rows == observed + 7 * clamps
    assert found.seconds == 2.0 * found.rows
    size = np.dtype(RecordSettings(**settings).precision).itemsize
    assert found.bytes == found.rows * 10 * size


def test_a_fit_runs_every_gap_and_reads_units_of_the_inputs_once():
    sites = [Site("1"), Site("3"), Site("4")]
    assert fit_cost(mlp(), INPUTS, sites).rows == 2 * module.FIT_ROWS_PER_GAP + 60
    assert fit_cost(mlp(), INPUTS, sites[:2]).rows == module.FIT_ROWS_PER_GAP + 60
    many = torch.randn(module.MAX_FIT_ROWS + 5, 5)
    found = fit_cost(mlp(), many, sites[:2])
    assert found.rows == module.FIT_ROWS_PER_GAP + module.MAX_FIT_ROWS
    assert found.seconds == 2.0 * found.rows


@pytest.mark.parametrize(("seconds", "budget"), [(60.0, None), (60.1, 600.0)])
def test_only_a_slow_fit_is_given_a_budget(seconds, budget):
    assert FitCost(10, seconds).budget == budget


@pytest.mark.parametrize(("seconds", "rows"), [(0.002, 1000), (1.0, 16), (1e-6, 8192), (0.0, 8192)])
def test_a_pass_takes_about_two_seconds_within_limits(monkeypatch, seconds, rows):
    monkeypatch.setattr(module, "_seconds_per_row", lambda *_: seconds)
    subject = Subject.of(mlp(), INPUTS, ["1", "3"])
    assert rows_per_pass(subject) == rows
