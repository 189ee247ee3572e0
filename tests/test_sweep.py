"""Sweeps: what is finished is kept, what dies is tried again, and where it ran does not matter."""

import json
import os
import signal
import sys

import pytest

from ucad.errors import FormatError, InvalidInputError, MissingDependencyError
from ucad.sweep import (
    Budget,
    Costs,
    Grid,
    LocalProcesses,
    RayCluster,
    drop_failed,
    read_grid,
    read_rows,
    row_key,
    run_sweep,
)
from ucad.sweep.recovery import canonical, recover

FUNCTIONS = '''
import os
import signal
import time
from pathlib import Path


def double(task):
    if task["x"] == task.get("bad"):
        raise ValueError("x is bad")
    return {"y": 2 * task["x"], "about": {"pid": os.getpid()}}


def die(task):
    """Kills its own process the first `times` times."""
    marks = Path(task["folder"])
    if task["x"] == 1 and len(list(marks.iterdir())) < task["times"]:
        (marks / str(os.getpid())).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"y": 2 * task["x"]}


def slow(task):
    Path(task["folder"], str(os.getpid())).touch()
    time.sleep(task["seconds"])
    return {"x": task["x"]}


def interrupt(task):
    if task["x"] == 2:
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(60)
    return {"x": task["x"]}


def not_a_number(task):
    return {"y": float("nan")}
'''
MODULE = "sweep_functions_of_the_tests"


@pytest.fixture
def functions(tmp_path, monkeypatch):
    """A module that workers can import."""
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / f"{MODULE}.py").write_text(FUNCTIONS)
    monkeypatch.syspath_prepend(str(folder))
    yield MODULE
    sys.modules.pop(MODULE, None)


def what_came_out(rows):
    return [(row["task"], row["result"], row["error"]) for row in rows]


def grid_of(name, *tasks):
    return Grid(tasks, f"{MODULE}:{name}")


def test_a_failing_fit_becomes_a_row_and_the_others_go_on(tmp_path, functions):
    grid = grid_of("double", *({"x": x, "bad": 1} for x in range(4)))
    events = []
    table = tmp_path / "table.jsonl"
    report = run_sweep(grid, table, LocalProcesses(2), progress=events.append)
    assert [row["error"] for row in report.rows] == [None, "ValueError: x is bad", None, None]
    assert [row["result"] for row in report.rows] == [{"y": 0}, None, {"y": 4}, {"y": 6}]
    assert {"seconds", "host", "attempts", "pid"} <= report.rows[0]["about"].keys()
    assert (events[-1].done, events[-1].total) == (4, 4)
    assert events[-1].message == "1 failed"
    assert events[-1].seconds_left is not None
    assert what_came_out(read_rows(table).values()) == what_came_out(report.rows)


def test_a_value_that_is_no_number_is_an_error_not_a_broken_table(tmp_path, functions):
    report = run_sweep(grid_of("not_a_number", {"x": 1}), tmp_path / "t.jsonl", LocalProcesses(1))
    assert report.rows[0]["error"].startswith("ValueError")


def test_a_worker_killed_in_the_middle_is_replaced_and_its_task_done_again(tmp_path, functions):
    """Killed from outside, with SIGKILL, while both workers are busy."""
    grid = grid_of("slow", *({"x": x, "seconds": 0.4, "folder": str(tmp_path)} for x in range(6)))
    backend = LocalProcesses(2)
    killed = []

    def kill_one(event):
        if event.done >= 1 and not killed:
            killed.append(backend.pids[0])
            os.kill(killed[0], signal.SIGKILL)

    report = run_sweep(grid, tmp_path / "table.jsonl", backend, progress=kill_one)
    assert killed
    assert [row["result"] for row in report.rows] == [{"x": x} for x in range(6)]
    assert not report.left_out
    assert sorted(row["about"]["attempts"] for row in report.rows) == [1, 1, 1, 1, 1, 2]


@pytest.mark.parametrize(("times", "error"), [(1, None), (2, "died twice")])
def test_a_task_that_kills_its_worker_twice_is_a_row_with_an_error(
    tmp_path, functions, times, error
):
    (tmp_path / "marks").mkdir()
    tasks = ({"x": x, "folder": str(tmp_path / "marks"), "times": times} for x in range(3))
    report = run_sweep(grid_of("die", *tasks), tmp_path / "table.jsonl", LocalProcesses(2))
    by_x = {row["task"]["x"]: row for row in report.rows}
    assert by_x[0]["result"] == {"y": 0}
    assert by_x[2]["result"] == {"y": 4}
    assert by_x[1]["about"]["attempts"] == 2
    if error is None:
        assert by_x[1]["result"] == {"y": 2}
    else:
        assert error in by_x[1]["error"]


def test_finished_rows_are_skipped_and_a_larger_grid_only_adds(tmp_path, functions):
    table = tmp_path / "table.jsonl"
    first = run_sweep(grid_of("double", {"x": 5}), table, LocalProcesses(1))
    wider = grid_of("double", {"x": 7}, {"x": 5}, {"x": 5})
    second = run_sweep(wider, table, LocalProcesses(1))
    assert (first.n_new, second.n_new) == (1, 1)
    assert second.rows[0] == first.rows[0]
    before = table.read_bytes()
    third = run_sweep(wider, table, LocalProcesses(1))
    assert third.n_new == 0
    assert table.read_bytes() == before
    assert len(run_sweep(grid_of("double", {"x": 7}), table, LocalProcesses(1)).rows) == 1
    assert len(read_rows(table)) == 2


def test_failed_rows_are_tried_again_only_if_asked_for(tmp_path, functions):
    table, grid = tmp_path / "table.jsonl", grid_of("double", {"x": 1, "bad": 1}, {"x": 2})
    assert len(run_sweep(grid, table, LocalProcesses(1)).failed) == 1
    assert run_sweep(grid, table, LocalProcesses(1)).n_new == 0
    assert drop_failed(table) == 1
    assert run_sweep(grid, table, LocalProcesses(1)).n_new == 1


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_a_torn_last_line_is_done_again(tmp_path, functions, cut):
    table, grid = tmp_path / "table.jsonl", grid_of("double", *({"x": x} for x in range(3)))
    whole = run_sweep(grid, table, LocalProcesses(1))
    table.write_bytes(table.read_bytes()[:-cut])
    assert len(read_rows(table)) == 2
    again = run_sweep(grid, table, LocalProcesses(1))
    assert again.n_new == 1
    assert what_came_out(again.rows) == what_came_out(whole.rows)
    assert len(table.read_text().splitlines()) == 3


def test_a_damaged_line_in_the_middle_is_refused(tmp_path):
    table = tmp_path / "table.jsonl"
    good = json.dumps({"function": "m:f", "task": {}, "result": {}, "error": None, "about": {}})
    table.write_text(f"{good}\nnonsense\n{good}\n")
    with pytest.raises(FormatError, match="Line 2"):
        read_rows(table)


@pytest.fixture
def listens_to_ctrl_c():
    """A process that was started in the background may ignore the signal from the start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listens_to_ctrl_c")
def test_ctrl_c_keeps_what_is_finished(tmp_path, functions):
    table, grid = tmp_path / "table.jsonl", grid_of("interrupt", *({"x": x} for x in range(4)))
    report = run_sweep(grid, table, LocalProcesses(1))
    assert report.interrupted
    assert [row["result"] for row in report.rows] == [{"x": 0}, {"x": 1}]
    assert [task["x"] for task in report.left_out] == [2, 3]


def test_two_sweeps_cannot_write_one_table(tmp_path, functions):
    table = tmp_path / "table.jsonl"

    def start_another(_event):
        with pytest.raises(InvalidInputError, match="Another sweep is writing"):
            run_sweep(grid_of("double", {"x": 2}), table, LocalProcesses(1))

    run_sweep(grid_of("double", {"x": 1}), table, LocalProcesses(1), progress=start_another)
    assert len(read_rows(table)) == 1


def test_a_budget_passes_over_what_would_take_too_long(tmp_path, functions):
    grid = grid_of("double", {"x": 1}, {"x": 1000}, {"x": 2})
    # Far from every border: nothing here is timed.
    costs = Costs(guess=lambda task: 1e-6 if task["x"] < 10 else 1e12)
    report = run_sweep(
        grid, tmp_path / "t.jsonl", LocalProcesses(1), costs=costs, budget=Budget(1e5)
    )
    assert [row["task"]["x"] for row in report.rows] == [1, 2]
    assert [task["x"] for task in report.left_out] == [1000]


def test_a_fit_that_outlasts_the_budget_is_given_up(tmp_path, functions):
    task = {"x": 1, "seconds": 300, "folder": str(tmp_path)}
    costs = Costs(guess=lambda _task: 0.0)
    report = run_sweep(
        grid_of("slow", task),
        tmp_path / "t.jsonl",
        LocalProcesses(1),
        costs=costs,
        budget=Budget(1.0),
    )
    assert report.left_out == (task,)


def test_both_backends_give_the_same_rows(tmp_path, functions):
    """One real fit, one failure and one worker that dies once, here and on a Ray cluster."""
    pytest.importorskip("ray", reason="the extra 'ray' is not installed")
    real = Grid(
        tuple(
            canonical(
                {"setting": "b", "size": "16-3", "seed": seed, "n_samples": 600, "metrics": "fast"}
            )
            for seed in range(2)
        )
    )
    failing = grid_of("double", *({"x": x, "bad": 1} for x in range(3)))
    (tmp_path / "marks").mkdir()
    dying = grid_of(
        "die", *({"x": x, "folder": str(tmp_path / "marks"), "times": 2} for x in range(2))
    )
    with RayCluster(2) as cluster:
        kept = _Kept(cluster)
        for number, grid in enumerate((real, failing, dying)):
            on_ray = run_sweep(grid, tmp_path / f"ray{number}.jsonl", kept)
            for mark in (tmp_path / "marks").iterdir():
                mark.unlink()
            here = run_sweep(grid, tmp_path / f"local{number}.jsonl", LocalProcesses(1))
            assert what_came_out(on_ray.rows) == what_came_out(here.rows)
            assert len(here.rows) == len(grid.tasks)


class _Kept:
    """A backend that stays open from sweep to sweep."""

    def __init__(self, backend):
        self.backend, self.capacity = backend, backend.capacity
        self.start, self.finished = backend.start, backend.finished
        self.cancel = backend.cancel

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        pass


def test_without_ray_it_says_what_to_install(tmp_path, functions, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ucad\[ray\]'"):
        run_sweep(grid_of("double", {"x": 1}), tmp_path / "t.jsonl", RayCluster(1))


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


def test_the_order_of_options_does_not_matter_to_a_key():
    assert row_key("f", {"a": 1, "b": 2}) == row_key("f", {"b": 2, "a": 1})
    assert row_key("f", {"a": 1}) != row_key("g", {"a": 1})


def test_a_true_factor_that_was_not_asked_for_counts_nothing():
    small = {"setting": "b", "size": "16-3", "seed": 0, "n_samples": 600, "metrics": "fast"}
    all_three, one = recover(small), recover({**small, "extra_factors": -2})
    assert all_three["mcc_pearson"] > 0.9
    assert one["n_factors"] == 1
    assert one["mcc_pearson"] <= 1 / 3
    assert one["score_above_ceiling"] < 0
    assert {"fit_seconds", "fit_cpu_seconds", "ceiling_seconds"} <= one["about"].keys()
