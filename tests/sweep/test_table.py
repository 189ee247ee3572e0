"""The table of a sweep: nothing finished is lost, and nothing foreign is touched."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ucad.errors import FormatError, InvalidInputError
from ucad.sweep.table import ResultTable, drop_failed, read_rows, row_key


def row(x, *, error=None, function="m:f"):
    result = None if error else {"y": 2 * x}
    return {"function": function, "task": {"x": x}, "result": result, "error": error, "about": {}}


def written(path, *rows):
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


plain = st.one_of(st.integers(-3, 3), st.sampled_from(["a", "é\n", ""]), st.booleans(), st.none())
tasks = st.dictionaries(st.sampled_from(["a", "b", "c"]), plain)


@given(tasks, tasks)
def test_two_tasks_have_one_key_exactly_if_they_are_written_alike(one, other):
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (row_key("m:f", one) == row_key("m:f", other)) == same
    assert row_key("m:f", one) == row_key("m:f", dict(reversed(one.items())))


@given(st.integers(1, 400))
def test_wherever_the_last_line_is_cut_the_rows_before_it_are_read(cut):
    path = Path("table.jsonl")
    content = "".join(json.dumps(row(x)) + "\n" for x in range(3)).encode()
    last = len(content.splitlines(keepends=True)[-1])
    n_kept = min(cut, last)
    rows = parsed(content[:-n_kept], path)
    assert [one["task"]["x"] for one in rows] == [0, 1]


def parsed(content, path):
    from ucad.sweep.table import _parse

    return list(_parse(content, path)[0].values())


def test_opening_a_table_cuts_the_torn_line_off_and_closing_sorts_it(tmp_path):
    path = written(tmp_path / "t.jsonl", row(3), row(1))
    path.write_bytes(path.read_bytes() + json.dumps(row(7)).encode()[:-5])
    with ResultTable(path).opened() as table:
        assert [one["task"]["x"] for one in table.rows.values()] == [3, 1]
        table.append(row(2))
        assert [json.loads(line)["task"]["x"] for line in path.read_text().splitlines()] == [
            3,
            1,
            2,
        ]
    assert [json.loads(line)["task"]["x"] for line in path.read_text().splitlines()] == [1, 2, 3]


def test_a_row_is_on_the_disk_as_soon_as_it_is_appended(tmp_path):
    with ResultTable(tmp_path / "t.jsonl").opened() as table:
        table.append(row(1))
        assert list(read_rows(table.path)) == [row_key("m:f", {"x": 1})]


def test_the_last_row_of_a_task_counts(tmp_path):
    path = written(tmp_path / "t.jsonl", row(1, error="E: bad"), row(1))
    assert [one["error"] for one in read_rows(path).values()] == [None]


def test_a_table_without_rows_leaves_no_file_unless_one_was_there(tmp_path):
    with ResultTable(tmp_path / "new.jsonl").opened():
        pass
    assert not (tmp_path / "new.jsonl").exists()
    (tmp_path / "old.jsonl").touch()
    with ResultTable(tmp_path / "old.jsonl").opened():
        pass
    assert (tmp_path / "old.jsonl").exists()
    assert read_rows(tmp_path / "nowhere.jsonl") == {}


def test_only_rows_with_an_error_are_dropped(tmp_path):
    path = written(tmp_path / "t.jsonl", row(1, error="E: bad"), row(2), row(3, error="E: bad"))
    assert drop_failed(path) == 2
    assert [one["task"]["x"] for one in read_rows(path).values()] == [2]
    assert drop_failed(path) == 0


def test_an_append_that_fails_half_way_leaves_no_half_line(tmp_path, monkeypatch):
    import os

    path = written(tmp_path / "t.jsonl", row(1))
    before = path.read_bytes()

    def full(_number):
        raise OSError(28, "No space left on device")

    with ResultTable(path).opened() as table:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left") as caught:
            table.append(row(2))
        monkeypatch.undo()
        assert caught.value.filename == str(path)
        assert path.read_bytes() == before
        assert len(table.rows) == 1


def test_what_no_table_may_hold_is_refused_before_it_is_written(tmp_path):
    with ResultTable(tmp_path / "t.jsonl").opened() as table:
        with pytest.raises(ValueError, match="JSON"):
            table.append({**row(1), "result": {"y": float("inf")}})
        assert table.rows == {}


def test_a_table_can_be_opened_once_at_a_time(tmp_path):
    path = tmp_path / "t.jsonl"
    with (
        ResultTable(path).opened(),
        pytest.raises(InvalidInputError, match="Another sweep is writing"),
        ResultTable(path).opened(),
    ):
        pass
    with ResultTable(path).opened():
        pass


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1,2\n",
        b"a,b",
        b'{"function": 1}\n',
        b'{"function": "m:f", "task": {}}\n',
        b"\xff\xfe",
    ],
)
def test_a_file_of_somebody_else_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(FormatError), ResultTable(path).opened():
        pass
    assert path.read_bytes() == content


def test_a_damaged_line_in_the_middle_is_refused(tmp_path):
    table = tmp_path / "table.jsonl"
    good = json.dumps({"function": "m:f", "task": {}, "result": {}, "error": None, "about": {}})
    table.write_text(f"{good}\nnonsense\n{good}\n")
    with pytest.raises(FormatError, match="Line 2"):
        read_rows(table)


def test_the_order_of_options_does_not_matter_to_a_key():
    assert row_key("f", {"a": 1, "b": 2}) == row_key("f", {"b": 2, "a": 1})
    assert row_key("f", {"a": 1}) != row_key("g", {"a": 1})
