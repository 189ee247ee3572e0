import subprocess
import sys

import numpy as np
import pytest

from ucad.errors import InvalidInputError
from ucad.metrics import (
    ALL_METRICS,
    FAST_METRICS,
    ConstantFactorWarning,
    EvaluationSettings,
    evaluate,
)

RNG = np.random.default_rng(0)
TRUE = RNG.standard_normal((200, 3))
LEARNED = TRUE[:, [2, 0, 1]] + 0.3 * RNG.standard_normal((200, 3))
QUICK = EvaluationSettings(n_resamples=20, n_permutations=3, n_rotations=3, n_graphs=5)
Q, R = np.eye(5, 3, dtype=bool), np.eye(5, 3, k=-2, dtype=bool)
LINES = [
    *("mcc_pearson", "mcc_spearman", "mcc_rdc", "r2_linear", "r2_mlp"),
    *("dci_informativeness", "dci_disentanglement", "dci_completeness"),
]


@pytest.fixture(scope="module")
def table():
    return evaluate(LEARNED, TRUE, settings=QUICK, learned_graph=(Q, R), true_graph=(Q, R))


def test_every_metric_has_a_line_with_its_chance_level(table):
    assert [score.metric for score in table.scores[: len(LINES)]] == LINES
    for name in LINES:
        assert table[name].chance < table[name].value <= 1


def test_intervals_hold_the_value_and_are_left_out_where_they_would_be_made_up(table):
    for name in LINES:
        score = table[name]
        if name.startswith("dci"):
            assert score.low is score.high is None
        else:
            assert score.low <= score.value <= score.high


def test_rotated_controls_stand_beside_every_mcc(table):
    for name in LINES[:3]:
        assert table[name].chance < table[name].learned_rotated < table[name].value
        assert table[name].true_rotated is not None


def test_every_line_says_what_made_it(table):
    assert "GradientBoostingRegressor" in table["dci_disentanglement"].detail
    assert "tolerance=1e-07, seed=0" in table["mcc_rdc"].detail
    assert "3 matched pairs of 3 learned and 3 true factors" in table["mcc_pearson"].detail


def test_the_structure_stands_beside_random_graphs(table):
    assert table["structure_shd"].value == 0 < table["structure_shd"].chance
    assert table["structure_exact"].value == 1
    assert table["structure_precision_Q"].detail.startswith("3 of 3 right, 0 missing")


def test_the_text_has_one_line_per_score_explains_its_columns_and_fits_a_terminal(table):
    heading, *lines = str(table).splitlines()
    assert heading.split()[:4] == ["metric", "value", "interval", "chance"]
    names = [score.metric for score in table.scores]
    assert [line.split()[0] for line in lines[: len(names)]] == names
    assert lines[len(names)].startswith("chance: of permuted samples")
    assert max(map(len, lines)) < 80


def test_one_seed_gives_one_table():
    first, second = (evaluate(LEARNED, TRUE, metrics=FAST_METRICS, settings=QUICK) for _ in "ab")
    assert first == second


def test_what_is_not_asked_for_is_not_computed():
    nothing = EvaluationSettings(n_resamples=0, n_permutations=0, n_rotations=0, n_refits=0)
    table = evaluate(LEARNED, TRUE, metrics=["mcc_rdc", "r2_linear"], settings=nothing)
    assert [score.metric for score in table.scores] == ["mcc_rdc", "r2_linear"]
    for score in table.scores:
        assert score.low is score.high is score.chance is score.learned_rotated is None


def test_constant_factors_are_warned_of_once_and_noted():
    learned = LEARNED.copy()
    learned[:, 0] = 0.0
    with pytest.warns(ConstantFactorWarning) as caught:
        table = evaluate(learned, TRUE, metrics=FAST_METRICS, settings=QUICK)
    assert len(caught) == 1
    assert table.notes == ("Without variation, and so counted as 0: learned factor 0.",)
    assert "Note: Without variation" in str(table)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metrics": ["mcc_perason"]}, "Did you mean 'mcc_pearson'"),
        ({"metrics": []}, "at least one metric"),
        ({"learned_graph": (Q, R)}, "Both graphs"),
    ],
)
def test_questions_that_cannot_be_answered_are_refused(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        evaluate(LEARNED, TRUE, **arguments)


def test_fewer_or_more_learned_factors_can_be_evaluated():
    for learned in (LEARNED[:, :2], np.column_stack([LEARNED, TRUE[::-1, :2]])):
        table = evaluate(learned, TRUE, metrics=FAST_METRICS, settings=QUICK)
        assert "unmatched" in table["mcc_pearson"].detail


def test_importing_the_metrics_does_not_import_torch():
    code = "import sys, ucad.metrics; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_all_metrics_can_be_named():
    assert set(FAST_METRICS) < set(ALL_METRICS)


def test_what_takes_long_is_left_out_by_default_and_named():
    z = RNG.standard_normal((5_000, 12))
    quick = EvaluationSettings(n_resamples=0, n_permutations=0, n_rotations=0, n_refits=0)
    table = evaluate(z, z, settings=quick)
    assert "dci_disentanglement" not in [score.metric for score in table.scores]
    assert "r2_mlp" in [score.metric for score in table.scores]
    assert any("dci" in note for note in table.notes)
