"""`ucad sweep`, as a person would run it."""

import subprocess
import sys
from pathlib import Path

import pytest

from ucad.sweep import read_rows

UCAD = Path(sys.executable).with_name("ucad")
GRID = """
[[grid]]
setting = "b"
size = "16-3"
seed = "0:2"
n_samples = 500
metrics = "fast"
ceiling = false
"""


def run(*words, cwd):
    return subprocess.run(
        [UCAD, *map(str, words)], capture_output=True, text=True, cwd=cwd, check=False, timeout=120
    )


def test_a_sweep_writes_its_table_and_goes_on_from_it(tmp_path):
    (tmp_path / "grid.toml").write_text(GRID)
    words = ["sweep", "grid.toml", "--on", "local", "--workers", 1, "-o", "table.jsonl"]
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 rows in table.jsonl." in done.stdout
    assert "sweep: 0/2" in done.stderr
    rows = list(read_rows(tmp_path / "table.jsonl").values())
    assert [row["task"]["seed"] for row in rows] == [0, 1]
    assert all(row["result"]["mcc_pearson"] > 0.5 for row in rows)
    assert "2 of them from before" in run(*words, cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sweep", "none.toml", "-o", "t.jsonl"], "cannot be read"),
        (["sweep", "grid.toml", "-o", "t.jsonl", "--address", "auto"], "needs --on ray"),
        (["sweep", "grid.toml", "-o", "t.jsonl", "--workers", "0"], "from 1 to 1024"),
        (["sweep", "grid.toml", "-o", "t.jsonl", "--on", "moon"], "local"),
    ],
)
def test_wrong_use_of_a_sweep_is_one_line(tmp_path, words, message):
    (tmp_path / "grid.toml").write_text(GRID)
    failed = run(*words, cwd=tmp_path)
    assert failed.returncode == 2
    assert message in failed.stderr
    assert len(failed.stderr.strip().splitlines()) == 1
