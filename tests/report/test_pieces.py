"""The numbers and pictures of the report, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.report.models import HISTORY, paper_truth, random_content
from ucad.report.charts import HeatMap, block_order, curves, heat_map, line_chart
from ucad.report.effects import MOST_SAMPLES, clamp_effects, clamped
from ucad.report.layout import high_level_layout, low_level_layout
from ucad.report.strengths import edge_strengths
from ucad.report.words import correlates, factor_sentence
from ucad.scm import LinearMechanism

SMALL = [(setting, "16-3", 0) for setting in ("b", "f", "g")]
LARGER, LARGEST = ("e", "64-6", 1), ("a", "128-8", 0)


def truth_of(which):
    """A true model of the paper and samples of it."""
    problem = paper_truth(*which)
    return problem.scm, problem.train


def test_the_strength_of_a_linear_edge_is_its_standardised_weight():
    scm, data = truth_of(SMALL[0])
    strengths = edge_strengths(scm, data)
    z = scm.state_map(data.x).numpy()
    assert isinstance(scm.factor_mechanism, LinearMechanism)
    into = scm.factor_mechanism.weight.numpy().T * data.x.std(axis=0)[:, None] / z.std(axis=0)
    out_of = scm.variable_mechanism.weight.numpy() * z.std(axis=0) / data.x.std(axis=0)[:, None]
    np.testing.assert_allclose(strengths.into, into, atol=1e-12)
    np.testing.assert_allclose(strengths.out_of, out_of, atol=1e-12)
    assert not strengths.into_mixed.any()


@pytest.mark.parametrize("setting", ["f", "g"])
def test_the_strength_of_any_edge_is_the_root_mean_square_of_finite_differences(setting):
    scm, data = truth_of((setting, "16-3", 0))
    data = data.select(np.arange(300))
    strengths, step = edge_strengths(scm, data), 1e-5
    x, z = torch.tensor(data.x), scm.state_map(data.x)
    for i, k in np.argwhere(scm.graph.Q):
        shift = torch.zeros_like(x)
        shift[:, i] = step
        slope = (scm.state_map(x + shift) - scm.state_map(x - shift))[:, k] / (2 * step)
        expected = slope.square().mean().sqrt() * x[:, i].std(correction=0)
        expected = expected / z[:, k].std(correction=0)
        assert abs(strengths.into[i, k]) == pytest.approx(float(expected), rel=1e-5)
    for j, k in np.argwhere(scm.graph.R):
        shift = torch.zeros_like(z)
        shift[:, k] = step
        forth, back = (scm.expected_variables(z + s * shift)[:, j] for s in (1, -1))
        slope = (forth - back) / (2 * step)
        expected = slope.square().mean().sqrt() * z[:, k].std(correction=0)
        expected = expected / x[:, j].std(correction=0)
        assert abs(strengths.out_of[j, k]) == pytest.approx(float(expected), rel=1e-5)


@pytest.mark.parametrize("which", [*SMALL, LARGER], ids=str)
def test_working_out_only_what_is_downstream_gives_the_solution_of_the_whole_model(which):
    scm, _ = truth_of(which)
    context = scm.draw_context(20)
    value = torch.linspace(-2, 2, 20, dtype=torch.float64)
    base = scm.solve(context)
    for i, name in enumerate(scm.graph.variable_names):
        whole = scm.solve(context, {name: value})
        part = clamped(scm, context, base, i, value)
        torch.testing.assert_close(part.x, whole.x)
        torch.testing.assert_close(part.z, whole.z)


def test_effects_are_mean_counterfactuals_in_standard_deviations():
    scm, data = truth_of(LARGER)
    data = data.select(np.flatnonzero(data.regime == 0))
    effect = clamp_effects(scm, data, edge_strengths(scm, data))[0]
    x = data.x[:, scm.graph.variable_index(effect.variable)]
    mean, sd = x.mean(), x.std()
    at = {
        step: scm.counterfactual(data.x, {effect.variable: mean + step * sd}).z.mean(dim=0)
        for step in (-1, 0, 1)
    }
    spread = scm.state_map(data.x).std(dim=0, correction=0)
    assert data.n_samples <= MOST_SAMPLES, "so that every sample counts"
    expected = torch.stack([at[-1] - at[0], at[1] - at[0]]) / spread
    np.testing.assert_allclose(effect.factors, expected.numpy(), atol=1e-9)
    assert set(effect.reached) == set(scm.graph.children(effect.variable))
    unreached = [k for k in range(6) if not effect.factors[:, k].any()]
    assert unreached, "in this graph no variable reaches every factor"


def test_a_clamped_variable_is_not_among_what_it_changes():
    scm, data = truth_of(LARGER)
    for effect in clamp_effects(scm, data, edge_strengths(scm, data)):
        assert effect.variable not in {name for name, *_ in effect.affected}


@pytest.mark.parametrize("which", [LARGER, LARGEST], ids=["e", "a"])
def test_causes_stand_to_the_left_and_no_two_nodes_in_one_place(which):
    graph = truth_of(which)[0].graph
    low, high = low_level_layout(graph), high_level_layout(graph)
    for i, k in np.argwhere(graph.Q):
        assert low[graph.variable_names[i]].x < low[graph.factor_names[k]].x
    for j, k in np.argwhere(graph.R):
        assert low[graph.factor_names[k]].x < low[graph.variable_names[j]].x
    for k, other in np.argwhere(graph.factor_adjacency):
        assert high[graph.factor_names[k]].x < high[graph.factor_names[other]].x
    for places in (low, high):
        assert len(set(places.values())) == len(places)


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


def test_correlations_are_pearsons():
    scm, data = truth_of(SMALL[0])
    z = scm.state_map(data.x).numpy()
    for k, entry in enumerate(correlates(scm, data)):
        for row in entry["rows"]:
            x = data.x[:, scm.graph.variable_index(row["variable"])]
            expected = np.corrcoef(x, z[:, k])[0, 1]
            assert row["correlation"] == pytest.approx(expected)


def test_a_sentence_names_six_neighbours_and_counts_the_rest():
    content = random_content(40, 1, probability=0.6)
    graph = content.scm.graph
    sentence = factor_sentence(graph, "Z1", edge_strengths(content.scm, content.data))
    assert f"and {int(graph.Q.sum()) - 6} more" in sentence
