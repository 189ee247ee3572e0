"""The studies of networks, in a shortened form."""

import numpy as np
import pytest
import torch

from experiments.networks.div6_page import target_lines
from experiments.networks.divisibility import concepts, dense_network, one_hot, readout
from experiments.networks.judging import pairs_of
from experiments.networks.planted_networks import carry_adder, modular_sums, xor_tree
from experiments.planted import balanced_pairs, study, table
from ucad.networks import Site


@pytest.mark.parametrize("build", [carry_adder, modular_sums, xor_tree])
def test_planted_factors_are_found_and_steer_the_network(build):
    row = study(build(7), "rectified", 7, n_inputs=1500, per_clamp=100)
    assert row["worst"] >= 0.95
    for steered in row["steered"]:
        assert steered["score"] >= 0.9
        assert all(level[0] < 0.75 for level in steered["placebos"].values())
    assert len(list(table([{"network": "planted", **row}]))) == 3


@pytest.mark.parametrize("build", [carry_adder, modular_sums, xor_tree])
def test_hand_wired_networks_compute_what_they_say(build):
    network = build(3)
    inputs = network.draw(500, np.random.default_rng(0))
    numbers = inputs.numpy()
    decided = network.decide(network.model(inputs)).numpy()
    for expected in network.expected.values():
        assert (decided == expected(numbers, numbers)).all()


def test_one_hot_digits_and_concepts_follow_the_number():
    encoded = one_hot(np.array([120]))
    assert encoded.reshape(6, 10).argmax(dim=1).tolist() == [0, 2, 1, 0, 0, 0]
    labels = concepts(np.array([120]))
    assert (labels["divisible by 6"][0], labels["digit sum"][0]) == (1.0, 3.0)
    assert labels["divisible by 7"][0] == 0.0


def test_swaps_of_parity_change_half_of_the_answers_of_multiples_of_six():
    numbers = np.arange(6000)
    pairs = pairs_of(numbers)
    for name, divisor in (("parity", 2), ("mod 3", 3)):
        base, source = numbers[pairs[name].base], numbers[pairs[name].source]
        assert (base % 6 == 0).all()
        assert pairs[name].changes.mean() == 0.5
        assert (pairs[name].changes == (source % divisor != 0)).all()
    assert (numbers[pairs["mod 3"].source] % 2 == 0).all()


def judged(score, placebo_most):
    kinds = ("rotated", "subspace", "untrained")
    levels = {f"{kind}_{what}": 0.6 for kind in kinds for what in ("mean", "most")}
    return {"score": score, **levels, "placebo_most": placebo_most, "best_single": 0.7}


def test_the_page_says_what_was_missed_and_counts_networks_below_their_placebos():
    good, bad = judged(0.98, 0.97), judged(0.80, 0.85)
    gap = {"r_parity": 0.99, "decoded_even": 0.98, "parity": good, "mod 3": bad}
    lines = list(target_lines([{"gaps": [gap, gap]}, {"gaps": [gap, gap | {"mod 3": good}]}]))

    def line(start):
        (found,) = [line for line in lines if line.startswith(start)]
        return found

    assert "wanted 0.97: reached" in line("- gap 1, |r|")
    assert "missed" in line("- gap 1, accuracy on even inputs after decoding")
    assert "wanted 0.95: reached; 2 of 2 networks above" in line("- gap 1, parity")
    assert "missed**; 0 of 2 networks above" in line("- gap 1, mod 3 by the two others")
    assert "mean 0.890" in line("- gap 2, mod 3 by the two others")
    assert "1 of 2 networks above" in line("- gap 2, mod 3 by the two others")


def test_a_readout_gives_the_networks_own_logit_before_and_after_the_relu():
    model, inputs = dense_network(), one_hot(np.arange(50))
    with torch.no_grad():
        model[2].weight[3], model[2].bias[3] = 0.0, -1.0  # a dead unit
        before = model[:3](inputs)
        live = tuple(unit for unit in range(32) if unit != 3)
        for units in (before, torch.relu(before)):
            found = readout(model, Site("3", units=live))(units[:, list(live)])
            assert torch.allclose(found, model(inputs), atol=1e-5)


def test_whoever_always_gives_one_answer_has_half_of_the_balanced_pairs():
    rng = np.random.default_rng(0)
    is_even, is_large = rng.random(4000) < 0.5, rng.random(4000) < 0.3
    pairs = balanced_pairs(
        (is_even & is_large).astype(int), lambda base, source: is_even[source] & is_large[base]
    )
    for changes in (True, False):
        assert pairs.expected[pairs.changes == changes].mean() == 0.5
    assert len(pairs) > 500


def test_if_only_one_answer_ever_changes_only_it_is_steered():
    outcome = np.arange(100) % 2
    pairs = balanced_pairs(outcome, lambda base, source: outcome[base] & (source > 50))
    assert outcome[pairs.base].all()
    assert pairs.changes.mean() == 0.5
