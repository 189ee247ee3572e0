"""The static figures draw what they are given, without pyplot's global state."""

from __future__ import annotations

import builtins
import io

import numpy as np
import pytest

from tests.report.models import paper_truth, random_content
from ucad.errors import InvalidInputError, MissingDependencyError
from ucad.report.figures import factor_concept_figure, graph_figure, heat_map_figure

matplotlib_figure = pytest.importorskip("matplotlib.figure")


def texts(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


@pytest.mark.parametrize("draw", [graph_figure, heat_map_figure])
@pytest.mark.parametrize("hostile", [False, True])
def test_a_figure_can_be_drawn_and_saved(draw, hostile):
    figure = draw(random_content(8, 2, hostile=hostile).scm)
    assert isinstance(figure, matplotlib_figure.Figure)
    for kind in ("png", "pdf"):
        file = io.BytesIO()
        figure.savefig(file, format=kind)
        assert file.tell() > 1000


def test_the_graph_names_every_factor_and_draws_every_edge():
    scm = paper_truth().scm
    graph, figure = scm.graph, graph_figure(scm)
    drawn = texts(figure)
    assert set(graph.factor_names) <= set(drawn)
    assert drawn.count("") == int(graph.Q.sum() + graph.R.sum())  # arrows are empty annotations


def test_the_heat_map_shows_the_weights_of_q_and_r():
    scm = paper_truth().scm
    figure = heat_map_figure(scm)
    images = [axes.images[0] for axes in figure.axes if axes.images]
    shown = [int((np.asarray(image.get_array()) != 0).sum()) for image in images]
    assert shown == [int(scm.graph.Q.sum()), int(scm.graph.R.sum())]


def test_concepts_of_one_factor_stand_together():
    matrix = np.array([[0.1, 0.9, -0.7], [0.8, 0.0, 0.2]])
    figure = factor_concept_figure(matrix, ["Z1", "Z2"], ["size", "colour", "$shape"])
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert labels == ["colour", r"\$shape", "size"]
    assert texts(figure) == ["0.90", "−0.70", "0.10", "0.00", "0.20", "0.80"]


def test_a_matrix_of_the_wrong_shape_is_refused():
    with pytest.raises(InvalidInputError, match="one row per factor and one column per concept"):
        factor_concept_figure(np.zeros((2, 3)), ["Z1"], ["a", "b", "c"])


def test_without_matplotlib_the_message_says_how_to_get_it(monkeypatch):
    real = builtins.__import__

    def refuse(name, *arguments, **more):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ucad\[plot\]'"):
        graph_figure(paper_truth().scm)
