import numpy as np
import pytest
import torch

from tests.networks.models import exact_inputs, exact_network, exact_scm
from ucad.networks import Steering, agreement, decoded_accuracy, dose_response

INPUTS = exact_inputs()
BASE, SOURCE = INPUTS[:200], INPUTS[200:]


def broken_network():
    """The exact network with the opposite sign between the second and the third site."""
    model = exact_network()
    with torch.no_grad():
        model[2].weight.neg_()
    return model


def test_an_exact_abstraction_predicts_all_that_happens_downstream():
    found = agreement(Steering(exact_network(), exact_scm()), BASE, SOURCE, "Z1")
    assert (found.units.n_nodes, found.factors.n_nodes) == (2, 1)
    assert found.units.r_squared == pytest.approx(1.0, abs=1e-6)
    assert found.factors.correlation == pytest.approx(1.0, abs=1e-6)
    before = exact_network()(BASE).detach()[:, 0]
    change = (SOURCE[:, 0] - BASE[:, 0]).abs().mean() / before.std(correction=0)
    assert found.output_change == pytest.approx(float(change), rel=1e-4)


def test_a_wrong_abstraction_does_not():
    found = agreement(Steering(broken_network(), exact_scm()), BASE, SOURCE, "Z1")
    assert found.units.correlation == pytest.approx(-1.0, abs=1e-6)
    assert found.units.r_squared < -1


def test_factors_with_nothing_downstream_have_no_agreement_but_a_change():
    found = agreement(Steering(exact_network(), exact_scm()), BASE, SOURCE, "Z3")
    assert found.units is None
    assert found.factors is None
    decided = (SOURCE.sum(dim=1) > 1.5) != (BASE.sum(dim=1) > 1.5)
    assert found.decisions_changed == pytest.approx(float(decided.double().mean()))


def test_the_dose_response_of_a_linear_network_is_a_line():
    steering = Steering(exact_network(), exact_scm())
    found = dose_response(steering, INPUTS, "Z2", doses=(-2.0, 0.0, 2.0))
    low, middle, high = found.output[:, 0]
    spread = float(INPUTS[:, 1].std(correction=0))
    assert high - middle == pytest.approx(2 * spread, rel=1e-4)
    assert middle - low == pytest.approx(2 * spread, rel=1e-4)
    assert found.decisions_changed[1] == 0
    assert found.decisions_changed[2] > 0.1


def test_accuracy_after_decoding_is_that_of_the_factors():
    outcome = (INPUTS.sum(dim=1) > 1.5).numpy()
    exact = decoded_accuracy(Steering(exact_network(), exact_scm()), INPUTS, outcome)
    assert exact == (1.0, 1.0)
    broken = decoded_accuracy(Steering(broken_network(), exact_scm()), INPUTS, outcome, ["2"])
    assert broken.before < 0.9
    assert broken.after == 1.0
    assert np.isfinite(broken).all()
