"""Classes and blocks: right on functions that have them, none on those that have not."""

import numpy as np
import pytest
import torch
from torch import nn

from tests.networks.concept_networks import (
    ADDER_SITES,
    ExactAdder,
    Parity,
    adder_bits,
    carry,
    dense_bits,
    dense_or,
)
from ucad.networks import AllLabels, features_of
from ucad.networks.behaviour.blocks import find_blocks
from ucad.networks.behaviour.borders import rows_away_from_borders
from ucad.networks.behaviour.concepts import BlockConcept, state_concept
from ucad.networks.behaviour.equivalence import Resolution, find_classes
from ucad.networks.behaviour.recombining import why_not_recombined
from ucad.networks.subject import Subject


def test_errors_of_a_network_make_no_class_of_their_own():
    rng = np.random.default_rng(0)
    signatures = np.repeat([[0] * 40, [1] * 40], [60, 40], axis=0)
    signatures ^= rng.random(signatures.shape) < 0.03
    assert find_classes(signatures).n_classes == 2


def test_a_gap_between_distances_tells_classes_that_rarely_differ():
    rare = np.zeros((2, 200), dtype=int)
    rare[1, :8] = 1
    signatures = np.repeat(rare, [140, 10], axis=0)
    assert find_classes(signatures).n_classes == 1
    fine = find_classes(signatures, Resolution.FINE)
    assert fine.n_classes == 2
    assert fine.is_clear
    assert set(fine.telling(60)) == set(range(8))
    assert fine.seen_in(fine.telling(60)).labels(signatures[:, :8]).sum() == 10


def test_settings_that_are_like_no_other_are_not_covered():
    scattered = np.random.default_rng(0).integers(2, size=(60, 200))
    found = find_classes(np.concatenate([np.zeros((40, 200), dtype=int), scattered]))
    assert found.covered == pytest.approx(0.4)


def test_settings_at_a_threshold_are_typical_of_no_class():
    classes = find_classes(np.repeat([[0] * 40, [1] * 40], [60, 40], axis=0))
    undecided = np.repeat([[0, 1]], 20, axis=0).reshape(1, -1)
    assert classes.are_typical(np.zeros((1, 40), dtype=int)).tolist() == [True]
    assert classes.are_typical(undecided).tolist() == [False]


def test_a_small_class_between_two_others_lies_at_a_threshold():
    """It differs from one of them in 0.15 of the contexts: less than two steps of the cuts."""
    kinds = np.array([[0] * 40, [1] * 40, [0] * 34 + [1] * 6])
    found = find_classes(np.repeat(kinds, [60, 50, 10], axis=0))
    assert found.n_classes == 3
    apart = found.apart()
    assert apart.n_classes == 2
    assert apart.covered == pytest.approx(110 / 120)
    assert (apart.centres == kinds[:2]).all()


def test_three_values_that_differ_stay_three():
    kinds = np.array([[0] * 40, [1] * 40, [0, 1] * 20])
    found = find_classes(np.repeat(kinds, [60, 50, 10], axis=0))
    assert found.apart().shares == found.shares


def test_of_settings_that_act_gradually_little_is_left_apart():
    signatures = (np.arange(200) < np.linspace(0, 199, 150)[:, None]).astype(int)
    found = find_classes(signatures)
    assert found.covered > 0.9
    assert found.apart().covered < 0.8


def test_settings_that_act_gradually_have_no_gap():
    signatures = (np.arange(200) < np.linspace(0, 19, 150)[:, None]).astype(int)
    fine = find_classes(signatures, Resolution.FINE)
    assert (fine.n_classes, fine.is_clear) == (1, False)


def test_the_states_of_an_adder_are_its_carries():
    bits = adder_bits()
    subject = Subject.of(ExactAdder(), bits, ADDER_SITES, decide=AllLabels())
    for site in (0, 1):
        concept = state_concept(subject, site)
        assert concept.n_classes == 2
        labels = concept.values(subject, np.arange(100)).labels
        assert abs(np.corrcoef(labels, carry(bits[:100], site))[0, 1]) == 1.0


def test_the_blocks_of_a_function_are_its_concepts():
    x = dense_bits()
    subject = Subject.of(dense_or(), x, ["1", "3"])
    found = find_blocks(subject, features_of(x))
    assert [block.name for block in found.finest] == ["input[0] input[1]", "input[2] input[3]"]
    assert found.exhaustive
    xor = (x[:80, 2] > 0.5) ^ (x[:80, 3] > 0.5)
    labels = BlockConcept(found.finest[1]).values(subject, np.arange(80)).labels
    assert abs(np.corrcoef(labels, xor)[0, 1]) == 1.0


def test_of_parity_every_block_is_bound_and_none_is_singled_out():
    x = dense_bits()[:, :4].round()
    found = find_blocks(Subject.of(Parity(), x, ["sum", "wave"]), features_of(x))
    assert found.finest == ()
    assert len(found.overlapping) == 10
    assert "overlapping" in str(found)


class OfBits(nn.Module):
    """A function of bits as a network without errors, whose sites are the bits themselves."""

    def __init__(self, function):
        super().__init__()
        self.function, self.bits, self.same = function, nn.Identity(), nn.Identity()

    def forward(self, x):
        return self.function(*(self.same(self.bits(x)) > 0.5).T).float()[:, None] - 0.5


def blocks_of_bits(function, n_bits):
    x = np.random.default_rng(0).integers(2, size=(4000, n_bits)).astype(np.float32)
    return find_blocks(Subject.of(OfBits(function), x, ["bits", "same"]), features_of(x))


def test_blocks_that_leave_out_a_visible_input_are_refused():
    found = blocks_of_bits(lambda a, b, c, d, e, f: ~(a | ~b) & ((~e & ~(f & ~d)) | ~c), 6)
    assert len(found.relevant) == 6
    assert found.idle == ()
    assert found.strong[0].name == "input[3] input[5]"
    assert "input[0] input[1]" in {block.name for block in found.overlapping}  # one AND of three


def test_an_input_that_acts_too_rarely_to_be_seen_is_a_condition_of_the_claim():
    found = blocks_of_bits(
        lambda a, b, c, d, *rare: (a & b) | (c ^ d) ^ torch.stack(rare).all(0), 12
    )
    assert [block.name for block in found.finest] == ["input[0] input[1]", "input[2] input[3]"]
    assert found.idle
    assert {name for name, _ in found.idle} <= {f"input[{k}]" for k in range(4, 12)}
    assert f"{found.idle[0][0]} ({found.idle[0][1]:.3f})" in found.condition


def test_a_claim_about_all_inputs_has_no_exceptions():
    found = blocks_of_bits(lambda a, b, c, d: (a & b) | (c ^ d), 4)
    assert found.idle == ()
    assert "In no block" not in found.condition


class ModularSums(nn.Module):
    """(x₀ + x₁) mod 3 + (x₂ + x₃) mod 3 ≥ 2, of symbols 0, 1 and 2."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Identity(), nn.Identity()

    def forward(self, x):
        inner = self.inner(torch.stack([x[:, :2].sum(dim=1) % 3, x[:, 2:].sum(dim=1) % 3], dim=1))
        return self.outer(inner.sum(dim=1, keepdim=True) - 1.5)


def test_a_block_may_have_three_values():
    x = np.random.default_rng(0).integers(3, size=(500, 4)).astype(np.float32)
    found = find_blocks(Subject.of(ModularSums(), x, ["inner", "outer"]), features_of(x))
    blocks = {block.name: block.n_classes for block in found.strong}
    assert blocks["input[0] input[1]"] == 3
    assert blocks["input[2] input[3]"] == 3


class ManyPairs(nn.Module):
    """How many of four pairs of bits are both set, at least two?"""

    def __init__(self):
        super().__init__()
        self.pairs, self.out = nn.Identity(), nn.Identity()

    def forward(self, x):
        pairs = self.pairs(x[:, ::2] * x[:, 1::2])
        return self.out(pairs.sum(dim=1, keepdim=True) - 1.5)


def test_more_than_six_features_are_searched_greedily(monkeypatch):
    for name in ("N_SETTINGS", "N_CONTEXTS"):
        monkeypatch.setattr(f"ucad.networks.behaviour.blocks.{name}", 60)
    x = (np.random.default_rng(0).random((500, 8)) < 0.7).astype(np.float32)
    found = find_blocks(Subject.of(ManyPairs(), x, ["pairs", "out"]), features_of(x))
    assert not found.exhaustive
    assert {block.name for block in found.finest} == {
        f"input[{k}] input[{k + 1}]" for k in (0, 2, 4, 6)
    }


def test_inputs_that_depend_on_each_other_are_not_recombined():
    x = np.random.default_rng(0).normal(size=(400, 3))
    assert why_not_recombined(x, features_of(x)) is None
    x[:, 2] += x[:, 0]
    assert "input[0] and input[2]" in why_not_recombined(x, features_of(x))


class Soft(nn.Module):
    """(x₀ ∧ x₁) ∨ (x₂ ⊕ x₃) of the signs of continuous inputs, unsure where they are near 0."""

    def forward(self, x):
        a, b, c, d = torch.sigmoid(6 * x[:, :4]).T
        either, exclusive = a * b, c + d - 2 * c * d
        return (either + exclusive - either * exclusive - 0.5)[:, None]


def names(blocks):
    return {block.name for block in blocks}


def test_settings_near_a_border_make_no_class_of_their_own():
    x = np.random.default_rng(0).uniform(-1, 1, size=(2000, 5)).astype(np.float32)
    subject = Subject.of(WithSites(Soft()), x, ["hidden"])
    found = find_blocks(subject, features_of(x))
    assert names(found.finest) == {"input[0] input[1]", "input[2] input[3]"}
    assert {block.n_classes for block in found.finest} == {2}
    away = rows_away_from_borders(subject, found.relevant)
    assert 400 < len(away) < len(x)
    assert np.abs(x[away, :4]).min() > 0.01


class Formula(nn.Module):
    """A Boolean function of bits as a network without errors."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(*(x > 0.5).T)[:, None].double() - 0.5


FORMULAS = {
    "wide": (lambda a, b, c, d, e, f: (a & b & c & d) | (e ^ f), "0123 45"),
    "nested": (lambda a, b, c, d, e, f: ((((a ^ b) & c) | d) ^ e) & f, "01 012 0123 01234"),
    "shared": (lambda a, b, c, d, *_: ((a & b) ^ c) | (a & b & d), "01"),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_wide_nested_and_shared_concepts_are_found(name):
    function, wanted = FORMULAS[name]
    x = np.random.default_rng(0).integers(2, size=(2000, 6)).astype(np.float32)
    found = find_blocks(Subject.of(WithSites(Formula(function)), x, ["hidden"]), features_of(x))
    strong = {"".join(str(feature.places[0]) for feature in b.features) for b in found.strong}
    assert strong == set(wanted.split())


def test_a_setting_that_the_network_gets_wrong_hides_no_block():
    def wrong(a, b, c, d, e, *_):
        return ((a & b) ^ (c | (d & e))) ^ (a & b & ~c & d & ~e)

    x = np.random.default_rng(0).integers(2, size=(2000, 6)).astype(np.float32)
    found = find_blocks(Subject.of(WithSites(Formula(wrong)), x, ["hidden"]), features_of(x))
    assert "input[0] input[1]" in names(found.finest)


class WithSites(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.hidden, self.function = nn.Identity(), function

    def forward(self, x):
        return self.function(self.hidden(x))
