"""What docs/consensus.md shows of tracked rows: `python -m experiments.consensus_page`.

The rows are those of `python -m experiments.calibration` and of `python benchmarks/consensus.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.calibration import BINS, WORLDS, table
from experiments.running import ROUNDS, read_rows

__all__ = ["cost_table", "main", "with_section"]

DOCS = Path(__file__).parents[1] / "docs"
ROWS = DOCS / "results"

Row = Mapping[str, Any]


def newest(name: str) -> list[Row]:
    """The rows of a file in the newest round of reports that has any."""
    found = (read_rows(ROWS / str(first) / name) for first in ROUNDS)
    return next((rows for rows in found if rows), [])


def with_section(text: str, name: str, content: str) -> str:
    """A page with what stands between `<!-- name -->` and `<!-- end of name -->` replaced."""
    first, last = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, rest = text.split(first)
    return f"{before}{first}{content}\n{last}{rest.split(last)[1]}"


def cost_table(rows: Sequence[Row]) -> str:
    """One line per measurement: the wanted time, what it took, and what was found."""
    lines = [
        "| cell | fits | at a time | wall-clock s (wanted on two idle cores) | CPU s "
        "| CPU s of one fit | consensus is the true graph | commit |",
        "|---" * 8 + "|",
    ]
    lines += [
        f"| {row['cell']} | {row['fits']} | {row['jobs']} | {row['wall']:.0f} ({row['wanted']:.0f})"
        f" | {row['cpu']:.0f} | {row['cpu'] / row['fits']:.2f} | {'yes' if row['same'] else 'no'} "
        f"| {row['commit']} |"
        for row in rows
    ]
    return "\n".join(lines)


def calibration_section(rows: Sequence[Row]) -> str:
    """The table, with the seeds, the number of halves and the commits of its rows."""
    done = [row for row in rows if row["error"] is None]
    seeds = sorted({row["task"]["seed"] for row in done})
    halves = sorted({row["result"]["n_halves"] for row in done})
    commits = sorted({str(row["about"].get("commit")) for row in done})
    return (
        f"Seeds {seeds[0]}–{seeds[-1]}, {'–'.join(map(str, halves))} halves per consensus, edges "
        f"between variables, commit {', '.join(commits)}, {len(done)} consensuses:\n\n{table(done)}"
    )


def main() -> None:
    """Writes the sections that have rows, and draws the reliability diagrams."""
    page = DOCS / "consensus.md"
    text = page.read_text("utf-8")
    calibrated = newest("calibration.jsonl")
    if calibrated:
        from experiments.figures import draw_calibration

        text = with_section(text, "calibration", calibration_section(calibrated))
        done = [row for row in calibrated if row["error"] is None]
        draw_calibration(done, list(WORLDS), BINS, DOCS / "figures" / "calibration.svg")
    cost = newest("consensus.jsonl")
    if cost:
        text = with_section(text, "cost", cost_table(cost))
    page.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
