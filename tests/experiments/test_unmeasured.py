"""Claims about the table and the figure of hidden targets."""

from experiments.unmeasured import draw, table


def rows():
    base = {"world": "planted", "true": 10}
    return [
        {**base, "n_samples": 1000, "cells": 38, "seed": 0, "found": 4, "right": 4},
        {**base, "n_samples": 1000, "cells": 40, "seed": 1, "found": 4, "right": 2},
        {**base, "n_samples": 4000, "cells": 160, "seed": 0, "found": 10, "right": 9},
    ]


def test_problems_of_one_size_are_counted_together():
    lines = table(rows()).splitlines()[2:]
    assert lines == [
        "| planted | 39 | 2 | 6 of 8: 0.75 | 6 of 20: 0.30 |",
        "| planted | 160 | 1 | 9 of 10: 0.90 | 9 of 10: 0.90 |",
    ]


def test_the_figure_is_written(tmp_path):
    draw(rows(), tmp_path / "hidden.svg")
    assert (tmp_path / "hidden.svg").read_text("utf-8").count("<path") > 10
