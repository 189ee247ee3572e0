"""Progress in a log: plain lines on standard error, an estimate only where there is one."""

import pytest

from ucad._types import ProgressEvent
from ucad.cli import progress
from ucad.cli.progress import shown_progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test turns."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_stages_of_unknown_number_are_named_without_an_estimate(capsys, clock):
    with shown_progress() as show:
        show(ProgressEvent("search, stage", 1, None, "who can cause whom"))
    printed = capsys.readouterr()
    assert printed.err == "search, stage: 1  who can cause whom\n"
    assert printed.out == ""


def test_counted_work_is_estimated_by_its_pace(capsys, clock):
    with shown_progress() as show:
        show(ProgressEvent("fits", 0, 40))
        clock[0] = 30.0
        show(ProgressEvent("fits", 10, 40))
    assert capsys.readouterr().err == "fits: 0/40\nfits: 10/40, about 90 s left\n"


def test_a_log_gets_a_line_every_few_seconds_and_no_more(capsys, clock):
    with shown_progress() as show:
        for step in range(100):
            clock[0] = step / 10
            show(ProgressEvent("training", step, 100))
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_quiet_is_quiet(capsys):
    with shown_progress(quiet=True) as show:
        show(ProgressEvent("fits", 1, 2))
    assert capsys.readouterr() == ("", "")


def test_an_estimate_of_the_event_itself_is_told_instead_of_the_pace(capsys):
    with shown_progress() as show:
        show(ProgressEvent("sweep", 1, 9, "1 failed", 7200.0))
    assert capsys.readouterr().err == "sweep: 1/9  1 failed, about 2.0 h left\n"
