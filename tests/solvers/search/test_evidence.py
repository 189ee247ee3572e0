"""What interventions show, and where a test would have been wrong."""

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.graph import topological_levels, transitive_closure
from ucad.scm.families import AFFINE, NETWORK, SPLINE
from ucad.simulate import paper_problem
from ucad.simulate.worlds import screen_problem
from ucad.solvers.search.evidence import interventional_evidence
from ucad.solvers.search.regime_groups import Groups, Slopes


def slope_nats(cause, effect, free, family):
    """Nats by which functions of one variable predict others, each over its free samples."""
    groups = Groups.of([np.arange(len(cause))])
    slopes = Slopes(groups, groups, cause, family)
    return np.array([slopes.nats(e, f)[0] for e, f in zip(effect.T, free.T, strict=True)])


def true_ancestors(problem):
    return transitive_closure(np.asarray(problem.adjacency))


def screen(clamp, seed=0, **changes):
    small = {"n_factors": 2, "parents": 3, "children": 5, "n_control": 1000}
    return screen_problem(seed, clamp=clamp, **small | changes)


@pytest.mark.parametrize("shape", ["independent", "chain"])
@pytest.mark.parametrize("clamp", ["constant", "knockout", "random"])
def test_clamps_show_ancestors_and_no_false_ones(clamp, shape):
    problem = screen(clamp, shape=shape, value=-3.0, share_targeted=1.0)
    evidence = interventional_evidence(problem.train, AFFINE)
    true = true_ancestors(problem)
    assert not (evidence.ancestors & ~true).any()
    assert not evidence.still_listens.any()
    found = evidence.ancestors.sum() / true.sum()
    # A knock-out at the mean moves nothing; a draw from a normal law moves a third of -3.
    assert found > {"constant": 0.5, "random": 0.15, "knockout": -1.0}[clamp]


@pytest.mark.parametrize("clamp", ["knockdown", "shift"])
@pytest.mark.parametrize("seed", range(2))
def test_what_still_listens_is_seen_and_gives_no_false_ancestor(clamp, seed):
    problem = screen(clamp, seed, share_targeted=1.0)
    evidence = interventional_evidence(problem.train, AFFINE)
    true, children = true_ancestors(problem), problem.graph.R.any(axis=1)
    assert not (evidence.ancestors & ~true).any()
    assert evidence.ancestors.any()
    assert evidence.still_listens[children].any()
    assert not evidence.still_listens[~children].any()  # inputs have no causes to listen to


def test_a_slope_on_a_knock_down_would_have_been_wrong():
    """Siblings still share their factor's noise where one of them is knocked down."""
    problem = screen("knockdown", share_targeted=1.0)
    data, true = problem.train, true_ancestors(problem)
    false = 0
    for v in np.flatnonzero(problem.graph.R.any(axis=1)):
        rows = data.is_intervened[:, v]
        nats = slope_nats(data.x[rows, v], data.x[rows], ~data.is_intervened[rows], AFFINE)
        nats[v] = 0.0
        false += int(((nats > 10) & ~true[v]).sum())
    assert false > 10


def test_a_slope_on_a_constant_clamp_shows_nothing_and_the_contrast_does():
    problem = screen("constant")
    data = problem.train
    v = int(np.flatnonzero(problem.graph.Q[:, 0])[0])
    effects = true_ancestors(problem)[v]
    rows = data.is_intervened[:, v]
    slope = slope_nats(data.x[rows, v], data.x[rows], ~data.is_intervened[rows], AFFINE)
    assert (slope < 1e-3).all()
    assert (interventional_evidence(data, AFFINE).nats[v, effects] > 10).any()


@pytest.mark.parametrize(("setting", "family"), [("b", AFFINE), ("e", NETWORK), ("e", SPLINE)])
def test_no_variable_of_the_paper_is_called_an_ancestor_that_is_not(setting, family):
    problem = paper_problem(setting, "16-3", seed=0, n_samples=4000)
    evidence = interventional_evidence(problem.train, family)
    true = transitive_closure(np.asarray(problem.scm.graph.variable_adjacency))
    assert evidence.ancestors.any()
    assert not (evidence.ancestors & ~true).any()
    assert (transitive_closure(evidence.ancestors) == evidence.ancestors).all()
    assert topological_levels(evidence.ancestors) is not None
    assert (evidence.nats[evidence.never_acted_on] == 0).all()


def test_residuals_of_known_ancestors_show_weak_causes():
    rng = np.random.default_rng(0)
    strong, weak = rng.standard_normal((2, 4000))
    clamped = np.zeros((4000, 3), dtype=bool)
    clamped[:400, 0] = clamped[400:600, 1] = True
    x = np.column_stack([strong, weak, 3 * strong + 0.4 * weak])
    data = InterventionalData.from_arrays(x, clamped)
    rows = clamped[:, 1]
    once = slope_nats(x[rows, 1], x[rows], ~clamped[rows], AFFINE)
    assert once[2] < 10
    assert interventional_evidence(data, AFFINE).ancestors[1, 2]


def test_a_cause_without_linear_correlation_is_seen_by_functions_alone():
    rng = np.random.default_rng(0)
    cause = rng.standard_normal(3000)
    x = np.column_stack([cause, np.cos(2 * cause) + 0.3 * rng.standard_normal(3000)])
    clamped = np.zeros(x.shape, dtype=bool)
    clamped[:1000, 0] = True
    data = InterventionalData.from_arrays(x, clamped)
    assert interventional_evidence(data, NETWORK).ancestors[0, 1]
    assert not interventional_evidence(data, AFFINE).ancestors[0, 1]


def test_evidence_is_the_same_every_time():
    data = screen("constant").train
    one, other = (interventional_evidence(data, NETWORK).nats for _ in range(2))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("family", [AFFINE, NETWORK])
@pytest.mark.parametrize("jitter", [0.0, 0.5])
def test_a_bystander_set_to_other_values_beside_a_cause_is_no_ancestor(family, jitter):
    """x_0 → x_1; x_2 is set to 1 together with x_3, and to −2 together with x_0."""
    rng = np.random.default_rng(0)
    regime = np.repeat([0, 1, 2], [300, 150, 150])
    acted = np.zeros((600, 4), dtype=bool)
    acted[regime > 0, 2] = acted[regime == 1, 3] = acted[regime == 2, 0] = True
    x = rng.standard_normal((600, 4))
    x[:, 2] = np.select([regime == 1, regime == 2], [1.0, -2.0], 0.0) + jitter * x[:, 2]
    x[regime == 2, 0] = 3.0
    x[:, 1] += x[:, 0]
    data = InterventionalData.from_arrays(x, acted).standardised()
    evidence = interventional_evidence(data, family)
    assert not evidence.ancestors[2].any()


@pytest.mark.parametrize("family", [AFFINE, NETWORK])
def test_a_cause_set_at_random_shows_also_if_every_sample_has_other_targets_beside_it(family):
    rng = np.random.default_rng(0)
    acted = rng.random((600, 10)) < 0.3
    acted[:, 0], acted[:, 1], acted[:150] = True, False, False
    x = rng.standard_normal((600, 10))
    x[:, 1] += 0.7 * x[:, 0]
    data = InterventionalData.from_arrays(x, acted).standardised()
    assert interventional_evidence(data, family).ancestors[0, 1]
