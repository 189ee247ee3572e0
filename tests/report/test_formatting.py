"""Values on the page are escaped, short, and called by names that a reader knows."""

import jinja2
import pytest

from ucad.report.formatting import MOST_ROWS, template_environment


def rendered(template, **values):
    environment = template_environment(lambda _: template)
    return environment.get_template("t").render(**values)


def test_a_name_with_markup_is_escaped():
    assert rendered("{{ x }}", x="<script>") == "&lt;script&gt;"


def test_a_name_that_was_not_given_is_an_error():
    with pytest.raises(jinja2.UndefinedError):
        rendered("{{ nothing }}")


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "—"), (True, "yes"), (False, "no"), (0, "0"), (-0.5, "−0.5"), (1e12, "1e+12"),
     (123456.7, "123,457"), ("a", "a"), (1e-9, "1e−09")],
)  # fmt: skip
def test_a_number_is_short_and_has_a_true_minus(value, text):
    assert rendered("{{ x | number }}", x=value) == text


def test_a_long_list_is_cut_and_says_by_how_much():
    text = rendered("{{ x | plain }}", x=[str(at) for at in range(MOST_ROWS + 7)])
    assert text.endswith(" and 7 more")


@pytest.mark.parametrize(
    "name",
    ["mcc_pearson", "r2_mlp", "dci_completeness", "structure_shd", "structure_exact",
     "structure_anchors_right", "nll_interventional", "cae_up", "cae_down"],
)  # fmt: skip
def test_every_metric_has_a_name_in_words(name):
    """A key with its underscores replaced is no name that a reader knows."""
    assert rendered("{{ x | metric }}", x=name) != name.replace("_", " ")


def test_rows_are_tabular_only_if_they_share_their_columns():
    test = "{{ 'yes' if x is tabular else 'no' }}"
    assert rendered(test, x=[{"a": 1}, {"a": 2}]) == "yes"
    for other in ([{"a": 1}, {"b": 2}], [], [1], {"a": 1}, "a"):
        assert rendered(test, x=other) == "no"
