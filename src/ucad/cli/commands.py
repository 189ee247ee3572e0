"""All commands under one name, grouped as the help shows them."""

from __future__ import annotations

from collections.abc import Callable

from cyclopts import App, Group, Parameter

from ucad import __version__
from ucad.cli.compare import compare
from ucad.cli.completion import completion
from ucad.cli.demo import demo
from ucad.cli.evaluate import evaluate
from ucad.cli.export import export
from ucad.cli.factors import factors
from ucad.cli.fit import fit
from ucad.cli.info import info
from ucad.cli.inspect import certify, report
from ucad.cli.networks import record
from ucad.cli.predict import predict
from ucad.cli.simulate import simulate
from ucad.cli.steer import steer
from ucad.cli.supernodes import supernodes
from ucad.cli.sweep import sweep

__all__ = ["app"]


def _shown_default(value: object) -> str | None:
    """A default in the help, unless it says nothing: a flag not given, an empty list or text.

    >>> _shown_default(False), _shown_default(()), _shown_default(0)
    (None, None, '0')
    """
    return None if value is False or value in ("", (), None) else str(value)


COMMANDS: dict[str, tuple[Callable[..., object], ...]] = {
    "Start here": (demo, info, factors, fit),
    "What was found": (certify, report, predict, compare, evaluate, export),
    "Networks": (record, steer, supernodes),
    "Besides": (simulate, sweep, completion),
}
"""What the help shows, in the order in which a newcomer needs it."""

app = App(
    name="ucad",
    version=__version__,
    help=(
        "Find the small causal model inside a big one.\n\n"
        "Add --debug to any command to see where an error comes from."
    ),
    help_format="markdown",
    default_parameter=Parameter(negative="", show_default=_shown_default),
    suppress_keyboard_interrupt=False,  # or else it ends without a word
)
for title, commands in COMMANDS.items():
    group = Group.create_ordered(title)
    for place, command in enumerate(commands):
        app.command(command, group=group, sort_key=place)
for flag in ("--help", "--version"):
    app[flag].group = "About ucad"
