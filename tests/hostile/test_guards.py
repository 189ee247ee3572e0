"""The last guards: a fault in ucad, a terminal without umlauts, a page without foreign scripts."""

import re
import signal

import pytest

import ucad.runs
from tests.hostile.commands import LOG, run, run_soundly
from ucad.cli import main

FAULTS = [ValueError, KeyError, RuntimeError, RecursionError, ZeroDivisionError, AssertionError]


@pytest.mark.parametrize("fault", FAULTS)
def test_an_unforeseen_fault_is_one_line_that_names_a_log(monkeypatch, run_folder, fault):
    def fail(_folder):
        raise fault("unforeseen")

    monkeypatch.setattr(ucad.runs, "load_run", fail)
    said = run("certify", run_folder)
    assert said.code == 3
    assert len(said.err.splitlines()) == 1
    assert "report it" in said.err
    with open(LOG.search(said.err).group(1), encoding="utf-8") as log:
        text = log.read()
    assert "Traceback" in text
    assert fault.__name__ in text
    with pytest.raises(fault):
        main(["certify", str(run_folder), "--debug"])


@pytest.mark.parametrize("fault", [MemoryError(), RuntimeError("can't allocate memory: 9 GiB")])
def test_too_little_memory_is_said_in_the_users_words(monkeypatch, run_folder, fault):
    monkeypatch.setattr(ucad.runs, "load_run", lambda _folder: (_ for _ in ()).throw(fault))
    said = run("certify", run_folder)
    assert (said.code, "not enough memory" in said.err) == (2, True)


def test_a_request_to_end_is_like_an_interrupt(monkeypatch, run_folder):
    def ended(_folder):
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(ucad.runs, "load_run", ended)
    assert run("certify", run_folder).code == 130
    with pytest.raises(KeyboardInterrupt):
        run_soundly("certify", run_folder)


def test_the_page_lets_nothing_but_its_own_scripts_run(run_folder):
    page = (run_folder / "report.html").read_text()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page).group(1)
    assert "default-src &#39;none&#39;" in policy
    assert policy.count("sha256-") == page.count("<script>") == 2
    assert "unsafe-eval" not in policy
    assert "script-src &#39;unsafe-inline" not in policy
