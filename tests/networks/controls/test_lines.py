"""Blocks of factors, and a line of the table as the best of several draws."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from ucad.networks.controls.bench import Gap
from ucad.networks.controls.lines import Found, blocks_of
from ucad.networks.controls.scores import Role, compared_anew, scored


def gap(*factors):
    nothing = np.zeros(3, dtype=bool)
    return Gap(factors, tuple(range(len(factors))), nothing, nothing)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_blocks_are_every_factor_alone_all_but_one_and_all(k):
    names = [f"Z{i + 1}" for i in range(k)]
    found = blocks_of([gap(*names)])
    sizes = {size for size in (1, k - 1, k) if size >= 1}
    expected = {own for size in sizes for own in combinations(range(k), size)}
    assert {block.own for block in found} == expected
    assert len(found) == len(expected)
    assert [block.is_whole for block in found] == [k > 1 and len(block.own) == k for block in found]
    assert all(block.name == "+".join(names[i] for i in block.own) for block in found)


def test_blocks_are_of_one_gap_each():
    found = blocks_of([gap("Z1", "Z2"), gap("Z3")])
    assert [(block.gap, block.name) for block in found] == [
        (0, "Z1"),
        (0, "Z2"),
        (0, "Z1+Z2"),
        (1, "Z3"),
    ]


CHANGES = np.arange(200) % 2 == 0
DRAWS = [np.random.default_rng(seed).random(200) < p for seed, p in enumerate((0.6, 0.9, 0.7))]
RIGHT = np.random.default_rng(9).random(200) < 0.95


def line_of(own):
    found = SimpleNamespace(to_score=SimpleNamespace(changes=CHANGES), right=RIGHT)
    return Found.line(found, "random", next(iter(Role)), DRAWS, own, "a note")


def test_a_line_is_that_of_the_largest_draw_and_says_the_mean_of_all():
    line = line_of(None)
    means = [(draw[CHANGES].mean() + draw[~CHANGES].mean()) / 2 for draw in DRAWS]
    assert line.score == scored(DRAWS[1], CHANGES)
    assert line.score.mean == pytest.approx(max(means))
    assert means == pytest.approx([scored(draw, CHANGES).mean for draw in DRAWS])
    assert line.mean == pytest.approx(np.mean(means))
    assert (line.n_draws, line.note) == (3, "a note")


def test_the_largest_draw_is_compared_with_the_block_under_both_decoders():
    own = np.ones(200, dtype=bool)
    assert line_of(None).against is None
    assert line_of(own).against == compared_anew(own, RIGHT, DRAWS[1], CHANGES)
