"""Likelihoods and Δ̂ are those of their definitions; models that predict worse are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import ucad
from tests.claims.models import SCM, SMALL, System, samples_of
from ucad.claims.answers import Answer
from ucad.claims.prediction import abstraction_error, exactness, held_out_fit
from ucad.scm import Abstraction, LinearMechanism

SYSTEM = System(scm=SMALL, targets=((0,), (3,)))


def rescaled(scm, factor):
    F_X = LinearMechanism(factor * scm.variable_mechanism.weight, scm.variable_mechanism.bias)
    return replace(scm, variable_mechanism=F_X)


def test_likelihoods_are_those_of_scipy_in_the_units_of_the_variables():
    samples = samples_of(SMALL, SYSTEM, n_samples=4000)
    details = held_out_fit(samples).details
    fit, test = samples.folds[0]
    x_fit, x, free = samples.original(fit), samples.original(test), ~samples.is_intervened[test]
    expected = SMALL.expected_variables(SMALL.state_map(x)).numpy()
    fitted = SMALL.expected_variables(SMALL.state_map(x_fit)).numpy()
    model = stats.norm.logpdf(x, expected, SMALL.noise_scale.numpy())
    free_fit = ~samples.is_intervened[fit]
    own = [x_fit[free_fit[:, j], j] for j in range(5)]
    alone = stats.norm.logpdf(x, [v.mean() for v in own], [v.std() for v in own])
    nll = details["nll_per_variable"]
    assert nll["model"] == pytest.approx(-model[free].mean())
    assert nll["without_factors"] == pytest.approx(-alone[free].mean())
    gain = np.zeros(len(x))
    for j, mean in enumerate(v.mean() for v in own):
        error_fit = x_fit[free_fit[:, j], j] - fitted[free_fit[:, j], j]
        for sign, error, before in (
            (1, x[:, j] - expected[:, j], error_fit),
            (-1, x[:, j] - mean, own[j] - mean),
        ):
            scale = np.median(np.abs(before)) / stats.norm.ppf(0.75)
            gain += sign * stats.t.logpdf(error, 4, scale=scale) * free[:, j]
    assert details["gain_per_sample"] == pytest.approx(gain.mean(), rel=1e-4)
    error = gain.std() / np.sqrt(len(gain))
    assert details["standard_error"] == pytest.approx(error, rel=1e-4)


def test_neither_the_units_nor_a_few_far_values_decide_whether_factors_help():
    rng = np.random.default_rng(0)
    problem = ucad.paper_problem("b", "16-3", seed=3, n_samples=2000)
    heavy = problem.train.x.copy()
    heavy[rng.integers(0, len(heavy), 8), rng.integers(0, 16, 8)] *= 60.0
    units = 10.0 ** rng.uniform(-6, 6, 16)
    for x in (problem.train.x * units, heavy):
        data = replace(problem.train, x=x)
        model = ucad.UCAD(3, factor_mechanism="linear", variable_mechanism="linear").fit(data)
        assert model.certificate_["fit"].answer is Answer.YES


@pytest.mark.parametrize(("held_out", "answer"), [(True, Answer.YES), (False, Answer.PARTLY)])
def test_a_true_model_helps_and_seen_samples_are_weak_evidence(held_out, answer):
    claim = held_out_fit(samples_of(SMALL, SYSTEM, n_samples=1000, held_out=held_out))
    assert claim.answer is answer
    assert claim.details["of_them_better_predicted"] == 2
    assert ("weak evidence" in claim.text) is not held_out


def test_a_model_that_is_worse_than_the_mean_is_refused():
    claim = held_out_fit(samples_of(rescaled(SMALL, -1.0), SYSTEM, n_samples=1000))
    assert claim.answer is Answer.NO
    assert "Nothing may be claimed" in claim.text


def test_the_levels_of_a_model_agree():
    claim = exactness(SCM, System().draw(200), 0)
    assert claim.answer is Answer.YES
    assert claim.details["n_interventions"] == 9
    assert claim.details["largest_difference"] < 1e-12


def test_levels_that_disagree_are_reported(monkeypatch):
    monkeypatch.setattr(Abstraction, "gap", lambda *_: 0.1)
    claim = exactness(SCM, System().draw(200), 0)
    assert claim.answer is Answer.NO
    assert "please report it" in claim.text


def test_a_true_model_has_no_error_beyond_noise():
    claim = abstraction_error(SCM, System().draw(3000), 0)
    overall, variance = claim.details["overall"], claim.details["factor_variance"]
    assert claim.answer is Answer.YES
    assert overall["excess"] == pytest.approx((overall["error"] - overall["noise"]) / variance)
    assert abs(overall["excess"]) < 0.03
    assert len(claim.details["by_intervention"]) == 9


def test_the_error_is_the_mean_squared_distance_of_the_factors():
    data = System(targets=((0,),)).draw(300)
    error = abstraction_error(SCM, data, 0).details["overall"]["error"]
    has_parents = SCM.graph.R.any(axis=1)
    u = np.where(has_parents, 0.0, data.x)
    z1 = 0.8 * (u[:, 0] + u[:, 1])
    z2 = 0.8 * (u[:, 2] + u[:, 3] + 0.8 * z1)
    z = SCM.state_map(data.x).numpy()
    distance = (z[:, 0] - z1) ** 2 + (z[:, 1] - z2) ** 2
    by_regime = [distance[data.regime == label][:200].mean() for label in (0, 1)]
    assert error == pytest.approx(np.mean(by_regime))


def test_a_model_that_predicts_the_opposite_is_not_claimed():
    claim = abstraction_error(rescaled(SCM, -1.0), System().draw(2000), 0)
    assert claim.answer in (Answer.PARTLY, Answer.NO)
    assert claim.details["overall"]["excess"] > 0.05


def test_factors_that_do_not_act_on_each_other_show_nothing():
    claim = abstraction_error(SMALL, SYSTEM.draw(500), 0)
    assert claim.answer is Answer.UNKNOWN
    assert "true by construction" in claim.text


def test_factors_that_do_not_vary_are_not_known():
    F_Z = LinearMechanism(0 * SMALL.factor_mechanism.weight, SMALL.factor_mechanism.bias)
    claim = abstraction_error(replace(SMALL, factor_mechanism=F_Z), SYSTEM.draw(100), 0)
    assert claim.answer is Answer.UNKNOWN
    assert "do not vary" in claim.text
