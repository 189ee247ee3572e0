"""A first model of a known graph, and its score as a ceiling."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import LINEAR, NONLINEAR, measured
from ucad.graph import FactorGraph
from ucad.solvers.search import SearchConfig, score_structure
from ucad.solvers.search.start import model_of_graph, predict_variable


@pytest.fixture(scope="module")
def data():
    """z = 2 x0 + x1 → x2, x3; x6 → y → x3, x4."""

    def sums(x, noise):
        z = (2 * x[:, 0] + x[:, 1]) / np.sqrt(5)
        x[:, 2] = z + noise[:, 2]
        x[:, 3] = z + x[:, 6] + noise[:, 3]
        x[:, 4:6] = x[:, [6]] + noise[:, 4:6]

    return measured(sums)


@pytest.fixture
def graph():
    Q, R = np.zeros((2, 16, 2), dtype=bool)
    Q[[0, 1], 0] = Q[6, 1] = True
    R[[2, 3], 0] = R[[3, 4, 5], 1] = True
    return FactorGraph(Q, R)


@pytest.mark.parametrize("settings", [LINEAR, NONLINEAR])
def test_every_factor_is_read_off_a_child_of_its_own(data, graph, settings):
    model = model_of_graph(data, graph, settings)
    z = data.x[:, :2] @ [2.0, 1.0]
    assert abs(np.corrcoef(model.state[:, 0], z)[0, 1]) > 0.99
    assert abs(np.corrcoef(model.state[:, 1], data.x[:, 6])[0, 1]) > 0.99
    assert (model.Q == graph.Q).all()
    assert (model.R == graph.R).all()


def test_the_true_graph_scores_above_a_false_one(data, graph):
    R = np.array(graph.R)
    R[2, 0], R[2, 1] = False, True
    score = {
        name: score_structure(data, one, config=SearchConfig()).history[-1]["score"]
        for name, one in {"true": graph, "false": FactorGraph(graph.Q, R)}.items()
    }
    assert score["true"] > score["false"] + 100


def test_a_variable_is_predicted_by_its_causes(data):
    causes = np.array([0, 1])
    factor, error, n_parents = predict_variable(data, 2, causes, causes, NONLINEAR)
    assert n_parents == 2
    assert error < 0.15
    assert factor.values(data.x).std() == pytest.approx(1.0)
