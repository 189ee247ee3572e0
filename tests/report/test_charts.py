"""Charts as SVG: what is drawn is where its numbers say."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.models import HISTORY, LARGER, truth_of
from ucad.report.charts import Curve, HeatMap, block_order, curves, heat_map, line_chart, ticks
from ucad.report.strengths import edge_strengths


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=6), st.integers(1, 8))
def test_ticks_enclose_the_values_at_equal_round_steps(values, count):
    found = np.array(ticks(values, count))
    step = found[1] - found[0]
    assert found[0] <= min(values) + 1e-6 * step
    assert found[-1] >= max(values) - 1e-6 * step
    np.testing.assert_allclose(np.diff(found), step, rtol=1e-6)
    mantissa = step / 10.0 ** np.floor(np.log10(step * (1 + 1e-9)))
    assert np.isclose(mantissa, [1, 2, 2.5, 5]).any()
    assert len(found) <= count + 3


def points_of(svg):
    return [
        np.array([pair.split(",") for pair in text.split()], dtype=float)
        for text in re.findall(r'points="([^"]*)"', svg)
    ]


def test_a_line_runs_between_its_ticks_and_higher_values_are_higher_on_the_page():
    svg = line_chart(Curve("nll", "epoch", [("", [0.0, 1.0, 4.0], [2.0, 0.0, 4.0])]))
    ((x0, y0), (x1, y1), (x2, y2)) = points_of(svg)[0]
    assert (x1 - x0) / (x2 - x0) == pytest.approx(1 / 4, abs=0.01)
    assert (y1 - y0) / (y1 - y2) == pytest.approx(2 / 4, abs=0.01)
    assert y2 < y0 < y1


def test_names_in_a_chart_stay_text():
    svg = line_chart(Curve("<b>", "a&b", [("<i>", [0.0, 1.0], [0.0, 1.0])]))
    assert "<b>" not in svg
    assert "<i>" not in svg
    assert "a&amp;b" in svg


def test_long_histories_are_thinned_and_keep_their_ends():
    rows = [{"step": n, "nll": float(n)} for n in range(5000)]
    ((_, x, y),) = curves(rows)[0].series
    assert len(x) == len(y) == 400
    assert (x[0], x[-1]) == (0.0, 4999.0)
    assert x == y


def test_yes_and_no_are_no_numbers_of_a_curve():
    assert curves([{"converged": True}, {"converged": False}]) == []


def made_map(strength, mixed=False):
    strength = np.array(strength)
    edges = strength != 0
    names = [f"X{i + 1}" for i in range(len(edges))], [f"Z{k + 1}" for k in range(edges.shape[1])]
    return HeatMap(edges, strength, edges & mixed, *names)


def test_a_cell_says_its_strength_by_colour_depth_and_words():
    svg = heat_map(made_map([[0.5], [-1.0]]), np.array([0]), "Q")
    cells = re.findall(
        r'<rect class="(up|down|mixed)".*?fill-opacity="([\d.]+)"><title>(.*?)<', svg
    )
    assert cells == [("down", "1.00", "X2, Z1: -1.00"), ("up", "0.62", "X1, Z1: +0.50")]
    assert "±0.50" in heat_map(made_map([[0.5], [-1.0]], mixed=True), np.array([0]), "Q")


def test_a_column_is_named_only_where_there_is_room():
    few, many = (heat_map(made_map(np.ones((n, 1))), np.array([0]), "Q") for n in (5, 200))
    assert few.count('class="column"') == 5
    assert 'class="column"' not in many
    assert many.count('class="up"') == 200


def test_rows_are_in_the_order_asked_for():
    content = made_map([[1.0, 0.0], [0.0, 1.0]])
    for order in ([0, 1], [1, 0]):
        svg = heat_map(content, np.array(order), "Q")
        rows = re.findall(r'text-anchor="end">(Z\d)', svg)
        assert rows == [f"Z{k + 1}" for k in order]


def test_block_order_puts_the_variables_of_a_factor_together():
    edges = np.array([[0, 1], [1, 0], [0, 0], [0, 1], [1, 1]], dtype=bool)
    strength = edges * np.array([[0, 0.5], [0.2, 0], [0, 0], [0, -0.9], [0.7, 0.1]])
    assert block_order(edges, strength, np.array([0, 1])).tolist() == [4, 1, 3, 0]
    assert block_order(edges, strength, np.array([1, 0])).tolist() == [3, 0, 4, 1]


def test_a_heat_map_has_a_cell_an_edge():
    scm, data = truth_of(LARGER)
    graph, strengths = scm.graph, edge_strengths(scm, data)
    names = (graph.variable_names, graph.factor_names)
    content = HeatMap(graph.Q, strengths.into, strengths.into_mixed, *names)
    svg = heat_map(content, graph.factor_order, "Q")
    assert svg.count("<title>X") == int(graph.Q.sum())


def test_curves_take_the_numeric_columns_and_split_by_stage():
    (curve,) = curves(HISTORY)
    assert (curve.name, curve.x_name) == ("nll", "epoch")
    assert [name for name, *_ in curve.series] == ["warm-up", "constrained"]
    assert line_chart(curve).count("<polyline") == 2


@pytest.mark.parametrize(
    "history",
    [[], [{"nll": 1.0}], [{"nll": float("nan")}] * 3, [{"note": "text"}, {"note": "more"}]],
)
def test_a_history_without_curves_draws_none(history):
    assert curves(history) == []


def test_values_that_are_not_finite_are_left_out_of_a_curve():
    rows = [{"nll": value} for value in (3.0, float("inf"), 2.0, None, 1.0)]
    (curve,) = curves(rows)
    assert curve.series == [("", [0.0, 2.0, 4.0], [3.0, 2.0, 1.0])]


def test_a_flat_curve_can_be_drawn():
    (curve,) = curves([{"nll": 0.0}, {"nll": 0.0}])
    assert "nan" not in line_chart(curve)
