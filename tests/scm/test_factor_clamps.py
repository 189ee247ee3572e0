"""Setting a factor: the clamps of its parents that ω turns into its value."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ucad.errors import InvalidInputError
from ucad.scm import Abstraction, variables_for
from ucad.simulate import paper_problem

PROBLEMS = {letter: paper_problem(letter, "16-3", 1, n_samples=500) for letter in ("b", "f")}


def typical(scm):
    return scm.sample(500).x


@pytest.mark.parametrize("letter", PROBLEMS)
@pytest.mark.parametrize("factor", ["Z1", "Z2", "Z3"])
def test_omega_of_the_clamps_gives_the_factor_its_value(letter, factor):
    scm = PROBLEMS[letter].scm
    wanted = float(scm.state_map(typical(scm))[:, scm.graph.factor_index(factor)].quantile(0.8))
    clamps = variables_for(scm, {factor: wanted}, typical(scm))
    assert set(clamps) == set(scm.graph.parents(factor))
    abstraction = Abstraction(scm)
    high = abstraction.high_level.solve(scm.draw_context(50), abstraction.intervention_map(clamps))
    np.testing.assert_allclose(high[:, scm.graph.factor_index(factor)], wanted, atol=1e-4)


def test_of_all_points_of_a_linear_factor_the_nearest_to_the_mean_is_taken():
    scm = PROBLEMS["b"].scm
    x = typical(scm)
    factor = max(scm.graph.factor_names, key=lambda name: len(scm.graph.parents(name)))
    k, rows = scm.graph.factor_index(factor), np.flatnonzero(scm.graph.Q.any(axis=1))
    clamps = variables_for(scm, {factor: 2.0}, x)
    spread = x.std(dim=0, correction=0)
    weight = scm.factor_mechanism.weight[k]
    step = [(clamps.get(scm.graph.variable_names[i]), i) for i in rows]
    ratios = [
        float((value - x.mean(dim=0)[i]) / (spread[i] ** 2 * weight[i]))
        for value, i in step
        if value is not None
    ]
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-6)


def test_a_variable_that_is_held_already_stays_where_it_is():
    scm = PROBLEMS["b"].scm
    factor = max(scm.graph.factor_names, key=lambda name: len(scm.graph.parents(name)))
    parents = scm.graph.parents(factor)
    assert len(parents) > 1
    held = {parents[0]: 3.0}
    clamps = variables_for(scm, {factor: 1.0}, typical(scm), held)
    assert parents[0] not in clamps
    state = scm.solve(scm.draw_context(20), held | clamps)
    np.testing.assert_allclose(state.z[:, scm.graph.factor_index(factor)], 1.0, atol=1e-5)


def test_a_value_that_no_clamp_gives_is_refused_with_the_nearest():
    scm = PROBLEMS["b"].scm
    held = dict.fromkeys(scm.graph.parents("Z1"), 0.0)
    at_zero = torch.zeros(3, 16, dtype=torch.float64)
    with pytest.raises(InvalidInputError, match=r"No values .* give Z1 the value 5; the nearest"):
        variables_for(scm, {"Z1": 5.0}, at_zero, held)
