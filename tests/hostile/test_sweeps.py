"""Sweeps leave other people's files alone, and one bad task is never the end of all of them."""

import json

import numpy as np
import pytest

from tests.hostile.commands import cases, contents, run_soundly
from ucad.errors import FormatError, InvalidInputError
from ucad.sweep import Grid, LocalProcesses, read_grid, read_rows, run_sweep

ROW = {"function": "m:f", "task": {}, "result": {}, "error": None, "about": {}}
FOREIGN = [
    '{"my": "settings"}', "thesis", "a,b\n1,2\n", "{", '{"function"', "[]", "null", "3", '"x"',
    "\n",
    '{"function": 3, "task": {}}', '{"function": "m:f", "task": {}}', '{"function": "a"}\n{}',
    "#!/bin/sh\nrm -rf", " " * 50, "\ufeff{}", "{}\n{}", json.dumps(ROW | {"task": []}),
    json.dumps(ROW | {"error": 3}), json.dumps(ROW)[:-1] + ', "x": NaN}', "[" * 50_000,
]  # fmt: skip
TASKS = """
import time


def bad(task):
    return [
        {"y": float("nan")}, {"y": object()}, {"about": {"y": object()}},
        {"about": {"y": float("inf")}},
        {"y": "\\ud800"}, {"about": 3}, None, 3, {"y": {1, 2}}, {"about": {"y": lambda: 1}},
    ][task["x"]]


def bad_error(task):
    raise ValueError("\\ud800" * task["x"])


def slow(task):
    time.sleep(task["x"])
    return {"x": task["x"]}
"""
MODULE = "hostile_tasks_of_the_tests"


@pytest.fixture
def tasks(tmp_path, monkeypatch):
    """A module that workers can import."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / f"{MODULE}.py").write_text(TASKS)
    monkeypatch.syspath_prepend(tmp_path / "modules")
    return MODULE


def foreign_content(seed: int) -> bytes:
    """Something that is no table of a sweep, with or without an end of line."""
    rng = np.random.default_rng(seed)
    if seed < 2 * len(FOREIGN):
        return (FOREIGN[seed // 2] + "\n" * (seed % 2)).encode()
    row = json.dumps(ROW).encode()
    at = int(rng.integers(1, len(row)))
    wrong = [row[at:], rng.bytes(40), row[:at] + b"\n", row + b"x\n", b"\xff" + row, row[::-1]]
    lines = [row + b"\n"] * int(rng.integers(0, 3))
    return b"".join(lines) + wrong[int(rng.integers(len(wrong)))]


@pytest.mark.parametrize("seed", cases(12, 150))
def test_a_file_that_is_no_table_of_ours_is_refused_untouched(tmp_path, seed):
    (tmp_path / "grid.toml").write_text('[[grid]]\nsetting = "a"\nsize = "16-3"\nseed = 0\n')
    (tmp_path / "mine").write_bytes(foreign_content(seed))
    before = contents(tmp_path)
    options = ["--retry-failed"] if seed % 3 == 0 else []
    said = run_soundly("sweep", tmp_path / "grid.toml", "-o", tmp_path / "mine", *options)
    assert said.code == 2
    assert contents(tmp_path) == before


def test_a_row_that_cannot_be_written_is_its_tasks_own_error(tmp_path, tasks):
    grid = Grid(tuple({"x": x} for x in range(10)), f"{tasks}:bad")
    report = run_sweep(grid, tmp_path / "rows", LocalProcesses(1))
    assert (len(report.rows), len(report.failed)) == (10, 10)
    grid = Grid(({"x": 1}, {"x": 2}), f"{tasks}:bad_error")
    assert len(run_sweep(grid, tmp_path / "rows", LocalProcesses(1)).failed) == 2
    assert len(read_rows(tmp_path / "rows")) == 12


def test_a_task_that_takes_too_long_is_ended_and_the_others_go_on(tmp_path, tasks):
    grid = Grid(({"x": 600}, {"x": 0}), f"{tasks}:slow")
    report = run_sweep(grid, tmp_path / "rows", LocalProcesses(1), max_seconds=3.0)
    by_task = {row["task"]["x"]: row["error"] for row in report.rows}
    assert by_task[0] is None
    assert "more than 3 s" in by_task[600]


@pytest.mark.parametrize("function", ["os:system", "ucad.sweep.work:execute", "x", ""])
def test_a_grid_that_names_code_is_refused_unless_allowed(tmp_path, function):
    (tmp_path / "grid.toml").write_text(f'function = "{function}"\n[[grid]]\nx = 1\n')
    with pytest.raises(InvalidInputError, match="--allow-code"):
        read_grid(tmp_path / "grid.toml")
    assert read_grid(tmp_path / "grid.toml", allow_code=True).function == function


@pytest.mark.parametrize("axis", ['seed = "0:999999999"', "x = [1]\ny = [[]]", 'seed = "²:9"'])
def test_a_grid_without_end_or_sense_is_refused_at_once(tmp_path, axis):
    (tmp_path / "grid.toml").write_text(f"[[grid]]\n{axis}\n")
    with pytest.raises((InvalidInputError, FormatError)):
        read_grid(tmp_path / "grid.toml")


ODD_VALUES = [
    "[[1, 2]]", "[{a = 1}]", "2020-01-01", "true", "-1", "1.5", "inf", "nan", '""', '"x"', "[true]",
    '[["a"]]', "10000000000000000000000", "12:00:00", "{a = 1}", '["a", 1]', "[[]]", "[nan]",
]  # fmt: skip
"""Values of TOML that no setting, or hardly one, may have."""


@pytest.mark.parametrize("seed", cases(12, len(ODD_VALUES) * 12))
def test_a_grid_on_own_data_with_an_odd_value_is_refused_in_words_or_read(tmp_path, seed):
    from dataclasses import fields

    from ucad.cli.settings import FitSettings

    (tmp_path / "table.csv").write_text("a,b\n1,2\n2,3\n3,1\n")
    names = ["data", *(field.name for field in fields(FitSettings))]
    rng = np.random.default_rng(seed)
    lines = {"data": json.dumps(str(tmp_path / "table.csv"))}
    lines |= {str(rng.choice(names)): ODD_VALUES[seed % len(ODD_VALUES)]}
    grid = tmp_path / "grid.toml"
    grid.write_text("[[grid]]\n" + "\n".join(f"{name} = {lines[name]}" for name in lines))
    try:
        tasks = read_grid(grid).tasks
    except (FormatError, InvalidInputError):
        return
    assert all("data" in task for task in tasks)
