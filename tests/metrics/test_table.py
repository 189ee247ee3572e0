"""The table of an evaluation as text, JSON and a frame."""

import json
import sys

import numpy as np
import pytest

from ucad.errors import InvalidInputError, MissingDependencyError
from ucad.metrics import EvaluationTable, Score


@pytest.fixture
def table():
    scores = (
        Score(metric="mcc_rdc", value=0.98765, low=0.9, high=1.0, chance=0.25, detail="RDC"),
        Score(metric="structure_shd", value=12, chance=33.5),
        Score(metric="r2_linear", value=-0.5, low=-1.0),
    )
    return EvaluationTable(scores, {"trees": "gradient_boosting"}, ("one factor is constant",))


def test_counts_are_whole_scores_have_four_digits_and_half_an_interval_is_none(table):
    lines = str(table).splitlines()
    heading, mcc, shd, r2 = lines[:4]
    assert mcc.split() == ["mcc_rdc", "0.9877", "[0.9000,", "1.0000]", "0.2500"]
    assert shd.split() == ["structure_shd", "12", "33.5000"]
    assert r2.split() == ["r2_linear", "-0.5000"]
    assert lines[-1] == "Note: one factor is constant"
    assert mcc.index("0.9877") + 6 == shd.index("12") + 2 == heading.index("value") + 5


def test_a_table_without_scores_has_its_heading():
    assert str(EvaluationTable((), {})).split()[0] == "metric"


def test_json_has_no_nan(table):
    broken = EvaluationTable((Score(metric="x", value=float("nan")),), {})
    with pytest.raises(ValueError, match="JSON"):
        broken.to_json()
    assert json.loads(table.to_json())["notes"] == ["one factor is constant"]


def test_json_and_frame_hold_the_same_numbers(table):
    read = json.loads(table.to_json())
    frame = table.to_frame()
    assert read["settings"]["trees"] == "gradient_boosting"
    for line in read["scores"]:
        assert line["value"] == frame.loc[line["metric"], "value"]
        assert (line["low"] is None) == np.isnan(frame.loc[line["metric"], "low"])


def test_a_frame_without_pandas_says_what_to_install(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match="pandas"):
        table.to_frame()


def test_a_metric_that_is_not_in_the_table_is_refused_with_a_suggestion(table):
    with pytest.raises(InvalidInputError, match="Did you mean 'mcc_rdc'"):
        table["mcc_rcd"]
