"""The studies of networks, in a shortened form."""

import numpy as np
import pytest

from experiments.networks.div6_page import target_lines
from experiments.networks.divisibility import concepts, one_hot
from experiments.networks.judging import pairs_of
from experiments.networks.planted_networks import carry_adder, modular_sums, xor_tree
from experiments.planted import study, table


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


def test_the_page_does_not_call_a_group_of_factors_a_found_concept():
    steered = {"score": 0.98, "rotated_mean": 0.9, "rotated_most": 0.99, "untrained_mean": 0.5}
    steered |= {"everything": 0.99, "best_single": 0.7}
    parity = {**steered, "rotated_most": 0.8}
    gap = {"r_parity": 0.99, "decoded_even": 0.995, "parity": parity, "mod 3": steered}
    lines = list(target_lines([{"gaps": [gap, gap]}]))
    (one_factor,) = [line for line in lines if line.startswith("- gap 1, mod 3 by one factor")]
    assert "missed" in one_factor
    (seven,) = [line for line in lines if line.startswith("- gap 1, mod 3 by the seven")]
    assert "reached" not in seven
    assert "mean 0.900" in seven
    assert "0 of 1 networks above" in seven
    (parity_line,) = [line for line in lines if line.startswith("- gap 1, parity by one factor")]
    assert "reached; 1 of 1 networks above" in parity_line
