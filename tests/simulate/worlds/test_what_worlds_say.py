"""Each world has what its sentence says; the plain world, or another, has not."""

import numpy as np
import pytest
from scipy.stats import kurtosis, skew

from ucad.simulate.worlds import WORLDS, Planted, world_problem
from ucad.simulate.worlds.measurements import MEASUREMENTS

SEED = 21


def world(name, **settings):
    return world_problem(name, SEED, **settings)


def free_rows(problem):
    """Training samples in which nothing is acted on, in the units of the world."""
    data = problem.train.unstandardised()
    return data.x[data.regime == 0]


def context(problem):
    """The noise of every variable in the test samples, by the true model, at variance 1."""
    u = problem.scm.abduct(problem.test.x).numpy()
    return u / u.std(axis=0)


def r_squared(y, inputs):
    A = np.column_stack([inputs, np.ones(len(inputs))])
    return 1 - (y - A @ np.linalg.lstsq(A, y, rcond=None)[0]).var() / y.var()


def child_residuals(problem):
    """What its own true factors leave of every variable in the test samples, linearly."""
    left = problem.test.x.copy()
    for j, parents in enumerate(problem.graph.R):
        A = np.column_stack([problem.factors[:, parents], np.ones(len(left))])
        left[:, j] -= A @ np.linalg.lstsq(A, left[:, j], rcond=None)[0]
    return left


def factor_fit(problem):
    """R² of the true factors on their parents, linearly, one per factor."""
    Q = problem.graph.Q
    return np.array(
        [r_squared(z, problem.test.x[:, Q[:, k]]) for k, z in enumerate(problem.factors.T)]
    )


@pytest.mark.parametrize(
    ("name", "is_so"),
    [
        ("laplace", lambda u: kurtosis(u).mean() > 2),
        ("student-t", lambda u: kurtosis(u).max() > 10),
        ("skewed", lambda u: skew(u).mean() > 1.5),
        ("uniform", lambda u: np.abs(u).max() < 1.9),
        ("uneven-noise", lambda u: kurtosis(u).max() > 2),
    ],
)
def test_noise_is_of_its_family_and_that_of_the_plain_world_is_not(name, is_so):
    assert is_so(context(world(name)))
    assert not is_so(context(world("planted")))
    np.testing.assert_allclose(context(world("planted")).std(axis=0), 1.0)


def test_samples_of_a_time_series_resemble_the_one_before():
    def memory(problem):
        u = context(problem)
        return np.mean([np.corrcoef(v[:-1], v[1:])[0, 1] for v in u.T])

    assert memory(world("time-series")) > 0.8
    assert abs(memory(world("planted"))) < 0.05


FUNCTION_WORLDS = [
    name
    for name, known in WORLDS.items()
    if isinstance(known.settings, Planted)
    and known.settings.factor_function != "linear"
    and known.settings.emission == "additive"
]


@pytest.mark.parametrize("name", FUNCTION_WORLDS)
def test_factors_are_not_linear_in_their_parents_where_the_world_says_so(name):
    problem = world(name)
    several = problem.graph.Q.sum(axis=0) > 1
    assert (factor_fit(problem)[several] < 0.97).all()
    assert (factor_fit(world("planted")) > 1 - 1e-9).all()


def test_children_carry_the_signal_asked_for():
    for name in ("planted", "relu", "fold", "threshold"):
        problem = world(name, signal=(0.6, 0.7))
        child = problem.graph.R.any(axis=1)
        left = (child_residuals(problem).var(axis=0) / problem.test.x.var(axis=0))[child]
        assert left.min() > 0.27, name
        assert left.max() < 0.43, name


def test_variables_are_curved_in_the_polynomial_world_alone():
    def gain(problem):
        child = np.flatnonzero(problem.graph.R.sum(axis=1) == 1)[0]
        z = problem.factors[:, problem.graph.R[child]]
        y = problem.test.x[:, child]
        return r_squared(y, np.hstack([z, z**2])) - r_squared(y, z)

    assert gain(world("polynomial")) > 0.05
    assert gain(world("planted")) < 0.01


@pytest.mark.parametrize("name", ["fold", "product"])
def test_folds_and_products_are_uncorrelated_with_their_parents(name):
    def explained(problem):
        first = problem.graph.factor_level == 0
        several = problem.graph.Q.sum(axis=0) > 1
        return factor_fit(problem)[first & several].max()

    assert explained(world(name)) < 0.02
    assert explained(world("interaction")) > 0.3


def test_a_factor_of_a_threshold_or_logic_world_has_two_values():
    for name in ("threshold", "logic"):
        assert all(len(np.unique(z)) == 2 for z in world(name).factors.T)
    assert all(len(np.unique(z)) > 2 for z in world("binary").factors.T)


@pytest.mark.parametrize("name", ["binary", "logic"])
def test_binary_variables_are_zero_or_one_also_where_they_are_set(name):
    problem = world(name)
    raw = problem.train.unstandardised().x
    np.testing.assert_allclose(raw, np.rint(raw), atol=1e-9)
    assert set(np.rint(raw).ravel()) == {0.0, 1.0}


def test_discrete_variables_are_logarithms_of_counts():
    counts = np.expm1(free_rows(world("discrete")))
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-6)
    assert counts.max() > 10
    plain = free_rows(world("planted"))
    assert not np.allclose(np.expm1(plain), np.rint(np.expm1(plain)), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("counts-50", 0.5),
        ("counts-90", 0.9),
        ("rates-50", 0.5),
        ("rates-90", 0.9),
        ("raw-counts", 0.5),
    ],
)
def test_counts_have_the_zeros_they_say(name, share):
    problem = world(name)
    raw = problem.test.unstandardised().x
    assert abs((np.abs(raw) < 1e-9).mean() - share) < 0.04
    depth = problem.covariates["test"]["log_depth"]
    per_sample = (raw > 1e-9).mean(axis=1)
    assert np.corrcoef(depth, per_sample)[0, 1] > 0.3


def test_sparse_counts_are_whole_at_the_depth_of_their_sample_also_where_they_are_set():
    problem = world("counts-90")
    depth = np.exp(problem.covariates["train"]["log_depth"])[:, None]
    counts = np.expm1(problem.train.unstandardised().x) * depth
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-6)


def test_values_below_a_limit_are_cut_off():
    raw = world("cut-off-90").test.unstandardised().x
    assert abs((np.abs(raw) < 1e-9).mean() - 0.9) < 0.02
    assert raw.min() > -1e-9


def test_exponential_data_are_positive_and_their_logarithm_is_a_plain_world():
    problem = world("exponential")
    raw = free_rows(problem)
    assert raw.min() > 0
    assert skew(raw).mean() > 2
    assert np.abs(skew(np.log(raw))).max() < 0.6


def test_three_columns_are_doubled_and_acted_on_together():
    def doubles(problem):
        x = problem.train.x
        same = np.isclose(x[:, :, None], x[:, None]).all(axis=0)
        return np.argwhere(np.triu(same, k=1))

    problem = world("duplicates")
    assert len(doubles(problem)) == 3
    assert len(doubles(world("planted"))) == 0
    for one, two in doubles(problem):
        np.testing.assert_array_equal(
            problem.train.is_intervened[:, one], problem.train.is_intervened[:, two]
        )
        np.testing.assert_array_equal(problem.graph.R[one], problem.graph.R[two])
        assert not problem.graph.Q[two].any()


def test_read_noise_blurs_what_factors_read():
    assert factor_fit(world("read-noise")).max() < 0.95
    assert factor_fit(world("planted")).min() > 1 - 1e-9


def test_some_variables_are_read_with_noise_and_others_exactly():
    rng, x = np.random.default_rng(0), np.zeros((1000, 20))
    measure, violates = MEASUREMENTS["some-read-noise"]
    spread = measure(0.5, 20, rng)(x, rng).x.std(axis=0)
    assert ((spread > 0.4).sum(), (spread == 0).sum()) == (5, 15)
    assert violates == world("some-read-noise").violates


def test_rounded_values_repeat():
    assert max(len(np.unique(column)) for column in world("rounded").test.x.T) < 40


def test_children_that_act_on_each_other_make_a_cycle():
    A = world("mutual-children").adjacency
    assert (A & A.T).sum() == 2
    assert not (world("planted").adjacency & world("planted").adjacency.T).any()


def test_batches_have_offsets_of_their_own():
    problem = world("batches")
    for part in ("train", "validation", "test"):
        batch, x = problem.covariates[part]["batch"], getattr(problem, part).x
        means = np.array([x[batch == b].mean(axis=0) for b in np.unique(batch)])
        assert means.std(axis=0).mean() > 0.3
    shuffled = np.random.default_rng(0).permutation(batch)
    means = np.array([x[shuffled == b].mean(axis=0) for b in np.unique(batch)])
    assert means.std(axis=0).mean() < 0.1


def test_one_entry_in_a_hundred_is_an_outlier():
    assert abs((np.abs(free_rows(world("outliers"))) > 6).mean() - 0.01) < 0.005
    assert (np.abs(free_rows(world("planted"))) < 6).all()


def test_saturated_values_end_at_the_limit():
    raw = free_rows(world("saturated"))
    assert np.abs(raw).max() <= 1 + 1e-9
    assert (np.abs(raw) > 1 - 1e-9).mean() > 0.2
    assert np.abs(free_rows(world("planted"))).max() > 2


def test_most_targets_are_unmeasured_and_have_regimes_of_their_own():
    problem = world("unmeasured-targets")
    assert problem.train.unmeasured_regimes == tuple(f"U{number}" for number in range(1, 7))
    assert problem.train.n_variables == 24
    assert problem.graph.has_anchors
    assert factor_fit(problem).max() < 0.9
    assert world("screen").train.unmeasured_regimes == ()


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


def target_values(problem):
    """Per regime with one target: its values, in standard deviations of the world."""
    data = problem.train.unstandardised()
    return [data.x[data.is_intervened[:, v], v] for v in np.flatnonzero(data.targets.any(axis=0))]


def test_clamps_are_rough_or_fail_where_the_world_says_so():
    assert max(values.std() for values in target_values(world("screen"))) < 1e-9
    for values in target_values(world("noisy-clamps")):
        assert 0.3 < values.std() < 0.7
    failed = [(values > -2.99).mean() for values in target_values(world("failed-clamps"))]
    assert abs(np.mean(failed) - 0.3) < 0.1


def test_clamps_at_the_mean_move_no_means():
    def largest_shift(problem):
        data = problem.train.unstandardised()
        control = data.x[data.regime == 0].mean(axis=0)
        return max(
            np.abs(data.x[data.regime == r].mean(axis=0) - control).max()
            for r in range(1, data.n_regimes)
        )

    assert largest_shift(world("screen-mean")) < 0.6
    assert largest_shift(world("screen")) > 2


def test_consecutive_factors_are_collinear():
    def smallest(problem):
        order = np.argsort(problem.graph.factor_level)
        z = problem.factors[:, order]
        return min(abs(np.corrcoef(a, b)[0, 1]) for a, b in zip(z.T, z.T[1:], strict=False))

    assert smallest(world("collinear")) > 0.93
    assert smallest(world("screen-chain")) < 0.9


def test_without_factors_variables_follow_the_dag_or_nothing():
    independent, sparse, dense = (world(n) for n in ("independent", "sparse-dag", "dense-dag"))
    assert not independent.adjacency.any()
    assert 0 < sparse.adjacency.sum() < dense.adjacency.sum() / 2
    correlation = np.corrcoef(independent.test.x.T)
    assert np.abs(correlation - np.eye(len(correlation))).max() < 0.12
    for problem in (sparse, dense):
        for j in np.flatnonzero(problem.adjacency.any(axis=0)):
            explained = r_squared(problem.test.x[:, j], problem.test.x[:, problem.adjacency[:, j]])
            assert 0.4 < explained < 0.95


def test_a_hidden_cause_moves_two_factors_together():
    confounded = world("confounded-factors")
    assert (factor_fit(confounded) < 0.99).sum() == 2


def test_samples_with_low_values_of_two_variables_are_seldom_kept():
    def moved(problem):
        return np.sort(np.abs(problem.test.unstandardised().x.mean(axis=0)))

    assert moved(world("selected"))[-2] > 0.3
    assert moved(world("planted"))[-1] < 0.15


def test_other_variables_are_clamped_in_the_share_of_samples_that_is_mislabelled():
    """Some of the wrong regimes act on the same variable all the same."""

    def wrong(name):
        values = target_values(world(name, action="constant"))
        return [(np.abs(v - np.median(v)) > 1e-9).mean() for v in values]

    assert 0.05 < np.mean(wrong("mislabelled")) < 0.13
    assert max(wrong("planted")) == 0
