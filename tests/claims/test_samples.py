"""Samples are standardised where they are free, and dealt out so that no test row was fitted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.claims.models import SCM, System, linear_scm, observed, samples_of
from ucad.claims import samples as module
from ucad.claims.samples import TestSamples
from ucad.scm import LinearMechanism


def test_variables_have_mean_0_and_variance_1_where_they_are_free():
    samples = samples_of(SCM, System(action="constant"), n_samples=900)
    for j in range(samples.n_variables):
        own = samples.x[~samples.is_intervened[:, j], j]
        assert own.mean() == pytest.approx(0, abs=1e-9)
        assert own.std() == pytest.approx(1)
    assert samples.z.mean(axis=0) == pytest.approx(np.zeros(2), abs=1e-9)
    assert samples.z.std(axis=0) == pytest.approx(np.ones(2))


def test_the_residual_is_what_the_model_leaves_in_units_of_the_variable():
    data = System().draw(500)
    samples = TestSamples.of(SCM, data, None, 0)
    left = data.x - SCM.expected_variables(SCM.state_map(data.x)).numpy()
    np.testing.assert_allclose(samples.residual * samples.sd, left, atol=1e-10)
    np.testing.assert_allclose(samples.expected + samples.residual, samples.x, atol=1e-10)
    rows = np.array([3, 1, 400])
    np.testing.assert_allclose(samples.original(rows), data.x[rows], atol=1e-10)


def test_descendants_are_what_powers_of_the_adjacency_reach():
    samples = samples_of(SCM, System(), n_samples=100)
    A = SCM.graph.variable_adjacency.astype(int)
    reach = sum(np.linalg.matrix_power(A, power) for power in range(len(A)))
    assert (samples.is_descendant == (reach > 0)).all()


def test_free_rows_are_those_in_which_a_variable_is_not_acted_on():
    samples = samples_of(SCM, System(targets=((0,), (1,))), n_samples=300)
    rows = np.arange(0, 300, 7)
    wanted = [row for row in rows if not samples.is_intervened[row, 1]]
    assert samples.free(1, rows).tolist() == wanted
    assert len(wanted) < len(rows)


def test_a_constant_factor_is_0_and_a_constant_variable_stays_finite():
    weight = SCM.factor_mechanism.weight.clone()
    weight[0] = 0
    F_Z = LinearMechanism(weight, torch.full((2,), 1e6).double())
    scm = replace(SCM, factor_mechanism=F_Z)
    x = System().draw(200).x.copy()
    x[:, 3] = 7.0
    samples = observed(scm, x)
    assert (samples.z[:, 0] == 0).all()
    assert np.isinf(samples.z_sd[0])
    assert samples.z[:, 1].std() == pytest.approx(1)
    assert (samples.x[:, 3] == 0).all()


def test_a_variable_that_is_never_free_is_standardised_over_all_samples():
    scm = linear_scm([[1], [0]], [[0], [1]])
    data = System(scm=scm, targets=((0,),)).draw(400)
    always = data.select(np.flatnonzero(data.is_intervened[:, 0]))
    samples = TestSamples.of(scm, always, None, 0)
    assert samples.x[:, 0].std() == pytest.approx(1)


def test_regimes_are_renumbered_without_gaps_and_keep_their_names():
    data = System(targets=((0,), (1,), (2,))).draw(400)
    kept = data.select(np.flatnonzero(np.isin(data.regime, [0, 3])))
    samples = TestSamples.of(SCM, kept, None, 0)
    assert sorted(set(samples.regime)) == [0, 1]
    assert samples.regime_names == (data.regime_names[0], data.regime_names[3])


def test_many_samples_fit_on_train_and_test_on_what_was_held_out():
    data = System().draw(4800)
    parts = data.split(0.75, 0.25)
    samples = TestSamples.of(SCM, parts.train, parts.validation, 0)
    (fold,) = samples.folds
    np.testing.assert_allclose(samples.original(fold.fit), parts.train.x, atol=1e-10)
    np.testing.assert_allclose(samples.original(fold.test), parts.validation.x, atol=1e-10)
    assert samples.held_out


def test_without_held_out_samples_a_quarter_of_every_regime_tests():
    samples = samples_of(SCM, System(), n_samples=4500, held_out=False)
    (fold,) = samples.folds
    assert not samples.held_out
    for label in range(9):
        assert (samples.regime[fold.test] == label).sum() in range(124, 127)


@pytest.mark.parametrize(("n_samples", "n_folds"), [(300, 5), (999, 5), (1000, 3), (3999, 3)])
@pytest.mark.parametrize("held_out", [True, False])
def test_with_few_samples_every_one_is_tested_once_and_never_where_it_is_fitted(
    n_samples, n_folds, held_out
):
    samples = samples_of(SCM, System(), n_samples=n_samples, held_out=held_out)
    assert len(samples.folds) == n_folds
    assert sorted(np.concatenate([fold.test for fold in samples.folds])) == list(range(n_samples))
    for fold in samples.folds:
        assert sorted([*fold.fit, *fold.test]) == list(range(n_samples))
        counts = np.bincount(samples.regime[fold.test], minlength=9)
        assert counts.max() - counts.min() <= 2


def test_the_number_of_samples_looked_at_is_bounded(monkeypatch):
    for name in ("MAX_ROWS", "MIN_ROWS", "MAX_ENTRIES"):
        monkeypatch.setattr(module, name, 100)
    samples = samples_of(SCM, System(), n_samples=900)
    assert len(samples.x) == 200  # 100 of each part
    assert len(np.unique(samples.x, axis=0)) == 200


def test_the_same_seed_deals_the_same_rows():
    first, second, other = (
        samples_of(SCM, System(), n_samples=500, held_out=False).folds[0].test
        if seed == 0
        else TestSamples.of(SCM, System().draw(500), None, seed).folds[0].test
        for seed in (0, 0, 1)
    )
    assert (first == second).all()
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(("n_variables", "is_large"), [(128, False), (129, True)])
def test_models_of_more_than_128_variables_are_large(n_variables, is_large):
    none = linear_scm(np.zeros((n_variables, 0)), np.zeros((n_variables, 0)))
    x = np.random.default_rng(0).standard_normal((20, n_variables))
    assert observed(none, x).is_large is is_large
