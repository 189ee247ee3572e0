"""A newcomer's way: every command of the page is run, and prints what the page says."""

import doctest
import shlex

import pytest

from tests.docs.blocks import ROOT, blocks, run_python
from ucad.cli import main

PAGE = ROOT / "docs" / "first-steps.md"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def steps(block):
    """The commands of a block, each with what it should print."""
    parts = ("\n" + block.code).split("\n$ ")[1:]
    return [[*part.split("\n", 1), ""][:2] for part in parts]


def test_the_way_from_a_table_to_a_claim_is_as_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    n_run = 0
    for block in blocks(PAGE):
        if block.language == "python":
            run_python(block, {})
        if block.language != "console":
            continue
        for command, expected in steps(block):
            words = shlex.split(command)
            if words[0] != "ucad":
                continue
            with pytest.raises(SystemExit) as ended:
                main(words[1:])
            printed = capsys.readouterr().out
            assert ended.value.code == 0, command
            assert doctest.OutputChecker().check_output(expected.strip(), printed.strip(), FLAGS), (
                f"{command} printed\n{printed}"
            )
            n_run += 1
    assert n_run == 7
