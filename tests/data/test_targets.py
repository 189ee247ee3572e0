"""Labels name targets without ambiguity; slips are refused, other genes are not."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ucad.data.targets import (
    check_control,
    check_targets,
    count_targets,
    join_targets,
    split_targets,
)
from ucad.errors import InvalidInputError

NAMES = ("STAT1", "STAT2", "HLA-A", "JAK2", "IL6", "heart rate")


@given(st.lists(st.text(max_size=8), min_size=1, max_size=4))
def test_any_names_come_back_from_their_label(names):
    assert split_targets(join_targets(names)) == names


@pytest.mark.parametrize(
    ("label", "targets"),
    [
        ("", []),
        (" ; ;", []),
        ("STAT1", ["STAT1"]),
        (" STAT1 ;JAK2; ", ["STAT1", "JAK2"]),
        ('"a;b"; c', ["a;b", "c"]),
        ('"say ""a"""', ['say "a"']),
        ('5" pipe', ['5" pipe']),
        ('5" pipe;c', ['5" pipe', "c"]),
    ],
)
def test_labels_are_split_at_semicolons_outside_quotes(label, targets):
    assert split_targets(label) == targets


def test_plain_names_are_not_quoted():
    assert join_targets(["STAT1", "heart rate"]) == "STAT1;heart rate"


def test_targets_are_counted_over_samples():
    counts = count_targets(["STAT1", "", "STAT1;JAK2", "STAT1;JAK2"])
    assert counts == {"STAT1": 3, "JAK2": 2}


@pytest.mark.parametrize("control", ["", "ctrl"])
def test_a_control_label_that_samples_have_or_none_at_all_passes(control):
    check_control(control, ["ctrl", "STAT1"])


def test_a_control_label_that_no_sample_has_is_refused_with_the_labels():
    with pytest.raises(InvalidInputError, match="'control'.*'controls'.*'STAT1'"):
        check_control("control", ["controls", "STAT1", "STAT1"])


def test_only_the_first_labels_are_listed():
    with pytest.raises(InvalidInputError, match="and 12 more"):
        check_control("none", [f"label {number}" for number in range(20)])


def test_known_targets_pass_in_silence(caplog):
    check_targets({"STAT1": 3, "heart rate": 1}, NAMES)
    assert caplog.records == []


@pytest.mark.parametrize(
    ("target", "meant"),
    [
        ("stat1", "STAT1"),
        ("HLA_A", "HLA-A"),
        ("HLAA", "HLA-A"),
        ("Heart-Rate", "heart rate"),
        ("SATT1", "STAT1"),
    ],
)
def test_a_slip_is_refused_with_what_was_meant(target, meant):
    with pytest.raises(InvalidInputError, match=f"'{target}' \\('{meant}'\\?\\)"):
        check_targets({target: 2}, NAMES)


@pytest.mark.parametrize("target", ["STAT3", "HLA-B", "LI6", "JAK", "STA1T", "unmeasured"])
def test_another_name_is_no_slip_but_is_reported_as_unmeasured(target, caplog):
    with caplog.at_level(logging.WARNING):
        check_targets({target: 7, "STAT1": 1}, NAMES)
    (record,) = caplog.records
    assert f"'{target}' (7 samples)" in record.getMessage()
    assert "STAT1" not in record.getMessage()


def test_labels_that_name_the_samples_are_refused():
    with pytest.raises(InvalidInputError, match="names the samples, not what was acted on"):
        check_targets(count_targets(f"cell{at}" for at in range(30)), NAMES)


@pytest.mark.parametrize(
    "labels", [["gone"] * 2, [f"cell{at}" for at in range(9)], ["STAT1", *map(str, range(30))]]
)
def test_few_or_repeated_labels_and_those_beside_a_variable_may_be_unmeasured(labels):
    check_targets(count_targets(labels), NAMES)
