"""Classes are kept and chosen as by enumeration, and scale is claimed only where it was tested."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations, product

import numpy as np
import pytest
import torch

from tests.claims.models import SCM, Formula, System, linear_scm, samples_of
from ucad.claims.answers import Answer
from ucad.claims.mechanism_class import kept_classes, simplest_classes, values
from ucad.claims.weights import Weights

CLASSES = list(product((False, True), repeat=2))
ONE_TO_ONE = "up to a one-to-one map"


def test_the_simplest_classes_contain_no_other_kept_one():
    subsets = chain.from_iterable(combinations(CLASSES, size) for size in range(5))
    for kept in map(set, subsets):
        smallest = {
            one
            for one in kept
            if all(other == one or (set_of(other) - set_of(one)) for other in kept)
        }
        assert set(simplest_classes(kept)) == smallest


def set_of(one):
    """A class as the set of its nonlinear sides: smaller sets are simpler classes."""
    return {side for side, is_nonlinear in zip("ZX", one, strict=True) if is_nonlinear}


@pytest.mark.parametrize("seed", range(20))
def test_classes_are_kept_within_two_standard_errors_of_the_best(seed):
    rng = np.random.default_rng(seed)
    base = rng.standard_normal(50)
    scores = {one: base + 0.3 * rng.standard_normal(50) + 0.1 * sum(one) for one in CLASSES}
    best = max(CLASSES, key=lambda one: scores[one].mean())
    wanted = []
    for one in CLASSES:
        d = scores[best] - scores[one]
        if d.mean() <= 2 * np.sqrt(((d - d.mean()) ** 2).mean() / 50):
            wanted.append(one)
    assert kept_classes(scores) == wanted


def test_pairing_tells_classes_apart_that_the_spread_of_samples_would_hide():
    base = 100 * np.random.default_rng(0).standard_normal(100)
    scores = {(False, False): base - 0.1 + 0.1 * (np.arange(100) % 2), (True, True): base}
    assert kept_classes(scores) == [(True, True)]


def test_equal_classes_are_all_kept():
    base = np.random.default_rng(0).standard_normal(100)
    assert kept_classes(dict.fromkeys(CLASSES, base)) == CLASSES


def row(samples, k=0, shape=(), left=()):
    return values(Weights(samples), shape, left).details["factors"][k]


def test_a_linear_model_with_anchors_is_known_up_to_scale():
    claim = values(Weights(samples_of(SCM, System(), n_samples=1000)), (), ())
    assert claim.answer is Answer.YES
    assert {one["known"] for one in claim.details["factors"]} == {"up to scale and shift"}
    assert claim.details["metric"] == "MCC with Pearson correlation"
    assert "provided that the truth is linear" in claim.text
    assert "Linear parent" in claim.statement
    assert "Linear child" in claim.statement


def test_something_left_of_a_child_leaves_its_factor_alone_unknown():
    samples = samples_of(SCM, System(), n_samples=1000)
    claim = values(Weights(samples), (), ("X5",))
    assert [one["known"] for one in claim.details["factors"]] == [
        "not known",
        "up to scale and shift",
    ]
    assert claim.answer is Answer.PARTLY


def curved(*, F_Z=None, F_X=None):
    """The two-factor system with formulas on one side, or on both."""
    factor = SCM.factor_mechanism if F_Z is None else Formula(F_Z, SCM.graph.Q.T)
    made = SCM.variable_mechanism
    if F_X is not None:
        made = Formula(4 * (lambda z: 0 * z[:, 0],) + F_X, SCM.graph.R)
    scm = replace(SCM, factor_mechanism=factor, variable_mechanism=made)
    return samples_of(scm, System(scm=scm), n_samples=1500)


PRODUCTS = (lambda x: x[:, 0] * x[:, 1], lambda x: x[:, 2] * x[:, 3] + x[:, 4])
ONE_DIRECTION = (
    lambda x: torch.tanh(x[:, 0] + x[:, 1]),
    lambda x: torch.tanh(x[:, 2] + x[:, 3] + x[:, 4]),
)
ONE_CURVE = tuple(lambda z, k=k: torch.tanh(2 * z[:, k]) for k in (0, 0, 1, 1))
TWO_CURVES = (
    lambda z: torch.tanh(2 * z[:, 0]),
    lambda z: z[:, 0] ** 2,
    lambda z: torch.tanh(2 * z[:, 1]),
    lambda z: z[:, 1] ** 2,
)


@pytest.mark.parametrize(
    ("sides", "known"),
    [
        ({"F_Z": PRODUCTS}, "up to scale and shift"),
        ({"F_Z": ONE_DIRECTION}, ONE_TO_ONE),
        ({"F_X": TWO_CURVES}, "up to scale and shift"),
        ({"F_X": ONE_CURVE}, ONE_TO_ONE),
        ({"F_Z": PRODUCTS, "F_X": TWO_CURVES}, ONE_TO_ONE),
    ],
    ids=["products", "one direction", "two curves", "one curve", "both nonlinear"],
)
def test_scale_is_known_only_where_the_linear_side_could_not_be_the_other(sides, known):
    assert row(curved(**sides))["known"] == known


def test_a_curve_on_either_side_is_named_as_the_reason():
    assert "either side" in row(curved(F_Z=ONE_DIRECTION))["because"]
    assert "neither side" in row(curved(F_Z=PRODUCTS, F_X=TWO_CURVES))["because"]


def test_a_wrong_shape_of_the_children_takes_the_scale_that_rests_on_them():
    samples = curved(F_Z=PRODUCTS)
    found = row(samples, shape=("X6",))
    assert found["known"] == ONE_TO_ONE
    assert "not of the shape" in found["because"]
    assert row(samples, shape=("X7",))["known"] == "up to scale and shift"


def test_a_wrong_shape_takes_the_scale_of_a_linear_factor_too():
    """Children that are curves of a·x may be linear in a factor that is a curve of a·x."""
    samples = samples_of(SCM, System(), n_samples=1000)
    assert row(samples, shape=("X6",))["known"] == ONE_TO_ONE
    assert row(samples, k=1, shape=("X6",))["known"] == "up to scale and shift"


def test_without_factors_nothing_is_known():
    none = linear_scm(np.zeros((3, 0)), np.zeros((3, 0)))
    claim = values(Weights(samples_of(none, System(scm=none, targets=()), n_samples=200)), (), ())
    assert claim.answer is Answer.NO
    assert claim.text == "There are no factors."
