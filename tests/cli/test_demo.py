"""`ucad demo`: what a newcomer sees first, each thing said once."""

import json
import re

import pytest

from tests.processes import run
from ucad.claims import CLAIMABLE


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    return folder, run("demo", "--quiet", cwd=folder)


def test_the_demo_recovers_the_graph_and_writes_the_report(demo):
    folder, done = demo
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^wrong edges \(structural Hamming distance\) +0 ", done.stdout, re.MULTILINE)
    assert (folder / "demo" / "run" / "report.html").exists()
    scores = json.loads((folder / "demo" / "run" / "metrics.json").read_text())["scores"]
    assert "dci_completeness" in [score["metric"] for score in scores]


def test_the_demo_answers_every_claim_once(demo):
    answers = [line for line in demo[1].stdout.splitlines() if line.startswith("[")]
    assert [line.partition("] ")[2] for line in answers] == list(CLAIMABLE.values())
    assert "May be claimed" not in demo[1].stdout


def test_the_lines_of_the_demo_fit_a_terminal(demo):
    lines = demo[1].stdout.splitlines()
    assert max(len(line) for line in lines if "report.html" not in line) < 80


def test_a_setting_that_does_not_exist_is_refused_with_those_that_do(tmp_path):
    done = run("demo", "--setting", "z", cwd=tmp_path)
    assert done.returncode == 2
    assert "one of a, b, c, d, e, f, g, h, i" in done.stderr
    assert not list(tmp_path.iterdir())
