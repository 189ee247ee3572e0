"""Files are replaced in one step or not at all, and only files are read."""

from __future__ import annotations

import os
import stat

import pytest

from ucad import files
from ucad.errors import FormatError, InvalidInputError
from ucad.files import (
    check_regular,
    finite,
    finite_or_none,
    parse_json,
    read_json,
    read_text,
    read_toml,
    recover,
    replacing,
    replacing_folder,
    write_text,
)


def entries(folder):
    return sorted(path.name for path in folder.iterdir())


def test_text_comes_back_with_its_line_ends_and_without_a_byte_order_mark(tmp_path):
    write_text(tmp_path / "a.txt", "é\r\n→\n")
    assert read_text(tmp_path / "a.txt") == "é\r\n→\n"
    (tmp_path / "b.txt").write_bytes(b"\xef\xbb\xbfa")
    assert read_text(tmp_path / "b.txt") == "a"
    assert entries(tmp_path) == ["a.txt", "b.txt"]


def test_half_a_character_is_written_escaped(tmp_path):
    write_text(tmp_path / "a.txt", "a\udce9")
    assert read_text(tmp_path / "a.txt") == "a\\udce9"


def test_a_plain_file_passes(tmp_path):
    (tmp_path / "a").touch()
    check_regular(tmp_path / "a")


def test_what_is_no_plain_file_is_refused_by_its_kind(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match="must be a file. Got a pipe or a device"):
        read_text(tmp_path / "pipe")
    with pytest.raises(FormatError, match="must be a file. Got a folder"):
        read_text(tmp_path)
    with pytest.raises(FormatError, match="cannot be read: No such file"):
        read_text(tmp_path / "none")
    with pytest.raises(FormatError, match="is no path"):
        read_text(tmp_path / "a\0b")


def test_what_is_no_text_or_too_much_of_it_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"\xfa\xfb\xff")
    with pytest.raises(FormatError, match="not a text file"):
        read_text(tmp_path / "a")
    monkeypatch.setattr(files, "MAX_TEXT_BYTES", 1)
    with pytest.raises(FormatError, match="too large"):
        read_text(tmp_path / "a")


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "1e999"])
def test_json_numbers_must_be_finite_unless_read_otherwise(text):
    with pytest.raises(ValueError, match="is not a finite number"):
        parse_json(text)
    assert "inf" not in str(parse_json(text, finite_or_none))


@pytest.mark.parametrize("text", ["1.5", "-3e2", "0.0"])
def test_finite_numbers_are_read(text):
    assert finite(text) == finite_or_none(text) == float(text)


def test_json_that_is_nested_too_deeply_is_a_value_error():
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json("[" * 100_000)


def test_a_json_file_must_hold_the_wanted_kind(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("[1, 2.5]")
    assert read_json(path, list) == [1, 2.5]
    with pytest.raises(FormatError, match="must hold a JSON object. Got a list instead"):
        read_json(path)
    path.write_text("{")
    with pytest.raises(FormatError, match="damaged, or not JSON"):
        read_json(path)


def test_a_toml_file_is_read_or_refused(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("a = [1, 2]")
    assert read_toml(path) == {"a": [1, 2]}
    path.write_text("a = ")
    with pytest.raises(FormatError, match="not a TOML file"):
        read_toml(path)
    path.write_text("a = " + "[" * 100_000)
    with pytest.raises(FormatError, match="not a TOML file"):
        read_toml(path)


def fail_while_replacing(context, path, name=None):
    with context(path) as part:
        (part / name if name else part).write_text("half")
        raise KeyboardInterrupt


@pytest.mark.parametrize("existed", [True, False])
def test_a_failure_leaves_the_file_as_it_was(tmp_path, existed):
    path = tmp_path / "a"
    if existed:
        path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        fail_while_replacing(replacing, path)
    assert entries(tmp_path) == (["a"] if existed else [])
    assert not existed or path.read_text() == "old"


def test_until_the_end_the_old_file_is_there(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    with replacing(path) as beside:
        beside.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_a_link_stays_and_permissions_are_kept(tmp_path):
    path, link = tmp_path / "a", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_text(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_folders_above_are_made(tmp_path):
    write_text(tmp_path / "b" / "c" / "a", "new")
    assert (tmp_path / "b" / "c" / "a").read_text() == "new"


def test_a_folder_is_not_overwritten_by_a_file(tmp_path):
    with pytest.raises(InvalidInputError, match="is no file: it is not overwritten"):
        write_text(tmp_path, "new")


@pytest.fixture(params=[True, False], ids=["swap", "no swap"])
def can_swap(request, monkeypatch):
    """Both ways to replace a folder: by the system's swap, and where there is none."""
    if not request.param:
        monkeypatch.setattr(files, "_renameat2", lambda: None)


@pytest.mark.usefixtures("can_swap")
def test_a_folder_is_replaced_as_a_whole(tmp_path):
    folder = tmp_path / "run"
    for content in ("first", "second"):
        with replacing_folder(folder) as part:
            (part / content).write_text(content)
    assert entries(folder) == ["second"]
    assert entries(tmp_path) == ["run"]


@pytest.mark.usefixtures("can_swap")
def test_a_failure_leaves_the_folder_as_it_was(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "old").touch()
    with pytest.raises(KeyboardInterrupt):
        fail_while_replacing(replacing_folder, folder, "half")
    assert entries(folder) == ["old"]
    assert entries(tmp_path) == ["run"]


def test_an_old_folder_without_its_successor_is_brought_back(tmp_path):
    old = tmp_path / ".run.12345678.old"
    old.mkdir()
    (old / "kept").touch()
    (tmp_path / ".run.12345678.part").mkdir()
    recover(tmp_path / "run")
    assert entries(tmp_path) == ["run"]
    assert entries(tmp_path / "run") == ["kept"]


def test_an_old_folder_with_its_successor_is_cleared(tmp_path):
    (tmp_path / ".run.12345678.old").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "new").touch()
    recover(tmp_path / "run")
    assert entries(tmp_path) == ["run"]
    assert entries(tmp_path / "run") == ["new"]


@pytest.mark.parametrize(
    "name", [".run.1234.part", ".runs.12345678.part", "run.12345678.part", ".run.12345678.parts"]
)
def test_what_is_not_ours_is_left_alone(tmp_path, name):
    (tmp_path / name).mkdir()
    recover(tmp_path / "run")
    assert entries(tmp_path) == [name]


def test_what_a_running_process_holds_is_left_alone(tmp_path):
    with replacing_folder(tmp_path / "run") as part:
        recover(tmp_path / "run")
        assert part.is_dir()
    assert entries(tmp_path) == ["run"]
