"""`ucad record`, `ucad fit` and `ucad steer`, run as a person would."""

import contextlib
import io
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch

import ucad
from tests import processes
from tests.networks.models import exact_inputs, exact_network, exact_scm
from ucad.cli import main
from ucad.cli.network_files import load_model
from ucad.errors import FormatError, InvalidInputError
from ucad.networks import load_recording
from ucad.runs import Run, save_run
from ucad.solvers import FitStatus

SCRIPT = """
import torch
from beside import WIDTH

torch.manual_seed(0)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(2, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH),
            torch.nn.ReLU(), torch.nn.Linear(WIDTH, 1))
    def forward(self, x):
        return self.layers(x)

def make():
    return Net()

model = make()
number = 3
"""
EXACT = """
import sys
import torch
sys.path.insert(0, {root!r})
from tests.networks.models import exact_network

def broken():
    raise RuntimeError("no weights")

class Several(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = exact_network()
    def forward(self, x):
        return {{"answer": self.inner(x), "twice": 2 * x}}

def answer(output):
    return output["answer"]
"""


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(*words, cwd):
    """The command in this process: a new one would spend seconds on importing torch."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
        pytest.raises(SystemExit) as exit_code,
    ):
        main([str(word) for word in words])
    return Done(exit_code.value.code, stdout.getvalue(), stderr.getvalue())


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("networks")
    (folder / "script.py").write_text(SCRIPT)
    (folder / "beside.py").write_text("WIDTH = 4\n")
    (folder / "exact.py").write_text(EXACT.format(root=str(Path(__file__).parents[2])))
    inputs = exact_inputs()
    np.save(folder / "inputs.npy", inputs.numpy())
    np.save(folder / "wide.npy", np.zeros((5, 9)))
    bits = (inputs > 0.5).numpy()
    both = bits.all(axis=1)
    np.savez(folder / "labels.npz", outcome=both, bases=both, first=bits[:, 0], second=bits[:, 1])
    status = FitStatus(converged=True, feasible=True, reason="It is exact.")
    save_run(Run(scm=exact_scm(), status=status), folder / "run")
    return folder


def test_a_recording_is_a_data_set_that_fit_takes(folder):
    words = ["record", "script.py:make", "--inputs", "inputs.npy", "--sites", "layers.1"]
    words += ["layers.3", "--per-clamp", 20, "-o", "recording"]
    done = processes.run(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    found = load_recording(folder / "recording")
    assert f"400 observational samples and {20 * found.data.n_variables}" in done.stdout
    assert "ucad fit recording --model script.py:make --inputs inputs.npy" in done.stdout
    assert "passes of one input: 400 without a clamp and 20 for each of 8 clamps" in done.stdout
    about = json.loads((folder / "recording" / "recording.json").read_text())
    assert about["model"] == "script.py:make"
    assert about["activations"] == ["relu", "relu"]
    assert ucad.read(folder / "recording").fingerprint == found.data.fingerprint
    again = run(*words, cwd=folder)
    assert again.returncode == 0, again.stderr
    fitted = run(
        *["fit", "recording", "--factors", 1, "--solver", "search", "-o", "fitted"],
        *["--factor-mechanism", "linear", "--variable-mechanism", "linear"],
        cwd=folder,
    )
    status = json.loads((folder / "fitted" / "run.json").read_text())["status"]
    assert fitted.returncode == (0 if status["converged"] and status["feasible"] else 1)
    assert ucad.load(folder / "fitted").graph_.variable_names == found.data.variable_names


def test_fit_takes_the_network_so_that_errors_count_by_its_decisions(folder):
    words = ["record", "script.py:model", "--inputs", "inputs.npy", "--sites", "layers.1"]
    run(*words, "layers.3", "--per-clamp", 5, "-o", "again", "--quiet", cwd=folder)
    words = ["fit", "again", "--factors", 2, "--solver", "switch", "--quiet"]
    plain = run(*words, "-o", "plain", cwd=folder)
    with_rest = run(*words, "--model", "script.py:model", "-o", "rest", cwd=folder)
    for done, name in ((plain, "plain"), (with_rest, "rest")):
        status = ucad.load(folder / name).status_
        assert done.returncode == (0 if status.converged and status.feasible else 1), done.stderr
        assert str(status)[:40] in " ".join(done.stdout.split())
    x = load_recording(folder / "again").data.x
    factors = [ucad.load(folder / name).transform(x) for name in ("plain", "rest")]
    assert not np.allclose(*factors)
    words[5] = "search"
    refused = run(*words, "--model", "script.py:model", "-o", "no", cwd=folder)
    assert refused.returncode == 2
    assert "takes no readouts of a network. Use 'bottleneck' or 'switch'" in refused.stderr


def test_steer_scores_every_factor_beside_placebos(folder):
    words = ["steer", "run", "--model", "exact.py:exact_network", "--inputs", "inputs.npy"]
    words += ["--labels", "labels.npz", "--pairs", 100, "--draws", 3, "--ceiling", 0]
    words += ["--blocks", "first=input[0]", "second=input[1]"]
    done = run(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "first: best factor Z1" in done.stdout
    assert "second: best factor Z2" in done.stdout
    assert "passes of one input" in done.stdout
    assert "copy of the source's output" in done.stdout
    assert "hybrid inputs" in done.stdout
    written = json.loads((folder / "run" / "steering.json").read_text())
    first = written["concepts"][0]["by_factor"]["Z1"]
    assert first["on_changes"] == first["on_keeps"] == 1.0
    assert len(written["doses"]) == 3


@pytest.mark.parametrize("reader", ["answer", "exact.py:answer"])
def test_steer_reads_an_output_inside_a_wrapper_and_lists_concepts_that_change_nothing(
    folder, reader
):
    labels = dict(np.load(folder / "labels.npz"))
    np.savez(folder / "idle.npz", **labels, idle=np.arange(400) % 2)
    words = ["steer", "run", "--model", "exact.py:Several", "--inputs", "inputs.npy"]
    words += ["--labels", "idle.npz", "--pairs", 60, "--draws", 2, "--ceiling", 0]
    asked = run(*words, "-o", "several.json", cwd=folder)
    assert asked.returncode == 2
    assert "(--read-output) must say which one counts, e.g. 'answer'" in asked.stderr
    done = run(*words, "-o", "several.json", "--read-output", reader, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "first: best factor Z1" in done.stdout
    assert "idle: left out." in done.stdout
    written = json.loads((folder / "several.json").read_text())
    assert "no swap changes the decision" in written["left_out"]["idle"]


def test_steer_without_labels_compares_with_the_prediction(folder):
    words = ["steer", "run", "--model", "exact.py:exact_network", "--inputs", "inputs.npy"]
    done = run(*words, "--pairs", 100, "--draws", 2, "--json", "-o", "free.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = json.loads(done.stdout)["factors"]
    assert json.loads((folder / "free.json").read_text())["factors"] == lines
    assert lines[0]["units"]["r_squared"] == pytest.approx(1.0, abs=1e-5)
    assert lines[2]["units"] is None
    text = run(*words, "--pairs", 100, "--draws", 2, "-o", "free.json", cwd=folder).stdout
    assert "decisions changed" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["record", "model.pt", "--inputs", "inputs.npy", "--sites", "1"], "script.py:name"),
        (["record", "no.py:model", "--inputs", "inputs.npy", "--sites", "1"], "no script 'no.py'"),
        (
            ["record", "script.py:modle", "--inputs", "inputs.npy", "--sites", "1"],
            "Did you mean 'model'",
        ),
        (["record", "script.py:model", "--inputs", "no.npy", "--sites", "1"], "no.npy"),
        (
            ["record", "script.py:model", "--inputs", "inputs.npy", "--sites", "layer.1"],
            "Did you mean 'layers.1'",
        ),
        (
            ["record", "script.py:model", "--inputs", "wide.npy", "--sites", "layers.1"],
            "The model fails on these inputs with RuntimeError",
        ),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(folder, words, message):
    failed = run(*words, "-o", "never", cwd=folder)
    assert failed.returncode == 2
    assert message in failed.stderr
    assert len(failed.stderr.strip().splitlines()) == 1
    assert not (folder / "never").exists()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"first": np.zeros(400)}, "must hold 'outcome' and at least one concept"),
        ({"outcome": np.zeros(400)}, "must hold 'outcome' and at least one concept"),
        ({"outcome": np.zeros(3), "first": np.zeros(400)}, "one entry per input, 400"),
        ({"outcome": np.arange(400) % 2, "first": np.zeros(400)}, "function of the concepts"),
        ({"outcome": np.zeros(400), "first": np.full(400, 0.5)}, "must be whole numbers"),
        ({"outcome": np.zeros(400), "first": np.array(["u", "v"] * 200)}, "must be whole numbers"),
        ({"outcome": np.zeros(400), "first": np.zeros(400)}, "no swap changes the decision"),
    ],
)
def test_labels_that_say_nothing_are_refused(folder, arrays, message):
    np.savez(folder / "wrong.npz", **arrays)
    words = ["steer", "run", "--model", "exact.py:exact_network", "--inputs", "inputs.npy"]
    failed = run(*words, "--labels", "wrong.npz", cwd=folder)
    assert failed.returncode == 2
    assert message in failed.stderr


def test_models_come_from_functions_and_attributes_and_failures_are_told(folder):
    assert isinstance(load_model(f"{folder}/script.py:make"), torch.nn.Module)
    assert isinstance(load_model(f"{folder}/script.py:model"), torch.nn.Module)
    with pytest.raises(FormatError, match="fails with RuntimeError: no weights"):
        load_model(f"{folder}/exact.py:broken")
    with pytest.raises(InvalidInputError, match="torch.nn.Module"):
        load_model(f"{folder}/script.py:number")
    found = load_model(f"{folder}/exact.py:exact_network").state_dict()
    assert all(torch.equal(v, found[k]) for k, v in exact_network().state_dict().items())
