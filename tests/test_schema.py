"""Stored values of the right shape pass; of others, the place and what was wanted are named."""

from __future__ import annotations

import pytest

from ucad.errors import FormatError
from ucad.schema import PLAIN, Optional, check_shape

RUN = {
    "name": str,
    "seconds": float,
    "steps": [{"loss": float, "done": bool}],
    "settings": {str: PLAIN},
    "note": Optional((str, type(None))),
}
GOOD = {
    "name": "a",
    "seconds": 1,
    "steps": [{"loss": 0.5, "done": True}, {"loss": 2, "done": False}],
    "settings": {"a": 1, "b": None, "c": "text", "d": True, "e": 0.1},
}


@pytest.mark.parametrize(
    "changes",
    [{}, {"note": None}, {"note": "text"}, {"steps": []}, {"settings": {}}, {"other": object()}],
)
def test_values_of_the_shape_pass(changes):
    check_shape({**GOOD, **changes}, RUN, "run.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": 3}, "'name' must be a text. Got 3 instead."),
        ({"seconds": "3"}, "'seconds' must be a finite number. Got '3' instead."),
        ({"seconds": True}, "'seconds' must be a finite number. Got True instead."),
        ({"seconds": float("nan")}, "'seconds' must be a finite number. Got nan instead."),
        ({"steps": {}}, "'steps' must be a list. Got {} instead."),
        ({"steps": [3]}, "'steps[0]' must be an object. Got 3 instead."),
        ({"steps": [*GOOD["steps"], {"loss": 1}]}, "'steps[2].done' is missing."),
        ({"steps": [{"loss": 1, "done": 1}]}, "'steps[0].done' must be true or false. Got 1"),
        ({"settings": {"a": []}}, "'settings.a' must be true or false or a whole number or"),
        ({"settings": {"a": float("inf")}}, "'settings.a' must be"),
        ({"note": 3}, "'note' must be a text or nothing. Got 3 instead."),
    ],
)
def test_values_of_another_shape_are_refused_by_place(changes, message):
    with pytest.raises(FormatError) as caught:
        check_shape({**GOOD, **changes}, RUN, "run.json")
    assert str(caught.value).startswith(f"run.json: {message}")


@pytest.mark.parametrize("name", ["name", "seconds", "steps", "settings"])
def test_a_missing_member_is_named_unless_it_is_optional(name):
    with pytest.raises(FormatError, match=f"'{name}' is missing"):
        check_shape({key: value for key, value in GOOD.items() if key != name}, RUN, "it")


@pytest.mark.parametrize("value", [3, [], "text", None])
def test_the_whole_value_is_named_it(value):
    with pytest.raises(FormatError, match="'it' must be an object"):
        check_shape(value, RUN, "run.json")


@pytest.mark.parametrize("value", [[1, 2], (1, 2), {"a": 1}])
def test_alternatives_may_be_shapes_themselves(value):
    check_shape(value, ([int], {"a": int}), "it")


def test_of_alternatives_that_all_fail_the_first_is_explained():
    with pytest.raises(FormatError, match=r"'\[1\]' must be a whole number. Got 'b' instead"):
        check_shape([1, "b"], ([int], {"a": int}), "it")


def test_a_whole_number_is_a_number_but_not_the_other_way_round():
    check_shape(3, float, "it")
    with pytest.raises(FormatError, match="must be a whole number"):
        check_shape(3.0, int, "it")


def test_a_long_value_is_cut():
    with pytest.raises(FormatError) as caught:
        check_shape("x" * 1000, int, "it")
    assert len(str(caught.value)) < 120
    assert "xxx... instead" in str(caught.value)
