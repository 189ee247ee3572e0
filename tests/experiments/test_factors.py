"""The experiment on the number of factors."""

import json

import numpy as np

from experiments import factors


def test_permuted_columns_keep_their_values_and_lose_their_factors():
    data, truth = factors.problem("permuted b 16-3", 0)
    whole, before = factors.problem("b 16-3", 0)
    assert (truth, before) == (0, 3)
    assert np.array_equal(np.sort(data.x, axis=0), np.sort(whole.x, axis=0))


def test_a_line_counts_what_is_right_and_what_is_within_two():
    results = [
        {"true": 3, "n_factors": 3, "plausible": [3], "cpu_seconds": 1.0},
        {"true": 3, "n_factors": 4, "plausible": [3, 4], "cpu_seconds": 3.0},
        {"true": 3, "n_factors": 0, "plausible": [0], "cpu_seconds": 2.0},
    ]
    rows = [{"task": {"cell": "b 16-3", "seed": s}, "result": r} for s, r in enumerate(results)]
    assert factors.table(rows).splitlines()[-1] == "| b 16-3 | 3 | 3 | 1 | 2 | 0, 4 | 2.0 (3) |"


def test_rows_that_are_there_are_not_run_again(tmp_path, monkeypatch, capsys):
    rows = tmp_path / "rows.jsonl"
    row = {
        "task": {"cell": "independent", "seed": 5},
        "result": {"true": 0, "n_factors": 0, "plausible": [0], "cpu_seconds": 1.0},
    }
    rows.write_text(json.dumps(row) + "\n")
    words = ["factors", "--seeds", "5:6", "--cells", "independent", "-o", str(rows)]
    monkeypatch.setattr("sys.argv", words)
    monkeypatch.setattr(factors, "run", None)
    factors.main()
    assert "| independent | 0 | 1 | 1 | 1 | – |" in capsys.readouterr().out
