"""What a worker does with a task, and what it makes of errors."""

import json
import os
import sys

import pytest

from tests.sweep.tasks import MODULE
from ucad.errors import InvalidInputError
from ucad.sweep.work import ONE_THREAD, execute, reply_to, resolve


@pytest.mark.parametrize(
    "reference", ["json", "json:", ":dumps", "json:dump_it", "no_such_module:f", "json:__doc__"]
)
def test_what_names_no_function_is_refused_by_its_name(reference):
    with pytest.raises(InvalidInputError, match=f"'{reference}'"):
        resolve(reference)


def test_a_function_is_found_in_a_package():
    assert resolve("os.path:join") is os.path.join


@pytest.mark.usefixtures("functions")
def test_what_depends_on_the_machine_is_kept_apart_from_the_result():
    reply = reply_to(f"{MODULE}:double", {"x": 4})
    assert reply.result == {"y": 8}
    assert reply.error is None
    assert reply.about["pid"] == os.getpid()
    assert reply.about.keys() == {"pid", "seconds", "host"}


@pytest.mark.usefixtures("functions")
@pytest.mark.parametrize(
    ("name", "task", "error"),
    [
        ("double", {"x": 1, "bad": 1}, "ValueError: x is bad"),
        ("not_a_number", {"x": 1}, "ValueError: Out of range float"),
        ("missing", {"x": 1}, "InvalidInputError: There is no function"),
        ("double", {}, "KeyError: 'x'"),
    ],
)
def test_an_error_is_a_reply_without_a_result(name, task, error):
    reply = reply_to(f"{MODULE}:{name}", task)
    assert reply.result is None
    assert reply.error.startswith(error)
    assert reply.about.keys() == {"seconds", "host"}


def returned(monkeypatch, value):
    monkeypatch.setattr(json, "made_up", lambda _task: value, raising=False)
    return reply_to("json:made_up", {})


def test_a_result_is_what_a_reader_of_the_table_would_get(monkeypatch):
    """JSON has no tuples and no numbers for keys."""
    assert returned(monkeypatch, {"pair": (1, 2), "by": {3: "x"}}).result == {
        "pair": [1, 2],
        "by": {"3": "x"},
    }


@pytest.mark.parametrize("value", [{"a": object()}, [1, 2], {"a": "\ud800"}, None])
def test_a_result_that_no_table_can_hold_is_an_error(monkeypatch, value):
    reply = returned(monkeypatch, value)
    assert reply.result is None
    assert reply.error


def test_an_error_text_that_cannot_be_written_is_made_writable(monkeypatch):
    def fails(_task):
        raise ValueError("half a pair: \ud800")

    monkeypatch.setattr(json, "made_up", fails, raising=False)
    assert reply_to("json:made_up", {}).error == "ValueError: half a pair: ?"


def test_ctrl_c_is_no_error_of_the_task(monkeypatch):
    def interrupted(_task):
        raise KeyboardInterrupt

    monkeypatch.setattr(json, "made_up", interrupted, raising=False)
    with pytest.raises(KeyboardInterrupt):
        reply_to("json:made_up", {})


def test_a_process_of_its_own_works_on_one_thread(monkeypatch):
    """Restored by what set it, so that this process keeps its threads."""
    import threadpoolctl

    limits_seen = []
    monkeypatch.setattr(
        threadpoolctl, "threadpool_limits", lambda *, limits: limits_seen.append(limits)
    )
    for name in ONE_THREAD:
        monkeypatch.setenv(name, "7")
    torch = sys.modules.get("torch")
    if torch is not None:
        monkeypatch.setattr(torch, "set_num_threads", lambda n: limits_seen.append(n))
    seen = {}
    monkeypatch.setattr(json, "made_up", lambda _task: seen.update(os.environ) or {}, raising=False)
    assert execute("json:made_up", {}).error is None
    assert {seen[name] for name in ONE_THREAD} == {"1"}
    assert set(limits_seen) == {1}
