"""The command line of the experiments: `python -m experiments reproduce a --first-seed 0`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command; 0 done, 1 something failed, 2 wrong use, 130 interrupted."""
    from experiments import beyond, reproduce
    from ucad.errors import UcadError

    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    commands = parser.add_subparsers(required=True)
    reproduce.add_command(commands)
    beyond.add_command(commands)
    options = parser.parse_args(words)
    try:
        return int(options.run(options))
    except UcadError as error:
        print(f"experiments: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
