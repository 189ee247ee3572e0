"""Places that run tasks: what is started ends exactly once, whatever happens to a worker."""

import os
import signal
from pathlib import Path

import pytest

from tests.sweep.tasks import MODULE
from ucad.errors import InvalidInputError
from ucad.sweep.backends import Backend, LocalProcesses, ThisProcess

DOUBLE, SLOW = f"{MODULE}:double", f"{MODULE}:slow"


def all_of(backend, n):
    """Waits for n outcomes, by ticket."""
    found = {}
    while len(found) < n:
        for outcome in backend.finished(60.0):
            assert outcome.ticket not in found
            found[outcome.ticket] = outcome
    return found


@pytest.mark.usefixtures("functions")
def test_this_process_does_one_task_when_its_result_is_asked_for():
    with ThisProcess() as backend:
        assert isinstance(backend, Backend)
        assert backend.finished(0.0) == []
        backend.start(7, DOUBLE, {"x": 3})
        (outcome,) = backend.finished(0.0)
        assert (outcome.ticket, outcome.reply.result) == (7, {"y": 6})
        assert backend.finished(0.0) == []


@pytest.mark.usefixtures("functions")
def test_a_task_that_is_cancelled_here_is_never_done():
    with ThisProcess() as backend:
        backend.start(1, DOUBLE, {"x": 3})
        backend.cancel(2)
        assert len(backend.finished(0.0)) == 1
        backend.start(3, DOUBLE, {"x": 3})
        backend.cancel(3)
        assert backend.finished(0.0) == []


@pytest.mark.parametrize("n_workers", [0, -1, 1025])
def test_a_number_of_workers_that_makes_no_sense_is_refused(n_workers):
    with pytest.raises(InvalidInputError, match=f"from 1 to 1024. Got {n_workers}"):
        LocalProcesses(n_workers)


def test_by_default_every_cpu_has_a_worker():
    assert LocalProcesses().capacity == os.cpu_count()


@pytest.mark.usefixtures("functions")
def test_workers_are_other_processes_that_are_used_again_and_end_with_the_backend(tmp_path):
    """A worker that was killed while idle is replaced; one that is cancelled gives no outcome."""
    with LocalProcesses(2) as backend:
        assert isinstance(backend, Backend)
        for ticket in (1, 2):
            backend.start(ticket, DOUBLE, {"x": ticket})
        first = all_of(backend, 2)
        assert {t: one.reply.result["y"] for t, one in first.items()} == {1: 2, 2: 4}
        pids = {one.reply.about["pid"] for one in first.values()}
        assert len(pids) == 2
        assert os.getpid() not in pids
        backend.start(3, DOUBLE, {"x": 3, "bad": 3})
        (third,) = backend.finished(60.0)
        assert third.reply.error == "ValueError: x is bad"

        victim = backend._workers[0].process
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        backend.start(4, DOUBLE, {"x": 4})
        fourth = all_of(backend, 1)[4]
        assert fourth.reply.about["pid"] in pids - {victim.pid}

        backend.start(5, SLOW, {"x": 1, "seconds": 300, "folder": str(tmp_path)})
        (busy,) = backend.pids
        os.kill(busy, signal.SIGKILL)
        (fifth,) = backend.finished(60.0)
        assert (fifth.ticket, fifth.reply, fifth.cause) == (5, None, "exit code -9")

        backend.start(6, SLOW, {"x": 1, "seconds": 300, "folder": str(tmp_path)})
        (busy,) = backend.pids
        backend.cancel(6)
        assert backend.pids == ()
        assert backend.finished(0.0) == []
        assert not Path(f"/proc/{busy}").exists()
        last = backend._workers
    assert last == []
