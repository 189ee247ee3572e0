"""Passes that read and replace units, against running the layers by hand."""

import pytest
import torch
from torch import nn

from tests.networks.models import mlp
from ucad.errors import InvalidInputError
from ucad.networks.passes import Clamped, forward, resolve_sites, undisturbed
from ucad.networks.sites import Site

X = torch.randn(6, 5, generator=torch.Generator().manual_seed(0))
FIRST, SECOND = Site("1", units=tuple(range(6))), Site("3", units=tuple(range(4)))


def hooks_of(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def test_units_are_those_of_the_layers_side_by_side():
    model = mlp()
    passed = forward(model, X, [FIRST, SECOND])
    first = model[1](model[0](X))
    second = model[3](model[2](first))
    torch.testing.assert_close(passed.units, torch.cat([first, second], dim=1))
    torch.testing.assert_close(passed.output, model[4](second))


def test_some_units_come_in_the_order_asked_for():
    model = mlp()
    passed = forward(model, X, [Site("1", units=(4, 0))])
    torch.testing.assert_close(passed.units, model[1](model[0](X))[:, [4, 0]])


def test_replaced_units_go_on_and_later_sites_see_them():
    model = mlp()
    new = torch.rand(6, 6)
    passed = forward(model, X, [FIRST, SECOND], lambda i, _old: new if i == 0 else None)
    second = model[3](model[2](new))
    torch.testing.assert_close(passed.units, torch.cat([new, second], dim=1))
    torch.testing.assert_close(passed.output, model[4](second))


def test_an_edit_sees_what_the_network_gives():
    model, seen = mlp(), {}
    forward(model, X, [FIRST, SECOND], lambda i, old: seen.update({i: old.clone()}))
    torch.testing.assert_close(seen[0], model[1](model[0](X)))
    assert seen.keys() == {0, 1}


def test_a_clamp_sets_all_that_is_pooled_for_a_unit():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Tanh())
    images = torch.randn(4, 1, 5, 5)
    site = Site.parse("1:mean")
    which = torch.tensor([[True, False]]).expand(4, 2)
    passed = forward(
        model, images, [site], lambda _i, old: Clamped(torch.where(which, 0.25, old), which)
    )
    assert (passed.output[:, 0] == 0.25).all()
    torch.testing.assert_close(passed.output[:, 1], model(images)[:, 1])


def test_hooks_are_gone_also_after_an_error():
    model = mlp()

    def fails(_i, _old):
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        forward(model, X, [FIRST], fails)
    assert hooks_of(model) == 0
    forward(model, X, [FIRST])
    assert hooks_of(model) == 0


def test_gradients_flow_through_what_is_replaced():
    model = mlp()
    new = torch.rand(6, 6, requires_grad=True)
    forward(model, X, [FIRST], lambda _i, _old: new).output.sum().backward()
    again = new.detach().clone().requires_grad_()
    model[4](model[3](model[2](again))).sum().backward()
    torch.testing.assert_close(new.grad, again.grad)


def test_every_submodule_gets_its_own_mode_back():
    model = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout(), nn.Linear(2, 2)))
    model.train()
    model[1][0].eval()
    before = [module.training for module in model.modules()]

    def study():
        with undisturbed(model) as quiet:
            assert not any(module.training for module in quiet.modules())
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        study()
    assert [module.training for module in model.modules()] == before


def test_sites_get_all_their_units_and_those_that_are_given_stay():
    first, second = resolve_sites(mlp(), X, [Site("1"), Site("3", units=(2,))])
    assert (first.units, second.units) == (tuple(range(6)), (2,))


@pytest.mark.parametrize(
    ("sites", "message"),
    [
        ([], "At least one site"),
        ([Site("3"), Site("1")], "in the order in which the network computes them: '1', '3'"),
        ([Site("9")], "no module '9'"),
        ([Site("1", call=1)], "often enough for call 1"),
    ],
)
def test_sites_that_cannot_be_read_are_refused(sites, message):
    with pytest.raises(InvalidInputError, match=message):
        resolve_sites(mlp(), X, sites)
