"""The paper's learner beside the paper's tables."""

import argparse

from experiments.gradient import chosen_settings, mechanisms_of, table
from experiments.tables import METRICS


def options(**changed):
    names = ("rates", "growths", "starts", "epochs")
    return argparse.Namespace(**{**dict.fromkeys(names), "preset": "paper", **changed})


def row(seed, value, setting="a"):
    task = {"setting": setting, "size": "16-3", "seed": seed}
    result = dict.fromkeys(METRICS, value)
    return {"task": task, "result": result, "error": None, "about": {}}


def test_without_options_the_grid_is_the_papers():
    config = chosen_settings(options(), 16, mechanisms_of("a"))
    assert len(config.training.grid(0)) == 30
    assert config.training.epochs == 50_000


def test_options_change_the_grid_and_nothing_else():
    changed = chosen_settings(options(rates=[1e-3], starts=1, epochs=7), 16, mechanisms_of("e"))
    whole = chosen_settings(options(), 16, mechanisms_of("e"))
    assert len(changed.training.grid(0)) == 2
    assert changed.training.epochs == 7
    assert changed.training.patience == whole.training.patience
    assert changed.constraints == whole.constraints


def test_mechanisms_are_as_linear_as_the_true_ones():
    assert mechanisms_of("b").is_linear
    assert not mechanisms_of("c").is_linear


def test_the_table_has_the_paper_its_learner_and_the_search_for_every_cell():
    lines = table([row(1, 0.25), row(2, 0.75), row(1, 0.5, "b")], [row(1, 1.0)]).splitlines()
    assert [line.split(" | ")[:2] for line in lines[2:]] == [
        ["| **a 16-3**", "the paper, 5"],
        ["|", "its learner here, 2"],
        ["|", "search, 1"],
        ["| **b 16-3**", "the paper, 5"],
        ["|", "its learner here, 1"],
    ]
    assert "0.883 ± 0.104" in lines[2]
    assert "0.500 ± 0.354" in lines[3]
