"""The scripts for shells register a completion of `ucad` when they are evaluated."""

import shutil
import subprocess

import pytest

from tests.processes import run

ASKED = {
    "bash": "complete -p ucad",
    "zsh": "print $_comps[ucad]",
    "fish": "complete --do-complete='ucad export run/ --to '",
}
ANSWERS = {"bash": "-F _ucad", "zsh": "_cyclopts_ucad", "fish": "graphml"}


@pytest.mark.parametrize("shell", ASKED)
def test_an_evaluated_script_completes_ucad(tmp_path, shell):
    """In the shell itself where it is installed; else by what the script says."""
    said = run("completion", shell)
    assert said.returncode == 0
    if shutil.which(shell) is None:
        assert "export" in said.stdout
        return
    script = tmp_path / "script"
    script.write_text(f"{said.stdout}\n{ASKED[shell]}\n")
    bare = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    found = subprocess.run([shell, *bare, script], capture_output=True, text=True, check=False)
    assert ANSWERS[shell] in found.stdout, found.stderr


def test_every_command_is_in_the_script():
    from ucad.cli.commands import app

    said = run("completion", "bash").stdout
    commands = [name for name in app if not name.startswith("-")]
    assert len(commands) > 10
    assert [name for name in commands if name not in said] == []


def test_a_shell_that_is_not_known_is_refused():
    said = run("completion", "csh")
    assert said.returncode == 2
    assert "bash" in said.stderr
