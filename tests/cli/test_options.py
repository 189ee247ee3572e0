"""Whole numbers on the command line are taken as written, never rounded."""

import pytest

from tests.hostile.commands import run, run_soundly


@pytest.mark.parametrize("number", ["1.5", "2.0", "1e3", "0x10", "-0.5", "1,5"])
@pytest.mark.parametrize(
    "words",
    [
        ["fit", "t.csv", "--factors"],
        ["fit", "t.csv", "--factors", "1", "--seed"],
        ["fit", "t.csv", "--factors", "1", "--runs"],
        ["fit", "t.csv", "--factors", "1", "--jobs"],
        ["factors", "t.csv", "--seed"],
        ["factors", "t.csv", "--from"],
        ["factors", "t.csv", "--to"],
        ["simulate", "a", "16-3", "-o", "x", "--seed"],
        ["simulate", "a", "16-3", "-o", "x", "--samples"],
    ],
    ids=lambda words: f"{words[0]}{words[-1]}",
)
def test_a_fraction_is_refused(tmp_path, monkeypatch, words, number):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b,c\n1,2,3\n4,6,5\n7,8,1\n")
    said = run_soundly(*words, number)
    assert said.code == 2
    assert f"Got '{number}' instead" in said.err or "--" in said.err, said
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize("number", ["2", "auto"])
def test_a_whole_number_and_auto_are_taken(tmp_path, monkeypatch, number):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b,c\n1,2,3\n4,6,5\n7,8,1\n")
    said = run("fit", "t.csv", "--factors", number, "--seed", "3", "--print-config")
    assert said.code == 0, said
    assert f"factors = {number}" in said.out.replace('"', "")
    assert "seed = 3" in said.out
