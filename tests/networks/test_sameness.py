"""Another network, or inputs of another kind, are known by their units."""

import numpy as np
import torch

from tests.networks.models import exact_inputs, exact_network, exact_scm
from ucad.data import InterventionalData
from ucad.networks import RecordSettings, Steering, record
from ucad.networks.sameness import is_recorded, units_are_alike


def another():
    network = exact_network()
    with torch.no_grad():
        network[0].bias += 3.0
    return network


def test_a_recording_is_of_its_network_and_its_inputs():
    inputs = exact_inputs(200)
    found = record(exact_network(), inputs, ["0", "1"], settings=RecordSettings(per_clamp=0))
    assert is_recorded(found, exact_network(), inputs)
    assert not is_recorded(found, another(), inputs)
    assert not is_recorded(found, exact_network(), exact_inputs(200, seed=1))
    assert not is_recorded(found, exact_network(), inputs[:5])


def test_units_of_other_inputs_are_alike_and_those_of_another_network_are_not():
    scm, fitted, others = exact_scm(), exact_inputs(400), exact_inputs(300, seed=1)
    x = Steering(exact_network(), scm).run(fitted).x.double().numpy()
    sample = InterventionalData(
        x,
        np.zeros(x.shape, dtype=bool),
        np.zeros(len(x), dtype=np.int64),
        scm.graph.variable_names,
        is_part=True,
    )
    assert units_are_alike(Steering(exact_network(), scm), others, sample)
    assert not units_are_alike(Steering(another(), scm), others, sample)
    assert units_are_alike(Steering(another(), scm), others, None)
