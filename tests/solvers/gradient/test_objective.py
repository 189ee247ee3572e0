import numpy as np
import pytest
import torch

from tests.solvers.gradient.conftest import all_rows, drawn_start, parameters_of, true_graph
from ucad.errors import InvalidInputError
from ucad.scm.families import NETWORK
from ucad.simulate import paper_problem
from ucad.solvers.gradient.mechanisms import (
    predict_factors,
    predict_variables,
)
from ucad.solvers.gradient.minibatch_objective import MinibatchObjective
from ucad.solvers.gradient.moment_objective import MomentObjective
from ucad.solvers.gradient.problem import make_objective
from ucad.solvers.gradient.relaxed_graph import RelaxedGraph
from ucad.solvers.gradient.settings import GradientConfig, ModelSettings

MLP = ModelSettings(factor_family=NETWORK, variable_family=NETWORK)


@pytest.mark.parametrize("setting", ["b", "g"])
def test_the_nll_of_the_true_model_is_that_of_its_scm(setting):
    problem = paper_problem(setting, "16-3", seed=0, n_samples=600)
    settings = ModelSettings() if setting == "b" else MLP
    parameters = parameters_of(problem.scm)
    graph = true_graph(problem)
    x = torch.tensor(problem.train.x)
    z = predict_factors(parameters, graph.Q, x)
    expected = problem.scm.expected_variables(problem.scm.state_map(problem.train.x))
    torch.testing.assert_close(predict_variables(parameters, graph.R, z)[0], expected)
    objective = make_objective(problem.train, GradientConfig(model=settings))
    single = {name: value.to(objective.free_share) for name, value in parameters.items()}
    graph = RelaxedGraph(*(part.to(objective.free_share) for part in graph))
    nll = objective.profile_nll(single, graph)
    truth = problem.scm.nll(problem.train.x, problem.train.is_intervened)
    assert abs(nll.item() - truth) < 0.52  # floor added rather than cut: at most 1/2 apart
    assert nll.item() < truth + 0.52


def test_a_variable_does_not_explain_itself(problem):
    moments = MomentObjective.from_data(problem.train, 1e-4)
    start = drawn_start(ModelSettings())
    half = torch.zeros(1, 16, 3, dtype=torch.float64)
    half[0, 5, 0] = 0.5
    start["F_Z.weight"][:] = 2.0
    start["F_X.weight"][:] = 2.0
    itself = moments.residual_variance(start, RelaxedGraph(half, half))
    nothing = moments.residual_variance(start, RelaxedGraph(half * 0, half))
    torch.testing.assert_close(itself, nothing)
    batches = MinibatchObjective.from_data(problem.train, 1e-4, batch_size=10)
    single = {name: value.float() for name, value in start.items()}
    itself, nothing = (
        batches.nll(single, RelaxedGraph(Q.float(), half.float()), all_rows(problem.train))
        for Q in (half, half * 0)
    )
    torch.testing.assert_close(itself, nothing)


@pytest.mark.parametrize("kind", ["moments", "batches"])
def test_best_children_are_the_least_squares_on_the_factors(problem, kind):
    data = problem.train
    graph = true_graph(problem, torch.float64 if kind == "moments" else torch.float32)
    start = drawn_start(ModelSettings(), seeds=[3], dtype=graph.Q.dtype)
    objective = (
        MomentObjective.from_data(data, 1e-4)
        if kind == "moments"
        else MinibatchObjective.from_data(data, 1e-4, 10)
    )
    solved = objective.with_exact_parts(start, graph)
    z = predict_factors(start, graph.Q, torch.tensor(data.x).to(graph.Q))[0].double().numpy()
    for j in range(16):
        free = ~data.is_intervened[:, j]
        parents = np.flatnonzero(problem.scm.graph.R[j])
        design = np.column_stack([z[free][:, parents], np.ones(free.sum())])
        wanted = np.linalg.lstsq(design, data.x[free, j], rcond=None)[0]
        got = [*solved["F_X.weight"][0, j, parents].tolist(), solved["F_X.bias"][0, j].item()]
        np.testing.assert_allclose(got, wanted, atol=2e-4)


@pytest.mark.parametrize("settings", [ModelSettings(), MLP])
def test_gradients_reach_every_parameter(problem, settings):
    objective = make_objective(problem.train, GradientConfig(model=settings))
    start = drawn_start(settings, dtype=objective.free_share.dtype)
    leaves = {name: value.requires_grad_() for name, value in start.items() if name != "logits"}
    graph = RelaxedGraph(*torch.rand(2, 1, 16, 3).to(objective.free_share))
    batch = objective.draw(torch.Generator().manual_seed(0))
    objective.nll(leaves, graph, batch).sum().backward()
    for name, leaf in leaves.items():
        assert leaf.grad.abs().sum() > 0, name


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(InvalidInputError, match="'hidden' setting of ModelSettings"):
        ModelSettings(hidden=0)
