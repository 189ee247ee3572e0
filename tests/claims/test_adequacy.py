"""What is left is found, at the level at which it is left; under a true model nothing is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tests.claims.models import (
    SMALL,
    System,
    direct_edge,
    linear_scm,
    observed,
    refitted,
    samples_of,
)
from ucad.claims.adequacy import Adequacy, LeftOver, Level, leftover, studentised
from ucad.claims.samples import TestSamples

N = 4000


def system(**changes):
    return System(**{"scm": SMALL, "targets": ((0,), (1,), (2,), (3,), (4,)), **changes})


DIRECT = system(direct=direct_edge(4, 3, strength=0.8, n_variables=5))


def findings(scm, truth, n_samples=N):
    return Adequacy(samples_of(scm, truth, n_samples=n_samples))


def test_studentised_is_its_formula():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 30))
    wanted = sum(p * q for p, q in zip(a, b, strict=True)) / np.sqrt(
        sum((p * q) ** 2 for p, q in zip(a, b, strict=True))
    )
    assert studentised(a, b) == pytest.approx(wanted)
    assert studentised(a, 0 * b) == 0.0


def test_leftover_is_its_formula():
    rng = np.random.default_rng(1)
    e, h = rng.standard_normal((2, 50)) + 3
    T, P, share = leftover(e, h, 7)
    e, h = e - e.mean(), h - h.mean()
    assert pytest.approx((e * h).sum() / np.sqrt((e**2 * h**2).sum())) == T
    assert pytest.approx(7 * stats.norm.sf(T)) == P
    assert share == pytest.approx(e.var() - (e - h).var())


@pytest.mark.parametrize(
    "noise",
    [
        lambda rng, h: rng.standard_normal(h.shape),
        lambda rng, h: rng.standard_t(3, h.shape),
        lambda rng, h: rng.exponential(size=h.shape) - 1,
        lambda rng, h: np.abs(h) * rng.standard_normal(h.shape),
        lambda rng, h: (rng.random(h.shape) < 0.3) - 0.3,
    ],
    ids=["normal", "heavy tails", "skewed", "unequal spread", "binary"],
)
def test_without_anything_left_t_exceeds_a_quantile_as_often_as_it_should(noise):
    rng = np.random.default_rng(2)
    h = rng.standard_normal((2000, 300))
    e = noise(rng, h)
    T = np.array([leftover(e[t], h[t], 1).T for t in range(2000)])
    for level in (0.1, 0.01):
        expected = 2000 * level
        assert (stats.norm.sf(T) < level).sum() < expected + 4 * np.sqrt(expected)
    assert T.std() == pytest.approx(1, abs=0.08)


@pytest.mark.parametrize(
    ("P", "share", "is_found"),
    [(1e-4, 0.02, True), (1e-2, 0.02, False), (1e-4, 0.005, False), (1e-2, 0.005, False)],
)
def test_a_finding_takes_both_conditions(P, share, is_found):
    assert LeftOver(4.0, P, share).is_found is is_found


@pytest.mark.parametrize("action", ["random", "constant"])
def test_of_a_true_model_nothing_is_left(action):
    assert findings(SMALL, system(action=action)).findings == ()


def test_a_wrong_shape_is_found_at_level_0_only():
    curved = system(shape=lambda made: np.tanh(2 * made) + 0.3 * made**2)
    adequacy = findings(refitted(SMALL, curved.draw(N)), curved)
    assert {finding.variable for finding in adequacy.at(Level.SHAPE)} == {"X3", "X4"}
    assert adequacy.at(Level.GRAPH) == ()


@pytest.fixture(scope="module")
def direct():
    return findings(SMALL, DIRECT)


def test_a_direct_edge_is_found_at_every_level_and_its_cause_is_named(direct):
    for level in Level:
        (finding,) = [one for one in direct.at(level) if one.variable == "X4"]
        assert finding.sources[0][0] == ("value", "X5")
        assert finding.leftover.share > 0.05


def test_the_cause_is_found_too_since_its_effect_predicts_it(direct):
    found = direct.at(Level.GRAPH)
    shares = [one.leftover.share for one in found]
    assert {one.variable for one in found} == {"X4", "X5"}
    assert shares == sorted(shares, reverse=True)


def test_the_parts_of_the_sources_sum_to_one(direct):
    for finding in direct.findings:
        assert sum(part for _, part in finding.sources) == pytest.approx(1)


def test_what_the_low_level_parents_explain_is_no_finding_at_level_2():
    """A product of the two parents of Z1 reaches X4 beside the factor."""
    data = system().draw(N)
    x, free = data.x.copy(), ~data.is_intervened[:, 3]
    x[free, 3] += 0.5 * x[free, 0] * x[free, 1]
    parts = replace(data, x=x).split(0.75, 0.25)
    adequacy = Adequacy(TestSamples.of(SMALL, parts.train, parts.validation, 0))
    assert [finding.variable for finding in adequacy.at(Level.GRAPH)] == ["X4"]
    assert adequacy.at(Level.PARENTS) == ()


@pytest.mark.parametrize("n_samples", [300, 1100])
def test_folds_take_turns_with_few_samples(n_samples):
    for truth, is_found in ((DIRECT, True), (system(), False)):
        adequacy = findings(SMALL, truth, n_samples=n_samples)
        learners = adequacy.learners(3)
        assert len(learners) == len(adequacy.samples.folds) > 1
        assert adequacy.test(3, Level.GRAPH, learners)[0].is_found is is_found


def test_rounding_is_not_something_left():
    exact = linear_scm(SMALL.graph.Q, SMALL.graph.R, noise=0.0)
    adequacy = findings(exact, system(scm=exact), n_samples=600)
    assert adequacy.learners(3) == []
    assert adequacy.test(3, Level.GRAPH, []) == (LeftOver(0.0, 1.0, 0.0), ())


def test_a_variable_that_is_hardly_ever_free_is_not_tested():
    adequacy = findings(SMALL, system(targets=15 * ((3,),)), n_samples=300)
    assert not adequacy.has_rows(3)
    assert adequacy.learners(3) == []
    assert adequacy.has_rows(2)


def test_a_level_uses_its_own_columns_only():
    learner = findings(SMALL, system(), n_samples=500).learners(3)[0]
    assert learner.n_used(Level.SHAPE) == len(learner.columns.sources)
    assert learner.n_used(Level.GRAPH) == learner.columns.n_parents_end
    assert learner.n_used(Level.PARENTS) == learner.columns.n_outside


def test_of_a_large_model_the_most_predictable_variables_are_tested():
    n = 140
    Q, R = np.zeros((n, 1)), np.zeros((n, 1))
    Q[0], R[1] = 1, 1
    x = np.random.default_rng(0).standard_normal((500, n))
    x[:, 1] += 0.64 * x[:, 0] + x[:, 2]
    tested = Adequacy(observed(linear_scm(Q, R), x)).tested
    assert len(tested) == 64
    assert {1, 2} <= set(tested)
    assert tested == sorted(tested)
