"""The list of commands: complete, grouped, and short enough for one screen."""

import re

from tests.processes import run
from ucad.cli.commands import COMMANDS, app


def test_every_command_stands_in_one_group_of_the_help():
    told = run("--help").stdout
    names = [command.__name__ for commands in COMMANDS.values() for command in commands]
    assert len(names) == len(set(names))
    assert set(names) == {name for name in app if not name.startswith("-")}
    assert [told.index(title) for title in COMMANDS] == sorted(told.index(t) for t in COMMANDS)
    assert all(re.search(rf"^│ {name} ", told, re.MULTILINE) for name in names)


def test_the_commands_that_a_newcomer_needs_come_first():
    told = run("--help").stdout
    first = [told.index(f"│ {name} ") for name in ("demo", "info", "fit", "certify", "record")]
    assert first == sorted(first)
    assert told.index("--version") > first[-1]
