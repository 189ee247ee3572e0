"""A direction counts as settled only if the data of an intervention, or equivalence, settle it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.claims.models import SCM, System, certificate, linear_scm, refitted
from ucad import UCAD
from ucad.claims import Answer, SolverNotes, certify
from ucad.claims.directions import Rests, edge_evidence
from ucad.claims.samples import TestSamples
from ucad.scm import LinearMechanism
from ucad.simulate.worlds import world_problem

CHAIN = linear_scm(Q=[[1], [0]], R=[[0], [1]])  # X1 → Z1 → X2
COLLIDER = linear_scm(Q=[[1], [1], [0]], R=[[0], [0], [1]])


def directions(scm, system, **options):
    return certificate(scm, system, n_samples=2000, **options)["directions"]


def test_a_chain_that_was_never_acted_on_has_no_direction():
    claim = directions(CHAIN, System(scm=CHAIN, targets=()))
    assert claim.answer is Answer.NO
    assert claim.details["edges_not_oriented"] == [["X1", "X2"]]
    assert claim.details["factors_not_oriented"] == ["Z1"]


@pytest.mark.parametrize("action", ["random", "constant"])
def test_acting_on_the_cause_shows_the_effect(action):
    claim = directions(CHAIN, System(scm=CHAIN, targets=((0,),), action=action))
    assert claim.answer is Answer.YES
    assert claim.details["by_acting_on_the_cause"] == 1


@pytest.mark.parametrize("action", ["random", "constant"])
def test_acting_on_the_effect_excludes_the_other_direction(action):
    claim = directions(CHAIN, System(scm=CHAIN, targets=((1,),), action=action))
    assert claim.details["by_acting_on_the_effect"] == 1
    assert claim.details["contradicted"] == 0
    assert claim.answer is Answer.PARTLY  # the only edge leaves a variable never acted on


def test_holding_a_cause_at_its_mean_shows_in_the_spread():
    class AtItsMean(System):
        def draw(self, n_samples=6000, seed=0):
            data = super().draw(n_samples, seed)
            rng = np.random.default_rng(seed)
            x = data.x.copy()
            held = data.is_intervened[:, 0]
            x[held, 0] = 0.0
            x[held, 1] = 0.4 * rng.standard_normal(held.sum())
            return replace(data, x=x)

    claim = directions(CHAIN, AtItsMean(scm=CHAIN, targets=((0,),), action="constant"))
    assert claim.details["by_acting_on_the_cause"] == 1


def test_acting_always_on_both_ends_settles_nothing():
    assert directions(CHAIN, System(scm=CHAIN, targets=((0, 1),))).answer is Answer.NO


@pytest.mark.parametrize("action", ["random", "constant"])
def test_an_edge_that_only_correlates_is_contradicted_by_acting_on_its_cause(action):
    nothing = replace(
        CHAIN,
        variable_mechanism=LinearMechanism(torch.zeros(2, 1).double(), torch.zeros(2).double()),
    )
    system = System(
        scm=nothing, loading=np.array([1.0, 0.5]), targets=((0,),), action=action
    )  # a hidden cause of both
    found = certificate(refitted(CHAIN, system.draw(2000)), system, n_samples=4000)
    assert found["directions"].details["edges_contradicted"] == [["X1", "X2"]]
    assert found.may_claim("directions").answer is Answer.NO


def test_a_collider_is_oriented_by_observations_but_only_partly_claimed():
    claim = directions(COLLIDER, System(scm=COLLIDER, targets=()))
    assert claim.details["by_orientation_only"] == 2
    assert claim.answer is Answer.PARTLY


def test_interventions_that_show_nothing_leave_directions_to_dependences_and_say_so():
    """Both causes were acted on, but in too few samples for their effect to be seen."""
    data = System(scm=COLLIDER, targets=()).draw(4000)
    acted = np.zeros_like(data.is_intervened)
    acted[:6, 0] = acted[6:12, 1] = True
    regime = np.repeat([1, 2, 0], [6, 6, 3988])
    names = ("observational", "on X1", "on X2")
    seen = replace(data, is_intervened=acted, regime=regime, regime_names=names)
    parts = seen.split(0.75, 0.25, seed=0)
    found = certify(COLLIDER, parts.train, held_out=parts.validation)
    claim = found["directions"]
    assert claim.details["by_orientation_only"] == claim.details["n_edges"] == 2
    assert claim.details["edges_leaving_variables_never_acted_on"] == 0
    assert claim.answer is Answer.PARTLY
    assert "no intervention shows the direction of most edges" in claim.text.lower()
    assert not found.may_claim("directions")


def test_what_the_solver_calls_open_is_not_settled_by_orientation_but_by_interventions():
    notes = SolverNotes(open_directions=(("X1", "X3"),))
    left = directions(COLLIDER, System(scm=COLLIDER, targets=()), notes=notes)
    assert left.details["edges_not_oriented"] == [["X1", "X3"]]
    acted = directions(COLLIDER, System(scm=COLLIDER, targets=((0,), (1,))), notes=notes)
    assert acted.answer is Answer.YES


def test_known_layers_orient_every_edge_that_respects_them():
    claim = directions(CHAIN, System(scm=CHAIN, targets=(), layer_of=np.array([0, 1])))
    assert claim.details["by_layers"] == 1
    assert claim.answer is Answer.YES


def test_the_slope_of_every_true_edge_is_one():
    parts = System().draw().split(0.75, 0.25)
    samples = TestSamples.of(SCM, parts.train, parts.validation, 0)
    nobody = np.zeros_like(SCM.graph.variable_adjacency)
    found = edge_evidence(samples, by_layers=False, undecided=nobody)
    edges = SCM.graph.variable_adjacency
    assert (np.abs(found.slope - 1)[edges] < 4 * found.slope_error[edges]).all()
    assert (found.rests[edges] == Rests.CAUSE).all()


@pytest.mark.parametrize(("told", "settled"), [("shift", True), ("clamp", False)])
def test_a_target_known_to_be_shifted_may_follow_its_causes(told, settled):
    problem = world_problem("shift", 2, n_samples=4000)
    data, unseen = (part.with_kinds(told) for part in (problem.train, problem.test))
    claim = certify(problem.scm, data, held_out=unseen)["directions"]
    assert (claim.answer is Answer.YES) == settled
    assert bool(claim.details["contradicted"]) != settled


def test_where_some_regimes_proved_soft_the_others_contradict_no_exact_graph():
    problem = world_problem("shift", 0)
    linear = {"factor_mechanism": "linear", "variable_mechanism": "linear"}
    certificate = UCAD(n_factors=problem.asked_factors, **linear).fit(problem.train).certificate_
    assert certificate["clamps"].details["told_soft"]
    assert certificate["directions"].details["contradicted"] == 0
    claim = certificate.may_claim("graph")
    assert claim.answer is Answer.PARTLY, "the kinds were found, not told"
    assert any("of what kind the interventions are" in one for one in claim.conditions)
