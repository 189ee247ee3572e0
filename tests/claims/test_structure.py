"""Theorems are applied only where they hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.claims.models import SCM, System, certificate, linear_scm
from ucad.claims import Answer, certify
from ucad.claims.mechanism_class import kept_classes, simplest_classes
from ucad.scm import LinearMechanism
from ucad.simulate import paper_problem

NO_OUT_ANCHOR = linear_scm(Q=[[1, 0], [0, 1], [0, 0], [0, 0]], R=[[0, 0], [0, 0], [1, 1], [1, 0]])
COLLIDER = linear_scm(Q=[[1], [1], [0]], R=[[0], [0], [1]])


def small(scm, *, n_samples=1200, **options):
    targets = tuple((i,) for i in range(scm.graph.n_variables))
    return certificate(scm, System(scm=scm, targets=targets), n_samples=n_samples, **options)


def test_a_factor_without_an_out_anchor_is_named():
    found = small(NO_OUT_ANCHOR)
    assert found["anchors"].details["without_anchors"] == ["Z2"]
    assert found.may_claim("factors").answer is not Answer.YES
    known = {row["factor"]: row["known"] for row in found["scale"].details["factors"]}
    assert known["Z2"] == "not known"


def test_an_out_anchor_without_weight_gives_no_scale():
    weight = SCM.variable_mechanism.weight.clone()
    weight[4:6] *= 0.02  # X5 and X6, the children of Z1
    weak = replace(SCM, variable_mechanism=LinearMechanism(weight, SCM.variable_mechanism.bias))
    found = certificate(weak, System(scm=weak))
    rows = {row["factor"]: row for row in found["scale"].details["factors"]}
    assert rows["Z1"]["known"] == "not known"
    assert "no out-anchor carries weight" in rows["Z1"]["because"]
    assert not found.may_claim("values")


def test_an_anchor_with_a_null_weight_and_a_constant_factor_do_not_count():
    F_Z = SCM.factor_mechanism
    weight = F_Z.weight.clone()
    weight[0] = 0
    found = certificate(replace(SCM, factor_mechanism=LinearMechanism(weight, F_Z.bias)), System())
    assert found["anchors"].details["anchors_without_weight"] == ["Z1"]
    assert found["distinct"].details["constant"] == ["Z1"]
    assert found["scale"].details["factors"][0]["known"] == "not known"


def test_binary_parents_leave_the_scale_open():
    found = certificate(SCM, System(binary_roots=True))
    rows = {row["factor"]: row for row in found["scale"].details["factors"]}
    assert rows["Z1"]["known"] == "up to a one-to-one map"
    assert "no real-valued parents" in rows["Z1"]["because"]
    assert not found.may_claim("values")


def test_both_mechanisms_nonlinear_give_no_theorem():
    problem = paper_problem("g", "16-3", seed=1, n_samples=2000)
    claim = certify(problem.scm, problem.train, held_out=problem.validation)["scale"]
    assert claim.answer is not Answer.YES
    assert "no theorem" in claim.statement
    assert claim.details["metric"] == "MCC with RDC"


def test_one_parent_and_one_child_make_linearity_untestable():
    chain = linear_scm(Q=[[1], [0]], R=[[0], [1]])
    (row,) = small(chain)["scale"].details["factors"]
    assert row["known"] == "up to a one-to-one map"
    assert "cannot be tested" in row["because"]


def test_an_empty_factor_explains_nothing():
    idle = linear_scm(np.pad(SCM.graph.Q, ((0, 0), (0, 1))), np.pad(SCM.graph.R, ((0, 0), (0, 1))))
    found = certificate(idle, System())
    assert found["distinct"].details["explain_nothing"] == ["Z3"]
    assert not found.may_claim("factors")
    assert "fewer factors may be enough" in found["distinct"].text


def test_a_factor_split_in_two_is_not_the_only_explanation():
    scm = linear_scm(Q=[[1, 1], [0, 0], [0, 0]], R=[[0, 0], [1, 0], [0, 1]])
    found = small(scm)
    (other,) = found["unique"].details["other_factors"]
    assert other == {"made_from": ["X1"], "drives": ["X2", "X3"]}
    assert found.may_claim("factors").answer is Answer.NO
    assert [row["explained_by_other_factors"] for row in found["distinct"].details["factors"]] == [
        1.0,
        1.0,
    ]


def test_where_no_theorem_applies_the_boolean_rank_still_says_something():
    claim = small(NO_OUT_ANCHOR)["unique"]
    assert claim.answer is Answer.UNKNOWN
    assert claim.details["boolean_rank"] == {"at_least": 2, "at_most": 2}


@pytest.mark.parametrize(("targets", "chains"), [(((0,),), ["X2"]), (((1,),), [])])
def test_a_deterministic_chain_needs_its_mediator_acted_on(targets, chains):
    scm = linear_scm(  # X1 → Z1 → X2 → Z2 → X3 and X4 → Z2, X2 without noise
        Q=[[1, 0], [0, 1], [0, 0], [0, 1]], R=[[0, 0], [1, 0], [0, 1], [0, 0]], noise=0.0
    )
    claim = certificate(scm, System(scm=scm, targets=targets), n_samples=1200)["distinct"]
    assert claim.details["mediators_never_acted_on"] == chains


def test_the_share_of_an_in_anchor_is_its_part_of_a_linear_factors_variance():
    shares = small(COLLIDER)["anchors"].details["factors"][0]["in_anchors"]
    assert shares["X1"] == pytest.approx(0.5, abs=0.1)


def test_two_standard_errors_keep_the_smaller_class():
    rng = np.random.default_rng(0)
    base = rng.standard_normal(2000)
    scores = {
        (False, False): base - 0.2 + 0.1 * rng.standard_normal(2000),
        (True, False): base,
        (True, True): base + 0.1 * rng.standard_normal(2000) + 0.001,
    }
    kept = kept_classes(scores)
    assert (False, False) not in kept
    assert simplest_classes(kept) == [(True, False)]
