"""Columns are made of non-descendants and regimes only, and the best are chosen if too many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.claims.models import SCM, System, direct_edge, linear_scm, observed, samples_of
from ucad.claims import columns as module
from ucad.claims.adequacy import Adequacy, Level
from ucad.claims.columns import (
    FACTORS,
    PARENTS,
    PRODUCTS,
    Choice,
    choose,
    columns_for,
    screening_scores,
)
from ucad.claims.ridge import curves

ALL_ROWS = np.arange(900)
SAMPLES = samples_of(SCM, System(action="constant"), n_samples=900)


def never_asked():
    raise AssertionError("few columns need no screening")


def test_few_columns_are_all_taken():
    choice = choose(SAMPLES, 5, ALL_ROWS, never_asked)
    assert choice.variables.tolist() == [0, 1, 2, 3, 4, 6, 7]
    assert choice.regimes.tolist() == list(range(9))
    assert choice.bound == 0


def test_descendants_make_no_columns():
    choice = choose(SAMPLES, 4, ALL_ROWS, never_asked)
    assert choice.variables.tolist() == [0, 1, 2, 3, 5]  # X5 feeds Z2, which makes X7 and X8
    sources = columns_for(SAMPLES, 4, ALL_ROWS, choice).sources
    assert not {"X5", "X7", "X8"} & {name for kind, name in sources if kind == "value"}


def test_a_regime_with_too_few_rows_gets_no_column():
    rows = np.concatenate([np.flatnonzero(SAMPLES.regime == 0), [850, 851]])
    assert choose(SAMPLES, 5, rows, never_asked).regimes.tolist() == [0]


def test_the_columns_are_those_of_their_formula():
    rows = np.array([0, 150, 333, 880])
    choice = Choice(np.array([2, 0]), np.array([1, 3]), n_products=1)
    found = columns_for(SAMPLES, 6, rows, choice)
    x = np.clip(SAMPLES.x[np.ix_(rows, [2, 0])], -3, 3)
    acted = SAMPLES.is_intervened[np.ix_(rows, [2, 0])].astype(float)
    z = SAMPLES.z[rows][:, [1]]
    regimes = np.stack([SAMPLES.regime[rows] == label for label in (1, 3)], axis=1)
    outside = [x, x**2, x * acted, acted, x[:, :1] * np.clip(z, -3, 3), regimes]
    wanted = np.concatenate(outside, axis=1)
    np.testing.assert_allclose(found.values[:, : found.n_outside], wanted)
    np.testing.assert_allclose(found.values[:, found.n_parents_end :], curves(z, seed=2))
    kinds = [kind for kind, _ in found.sources]
    assert kinds[: found.n_outside] == 9 * ["value"] + 2 * ["regime"]
    between = found.sources[found.n_outside : found.n_parents_end]
    assert set(between) == {("shape", PARENTS)}
    assert set(found.sources[found.n_parents_end :]) == {("shape", FACTORS)}
    assert len(found.sources) == found.values.shape[1]


def test_a_root_has_no_curves():
    found = columns_for(SAMPLES, 0, ALL_ROWS, choose(SAMPLES, 0, ALL_ROWS, never_asked))
    assert found.n_outside == found.n_parents_end == found.values.shape[1]


def test_screening_scores_are_squared_correlations():
    system = System(direct=direct_edge(5, 7), targets=((5,),))
    samples = samples_of(SCM, system, n_samples=2000)
    rows = np.arange(0, 2000, 2)
    by_value, by_regime = screening_scores(samples, rows)
    e = samples.residual[rows, 7]
    x = np.clip(samples.x[rows, 5], -3, 3)
    tried = (x, x**2, x * samples.is_intervened[rows, 5])
    wanted = max(np.corrcoef(e, column)[0, 1] ** 2 for column in tried)
    assert by_value[7, 5] == pytest.approx(wanted, rel=1e-3)
    assert by_value[7].argmax() == 5
    assert (by_value[samples.is_descendant] == 0).all()
    assert by_regime.shape == (8, 2)


def test_a_regime_that_moves_a_residual_has_a_large_score():
    x = System(targets=()).draw(1000).x.copy()
    samples = observed(SCM, x)
    regime = np.repeat([0, 1], 500)
    moved = samples.residual.copy()
    moved[regime == 1, 6] += 2.0
    object.__setattr__(samples, "residual", moved)
    object.__setattr__(samples, "regime", regime)
    object.__setattr__(samples, "regime_names", ("a", "b"))
    _, by_regime = screening_scores(samples, np.arange(1000))
    assert by_regime[6].min() > 0.3
    assert np.delete(by_regime, 6, axis=0).max() < 0.05


def wide(n=60, n_samples=600, seed=0):
    """Idle variables beside a chain X1 → Z1 → X2, of which X3 also makes X2 directly."""
    Q, R = np.zeros((n, 1)), np.zeros((n, 1))
    Q[0], R[1] = 1, 1
    scm = linear_scm(Q, R)
    x = np.random.default_rng(seed).standard_normal((n_samples, n))
    x[:, 1] = 0.64 * x[:, 0] + 0.5 * x[:, 2] + 0.4 * x[:, 1]
    return observed(scm, x)


def test_of_too_many_columns_the_best_are_chosen():
    samples = wide()
    rows = np.arange(600)
    choice = choose(samples, 1, rows, lambda: screening_scores(samples, rows))
    assert choice.variables[0] == 2
    assert module.MIN_SCREENED <= len(choice.variables) <= module.SCREENED_VARIABLES
    assert choice.n_products == module.SCREENED_PRODUCTS
    scores = screening_scores(samples, rows)[0][1]
    left_out = np.setdiff1d(np.flatnonzero(~samples.is_descendant[1]), choice.variables)
    assert choice.bound == pytest.approx(scores[left_out].max())
    assert choice.bound <= scores[choice.variables].min()


def test_idle_columns_are_chosen_up_to_the_least_number_only():
    samples = wide(seed=1)
    rows = np.arange(600)
    choice = choose(samples, 30, rows, lambda: screening_scores(samples, rows))
    assert len(choice.variables) == module.MIN_SCREENED


def test_a_child_of_a_product_of_two_factors_is_found_though_it_correlates_with_nothing():
    """X6 follows z₁ · z₂, of which the model knows nothing."""
    Q, R = SCM.graph.Q.copy(), SCM.graph.R.copy()
    Q[4], R[5] = False, False

    def shape(made):
        made = made.copy()
        made[:, 5] = made[:, 4] * made[:, 6]
        return made

    model = linear_scm(Q, R)
    samples = samples_of(model, System(scm=model, shape=shape))
    found = {finding.variable: finding for finding in Adequacy(samples).at(Level.GRAPH)}
    assert found["X6"].sources[0][0] == ("shape", PRODUCTS)
    without = replace(choose(samples, 5, np.arange(4000), never_asked), pairs=())
    assert PRODUCTS not in str(columns_for(samples, 5, np.arange(9), without).sources)


def test_products_of_what_is_below_a_variable_or_idle_are_not_chosen():
    assert choose(SAMPLES, 4, ALL_ROWS, never_asked).pairs == ()
    samples = samples_of(SCM, System(), n_samples=900)
    samples.residual[:, 4] = samples.x[:, 6] * samples.x[:, 7]  # both are below X5
    chosen = {i for pair in choose(samples, 4, ALL_ROWS, never_asked).pairs for i in pair}
    assert not chosen & {4, 6, 7, 9}
