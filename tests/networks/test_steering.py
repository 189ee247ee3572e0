import numpy as np
import pytest
import torch

from tests.networks.models import (
    EXACT_SITES,
    Convolutional,
    Transformer,
    exact_inputs,
    exact_network,
    exact_scm,
    mlp,
)
from ucad.data import Scaling
from ucad.errors import InvalidInputError
from ucad.graph import FactorGraph
from ucad.networks import (
    Activation,
    Site,
    Steering,
    factor_swap,
    interchange_score,
    record,
    swap_pairs,
)
from ucad.scm import FactorSCM, LinearMechanism, hard

INPUTS = exact_inputs()
BITS = (INPUTS > 0.5).numpy()
BASE, SOURCE = INPUTS[:200], INPUTS[200:]


def steering(**options):
    return Steering(exact_network(), exact_scm(), **options)


def test_an_interchange_with_itself_changes_nothing():
    swapped = steering().interchange(BASE, BASE, ["Z1", "Z2", "Z3"])
    assert torch.equal(swapped.after.output, swapped.before.output)
    assert torch.equal(swapped.after.x, swapped.before.x)


def test_an_interchange_does_exactly_what_the_high_level_model_says():
    swapped = steering().interchange(BASE, SOURCE, "Z1")
    expected = SOURCE[:, 0] + BASE[:, 1] - 1.5
    torch.testing.assert_close(swapped.after.output[:, 0], expected)
    scm = exact_scm()
    predicted = scm.counterfactual(swapped.before.x.double(), hard({"Z1": swapped.source.z[:, 0]}))
    torch.testing.assert_close(swapped.after.x.double(), predicted.x, atol=1e-5, rtol=0)


def test_factors_of_several_gaps_are_set_together():
    swapped = steering().interchange(BASE, SOURCE, ["Z1", "Z3"])
    torch.testing.assert_close(swapped.after.output[:, 0], SOURCE.sum(dim=1) - 1.5)
    torch.testing.assert_close(swapped.after.x[:, 4], SOURCE[:, 0])
    torch.testing.assert_close(swapped.after.x[:, 6], BASE[:, 1])


def test_an_scm_of_standardised_units_steers_alike():
    x = steering().run(INPUTS).x.double().numpy()
    scaling = Scaling.of(x)
    standard = Steering(exact_network(), exact_scm().in_standard_units(scaling), scaling)
    torch.testing.assert_close(
        standard.interchange(BASE, SOURCE, "Z2").after.output,
        steering().interchange(BASE, SOURCE, "Z2").after.output,
    )


def test_batches_make_no_difference():
    one, many = steering(), steering(batch_size=7)
    swaps = [way.interchange(BASE, SOURCE, "Z1") for way in (one, many)]
    for a, b in zip(*swaps, strict=True):
        torch.testing.assert_close(a.output, b.output)
        torch.testing.assert_close(a.x, b.x)


def test_directions_along_a_factor_are_the_factor_and_all_of_them_are_all():
    axis = torch.tensor([[0.0], [1.0]])
    along = steering().interchange(BASE, SOURCE, ["Z1", "Z2"], axis).after.output
    torch.testing.assert_close(along, steering().interchange(BASE, SOURCE, "Z2").after.output)
    turned = torch.tensor([[0.6, -0.8], [0.8, 0.6]])
    whole = steering().interchange(BASE, SOURCE, ["Z1", "Z2"], turned).after.output
    torch.testing.assert_close(whole, steering().run(SOURCE).output)


def test_setting_factors_and_decoding_follow_the_mechanisms():
    values = torch.full((len(BASE), 1), 3.0)
    after = steering().set_factors(BASE, "Z2", values)
    torch.testing.assert_close(after.output[:, 0], BASE[:, 0] + 1.5)
    decoded = steering().decode(BASE, ["1"])
    torch.testing.assert_close(decoded.output, steering().run(BASE).output)


def test_patches_stay_where_relu_units_can_be():
    scm = exact_scm()
    values = torch.full((len(BASE), 1), -3.0)
    below = steering(activations=(Activation.IDENTITY,) * 3).set_factors(BASE, "Z1", values)
    cut = Steering(
        exact_network(), scm, activations=(Activation.IDENTITY, Activation.RELU, Activation.RELU)
    ).set_factors(BASE, "Z1", values)
    assert below.x[:, 4:6].max() < 0
    assert cut.x[:, 4:6].abs().max() == 0


def test_the_known_factor_steers_and_the_other_does_not():
    both = BITS.all(axis=1)
    pairs = swap_pairs(
        both,
        lambda base, source: BITS[source, 0] & BITS[base, 1],
        bases=np.flatnonzero(both),
        n_pairs=200,
    )
    right = interchange_score(factor_swap(steering(), "Z1"), INPUTS, pairs)
    wrong = interchange_score(factor_swap(steering(), "Z2"), INPUTS, pairs)
    nothing = interchange_score(lambda base, _: steering().run(base).output, INPUTS, pairs)
    assert right.mean == 1.0
    assert wrong.mean < 0.7
    assert (nothing.on_changes, nothing.on_keeps, nothing.mean) == (0.0, 1.0, 0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sites": (Site("0", units=(0, 1)),)}, "10 variables of the SCM"),
        ({"activations": (Activation.RELU,)}, "one entry a site, 3"),
    ],
)
def test_what_does_not_fit_together_is_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        steering(**options)


def test_unknown_names_and_unequal_inputs_are_refused():
    with pytest.raises(InvalidInputError, match="no factor 'Z9'"):
        steering().interchange(BASE, SOURCE, "Z9")
    with pytest.raises(InvalidInputError, match="no site '7'"):
        steering().decode(BASE, ["7"])
    with pytest.raises(InvalidInputError, match="Got 200 and 3"):
        steering().interchange(BASE, SOURCE[:3], "Z1")


def test_a_recording_of_the_network_has_the_variables_of_its_scm():
    recording = record(exact_network(), INPUTS, EXACT_SITES)
    assert recording.data.variable_names == exact_scm().graph.variable_names
    assert exact_scm().graph.respects_layers(recording.data.layer_of)


def random_scm(names, layer_of):
    """One factor from the first layer to the second, with random weights."""
    rng = np.random.default_rng(0)
    F_Z = torch.from_numpy(np.where(layer_of == 0, rng.standard_normal(len(names)), 0.0)[None])
    F_X = torch.from_numpy(np.where(layer_of == 1, rng.standard_normal(len(names)), 0.0)[:, None])
    graph = FactorGraph((F_Z != 0).numpy().T, (F_X != 0).numpy(), variable_names=tuple(names))
    return FactorSCM(
        graph,
        LinearMechanism(F_Z, torch.zeros(1, dtype=torch.float64)),
        LinearMechanism(F_X, torch.zeros(len(names), dtype=torch.float64)),
        torch.ones(len(names), dtype=torch.float64),
    )


@pytest.mark.parametrize(
    ("model", "inputs", "sites"),
    [
        (Convolutional(), torch.randn(40, 1, 6, 6), ["first:mean", "second:max"]),
        (Transformer(), torch.randint(10, (40, 4)), ["blocks.0@-1", "blocks.1.mlp.1@-1"]),
        (mlp(inplace=True), torch.randn(40, 5), ["1", "3"]),
    ],
)
def test_networks_of_every_kind_are_steered_and_left_alone(model, inputs, sites):
    data = record(model, inputs, sites).data
    steered = Steering(model, random_scm(data.variable_names, data.layer_of))
    same = steered.interchange(inputs[:20], inputs[:20], "Z1")
    torch.testing.assert_close(same.after.output, same.before.output)
    swapped = steered.interchange(inputs[:20], inputs[20:], "Z1")
    change = (swapped.source.z - swapped.before.z) @ steered.scm.variable_mechanism.weight.T
    wanted = swapped.before.x + change.float()
    if swapped.before.x[:, data.layer_of == 1].min() == 0:
        wanted = torch.where(torch.from_numpy(data.layer_of == 1), wanted.clamp_min(0), wanted)
    torch.testing.assert_close(swapped.after.x, wanted, atol=1e-4, rtol=1e-4)
    assert not torch.equal(swapped.after.output, swapped.before.output)
    assert model.training
    assert all(not module._forward_hooks for module in model.modules())
