from dataclasses import replace

import numpy as np
import pytest
import torch

from ucad.data import Context, InterventionalData, Scaling
from ucad.errors import FormatError, InvalidInputError
from ucad.scm import ActsOn, ContextEffect, at_average_context, load_scm, save_scm
from ucad.simulate import paper_problem

N = 50


@pytest.fixture(params=list(ActsOn))
def scm(request):
    plain = paper_problem("b", "16-3", seed=0, n_samples=200).scm
    generator = torch.Generator().manual_seed(1)
    weight = torch.randn(16, 2, generator=generator, dtype=torch.float64)
    mean = torch.tensor([0.5, 2.0], dtype=torch.float64)
    effect = ContextEffect(("batch=a", "age"), mean, weight, request.param)
    return replace(plain, noise_scale=plain.noise_scale + 0.3, context=effect)


@pytest.fixture
def w():
    return np.random.default_rng(0).normal(size=(N, 2))


def test_at_the_average_context_the_model_is_the_one_without(scm):
    average = scm.context.mean.repeat(N, 1).numpy()
    plain = replace(scm, context=None)
    for one, other in zip(scm.sample(N, 3, average), plain.sample(N, 3), strict=True):
        torch.testing.assert_close(one, other)
    torch.testing.assert_close(scm.sample(N, 3).x, plain.sample(N, 3).x)


def test_the_noise_of_a_sample_is_found_again(scm, w):
    u = scm.draw_context(N, 5)
    x, z = scm.solve(u, covariates=w)
    torch.testing.assert_close(scm.abduct(x, covariates=w), u)
    torch.testing.assert_close(scm.state_map(x, w), z)
    assert not torch.allclose(scm.abduct(x), u)


def test_samples_are_likelier_at_their_own_context(scm, w):
    x = scm.solve(scm.draw_context(N, 5), covariates=w).x
    assert scm.log_likelihood(x, None, w).mean() > scm.log_likelihood(x).mean() + 1
    assert scm.nll(x, None, w) < scm.nll(x)


def test_a_context_on_readings_is_read_of_clamped_variables_too_and_of_no_factor(scm, w):
    before, after = (scm.solve(scm.draw_context(N), {"X3": 1.0}, c) for c in (None, w))
    on_readings = scm.context.acts_on is ActsOn.READINGS
    assert bool((after.x[:, 2] == 1.0).all()) is not on_readings
    assert torch.allclose(before.z, after.z) is on_readings


def test_taking_samples_to_the_average_context_keeps_clamps_and_noise(scm, w):
    u = scm.draw_context(N, 7)
    clamped = np.zeros((N, 16), dtype=bool)
    clamped[:, 2] = True
    x = scm.solve(u, {"X3": 1.0}, w).x.numpy()
    context = Context(scm.context.names, w)
    data = InterventionalData(
        x,
        clamped,
        np.ones(N, dtype=np.int64),
        scm.graph.variable_names,
        is_part=True,
        context=context,
    )
    there = at_average_context(scm, data)
    assert there.context is None
    np.testing.assert_allclose(there.x, scm.solve(u, {"X3": 1.0}).x.numpy(), atol=1e-10)


def test_a_model_with_a_context_is_read_back_exactly(scm, w, tmp_path):
    save_scm(scm, tmp_path)
    back = load_scm(tmp_path)
    assert (back.context.names, back.context.acts_on) == (scm.context.names, scm.context.acts_on)
    torch.testing.assert_close(back.sample(N, 3, w).x, scm.sample(N, 3, w).x)


def test_a_damaged_context_is_refused(scm, tmp_path):
    save_scm(scm, tmp_path)
    text = (tmp_path / "model.json").read_text()
    (tmp_path / "model.json").write_text(text.replace(str(scm.context.acts_on), "moods"))
    with pytest.raises(FormatError, match="must act on"):
        load_scm(tmp_path)
    (tmp_path / "model.json").write_text(text.replace('"age"', '"age", "size"'))
    with pytest.raises(FormatError, match="context.mean"):
        load_scm(tmp_path)


def test_other_units_change_what_the_context_does_in_them(scm, w):
    scaling = Scaling(np.arange(16.0), np.arange(1.0, 17.0))
    x = scm.sample(N, 3, w).x.numpy()
    other = scm.in_original_units(scaling)
    torch.testing.assert_close(
        other.state_map(scaling.mean + scaling.scale * x, w), scm.state_map(x, w)
    )


def test_a_context_is_named_by_text_or_number(scm):
    np.testing.assert_allclose(scm.context.at({"batch": "a", "age": "3"}), [1.0, 3.0])
    np.testing.assert_allclose(scm.context.at({}), [0.5, 2.0])
    for wrong in ({"batch": "z"}, {"age": "old"}, {"size": "1"}):
        with pytest.raises(InvalidInputError, match="The context cannot be"):
            scm.context.at(wrong)
