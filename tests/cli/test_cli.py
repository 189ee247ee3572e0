"""The installed command, run as a person would."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ucad

UCAD = Path(sys.executable).with_name("ucad")


def run(*words, cwd=None, **options):
    return subprocess.run(
        [UCAD, *map(str, words)], capture_output=True, text=True, cwd=cwd, check=False, **options
    )


def test_help_and_version_do_not_pay_for_torch():
    assert "simulate" in run("--help").stdout
    assert run("--version").stdout.strip() == ucad.__version__
    code = "import sys, ucad.cli; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_simulate_writes_a_problem_that_is_read_back(tmp_path):
    done = run("simulate", "e", "16-3", "--seed", 3, "-o", tmp_path / "data", "--samples", 600)
    assert done.returncode == 0, done.stderr
    train = ucad.read(tmp_path / "data" / "train.csv")
    truth = ucad.load_scm(tmp_path / "data" / "truth")
    problem = ucad.paper_problem("e", "16-3", seed=3, n_samples=600)
    assert train.fingerprint == problem.train.fingerprint
    test = ucad.read(tmp_path / "data" / "test.csv")
    np.testing.assert_allclose(
        truth.state_map(test.x).numpy(), np.load(tmp_path / "data" / "factors.npy")
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["simulat"], 'Did you mean "simulate"'),
        (["simulate", "e", "16-3", "-o", "x", "--seeed", "1"], "Did you mean --seed"),
        (["simulate", "e", "16-3"], "--output"),
        (["simulate", "q", "16-3", "-o", "x"], "must be one of a, b"),
        (["simulate", "e", "16-3", "-o", "x", "--seed", "one"], "seed"),
        (["simulate", "e", "16-3", "-o", "x", "--format", "xls"], "csv, parquet, npz or h5ad"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(tmp_path, words, message):
    failed = run(*words, cwd=tmp_path)
    assert failed.returncode == 2
    assert message in failed.stderr
    assert len(failed.stderr.strip().splitlines()) == 1
    assert "Traceback" not in failed.stderr


def test_debug_shows_where_an_error_comes_from(tmp_path):
    failed = run("simulate", "q", "16-3", "-o", tmp_path / "x", "--debug")
    assert "Traceback" in failed.stderr
    assert "InvalidInputError" in failed.stderr


def test_nothing_is_overwritten_without_force(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "notes.txt").write_text("mine")
    words = ["simulate", "b", "16-3", "-o", tmp_path / "data", "--samples", 300]
    failed = run(*words)
    assert failed.returncode == 2
    assert "--force" in failed.stderr
    assert run(*words, "--force").returncode == 0
    assert (tmp_path / "data" / "notes.txt").read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    failed = run("simulate", "b", "16-3", "-o", tmp_path / "file" / "data", "--samples", 300)
    assert failed.returncode == 2
    assert "Traceback" not in failed.stderr


def test_a_broken_pipe_is_one_line_and_exit_code_2():
    script = f"'{UCAD}' demo | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout.strip() in {"0", "2"}
    assert "Traceback" not in done.stderr
    told = done.stderr.strip().splitlines()
    assert len([line for line in told if not line.startswith(("search:", "training:"))]) <= 1
