from dataclasses import replace

import pytest

from ucad.claims.clamps import clamps, listening_regimes
from ucad.claims.samples import TestSamples
from ucad.data.kinds import RegimeKind
from ucad.metrics import mean_correlation
from ucad.simulate.worlds import world_problem
from ucad.solvers.registry import SolveSettings, solve

LINEAR = {"factor_mechanism": "linear", "variable_mechanism": "linear"}


def found(problem):
    asked = SolveSettings(n_factors=problem.n_factors, **LINEAR)
    return solve(problem.train, asked, validation=problem.validation)


def followed(scm, problem):
    return mean_correlation(scm.state_map(problem.test.x).numpy(), problem.factors).mean


@pytest.mark.parametrize("world", ["shift", "knockdown"])
@pytest.mark.parametrize("kind", ["soft", "auto"])
def test_targets_that_still_listen_mislead_nobody_told_or_not(world, kind):
    problem = world_problem(world, 2, n_samples=4000)
    result = found(replace(problem, train=problem.train.with_kinds(kind)))
    assert followed(result.scm, problem) > 0.99
    assert any("may not have clamped" in note for note in result.status.notes)
    assert RegimeKind.SOFT in result.kinds
    assert bool(result.status.soft_regimes) == (kind == "auto")


def test_the_same_taken_for_clamps_is_wrong():
    problem = world_problem("knockdown", 0)
    result = found(replace(problem, train=problem.train.with_kinds("clamp")))
    assert followed(result.scm, problem) < 0.95


def test_clamps_are_not_taken_for_anything_else():
    problem = world_problem("planted", 1, n_samples=3000, n_variables=12, n_factors=2)
    result = found(problem)
    assert followed(result.scm, problem) > 0.99
    assert result.kinds == ()
    assert not any("may not have clamped" in note for note in result.status.notes)


def test_every_regime_is_tested_and_those_told_soft_are_not_held_against_the_model():
    problem = world_problem("shift", 2, n_samples=4000)
    samples = TestSamples.of(problem.scm, problem.train, None, 0)
    soft = listening_regimes(samples)
    assert soft
    claim = clamps(samples)
    assert claim.answer == "no"
    assert {row["regime"] for row in claim.details["regimes"]} >= soft
    assert clamps(samples, samples.regime_names).answer == "not known"
