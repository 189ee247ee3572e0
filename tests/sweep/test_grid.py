"""Grids of tasks: every list is an axis, and what cannot be done is refused before any work."""

import pytest

from ucad.errors import FormatError, InvalidInputError
from ucad.sweep.grid import RECOVERY, read_grid


def grid(tmp_path, text, **options):
    path = tmp_path / "grid.toml"
    path.write_text(text)
    return read_grid(path, **options)


def test_all_combinations_come_with_the_first_axis_varying_slowest(tmp_path):
    text = '[[grid]]\nsetting = ["a", "b"]\nsize = "16-3"\nseed = "4:7"\n'
    found = grid(tmp_path, text)
    assert found.function == RECOVERY
    assert [(task["setting"], task["seed"]) for task in found.tasks] == [
        (setting, seed) for setting in "ab" for seed in (4, 5, 6)
    ]


def test_code_of_others_runs_only_if_that_is_said(tmp_path):
    text = 'function = "os:system"\n[[grid]]\nseed = 0\n'
    with pytest.raises(InvalidInputError, match="--allow-code"):
        grid(tmp_path, text)
    assert grid(tmp_path, text, allow_code=True).function == "os:system"


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        ("", FormatError, "at least one table"),
        ("[[gird]]\nseed = 0\n", FormatError, "Did you mean 'grid'"),
        ('[[grid]]\nseed = "3:3"\n', InvalidInputError, "the last left out"),
        ("[[grid]]\nsetting = []\n", InvalidInputError, "'setting' of a grid must not be empty"),
        ('[[grid]]\ndata = "a.csv"\n[[grid]]\nseed = 0\n', InvalidInputError, "make two grids"),
        ('[[grid]]\nseed = "0:1000001"\n', InvalidInputError, "at most 1000000 tasks"),
    ],
)
def test_what_is_no_grid_is_refused(tmp_path, text, kind, told):
    with pytest.raises(kind, match=told):
        grid(tmp_path, text)
