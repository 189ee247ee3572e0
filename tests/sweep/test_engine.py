"""Sweeps: what is finished is kept, what dies is tried again, and where it ran does not matter."""

import os
import signal

import pytest

from tests.sweep.tasks import grid_of, what_came_out
from ucad.errors import InvalidInputError
from ucad.sweep import (
    Budget,
    Costs,
    LocalProcesses,
    drop_failed,
    read_rows,
    run_sweep,
)


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
            # The one that has just begun: another may have sent its reply by now.
            latest = max(backend._workers, key=lambda worker: worker.ticket or 0)
            killed.append(latest.process.pid)
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
