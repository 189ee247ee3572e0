"""`python -m ucad`: the command line."""

from __future__ import annotations

from ucad.cli import main

if __name__ == "__main__":
    main()
