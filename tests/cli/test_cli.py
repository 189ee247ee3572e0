"""The installed command, run as a person would."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ucad
from tests.processes import run
from ucad.simulate import WORLDS, world_problem

UCAD = Path(sys.executable).with_name("ucad")


def run_installed(*words):
    return subprocess.run([UCAD, *words], capture_output=True, text=True, check=False)


def test_help_and_version_do_not_pay_for_torch():
    assert "simulate" in run_installed("--help").stdout
    assert run_installed("--version").stdout.strip() == ucad.__version__
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


def test_simulate_writes_a_world_with_its_truth(tmp_path):
    words = ["--set", "parents=3", "--set", "clamp=knockdown", "--seed", 3, "-o", tmp_path / "data"]
    done = run("simulate", "screen", *words)
    assert done.returncode == 0, done.stderr
    assert "not a clamp" in done.stdout
    problem = world_problem("screen", 3, parents=3, clamp="knockdown")
    assert ucad.read(tmp_path / "data" / "train.csv").fingerprint == problem.train.fingerprint
    about = json.loads((tmp_path / "data" / "world.json").read_text())
    assert about["settings"]["parents"] == 3
    assert about["violates"] == ["not a clamp"]
    truth = np.load(tmp_path / "data" / "truth.npz")
    np.testing.assert_array_equal(truth["Q"], problem.graph.Q)
    np.testing.assert_array_equal(truth["adjacency"], problem.adjacency)
    assert ucad.load_scm(tmp_path / "data" / "truth").graph == problem.graph


def test_a_world_without_factors_or_with_batches_writes_what_it_has(tmp_path):
    for name in ("independent", "batches"):
        done = run("simulate", name, "--samples", 420, "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
    assert set(np.load(tmp_path / "independent" / "truth.npz")) == {"adjacency"}
    assert not (tmp_path / "independent" / "truth").exists()
    train = ucad.read(tmp_path / "batches" / "train.csv")
    batch = np.load(tmp_path / "batches" / "train_covariates.npz")["batch"]
    assert len(batch) == train.n_samples


def test_simulate_lists_every_world():
    shown = run("simulate", "--list").stdout
    assert all(f"{name} " in shown and world.description in shown for name, world in WORLDS.items())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["simulat"], 'Did you mean "simulate"'),
        (["simulate", "e", "16-3", "-o", "x", "--seeed", "1"], "Did you mean --seed"),
        (["simulate", "e", "16-3"], "--output"),
        (["simulate", "q", "16-3", "-o", "x"], "must be one of a, b"),
        (["simulate", "e", "-o", "x"], "Setting e needs a size: 16-3, 64-6"),
        (["simulate", "e", "16-3", "-o", "x", "--set", "a=1"], "--set changes worlds"),
        (["simulate", "scren", "-o", "x"], "Did you mean 'screen'"),
        (["simulate", "screen", "16-3", "-o", "x"], "has no size"),
        (["simulate", "screen", "-o", "x", "--set", "parnets=1"], "Did you mean 'parents'"),
        (["simulate", "screen", "-o", "x", "--set", "parents"], "name=value"),
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


def test_a_broken_pipe_is_one_line_and_exit_code_2_and_the_work_is_done(tmp_path):
    words = f"simulate b 16-3 --samples 50 -o '{tmp_path / 'data'}'"
    done = subprocess.run(
        ["bash", "-c", f"'{UCAD}' {words} | true; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout.strip() == "2"
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stderr.startswith("ucad: ")
    assert ucad.read(tmp_path / "data" / "train.csv").n_samples
