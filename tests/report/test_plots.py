"""`model.plot`: a figure of everything a model has, and a sentence where it has it not."""

from __future__ import annotations

import pytest

from tests.report.models import paper_truth
from ucad.errors import InvalidInputError
from ucad.report.plots import Plots

matplotlib_figure = pytest.importorskip("matplotlib.figure")
STEP = {"n_factors": 1, "nll": 1.0, "standard_error": 0.1, "is_adequate": True}
PATH = {"steps": [STEP], "without_factors": None, "n_factors": 1}


@pytest.mark.parametrize("name", ["graph", "heat_map", "factors", "predictions"])
def test_every_figure_is_drawn(name):
    problem = paper_truth("b", "16-3", 1)
    plots = Plots(problem.scm, problem.train, None, PATH)
    assert isinstance(getattr(plots, name)(), matplotlib_figure.Figure)


def test_the_predictions_show_a_point_per_regime_and_variable_but_the_targets():
    problem = paper_truth("b", "16-3", 1)
    (axes,) = Plots(problem.scm, problem.train).predictions().axes
    clamps = problem.train.targets[1:]
    assert len(axes.collections[0].get_offsets()) == clamps.size - clamps.sum()


@pytest.mark.parametrize(("name", "message"), [("factors", "auto"), ("predictions", "no samples")])
def test_what_is_not_there_is_refused_with_what_to_do(name, message):
    with pytest.raises(InvalidInputError, match=message):
        getattr(Plots(paper_truth("b", "16-3", 1).scm), name)()
