"""Every flaw is really in the equations, and only where its words say."""

import numpy as np
import pytest
from scipy.special import expit

from tests.simulate.worlds.made_worlds import child_residuals, factor_fit, world
from ucad.graph import topological_levels
from ucad.simulate.random_models import GraphRecipe, random_factor_graph
from ucad.simulate.worlds import planted_problem
from ucad.simulate.worlds.experiment import Doing
from ucad.simulate.worlds.flaws import FLAWS, Draft
from ucad.simulate.worlds.linear import linear_model

RECIPE = GraphRecipe(n_variables=20, n_factors=3, edge_probability=0.3, min_parents=2)
N = 20_000


def plain(seed=0):
    rng = np.random.default_rng(seed)
    model = linear_model(random_factor_graph(RECIPE, rng), (0.5, 0.9), rng)
    return Draft(model.system(), model.graph, model.graph.variable_adjacency)


def flawed(name, strength=0.5, seed=0):
    """A sound draft and the same one with a flaw."""
    before = plain(seed)
    return before, FLAWS[name](before, strength, np.random.default_rng(seed + 100))


def noise(draft, n_samples=N):
    return draft.system.draw_noise(n_samples, np.random.default_rng(5))


def added_effects(before, after):
    """The matrix W with F_X of the flawed draft = F_X + x W."""
    u = noise(after, 40)
    rng = np.random.default_rng(6)
    x, z = rng.standard_normal((40, 20)), rng.standard_normal((40, 3))
    more = after.system.variables(x, z, u) - before.system.variables(x, z, u)
    W = np.linalg.lstsq(x, more, rcond=None)[0]
    np.testing.assert_allclose(x @ W, more, atol=1e-9)
    return np.where(np.abs(W) > 1e-9, W, 0.0)


@pytest.mark.parametrize(
    ("name", "n_edges", "is_acyclic"),
    [("direct-edges", 5, True), ("feedback", 1, False), ("mutual-children", 2, False)],
)
@pytest.mark.parametrize("seed", range(3))
def test_direct_effects_are_in_the_equations_and_in_the_graph_that_is_told(
    name, n_edges, is_acyclic, seed
):
    before, after = flawed(name, 0.4, seed)
    W = added_effects(before, after)
    assert (W != 0).sum() == n_edges
    np.testing.assert_allclose(np.abs(W[W != 0]), 0.4)
    np.testing.assert_array_equal(after.adjacency, before.adjacency | (W != 0))
    assert (topological_levels(after.adjacency) is not None) == is_acyclic
    assert not after.is_scm


def test_direct_edges_are_new_ones():
    before, after = flawed("direct-edges")
    assert not (before.adjacency & (added_effects(before, after) != 0)).any()


def test_feedback_goes_from_a_child_of_a_factor_to_a_parent_of_it():
    before, after = flawed("feedback")
    ((child, parent),) = np.argwhere(added_effects(before, after))
    assert (before.graph.R[child] & before.graph.Q[parent]).any()


def test_mutual_children_are_of_one_factor():
    before, after = flawed("mutual-children")
    (first, second), (third, fourth) = np.argwhere(added_effects(before, after))
    assert (first, second) == (fourth, third)
    assert (before.graph.R[first] & before.graph.R[second]).any()


def test_a_hidden_cause_is_in_the_noise_of_two_parents_and_two_children_of_one_factor():
    before, after = flawed("hidden-cause", 0.7)
    hidden = noise(after)[:, 20]
    u = noise(after)[:, :20]
    cov = (u * hidden[:, None]).mean(axis=0)
    hit = np.abs(cov) > 0.3
    np.testing.assert_allclose(cov[hit], 0.7, atol=0.05)
    np.testing.assert_allclose(cov[~hit], 0.0, atol=0.05)
    Q, R = before.graph.Q, before.graph.R
    assert any(
        (hit & (Q[:, k] | R[:, k])).sum() == hit.sum()
        and (hit & Q[:, k]).sum() == min(2, Q[:, k].sum())
        and (hit & R[:, k]).sum() == min(2, R[:, k].sum())
        for k in range(3)
    )


def test_roots_share_the_correlation_asked_for_and_keep_their_variance():
    before, after = flawed("correlated-roots", 0.6)
    u = noise(after)[:, :20]
    roots = before.graph.roots
    correlation = np.corrcoef(u.T)
    among = correlation[np.ix_(roots, roots)][np.triu_indices(len(roots), k=1)]
    np.testing.assert_allclose(among, 0.6, atol=0.03)
    np.testing.assert_allclose(u[:, roots].var(axis=0), 1.0, atol=0.05)
    others = np.setdiff1d(np.arange(20), roots)
    assert np.abs(correlation[np.ix_(others, np.arange(20))] - np.eye(20)[others]).max() < 0.04
    assert after.is_scm


def test_populations_differ_in_half_of_the_roots_by_twice_the_strength():
    before, after = flawed("two-populations", 1.5)
    u = noise(after)
    roots = before.graph.roots
    extra = u.var(axis=0) - noise(before).var(axis=0)
    hit = extra > 1.0
    np.testing.assert_allclose(extra[hit], 1.5**2, atol=0.15)
    assert hit.sum() == max(1, len(roots) // 2)
    assert set(np.flatnonzero(hit)) <= set(roots)
    correlation = np.corrcoef(u[:, hit].T) if hit.sum() > 1 else np.ones((1, 1))
    np.testing.assert_allclose(correlation[~np.eye(hit.sum(), dtype=bool)], 2.25 / 3.25, atol=0.03)


def test_a_known_context_moves_variables_as_its_batch_and_number_say():
    _, after = flawed("known-context", 0.8)
    found = after.system.sample(Doing.nothing(3000, 20), np.random.default_rng(0))
    batch, number = found.covariates["batch"], found.covariates["number"]
    assert set(batch) == {0.0, 1.0, 2.0}
    u = found.x - after.system.variables(found.x, found.z, np.zeros((3000, 22)))
    known = np.column_stack([batch[:, None] == np.arange(3), number])
    left = u - known @ np.linalg.lstsq(known, u, rcond=None)[0]
    assert (left.var(axis=0) < 0.97 * u.var(axis=0)).mean() > 0.7
    assert np.abs(np.corrcoef(left.T, number)[:20, 20]).max() < 1e-8


@pytest.mark.parametrize(("name", "n_hit"), [("noisy-factors", 3), ("confounded-factors", 2)])
def test_factors_are_their_sum_and_hidden_sources(name, n_hit):
    """Each of its own, or one in common."""
    before, after = flawed(name, 0.5)
    u = noise(after)
    x = np.random.default_rng(0).standard_normal((N, 20))
    more = after.system.factors(x, u) - before.system.factors(x, u)
    spread = more.std(axis=0)
    np.testing.assert_allclose(np.sort(spread)[-n_hit:], 0.5, atol=0.02)
    np.testing.assert_allclose(np.sort(spread)[:-n_hit], 0.0)
    hit = spread > 0.1
    among = np.corrcoef(more[:, hit].T)[np.triu_indices(n_hit, k=1)]
    np.testing.assert_allclose(among, 1.0 if n_hit == 2 else 0.0, atol=0.03)


def test_exogenous_factors_are_fed_by_no_variable():
    before, after = flawed("exogenous-factors", 1.0)
    u = noise(after)
    z = after.system.factors(np.full((N, 20), 1e6), u)
    np.testing.assert_allclose(np.cov(z.T), np.eye(3), atol=0.05)
    assert not after.graph.Q.any()
    assert not after.adjacency.any()
    np.testing.assert_array_equal(after.graph.R, before.graph.R)


def test_samples_are_kept_by_a_logistic_function_of_two_variables():
    _, after = flawed("selected", 2.0)
    x = np.random.default_rng(0).standard_normal((500, 20))
    odds = np.log(after.system.keeps(x) / (1 - after.system.keeps(x)))
    weight = np.linalg.lstsq(x, odds, rcond=None)[0]
    np.testing.assert_allclose(np.sort(weight)[-3:], [0.0, 2.0, 2.0], atol=1e-9)
    np.testing.assert_allclose(after.system.keeps(x), expit(x @ weight))


@pytest.mark.parametrize("name", FLAWS)
def test_a_flaw_is_said_and_the_sound_draft_is_left_alone(name):
    before, after = flawed(name)
    assert before.violates == ()
    assert before.is_scm
    assert after.violates
    np.testing.assert_array_equal(before.adjacency, plain().adjacency)


COUNTED = {"emission": "sparse-counts", "zeros": 0.5, "n_samples": 420, "action": "count"}


@pytest.mark.parametrize("name", [n for n in FLAWS if n not in ("feedback", "mutual-children")])
def test_counts_stay_whole_at_the_depth_of_their_sample_whatever_the_flaw(name):
    """The depth is a column of the noise, as hidden sources are: neither is taken for the other.

    With feedback the equations of counts, which jump, need not have a solution.
    """
    problem = planted_problem(0, flaw=name, strength=0.5, **COUNTED)
    depth = np.exp(problem.covariates["train"]["log_depth"])[:, None]
    assert depth.std() > 0.2
    counts = np.expm1(problem.train.unstandardised().x) * depth
    whole = np.isclose(counts, np.rint(counts), atol=1e-6)
    assert whole.all() != (name == "direct-edges")


def test_children_that_act_on_each_other_make_a_cycle():
    A = world("mutual-children").adjacency
    assert (A & A.T).sum() == 2
    assert not (world("planted").adjacency & world("planted").adjacency.T).any()


def residual_correlation(problem):
    """The largest correlation of what their true factors leave of two variables."""
    correlation = np.corrcoef(child_residuals(problem).T)
    return np.abs(correlation - np.eye(len(correlation))).max()


@pytest.mark.parametrize("name", ["hidden-cause", "direct-edges", "correlated-roots"])
def test_factors_do_not_explain_all_that_variables_share(name):
    assert residual_correlation(world(name)) > 0.3
    assert residual_correlation(world("planted")) < 0.1


def test_roots_correlate_where_they_should():
    def correlation(problem):
        roots = problem.test.x[:, problem.graph.roots]
        return np.abs(np.corrcoef(roots.T)[np.triu_indices(roots.shape[1], k=1)])

    assert correlation(world("correlated-roots")).min() > 0.4
    assert correlation(world("two-populations")).max() > 0.5
    assert correlation(world("planted")).max() < 0.1


def test_noisy_and_exogenous_factors_are_no_functions_of_the_variables():
    assert factor_fit(world("noisy-factors")).max() < 0.95
    exogenous = world("exogenous-factors")
    assert not exogenous.graph.Q.any()
    assert factor_fit(world("planted")).min() > 1 - 1e-9


def test_a_hidden_cause_moves_two_factors_together():
    confounded = world("confounded-factors")
    assert (factor_fit(confounded) < 0.99).sum() == 2


def test_samples_with_low_values_of_two_variables_are_seldom_kept():
    def moved(problem):
        return np.sort(np.abs(problem.test.unstandardised().x.mean(axis=0)))

    assert moved(world("selected"))[-2] > 0.3
    assert moved(world("planted"))[-1] < 0.15
