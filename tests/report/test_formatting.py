"""Values as a reader wants them."""

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ucad.report.formatting import MOST_ROWS, template_environment


def shown(template, **values):
    return template_environment(lambda _name: template).get_template("page").render(**values)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "—"),
        (True, "yes"),
        (False, "no"),
        (0, "0"),
        (1234567, "1,234,567"),
        (9999.4, "9999"),
        (10000.0, "10,000"),
        (-12916.4, "−12,916"),
        (2.5e9, "2.5e+09"),
        (0.000012345, "1.234e−05"),
        ("as it is", "as it is"),
    ],
)
def test_a_number_has_four_digits_or_commas(value, text):
    assert shown("{{ value | number }}", value=value) == text


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15))
def test_a_shown_number_is_the_number_to_four_digits(value):
    text = shown("{{ value | number }}", value=value).replace("−", "-").replace(",", "")
    assert float(text) == pytest.approx(value, rel=5.1e-4, abs=1e-300)


def test_strengths_have_their_sign():
    assert shown("{{ a | signed }} {{ b | signed }}", a=0.5, b=-0.257) == "+0.50 −0.26"


def test_everything_is_escaped_and_unknown_names_are_refused():
    assert shown("{{ name }}", name="<b>&") == "&lt;b&gt;&amp;"
    with pytest.raises(jinja2.UndefinedError):
        shown("{{ nothing }}")


def test_a_long_list_says_how_much_more_there_is():
    text = shown("{{ value | plain }}", value=list(range(MOST_ROWS + 5)))
    assert text.endswith(f"{MOST_ROWS - 1} and 5 more")
    assert "more" not in shown("{{ value | plain }}", value=list(range(MOST_ROWS)))


@pytest.mark.parametrize(
    ("value", "is_table"),
    [
        ([{"a": 1, "b": 2}, {"a": 3, "b": 4}], True),
        ([{"a": 1}, {"b": 1}], False),
        ([{"a": 1}, 2], False),
        ([], False),
        ({"a": 1}, False),
        ("text", False),
    ],
)
def test_rows_that_share_their_columns_are_a_table(value, is_table):
    assert shown("{{ value is tabular }}", value=value) == str(is_table)


def test_a_known_metric_has_its_sentence_and_another_its_name_in_words():
    assert shown("{{ 'structure_exact' | metric }}").startswith("The graph is exactly right")
    assert shown("{{ 'my_new_score' | metric }}") == "my new score"
    assert shown("{{ 'F_Z' | words }}") == "F_Z"
    assert shown("{{ '' | capitalise }}{{ 'nLL' | capitalise }}") == "NLL"
