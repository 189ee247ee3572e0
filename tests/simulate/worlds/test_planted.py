"""Planted worlds: what the settings break is said, and the truth is that of what is measured."""

from dataclasses import replace

import numpy as np
import pytest

from tests.simulate.worlds.made_worlds import world
from ucad.errors import InvalidInputError
from ucad.simulate.worlds import WORLDS, Planted, Violation, planted_problem

FEW = {"n_samples": 210}


@pytest.mark.parametrize(
    ("settings", "violates"),
    [
        ({}, ()),
        ({"spare_factors": 1}, (Violation.SPARE_FACTOR,)),
        ({"spare_factors": -1}, (Violation.MISSING_FACTOR,)),
        ({"factor_function": "relu"}, (Violation.MECHANISM_CLASS,)),
        ({"variable_function": "fold"}, (Violation.MECHANISM_CLASS,)),
        ({"noise": "laplace"}, (Violation.NOISE_FAMILY,)),
        ({"noise": "time-series"}, (Violation.DEPENDENT_SAMPLES,)),
        ({"emission": "uneven"}, (Violation.NOISE_FAMILY,)),
        ({"emission": "cut-off"}, (Violation.TRANSFORMED,)),
        ({"action": "shift"}, (Violation.NOT_A_CLAMP,)),
        ({"action": "knockout"}, ()),
        ({"failure": 0.1}, (Violation.MISLABELLED,)),
        ({"mislabelled": 0.1}, (Violation.MISLABELLED,)),
        ({"off_target": 0.1}, (Violation.OFF_TARGET,)),
        ({"copies": 1}, (Violation.DUPLICATES,)),
        ({"measurement": "rounded"}, (Violation.TRANSFORMED,)),
        ({"jitter": 0.5}, ()),
        ({"n_unanchored": 1}, ()),  # said by the graph, where it is drawn
    ],
)
def test_settings_say_what_they_break(settings, violates):
    assert Planted(**settings).violates == violates


def test_a_factor_without_anchors_is_said_of_the_problem():
    problem = planted_problem(0, n_unanchored=1, **FEW)
    assert not problem.graph.has_anchors
    assert Violation.NO_ANCHORS in problem.violates


@pytest.mark.parametrize(
    ("settings", "has_model"),
    [
        ({}, True),
        ({"noise": "laplace"}, True),
        ({"flaw": "correlated-roots"}, True),
        ({"flaw": "direct-edges"}, False),
        ({"factor_function": "relu"}, False),
        ({"measurement": "read-noise"}, False),
        ({"copies": 2}, False),
    ],
)
def test_a_true_model_is_given_only_where_there_is_one(settings, has_model):
    assert (planted_problem(0, **settings, **FEW).scm is not None) == has_model


def test_copies_are_the_last_columns_and_the_others_come_once():
    problem = planted_problem(0, copies=3, n_variables=12, n_factors=2, n_samples=260)
    x = problem.train.x
    assert x.shape[1] == 15
    same = np.isclose(x[:, :, None], x[:, None]).all(axis=0)
    pairs = np.argwhere(np.triu(same, k=1))
    assert sorted(pairs[:, 1]) == [12, 13, 14]
    assert (pairs[:, 0] < 12).all()


def test_every_regime_has_the_same_number_of_samples_and_one_to_three_targets():
    problem = planted_problem(0, n_regimes=6, n_samples=700)
    parts = [problem.train.regime, problem.validation.regime]
    assert np.bincount(np.concatenate(parts)).tolist() == [100] * 7
    sizes = problem.train.targets.sum(axis=1)
    assert sizes[0] == 0
    assert set(sizes[1:]) <= {1, 2, 3}


def test_without_regimes_nothing_is_acted_on():
    assert not planted_problem(0, n_regimes=0, **FEW).train.is_intervened.any()


def test_off_target_effects_are_not_in_the_labels():
    """The regimes without a side effect are those of the same seed; others move one more column."""
    settings = {"action": "constant", "value": -50.0, "n_regimes": 10, "n_samples": 1100}
    data = planted_problem(0, off_target=1.0, **settings).train.unstandardised()
    for regime in range(1, 11):
        rows = data.x[data.regime == regime]
        held = rows.std(axis=0) < 1e-9
        assert (held & data.targets[regime]).sum() == data.targets[regime].sum()
        assert (held & ~data.targets[regime]).sum() == 1


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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"noise": "lapalce"}, "Did you mean 'laplace'"),
        ({"factor_function": "rleu"}, "Did you mean 'relu'"),
        ({"emission": "binray"}, "Did you mean 'binary'"),
        ({"flaw": "direct-edge"}, "Did you mean 'direct-edges'"),
        ({"measurement": "count"}, "Did you mean 'counts'"),
        ({"action": "knockdwon"}, "Did you mean 'knockdown'"),
        ({"failure": 1.5}, "'failure' setting must be from 0 to 1. Got 1.5"),
        ({"spare_factors": -3}, "At least one factor must be asked for"),
    ],
)
def test_impossible_planted_worlds_are_refused(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        replace(WORLDS["planted"].settings, **settings)
