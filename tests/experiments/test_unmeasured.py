"""Claims about the table and the figure of hidden targets."""

from experiments.unmeasured import draw, table


def rows():
    base = {"world": "planted", "true": 10}
    return [
        {**base, "n_samples": n, "cells": cells, "seed": seed, "found": found}
        | {"right": right, "right_sets": right, "nodes": 2 * found}
        for n, cells, seed, found, right in (
            (1000, 38, 0, 4, 4),
            (1000, 40, 1, 4, 2),
            (4000, 160, 0, 10, 9),
        )
    ]


def test_problems_of_one_size_are_counted_together():
    lines = table(rows()).splitlines()[2:]
    assert lines == [
        "| planted | 39 | 2 | 6 of 8: 0.75 | 2.0 | 6 of 20: 0.30 |",
        "| planted | 160 | 1 | 9 of 10: 0.90 | 2.0 | 9 of 10: 0.90 |",
    ]


def test_the_figure_is_written(tmp_path):
    draw(rows(), tmp_path / "hidden.svg")
    assert (tmp_path / "hidden.svg").read_text("utf-8").count("<path") > 10
