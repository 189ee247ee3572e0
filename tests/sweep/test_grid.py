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


def test_every_list_of_a_grid_is_an_axis(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(
        '[[grid]]\nsetting = ["a", "b"]\nsize = "16-3"\nseed = "3:5"\nsolver = "search"\n'
        '[[grid]]\nsetting = "e"\nsize = ["64-6"]\nseed = 7\nsolver = ["gradient", "auto"]\n'
    )
    tasks = read_grid(path).tasks
    assert len(tasks) == 6
    assert tasks[1] == {"setting": "a", "size": "16-3", "seed": 4}
    assert tasks[5] == {"setting": "e", "size": "64-6", "seed": 7, "solver": "auto"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gird = 1", "Did you mean 'grid'"),
        ("function = 'm:f'", "at least one table"),
        ("[[grid]]\nsetting='a'\nsize='16-3'\nseed=1\nsolvr='search'", "Did you mean 'solver'"),
        ("[[grid]]\nsetting='a'\nsize='16-3'\nseed=1\nsolver='serch'", "Did you mean 'search'"),
        ("[[grid]]\nsetting='a'\nsize='16-3'", "must say its seed"),
        ("[[grid]]\nsetting='a'\nsize='16-3'\nseed='5:3'", "Seeds must be"),
        ("[[grid]]\nsetting=[]\nsize='16-3'\nseed=1", "must not be empty"),
        ("[[grid]", "not a TOML file"),
    ],
)
def test_a_wrong_grid_is_refused_before_any_work(tmp_path, text, message):
    (tmp_path / "grid.toml").write_text(text)
    with pytest.raises((FormatError, InvalidInputError), match=message):
        read_grid(tmp_path / "grid.toml")
