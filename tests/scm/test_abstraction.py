import numpy as np
import pytest
import torch

from ucad.scm import Abstraction, Clamp
from ucad.simulate import paper_problem


@pytest.fixture(scope="module")
def problem():
    return paper_problem("e", "64-6", seed=1, n_samples=3000)


def test_the_image_of_a_clamp_lists_support_mechanistic_supports_and_constants(problem):
    graph = problem.scm.graph
    shared = next(x for x in graph.variable_names if len(graph.children(x)) >= 1)
    lonely = next(x for x in graph.variable_names if not graph.children(x))
    image = Abstraction(problem.scm).intervention_map({shared: 0.5, lonely: 2.0})
    assert image.support == set(graph.children(shared))
    for replacement in image.replacements.values():
        assert isinstance(replacement, Clamp)
        assert dict(replacement.values) == {shared: 0.5}


def test_without_data_on_noise_only_roots_have_a_context(problem):
    abstraction = Abstraction(problem.scm)
    context = abstraction.data_context(problem.validation).numpy()
    has_parents = problem.scm.graph.R.any(axis=1)
    assert (context[:, has_parents] == 0).all()
    assert (context[problem.validation.is_intervened] == 0).all()
    root = int(np.flatnonzero(~has_parents)[0])
    free = ~problem.validation.is_intervened[:, root]
    constant = problem.validation.x[free, root] - context[free, root]
    np.testing.assert_allclose(constant, constant[0])


def test_the_overall_error_is_the_mean_over_samples_of_the_regimes(problem):
    data = problem.validation
    errors = Abstraction(problem.scm).error(data)
    counts = {data.regime_names[r]: int((data.regime == r).sum()) for r in np.unique(data.regime)}
    weighted = sum(errors.by_regime[name].error * count for name, count in counts.items())
    assert errors.overall.error == pytest.approx(weighted / data.n_samples)
    assert errors.overall.error > 0


def test_a_regime_that_clamps_everything_leaves_no_error(problem):
    scm = problem.scm
    x = scm.sample(50).x
    abstraction = Abstraction(scm)
    do = {name: x[:, j] for j, name in enumerate(scm.graph.variable_names)}
    predicted = abstraction.high_level.solve(torch.zeros_like(x), abstraction.intervention_map(do))
    torch.testing.assert_close(predicted, scm.state_map(x))
