"""A small run of the count of over-claims: rows are kept, resumed, and judged against the truth."""

from __future__ import annotations

import json
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import pytest

from experiments.claims import CASES, SLOW, _result, main, run_case, table, tasks_of
from experiments.figures import draw_claims


def test_a_planted_world_is_claimed_and_one_factor_too_few_is_not():
    right, wrong = (run_case(name, 3) for name in ("planted", "factor-too-few"))
    assert right["exact"]
    assert right["right"]
    assert right["answers"]["graph"] == "yes"
    assert not right["over_claims"]
    assert wrong["answers"]["graph"] == "no"
    assert "factor" in wrong["suggestions"][:2]
    text = table([right, wrong])
    assert "| planted | 1 | 1 | 0 | 1/1 | 0/1 | 0 | – |" in text


def test_rows_are_kept_and_not_made_again(tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    row = run_case("one-child", 0)
    rows.write_text(json.dumps(row | {"seconds": -1.0}) + "\n")
    main(["--cases", "one-child", "--seeds", "0:1", "--rows", str(rows)])
    assert len(rows.read_text().splitlines()) == 1
    assert "one-child" in capsys.readouterr().out
    draw_claims([row], tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 1000


def test_every_world_is_a_case():
    assert {"setting a", "setting e, fitted linear", "planted", "hidden-cause"} <= set(CASES)
    assert set(SLOW) <= set(CASES)


def test_a_failed_fit_is_a_row_and_a_killed_process_ends_the_run():
    failed, killed = Future(), Future()
    failed.set_exception(ValueError("no"))
    killed.set_exception(BrokenProcessPool("killed"))
    assert _result(failed, ("planted", 0))["error"] == "ValueError: no"
    with pytest.raises(BrokenProcessPool):
        _result(killed, ("planted", 0))


def test_slow_cases_come_last_and_on_a_few_seeds():
    tasks = tasks_of(["genes", "planted", "logic"], range(7, 10), 1)
    assert tasks == [("planted", 7), ("planted", 8), ("planted", 9), ("genes", 7), ("logic", 7)]
