"""The cells of the paper's synthetic tables: their tasks, published figures and guessed cost."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ucad.simulate import SETTINGS
from ucad.sweep import Costs
from ucad.sweep.recovery import canonical

__all__ = ["CELLS", "ROTATED", "Cell", "costs", "paper_results", "rows_of", "tasks_of"]


class Cell(NamedTuple):
    """A setting at a size: one column of one of the paper's tables."""

    setting: str
    size: str

    def __str__(self) -> str:
        return f"{self.setting} {self.size}"


CELLS = (
    Cell("a", "16-3"),
    Cell("a", "64-6"),
    Cell("a", "128-8"),
    *(Cell(setting, size) for setting in "bcdefg" for size in ("16-3", "64-6")),
    Cell("h", "64-6"),
    Cell("i", "64-6"),
)
ROTATED = tuple(cell for cell in CELLS if cell.setting in "cde")

SEARCH_SECONDS = {
    "16-3": dict.fromkeys("abh", 1) | {"c": 3, "d": 6, "e": 5, "f": 6, "g": 18},
    "64-6": {"a": 1, "b": 6, "c": 30, "d": 60, "e": 100, "f": 100, "g": 200, "h": 4, "i": 5},
    "128-8": {"a": 5},
}
TRAINING_SECONDS = {
    "gradient": {"16-3": (30, 150), "64-6": (150, 1200), "128-8": (600, 4000)},
    "gradient-paper": {"16-3": (900, 9_000), "64-6": (5_000, 50_000), "128-8": (2e4, 2e5)},
}
EVALUATION_SECONDS = 6.0


def paper_results() -> Mapping[str, Any]:
    """What the paper reports, by setting and size."""
    return tomllib.loads((Path(__file__).parent / "paper_results.toml").read_text("utf-8"))


def tasks_of(
    cells: Iterable[Cell], solvers: Iterable[str], seeds: Iterable[int], **options: Any
) -> list[dict[str, Any]]:
    """A task a graph and solver, in order of importance.

    Small problems first, then a graph of every cell before the next graph of any: whatever a
    budget leaves out, every table has figures.
    """
    chosen, names = list(cells), list(solvers)

    def rank(cell: Cell) -> int:
        return int(cell.size.split("-")[0]) > 16

    return [
        canonical({"setting": c.setting, "size": c.size, "seed": s, "solver": solver, **options})
        for big in (False, True)
        for s in seeds
        for solver in names
        for c in chosen
        if rank(c) == big
    ]


def costs() -> Costs:
    """Seconds of a fit with all that is measured of it, before any was seen."""
    return Costs(guess=_guess)


def _guess(task: Mapping[str, Any]) -> float:
    solver, size = task.get("solver", "search"), task["size"]
    searched = float(SEARCH_SECONDS[size].get(task["setting"], 10))
    evaluated = EVALUATION_SECONDS if task.get("metrics", "all") == "all" else 0.5
    if solver == "search":
        return searched + evaluated
    name = "gradient" if solver == "auto" else solver
    setting = SETTINGS[task["setting"]]
    nonlinear = not (setting.linear_factors and setting.linear_variables)
    trained = TRAINING_SECONDS[name][size][nonlinear]
    return trained / 4 + searched + evaluated if solver == "auto" else trained + evaluated


def rows_of(rows: Iterable[Mapping[str, Any]], cell: Cell) -> Iterator[Mapping[str, Any]]:
    """The rows of a cell that hold a result."""
    for row in rows:
        task = row["task"]
        if (task["setting"], task["size"]) == cell and row["error"] is None:
            yield row
