"""`ucad fit` and what follows it, run as a person would."""

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ucad
from tests.processes import run
from ucad.cli import main
from ucad.cli.fit import _check_output
from ucad.errors import InvalidInputError

UCAD = [sys.executable, "-m", "ucad"]
QUICK = ["--solver", "search", "--factor-mechanism", "linear", "--variable-mechanism", "linear"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("fit")
    made = run("simulate", "a", "16-3", "--samples", 1500, "-o", folder / "data")
    assert made.returncode == 0, made.stderr
    layers = ucad.read(folder / "data" / "train.csv").layer_of
    lines = [f"X{i + 1},{layer}" for i, layer in enumerate(layers)]
    (folder / "layers.csv").write_text("\n".join(lines))
    done = run("fit", folder / "data" / "train.csv", "--factors", 3, *QUICK, "-o", folder / "run")
    assert done.returncode == 0, done.stderr
    assert "Run folder" in done.stdout
    return folder


def code_for(out):
    """The exit code that a fit should have ended with, by the status it wrote."""
    status = json.loads((out / "run.json").read_text())["status"]
    return 0 if status["converged"] and status["feasible"] else 1


def test_a_run_folder_holds_what_is_needed_to_repeat_it(folder):
    names = {path.name for path in (folder / "run").iterdir()}
    assert names >= {"run.json", "model.json", "model.safetensors", "history.json", "report.html"}
    about = json.loads((folder / "run" / "run.json").read_text())
    train = ucad.read(folder / "data" / "train.csv")
    assert about["data"]["fingerprint"] == train.fingerprint
    assert about["settings"]["random_state"] == 0
    assert about["versions"]["ucad"] == ucad.__version__
    assert not list(folder.glob(".run.*"))


def test_prior_knowledge_comes_from_a_file(folder, tmp_path):
    prior, out = tmp_path / "prior.toml", tmp_path / "run"
    fit = ["fit", folder / "data" / "train.csv", "--factors", 3, *QUICK, "-o", out]
    prior.write_text('anchors = ["X17 -> Z1"]')
    wrong = run(*fit, "--prior", prior)
    assert wrong.returncode == 2
    assert "no variable 'X17'" in wrong.stderr
    assert not out.exists()
    prior.write_text('required = ["X1 -> Z2"]')
    done = run(*fit, "--prior", prior)
    assert done.returncode == code_for(out), done.stderr
    assert "X1" in ucad.load(out).graph_.parents("Z2")
    about = json.loads((out / "run.json").read_text())
    assert "required_parent[0, 1]" in about["settings"]["prior"]


def test_evaluate_certify_predict_and_report_speak_of_it(folder):
    shown = run("evaluate", folder / "run", "--truth", folder / "data", "--metrics", "mcc_pearson")
    assert shown.returncode == 0, shown.stderr
    assert "nll_interventional" in shown.stdout
    plain = run(
        "evaluate", folder / "run", "--truth", folder / "data", "--metrics", "mcc_pearson", "--json"
    )
    scores = {row["metric"]: row["value"] for row in json.loads(plain.stdout)["scores"]}
    assert scores["mcc_pearson"] > 0.99
    found = ucad.load(folder / "run").certificate_
    shown = run("certify", folder / "run")
    assert " ".join(found.answers.split()) in " ".join(shown.stdout.split())
    assert shown.returncode == (0 if found.may_claim("graph") else 1)
    plain = run("certify", folder / "run", "--claim", "values", "--json")
    assert json.loads(plain.stdout)["claims"]
    assert plain.returncode == (0 if found.may_claim("values") else 1)
    unknown = run("certify", folder / "run", "--claim", "truth")
    assert unknown.returncode == 2
    assert "graph" in unknown.stderr
    scm = ucad.load_scm(folder / "run")
    cause = scm.graph.parents("Z1")[0]
    effect = json.loads(run("predict", folder / "run", f"{cause}=2", "--json").stdout)
    assert "Z1" in effect["reaches"]
    expected = scm.do({cause: 2.0}).sample(2000).x.mean(dim=0)
    rows = {row["name"]: row["mean_after"] for row in effect["rows"] if row["kind"] == "variable"}
    for name, value in rows.items():
        assert value == pytest.approx(float(expected[scm.graph.variable_index(name)]), abs=1e-9)
    written = run("report", folder / "run", "-o", folder / "page.html")
    assert written.returncode == 0
    assert (folder / "page.html").read_text().startswith("<!")


def test_json_output_is_json_and_nothing_else(folder, tmp_path):
    done = run(
        "fit", folder / "data/train.csv", "--factors", 3, *QUICK, "-o", tmp_path / "r", "--json"
    )
    assert json.loads(done.stdout)["status"]["converged"]
    assert done.stderr == ""


def test_progress_is_plain_lines_when_piped_and_silent_when_quiet(folder, tmp_path):
    words = ["fit", folder / "data/train.csv", "--factors", 3, *QUICK, "-o", tmp_path / "r"]
    loud = run(*words)
    assert "search" in loud.stderr
    assert "\x1b" not in loud.stderr
    quiet = run(*words, "--force", "--quiet")
    assert quiet.returncode == 0
    assert quiet.stderr == ""


def test_settings_come_from_a_file_and_options_win(folder, tmp_path):
    config = tmp_path / "fit.toml"
    config.write_text('factors = 4\nsolver = "search"\nseed = 7\n')
    words = ["fit", folder / "data/train.csv", "--config", config, "--factors", 3, "--print-config"]
    shown = run(*words)
    assert shown.returncode == 0, shown.stderr
    assert "factors = 3" in shown.stdout
    assert "seed = 7" in shown.stdout
    again = tmp_path / "again.toml"
    again.write_text(shown.stdout)
    words = ["fit", folder / "data/train.csv", "--config", again, "--print-config"]
    assert run(*words).stdout == shown.stdout


def test_layers_come_from_a_file(folder, tmp_path):
    train = ucad.read(folder / "data" / "train.csv")
    labels = [train.regime_names[r].replace("observational", "") for r in train.regime]
    table = tmp_path / "plain.csv"
    header = ",".join([*train.variable_names, "clamped"])
    rows = [
        ",".join([*map(repr, x), label]) for x, label in zip(train.x.tolist(), labels, strict=True)
    ]
    table.write_text("\n".join([header, *rows]))
    words = ["fit", table, "--target", "clamped", "--factors", 3, *QUICK]
    done = run(*words, "--layers", folder / "layers.csv", "-o", tmp_path / "r")
    assert done.returncode == 0, done.stderr
    assert ucad.load_scm(tmp_path / "r").graph.respects_layers(train.layer_of)
    (tmp_path / "short.csv").write_text("X1,0")
    failed = run(*words, "--layers", tmp_path / "short.csv", "-o", tmp_path / "r2")
    assert "There is none for 'X2'" in failed.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fit", "nothing.csv", "--factors", "2", "-o", "r"], "There is no file"),
        (["fit", "ok.csv", "--factors", "0", "-o", "r"], "at least 1, or auto"),
        (["fit", "ok.csv", "--factors", "2"], "Say where to write"),
        (["fit", "nothing.csv", "--factors", "2"], "There is no file"),
        (["fit", "ok.csv", "--factors", "2", "--solver", "serch"], "Did you mean 'search'?"),
        (["fit", "ok.csv", "--factors", "9", "-o", "r"], "at most the number of variables"),
        (["fit", "ok.csv", "--factors", "2", "--target", "nope", "-o", "r"], "no column 'nope'"),
        (["fit", "text.csv", "--factors", "2", "-o", "r"], "Row 1 is 'red'"),
        (["fit", "nan.csv", "--factors", "2", "-o", "r"], "nan at row 1, column 'b'"),
        (["fit", "empty.csv", "--factors", "2", "-o", "r"], "no samples"),
        (["fit", "one.csv", "--factors", "1", "-o", "r"], "at least 2 variables"),
        (["fit", "ok.csv", "--factors", "2", "--solver", "serach", "-o", "r"], "Did you mean"),
        (["fit", "ok.csv", "--factors", "2", "--resume", "-o", "r"], "nothing to resume"),
        (["fit", "ok.csv", "--config", "typo.toml", "-o", "r"], "Did you mean 'factors'"),
        (
            ["fit", "ok.csv", "--config", "kind.toml", "-o", "r"],
            "at least 1, or auto. Got 'three'",
        ),
        (["fit", "ok.csv", "--factors", "2", "-o", "busy"], "not a run folder"),
        (["certify", "nowhere"], "no run folder"),
        (["report", "busy"], "no run folder"),
        (["predict", "nowhere", "X1=1"], "no run folder"),
        (["evaluate", "nowhere"], "compared with a truth"),
    ],
)
def test_wrong_use_is_one_line_exit_code_2_and_nothing_written(
    tmp_path, monkeypatch, capsys, words, message
):
    rng = np.random.default_rng(0)
    rows = "\n".join(",".join(map(str, row)) for row in rng.normal(size=(30, 3)))
    (tmp_path / "ok.csv").write_text(f"a,b,c\n{rows}\n")
    (tmp_path / "text.csv").write_text("a,b\n1,2\n3,red\n")
    (tmp_path / "nan.csv").write_text("a,b\n1,2\n3,nan\n")
    (tmp_path / "empty.csv").write_text("a,b\n")
    (tmp_path / "one.csv").write_text("a\n1\n2\n3\n")
    (tmp_path / "typo.toml").write_text("factros = 3\n")
    (tmp_path / "kind.toml").write_text('factors = "three"\n')
    (tmp_path / "busy").mkdir()
    (tmp_path / "busy" / "thesis.txt").write_text("mine")
    before = sorted(p.name for p in tmp_path.iterdir())
    extra = ["--force"] if "busy" in words and "fit" in words else []
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as failed:
        main([*words, *extra])
    said = capsys.readouterr().err
    assert failed.value.code == 2
    assert message in said
    assert len(said.strip().splitlines()) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_an_existing_run_is_not_overwritten_without_force(folder):
    before = (folder / "run" / "run.json").read_text()
    failed = run("fit", folder / "data/train.csv", "--factors", 3, *QUICK, "-o", folder / "run")
    assert failed.returncode == 2
    assert "--force" in failed.stderr
    assert (folder / "run" / "run.json").read_text() == before


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(folder, tmp_path):
    (tmp_path / "file").write_text("")
    words = ["fit", folder / "data/train.csv", "--factors", 3, *QUICK]
    failed = run(*words, "-o", tmp_path / "file" / "run")
    assert failed.returncode == 2
    assert "Traceback" not in failed.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_one_line(folder):
    script = f"'{sys.executable}' -m ucad certify '{folder / 'run'}' > /dev/full"
    failed = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert "No space left" in failed.stderr
    assert len(failed.stderr.strip().splitlines()) == 1


def test_an_interrupted_fit_keeps_the_best_so_far_and_goes_on(tmp_path, monkeypatch, capsys):
    made = run("simulate", "d", "16-3", "--samples", 1500, "-o", tmp_path / "data")
    assert made.returncode == 0
    words = ["fit", tmp_path / "data/train.csv", "--factors", 3, "--solver", "search"]
    words += ["--factor-mechanism", "mlp", "--variable-mechanism", "linear", "-o", tmp_path / "r"]

    @contextlib.contextmanager
    def stopping(*, quiet):
        yield lambda event: event.message == "joint fit" and signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("ucad.cli.progress.shown_progress", stopping)
    # Tests that a shell runs in the background are told to ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
    finally:
        signal.signal(signal.SIGINT, before)
    assert stop.value.code == 1
    assert "--resume" in capsys.readouterr().out
    assert json.loads((tmp_path / "r" / "run.json").read_text())["status"]["interrupted"]
    resumed = run(*words, "--resume", "--quiet")
    assert resumed.returncode == code_for(tmp_path / "r"), resumed.stderr
    status = json.loads((tmp_path / "r" / "run.json").read_text())["status"]
    assert not status["interrupted"]


class Malicious:
    def __reduce__(self):
        return (os.system, ("touch pwned",))


@pytest.mark.parametrize("name", ["model.safetensors", "model.json", "run.json", "sample.npz"])
def test_a_crafted_run_folder_runs_no_code(folder, tmp_path, monkeypatch, capsys, name):
    import shutil

    shutil.copytree(folder / "run", tmp_path / "run")
    (tmp_path / "run" / name).write_bytes(pickle.dumps(Malicious()))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as failed:
        main(["certify", str(tmp_path / "run")])
    assert failed.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    "name", ["model.safetensors", "model.json", "run.json", "certificate.json"]
)
def test_a_truncated_run_folder_is_refused(folder, tmp_path, capsys, name):
    import shutil

    shutil.copytree(folder / "run", tmp_path / "run")
    whole = (tmp_path / "run" / name).read_bytes()
    (tmp_path / "run" / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SystemExit) as failed:
        main(["certify", str(tmp_path / "run")])
    assert failed.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_another_process_reads_the_same_model(folder):
    code = (
        "import sys, ucad; m = ucad.load(sys.argv[1]); d = ucad.read(sys.argv[2]);"
        "print(repr(m.transform(d.x).sum()))"
    )
    arguments = [str(folder / "run"), str(folder / "data" / "test.csv")]
    other = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    model, test = ucad.load(arguments[0]), ucad.read(arguments[1])
    assert other.stdout.strip() == repr(model.transform(test.x).sum())


def test_a_context_is_named_on_the_command_line_and_predicted_at(tmp_path):
    rng = np.random.default_rng(0)
    a, b, noise = rng.normal(size=(3, 600))
    batch = rng.integers(2, size=600)
    target = np.where(np.arange(600) % 4 == 0, "a", "")
    rows = np.stack([a, b, a + b + noise / 3, a - b + noise / 2], axis=1) + 3 * batch[:, None]
    lines = [
        ",".join([*map(str, row), label, f"rep{number}"])
        for row, label, number in zip(rows, target, batch, strict=True)
    ]
    path, out = tmp_path / "data.csv", tmp_path / "run"
    path.write_text("a,b,c,d,target,replicate\n" + "\n".join(lines))
    fit = ["fit", path, "--factors", 1, *QUICK, "--context", "replicate", "-o", out, "--json"]
    assert run(*fit).returncode == code_for(out)
    scm = ucad.load_scm(out)
    assert scm.context.names == ("replicate=rep0", "replicate=rep1")
    means = []
    for number in (0, 1):
        done = run("predict", out, "a=1", "--at", f"replicate=rep{number}", "--json")
        assert done.returncode == 0, done.stderr
        rows = json.loads(done.stdout)["rows"]
        means.append(next(row["mean_before"] for row in rows if row["name"] == "a"))
    assert means[1] - means[0] == pytest.approx(3.0, abs=0.5)
    wrong = run("predict", out, "a=1", "--at", "replicate=rep7")
    assert wrong.returncode == 2
    assert "replicate=rep0" in wrong.stderr


def test_a_fit_that_was_killed_is_resumed_although_it_left_no_run_folder(tmp_path):
    killed, fresh = tmp_path / "killed", tmp_path / "fresh"
    (tmp_path / "killed.checkpoint.fits").mkdir()
    _check_output(killed, force=False, resume=True)
    with pytest.raises(InvalidInputError, match="nothing to resume"):
        _check_output(fresh, force=False, resume=True)
