import json

import pytest

import ucad
from ucad.cli.inspect import certify
from ucad.errors import FormatError, InvalidInputError
from ucad.runs import Run, check_free, load_run, save_run, versions
from ucad.solvers import FitStatus


@pytest.fixture(scope="module")
def run() -> Run:
    problem = ucad.paper_problem("b", "16-3", seed=0, n_samples=300)
    status = FitStatus(converged=True, feasible=True, reason="Done.", notes=("a note",))
    return Run(
        scm=problem.scm,
        status=status,
        sample=problem.train,
        settings={"n_factors": 3},
        history=({"stage": "search", "score": 1.5},),
        data={"fingerprint": problem.train.fingerprint},
        seconds=2.0,
    )


def test_a_run_is_read_back(tmp_path, run):
    save_run(run, tmp_path / "run")
    back = load_run(tmp_path / "run")
    assert back.status == run.status
    assert back.history == run.history
    assert back.settings == run.settings
    assert back.scm.graph == run.scm.graph
    assert back.sample.fingerprint == run.sample.fingerprint
    assert back.versions == versions()
    assert back.created


def test_nothing_is_left_behind_when_writing_fails(tmp_path, run, monkeypatch):
    def full(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ucad.runs.save_scm", full)
    with pytest.raises(OSError, match="No space left"):
        save_run(run, tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_a_failed_replacement_leaves_the_old_run_alone(tmp_path, run, monkeypatch):
    save_run(run, tmp_path / "run")
    before = (tmp_path / "run" / "run.json").read_text()
    monkeypatch.setattr("ucad.runs.write", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        save_run(run, tmp_path / "run", force=True)
    assert (tmp_path / "run" / "run.json").read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_only_run_folders_are_replaced(tmp_path, run):
    save_run(run, tmp_path / "run")
    with pytest.raises(InvalidInputError, match="--force"):
        save_run(run, tmp_path / "run")
    save_run(run, tmp_path / "run", force=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(InvalidInputError, match="not a run folder"):
        check_free(tmp_path / "other", force=True)


def test_a_run_of_an_earlier_ucad_is_read_without_its_untested_certificate(tmp_path, run):
    save_run(run, tmp_path / "run")
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    (tmp_path / "run" / "run.json").write_text(json.dumps(about | {"schema_version": 1}))
    old = {"verdict": "All may be claimed.", "claims": [], "notes": []}
    (tmp_path / "run" / "certificate.json").write_text(json.dumps(old))
    assert load_run(tmp_path / "run").certificate is None
    with pytest.raises(FormatError, match="fit again"):
        certify(tmp_path / "run")


def test_a_newer_or_damaged_run_is_refused(tmp_path, run):
    save_run(run, tmp_path / "run")
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    (tmp_path / "run" / "run.json").write_text(json.dumps(about | {"schema_version": 9}))
    with pytest.raises(FormatError, match="run schema 9; this ucad reads up to 2"):
        load_run(tmp_path / "run")
    del about["status"]
    (tmp_path / "run" / "run.json").write_text(json.dumps(about))
    with pytest.raises(FormatError, match="not a complete run folder"):
        load_run(tmp_path / "run")
    (tmp_path / "run" / "run.json").write_text("[]")
    with pytest.raises(FormatError, match="JSON object"):
        load_run(tmp_path / "run")
    with pytest.raises(FormatError, match="no run folder"):
        load_run(tmp_path / "nowhere")
