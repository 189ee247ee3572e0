"""Points of predicted against measured changes: each where its numbers say."""

import re
from dataclasses import replace

import numpy as np
import pytest

from ucad.effects import MeasuredChanges, RegimePredictions
from ucad.report.scatter import MAX_POINTS, prediction_scatter


def predictions(predicted, measured, targets=None, seen=None):
    predicted, measured = np.array(predicted), np.array(measured)
    n_regimes, n_variables = predicted.shape
    targets = np.zeros(predicted.shape, dtype=bool) if targets is None else np.array(targets)
    names = tuple(f"R{r + 1}" for r in range(n_regimes))
    changes = MeasuredChanges(
        np.arange(1, n_regimes + 1),
        names,
        np.full(n_regimes, 50),
        measured,
        np.ones(measured.shape),
        targets,
        np.zeros(n_variables),
        np.ones(n_variables),
        np.arange(50),
    )
    return RegimePredictions(
        changes,
        {"ucad": predicted},
        np.zeros((3, n_regimes, 1)),
        np.zeros(n_regimes, dtype=bool) if seen is None else np.array(seen),
        np.ones(n_regimes),
        tuple(f"X{j + 1}" for j in range(n_variables)),
        ("Z1",),
    )


def circles(svg):
    """By title: class, x and y."""
    found = re.findall(
        r'<circle class="(\w+)" cx="([\d.]+)" cy="([\d.]+)".*?<title>(.*?)</title>', svg
    )
    return {title: (kind, float(x), float(y)) for kind, x, y, title in found}


def test_targets_and_what_was_not_predicted_are_left_out():
    found = prediction_scatter(
        predictions(
            [[1.0, 2.0, np.nan], [3.0, 4.0, 5.0]],
            [[1.0, 1.0, 1.0], [1.0, np.inf, 1.0]],
            targets=[[True, False, False], [False, False, False]],
            seen=[True, False],
        )
    )
    assert found.left_out == 0
    drawn = circles(found.svg)
    assert {title.split(",")[0]: kind for title, (kind, *_) in drawn.items()} == {
        "R1: X2": "seen",
        "R2: X1": "held",
        "R2: X3": "held",
    }


def test_equal_changes_lie_on_the_diagonal_and_larger_ones_further_out():
    found = prediction_scatter(predictions([[0.0, 1.0, 2.0]], [[0.0, 1.0, 2.0]]))
    places = [place[1:] for place in sorted(circles(found.svg).values(), key=lambda p: p[1])]
    (x0, y0), (x1, y1), (x2, y2) = places
    assert (x1 - x0, x2 - x1) == pytest.approx((y0 - y1, y1 - y2), abs=0.2)
    assert x0 < x1 < x2
    line = re.search(
        r'class="right" x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)"', found.svg
    )
    ax, ay, bx, by = map(float, line.groups())
    assert (y1 - ay) / (by - ay) == pytest.approx((x1 - ax) / (bx - ax), abs=0.01)


def test_the_largest_predicted_changes_are_always_drawn_whatever_was_measured():
    rng = np.random.default_rng(0)
    predicted = rng.standard_normal((10, 200))
    found = prediction_scatter(predictions(predicted, rng.standard_normal((10, 200))))
    drawn = circles(found.svg)
    assert found.left_out == 2000 - MAX_POINTS
    assert found.svg.count("<circle") == MAX_POINTS
    largest = np.argsort(-np.abs(predicted).ravel())[: MAX_POINTS // 2]
    titles = {title.split(", ")[0] for title in drawn}
    assert {f"R{at // 200 + 1}: X{at % 200 + 1}" for at in largest} <= titles


def test_names_stay_text():
    made = replace(predictions([[1.0]], [[1.0]]), variable_names=("<script>",))
    assert "<script>" not in prediction_scatter(made).svg


def test_if_nothing_was_predicted_nothing_is_drawn():
    assert prediction_scatter(predictions([[np.nan]], [[1.0]])) is None
