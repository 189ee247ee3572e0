"""Saving that is stopped at any line leaves the old run folder or the new one, whole."""

import os
import shutil
import signal

import pytest

from tests.hostile.commands import cases, contents, copied, only_full, run
from tests.hostile.interruptions import save_and_stop
from tests.processes import call
from ucad.files import recover, replacing, replacing_folder, write_text
from ucad.runs import load_run, save_run

MAX_LINES, N_PARTS = 620, 20
"""More lines than saving has (a stop beyond the end is a saving that is not stopped), and in how
many cases they are tried."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory, run_of):
    """Two run folders, the first with a file of the user's, and all that they hold."""
    folder, found = tmp_path_factory.mktemp("saved"), {}
    for name in ("old", "new"):
        save_run(run_of(name), folder / name)
        (folder / name / "mine.txt").write_text("mine")
        found[name] = contents(folder / name)
    return folder / "old", found


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # stopped before it is closed
@pytest.mark.parametrize("with_exchange", [True, False])
@pytest.mark.parametrize("how", ["kill", "interrupt"])
@pytest.mark.parametrize("part", ["quick", *map(only_full, range(N_PARTS))])
def test_saving_that_is_stopped_leaves_the_old_folder_or_the_new(
    tmp_path, run_of, saved, part, how, with_exchange
):
    folder, (old, whole) = tmp_path / "run", saved
    lines = range(1, MAX_LINES, 90) if part == "quick" else range(1 + part, MAX_LINES, N_PARTS)
    is_done = False
    for at in lines:
        shutil.rmtree(folder, ignore_errors=True)
        copied(old, folder)
        code = stopped(run_of("new"), str(folder), at, how, with_exchange)
        assert code in (0, 130, -signal.SIGKILL)
        recover(folder)
        found = contents(folder)
        assert found == whole["new"] or (code and found == whole["old"]), at
        assert [path.name for path in tmp_path.iterdir()] == ["run"], at
        is_done |= code == 0
    assert is_done, "MAX_LINES is too low to reach the end of saving"


def stopped(run, folder, at, how, with_exchange) -> int:
    """The exit code of a saving that is killed, in a process of its own, or interrupted, here."""
    if how == "kill":
        return call(save_and_stop, run, folder, at, how, with_exchange)
    with pytest.raises(SystemExit) as ended:
        save_and_stop(run, folder, at, how, with_exchange)
    return ended.value.code


@pytest.mark.parametrize("seed", cases(5, 40))
def test_a_file_that_cannot_be_written_whole_is_not_touched(tmp_path, seed):
    path = tmp_path / "file.json"
    path.write_text("old")
    path.chmod(0o640)

    def fail():
        with replacing(path) as beside:
            beside.write_bytes(b"new" * seed)
            raise [OSError(28, "full"), KeyboardInterrupt(), ValueError("x")][seed % 3]

    with pytest.raises((OSError, KeyboardInterrupt, ValueError)):
        fail()
    assert contents(tmp_path) == {"file.json": b"old"}
    write_text(path, "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_the_umask_is_respected(tmp_path, run_of, mask):
    before = os.umask(mask)
    try:
        save_run(run_of("a"), tmp_path / "run")
        assert run("simulate", "b", "16-3", "-o", tmp_path / "data", "--samples", "50").code == 0
    finally:
        os.umask(before)
    for path in tmp_path.rglob("*"):
        wanted = (0o777 if path.is_dir() else 0o666) & ~mask
        assert path.stat().st_mode & 0o777 == wanted, path


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path, run_of):
    save_run(run_of("old"), tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    save_run(run_of("new"), tmp_path / "link", force=True)
    assert (tmp_path / "link").is_symlink()
    assert load_run(tmp_path / "real").status.notes == ("new",)
    (tmp_path / "file").write_text("old")
    (tmp_path / "to_file").symlink_to("file")
    write_text(tmp_path / "to_file", "new")
    assert (tmp_path / "to_file").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


@pytest.mark.parametrize("path", ["/dev/null", "/dev/full"])
def test_a_device_is_never_replaced(run_folder, path):
    before = os.stat(path)
    assert run("report", run_folder, "-o", path).code == 2
    assert run("sweep", "nothing.toml", "-o", path).code == 2
    assert os.stat(path).st_rdev == before.st_rdev


def test_what_a_running_process_holds_is_left_alone(tmp_path):
    with replacing_folder(tmp_path / "run") as part:
        (part / "x").write_text("1")
        recover(tmp_path / "run")
        assert (part / "x").exists()
    assert (tmp_path / "run" / "x").read_text() == "1"


@pytest.mark.parametrize("name", ["thesis.txt", "run.json", "model.json"])
def test_a_folder_that_is_not_ours_is_not_replaced(tmp_path, run_of, name):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text('{"format": "mine"}')
    before = contents(tmp_path)
    said = run("fit", "nothing.csv", "--factors", "1", "--force", "-o", tmp_path / "mine")
    assert (said.code, "not a run folder" in said.err) == (2, True)
    assert contents(tmp_path) == before


def test_a_copy_is_told_from_what_was_recovered(tmp_path, run_folder, caplog):
    copied(run_folder, tmp_path / ".run.0123abcd.old")
    load_run(tmp_path / "run")
    assert "recovered" in caplog.text
