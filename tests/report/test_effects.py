"""What clamping a variable does, against solving the whole model anew."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.report.models import LARGER, SMALL, truth_of
from ucad.report.effects import MOST_SAMPLES, clamp_effects, clamped
from ucad.report.strengths import edge_strengths


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
