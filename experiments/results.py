"""Runs again what the tables of docs/results.md are made of: `make results`.

Every study appends rows as they are finished and skips rows that are there, so the same command
goes on after whatever stopped it. Seeds of the newest round are fresh: nobody looks at them before
the version is frozen. In the end the pages are written from all rows.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from experiments import pages
from experiments.running import ROUNDS

__all__ = ["STUDIES", "Study", "main"]

ROOT = Path(__file__).parents[1]

FIRST = ROUNDS[0]
"""The first of the fresh seeds."""

FIVE, TEN, TWENTY = (f"{FIRST}:{FIRST + count}" for count in (5, 10, 20))


@dataclass(frozen=True)
class Study:
    """One table.

    Attributes:
        name: what to call it.
        module: in `experiments`, with its options.
        rows: the file it writes to.
        hours: of CPU it takes, by rows of earlier versions; of the paper's learner a guess.
    """

    name: str
    module: str
    rows: str
    hours: float

    @property
    def command(self) -> str:
        """What a person would type."""
        option = "--rows" if self.name == "claims" else "-o"
        return (
            f"python -m experiments.{self.module} {option} docs/results/{FIRST}/{self.rows}.jsonl"
        )

    @property
    def is_days(self) -> bool:
        """Whether it takes too long to be run unasked."""
        return self.hours > MAX_HOURS


MAX_HOURS = 5.0
"""Hours of CPU of a study that is run unless it is left out: an evening on one core."""

LINEAR = '"a 16-3" "a 64-6" "a 128-8" "b 16-3" "b 64-6" "h 16-3" "h 64-6" "i 64-6"'
CURVED = '"c 16-3" "c 64-6" "d 16-3" "d 64-6" "e 16-3" "e 64-6" "f 16-3" "f 64-6" "g 16-3" "g 64-6"'
SMALL = '"a 16-3" "b 16-3" "c 16-3" "d 16-3" "e 16-3" "f 16-3" "g 16-3"'
LARGE = '"a 64-6" "b 64-6" "h 64-6" "i 64-6"'
TOLD = "recovery --no-ceiling --seeds"
NOT_TOLD = "recovery --no-ceiling --mechanisms auto --seeds"
PAPER = "recovery --no-ceiling --solver gradient-paper --seeds"

STUDIES = (
    Study("linear", f"{TOLD} {TEN} --cells {LINEAR}", "recovery", 0.1),
    Study("curved", f"{TOLD} {FIVE} --cells {CURVED}", "recovery", 0.6),
    Study("auto", f"{NOT_TOLD} {TEN} --cells {SMALL}", "recovery-auto", 0.1),
    Study("screens", f"screens --seeds {TEN}", "screens", 0.2),
    Study("factors", f"factors --seeds {TEN}", "factors", 1.0),
    Study("real", f"real_measurements --seeds {TEN}", "real_measurements", 0.2),
    Study("claims", f"claims --seeds {TWENTY}", "claims", 2.0),
    Study("ablation", "ablation --seeds 0:40", "ablation", 0.4),
    Study("paper-small", f"{PAPER} {FIVE} --cells {SMALL}", "recovery-paper", 65.0),
    Study("paper-large", f"{PAPER} {FIVE} --cells {LARGE}", "recovery-paper", 28.0),
)
"""All studies, the quick ones first; networks and the real screen have commands of their own."""


def main() -> int:
    """Says what it costs, runs what was asked for, and writes the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [study.name for study in STUDIES]
    quick = [study.name for study in STUDIES if not study.is_days]
    parser.add_argument("--only", nargs="+", choices=names, default=quick, metavar="STUDY")
    parser.add_argument("--list", action="store_true", help="say what it costs, and run nothing")
    options = parser.parse_args()
    chosen = [study for study in STUDIES if study.name in options.only]
    for study in STUDIES:
        asked = "" if study in chosen else f"  (only with --only {study.name})"
        print(f"{study.name:12} about {study.hours:5.1f} h of CPU  {study.command}{asked}")
    print(f"{'together':12} about {sum(one.hours for one in chosen):5.1f} h of CPU on one core")
    if options.list:
        return 0
    (ROOT / "docs" / "results" / str(FIRST)).mkdir(exist_ok=True)
    failed = []
    for study in chosen:
        print(f"\n{study.name}: {study.command}", flush=True)
        words = [sys.executable, *shlex.split(study.command)[1:]]
        if subprocess.run(words, cwd=ROOT, check=False).returncode:
            failed.append(study.name)
    pages.main()
    print("\ndocs/results.md is written." + (f" Failed: {', '.join(failed)}." if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
