"""Changes as measured and predicted, on small linear models whose truth is known."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from ucad.data import InterventionalData
from ucad.effects import measured_changes, predict_regimes
from ucad.effects.baselines import mean_of_others
from ucad.effects.prior import (
    evidence_share,
    evidence_weights,
    expected_change,
    expected_of_others,
    judges_of,
)
from ucad.graph import FactorGraph
from ucad.scm import ActsOn, ContextEffect, FactorSCM, LinearMechanism, hard

LOADINGS = np.array([0, 0, 0, 1.5, -1.0, 0.8, 1.2])


def model() -> FactorSCM:
    """Three inputs, one factor, four children."""
    Q = np.array([[True]] * 3 + [[False]] * 4)
    R = ~Q
    F_Z = LinearMechanism(
        torch.tensor([[1.0, -1.0, 0.5, 0, 0, 0, 0]]).double(), torch.zeros(1).double()
    )
    F_X = LinearMechanism(torch.tensor(LOADINGS[:, None]).double(), torch.zeros(7).double())
    return FactorSCM(FactorGraph(Q, R), F_Z, F_X, torch.full((7,), 0.5).double())


def screen(scm, n=400, values=(3.0, 3.0, 3.0)) -> InterventionalData:
    x, labels = [scm.sample(n, 0).x.numpy()], [""] * n
    for j, value in enumerate(values):
        x.append(scm.do(hard({f"X{j + 1}": value})).sample(n, j + 1).x.numpy())
        labels += [f"X{j + 1}"] * n
    return InterventionalData.from_targets(np.concatenate(x), labels)


def test_changes_are_measured_against_controls_with_their_errors():
    scm = model()
    changes = measured_changes(screen(scm))
    assert changes.names == ("X1", "X2", "X3")
    true = LOADINGS * 3.0
    np.testing.assert_allclose(changes.change[0, 3:] * changes.sd[3:], true[3:], atol=0.3)
    z = (changes.change[0, 3:] * changes.sd[3:] - true[3:]) / (changes.error[0] * changes.sd)[3:]
    assert np.abs(z).max() < 4


def test_the_true_model_is_as_good_as_noise_allows_and_beats_what_ignores_the_target():
    scm = model()
    found = predict_regimes(scm, screen(scm), seen=("X1",))
    for row in found.scoreboard:
        assert row["error"]["model"] < 3 * row["noise"]
        assert row["error"]["ucad"] < min(row["error"]["none"], row["error"]["mean"]) / 2
        assert row["held_out"] == (row["regime"] != "X1")
    assert "Of 2 held-out regimes, 2 change the means" in found.verdicts[0]
    assert 0.5 < found.coverage <= 1
    json.dumps(found.to_json(), allow_nan=False)


def test_regimes_that_change_nothing_count_neither_for_nor_against_the_model():
    scm = model()
    found = predict_regimes(scm, screen(scm, values=(0.0, 0.0, 3.0)), seen=("X1", "X2", "X3"))
    assert [row["changes"] for row in found.scoreboard] == [False, False, True]
    assert "1 change the means of other variables by more than noise" in found.verdicts[0]
    still = predict_regimes(scm, screen(scm, values=(0.0, 0.0, 0.0)))
    assert "none changes the mean of another variable" in still.verdicts[0]


def test_a_wrong_model_does_not_and_the_table_says_so():
    scm = model()
    wrong = FactorSCM(
        scm.graph,
        type(scm.factor_mechanism)(-scm.factor_mechanism.weight, scm.factor_mechanism.bias),
        scm.variable_mechanism,
        scm.noise_scale,
    )
    found = predict_regimes(wrong, screen(scm))
    rows = found.scoreboard
    assert all(row["error"]["model"] > row["error"]["none"] for row in rows)
    assert all(row["error"]["ucad"] < row["error"]["model"] for row in rows), "it is outweighed"


def test_factors_change_as_predicted():
    scm = model()
    found = predict_regimes(scm, screen(scm))
    predicted, measured, error = found.factors[:, :, 0]
    assert (np.abs(predicted - measured) < 5 * error).all()
    kinds = [row["kind"] for row in found.rows("X2")]
    assert kinds[:3] == ["factor", "variable", "target"]


def test_an_unmeasured_target_leaves_only_the_other_regimes():
    scm = model()
    data = screen(scm)
    hidden = scm.do(hard({"X1": 3.0, "X2": -1.0})).sample(300, 9).x.numpy()
    labels = [data.regime_names[r].replace("observational", "") for r in data.regime]
    both = InterventionalData.from_targets(
        np.concatenate([data.x, hidden]), [*labels, *["elsewhere"] * 300]
    )
    found = predict_regimes(scm, both)
    row = next(row for row in found.scoreboard if row["regime"] == "elsewhere")
    assert row["error"]["linear"] is None
    assert row["weight"] == 0
    at = found.changes.names.index("elsewhere")
    np.testing.assert_allclose(found.predicted["ucad"][at], expected_change(found.changes, at))


def test_regimes_that_do_nothing_add_no_noise_to_what_is_expected():
    rng = np.random.default_rng(0)
    strong = rng.normal(size=(100, 6)) + 2.0
    idle = rng.normal(size=(400, 6))
    labels = [""] * 200 + ["u"] * 100 + ["v"] * 100 + ["s"] * 100
    data = InterventionalData.from_targets(np.concatenate([idle, strong]), labels)
    changes = measured_changes(data)
    at = changes.names.index("u")
    plain, shrunk = mean_of_others(changes, at), expected_change(changes, at)
    assert shrunk.mean() == pytest.approx(2 / 2, abs=0.2)
    assert shrunk.std() <= plain.std()


def test_evidence_counts_as_much_as_it_was_right_elsewhere():
    changes = measured_changes(screen(model()))
    judges = judges_of(changes, 0)
    assert judges.tolist() == [1, 2]
    right, wrong = changes.change[judges], -changes.change[judges]
    kinds, believed = np.stack([wrong, right / 2]), np.array([0.0, 2.0])
    found = evidence_weights(changes, judges, kinds, believed)
    np.testing.assert_allclose(found, [0, 2], atol=1e-8)
    silent = np.zeros((2, 2, 7))
    assert evidence_weights(changes, judges, silent, believed).tolist() == [0, 0]


def test_what_is_believed_decides_between_kinds_that_do_not_differ_and_yields_to_many_regimes():
    changes = measured_changes(screen(model()))
    judges = judges_of(changes, 0)
    right, believed = changes.change[judges], np.array([1.0, 0.0])
    same = evidence_weights(changes, judges, np.stack([right, right]), believed)
    np.testing.assert_allclose(same, [1, 0], atol=1e-8)

    def weight_of_what_is_right(n_regimes):
        many = measured_changes(common_response(n_regimes, 1.0, np.random.default_rng(0)))
        judges = judges_of(many, 0)
        right = many.change[judges]
        return evidence_weights(many, judges, np.stack([0.3 * right[::-1], right]), believed)[1]

    assert weight_of_what_is_right(4) == pytest.approx(3 / (3 + 5), abs=0.01)
    assert weight_of_what_is_right(40) == pytest.approx(39 / (39 + 5), abs=0.01)


def test_two_regimes_that_did_the_same_do_not_speak_for_a_third_that_does_something_else():
    rng, labels = np.random.default_rng(1), np.repeat(["", "X1", "X2", "X3"], [2000, 100, 100, 100])
    x = rng.normal(size=(len(labels), 8))
    for j in range(3):
        x[labels == f"X{j + 1}", j] = -3.0
    factors = np.stack([x[:, 0] + x[:, 1], x[:, 2] - x[:, 3]], axis=1)
    loadings = np.array([[1, 0], [-1, 0], [0, 1], [0, 1]])
    x[:, 4:] = factors @ loadings.T + 0.3 * rng.normal(size=(len(labels), 4))
    Q, R = np.zeros((8, 2), dtype=bool), np.zeros((8, 2), dtype=bool)
    Q[:2, 0] = Q[2:4, 1] = R[4:6, 0] = R[6:, 1] = True
    w_Z, w_X = np.zeros((2, 8)), np.zeros((8, 2))
    w_Z[0, :2], w_Z[1, 2], w_Z[1, 3], w_X[4:] = 1.0, 1.0, -1.0, loadings
    scm = FactorSCM(
        FactorGraph(Q, R),
        LinearMechanism(torch.tensor(w_Z), torch.zeros(2).double()),
        LinearMechanism(torch.tensor(w_X), torch.zeros(8).double()),
        torch.ones(8).double(),
    )
    data = InterventionalData.from_targets(x, labels.tolist())
    row = next(row for row in predict_regimes(scm, data).scoreboard if row["regime"] == "X3")
    assert row["error"]["mean"] > 1
    assert row["error"]["ucad"] < 0.3


def test_what_to_expect_of_a_judge_is_told_neither_by_it_nor_by_the_regime_that_is_predicted():
    changes = measured_changes(screen(model()))
    told = expected_of_others(changes, 0, np.array([1, 2]))
    free = ~changes.targets[[2, 1]]
    np.testing.assert_allclose(told[free], changes.change[[2, 1]][free], rtol=0.1, atol=0.02)
    assert not told[~free].any()


def common_response(n_regimes, shared, rng):
    """Knock-outs of X1, X2, … that all move ten genes by `shared`, which no target predicts."""
    labels = np.repeat(["", *(f"X{r + 1}" for r in range(n_regimes))], [400, *[100] * n_regimes])
    x = rng.normal(size=(len(labels), n_regimes + 10))
    for r in range(n_regimes):
        x[labels == f"X{r + 1}", r] = -3.0
    x[labels != "", n_regimes:] += shared
    return InterventionalData.from_targets(x, labels.tolist())


@pytest.mark.parametrize("shared", [0.0, 1.0])
def test_the_mean_of_the_others_counts_as_far_as_it_was_right_elsewhere(shared):
    data = common_response(5, shared, np.random.default_rng(0))
    graph = FactorGraph(np.eye(15, 1, dtype=bool), np.eye(15, 1, -1, dtype=bool))
    scm = FactorSCM(
        graph,
        LinearMechanism(torch.zeros(1, 15).double(), torch.zeros(1).double()),
        LinearMechanism(torch.zeros(15, 1).double(), torch.zeros(15).double()),
        torch.ones(15).double(),
    )
    for row in predict_regimes(scm, data).scoreboard:
        best = min(row["error"][name] for name in ("none", "mean", "linear"))
        assert row["error"]["ucad"] < 1.1 * best


def test_a_model_that_says_nothing_of_a_new_target_does_not_outweigh_the_regression():
    scm = model()
    silent = scm.factor_mechanism.weight.clone()
    silent[:, 0] = 0.0
    fitted = replace(
        scm,
        graph=FactorGraph(np.array([[False], [True], [True]] + [[False]] * 4), scm.graph.R),
        factor_mechanism=LinearMechanism(silent, torch.zeros(1).double()),
    )
    data = screen(scm)
    held_out, shown = (
        predict_regimes(fitted, data, seen=seen).scoreboard[0]
        for seen in (("X2", "X3"), ("X1", "X2", "X3"))
    )
    assert held_out["error"]["ucad"] < 1.3 * held_out["error"]["linear"]
    assert shown["error"]["ucad"] > 1.5 * held_out["error"]["ucad"]


def test_small_evidence_is_a_small_share_of_a_prediction():
    expected = np.ones(4)
    assert evidence_share(0.01 * expected, expected) < 0.01
    assert evidence_share(100 * expected, expected) > 0.99
    assert evidence_share(0 * expected, 0 * expected) == 0


def test_a_context_that_the_model_knows_is_no_part_of_what_a_regime_did():
    scm = model()
    data = screen(scm)
    rng = np.random.default_rng(0)
    depth = rng.normal(size=data.n_samples) + (data.regime == 1)  # X1 has deeper samples
    effect = ContextEffect(
        ("depth",), torch.zeros(1).double(), torch.full((7, 1), 2.0).double(), ActsOn.READINGS
    )
    read = replace(data, x=data.x + 2.0 * depth[:, None]).with_context({"depth": depth})
    told = predict_regimes(replace(scm, context=effect), read)
    np.testing.assert_allclose(told.changes.change, measured_changes(data).change, atol=1e-6)
