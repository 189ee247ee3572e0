"""`fit_network`: factors by behaviour where there are concepts, else a bottleneck."""

import numpy as np
import pytest

from tests.networks.concept_networks import (
    ADDER_SITES,
    ExactAdder,
    Parity,
    adder_bits,
    carry,
    dense_bits,
    dense_or,
)
from ucad.errors import InvalidInputError
from ucad.networks import AllLabels, NetworkSettings, fit_network
from ucad.scm.storage import load_scm, save_scm


@pytest.fixture(scope="module")
def adder():
    return fit_network(ExactAdder(), adder_bits(), ADDER_SITES, NetworkSettings(decide=AllLabels()))


def test_an_adder_has_one_factor_per_step_and_steers(adder, tmp_path):
    assert adder.solver == "behaviour"
    assert adder.scm.graph.n_factors == 2
    save_scm(adder.scm, tmp_path)
    bits = adder_bits(seed=1)
    base, source = bits[:200], bits[200:]
    steering = adder.steering(ExactAdder())
    kept = type(steering)(ExactAdder(), load_scm(tmp_path), replaces=True)
    for one in (steering, kept):
        after = one.interchange(base, source, "Z1").after.output > 0
        total = base[:, 1].sum(axis=1) + carry(source, 0)
        expected = np.stack([base[:, 0].sum(axis=1) % 2, total % 2], axis=1) == 1
        assert (after[:, :2].numpy() == expected).all()


def test_the_simplest_decoder_is_reported_with_its_certificate(adder):
    assert [gap.decoder for gap in adder.gaps] == ["table", "table"]
    assert all(line.agreement == 1.0 for gap in adder.gaps for line in gap.factors)
    assert all(gap.kept == 1.0 for gap in adder.gaps)
    assert "state of cell#0 (2 values" in str(adder)


def test_a_dense_network_has_both_concepts():
    x = dense_bits()
    found = fit_network(dense_or(), x, ["1", "3"])
    assert [line.concept for line in found.gaps[0].factors] == [
        "input[0] input[1]",
        "input[2] input[3]",
    ]
    assert min(line.agreement for line in found.gaps[0].factors) > 0.98
    steering = found.steering(dense_or())
    after = steering.interchange(x[:300], x[300:], "Z2").after.output[:, 0] > 0
    bits = x > 0.5
    wanted = (bits[:300, 0] & bits[:300, 1]) | (bits[300:, 2] ^ bits[300:, 3])
    assert (after.numpy() == wanted).mean() > 0.98


def test_without_concepts_behaviour_says_none():
    x = dense_bits(300)[:, :4].round()
    settings = NetworkSettings(solver="behaviour")
    with pytest.raises(InvalidInputError, match="finds no concepts"):
        fit_network(Parity(), x, ["sum", "wave"], settings)


def test_without_concepts_a_bottleneck_is_fitted_and_says_so(monkeypatch):
    for name, few in (("MIN_STEPS", 10), ("N_STARTS", 2), ("MAX_FACTORS", 2)):
        monkeypatch.setattr(f"ucad.networks.narrow.{name}", few)
    x = dense_bits(300)[:, :4].round()
    found = fit_network(Parity(), x, ["sum", "wave"])
    assert found.solver == "bottleneck"
    assert "a bottleneck's" in found.status.notes[0]


def test_one_site_is_refused():
    with pytest.raises(InvalidInputError, match="at least two"):
        fit_network(dense_or(), dense_bits(50), ["1"])
