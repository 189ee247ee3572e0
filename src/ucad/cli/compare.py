"""`ucad compare`: what two runs have in common, beside what unrelated ones would."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ucad.cli.options import Seed

if TYPE_CHECKING:
    from ucad.consensus.comparing import Comparison

__all__ = ["compare"]

EDGES = {
    "Q": "variable → factor",
    "R": "factor → variable",
    "A": "variable → variable",
    "B": "factor → factor",
}
"""What the letters of the paper stand for; A and B follow from Q and R."""


def compare(
    first: Path, second: Path, /, *, data: Path | None = None, seed: Seed = 0, json: bool = False
) -> None:
    """Show which factors and edges two runs share, beside what chance would give.

    Factors are matched by their values on common samples: those stored with both runs, or those
    given. The runs may differ in seed, batch or data set; variables are matched by name.

    Parameters
    ----------
    first
        A run folder.
    second
        Another one.
    data
        A data file to compare on, in the units of both runs.
    seed
        Random seed of the chance levels.
    json
        Print JSON.
    """
    import ucad
    from ucad.consensus.comparing import compare as compare_fitted

    samples = None if data is None else ucad.read(data)
    found = compare_fitted(ucad.load(first), ucad.load(second), samples, seed=seed)
    if json:
        print(found.to_json())
    else:
        _show(found, first, second)


def _show(found: Comparison, first: Path, second: Path) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from ucad.cli.output import say, show

    style: dict[str, Any] = {"box": SIMPLE_HEAD, "padding": (0, 1, 0, 0)}
    title = f"Factors of {first} in {second}, on {found.n_samples:,} samples"
    factors = Table(title=title, **style)
    for heading in ("factor", "partner", "correlation", "chance to be as close"):
        factors.add_column(heading, justify="left" if heading in ("factor", "partner") else "right")
    for pair in found.factors:
        r = "" if pair.second is None else f"{pair.correlation:.3f}"
        chance = "" if pair.second is None else f"{pair.in_chance:.1%}"
        factors.add_row(pair.first, pair.second or "none", r, chance)
    edges = Table(title="Edges, factors put in correspondence", **style)
    headings = ("edges", "first", "second", "in both", "reversed", "shared", "by chance (95%)")
    for heading in headings:
        edges.add_column(heading, justify="left" if heading == "edges" else "right")
    for one in found.edges:
        counts = (one.n_first, one.n_second, one.n_common, one.n_reversed)
        chance = f"{one.chance:.0%} ({one.chance_high:.0%})"
        name = f"{EDGES[one.graph.value]} ({one.graph.value})"
        edges.add_row(name, *map(str, counts), f"{one.jaccard:.0%}", chance)
    show(factors, edges)
    if found.only_second:
        say(f"Only in {second}: {', '.join(found.only_second)}")
    if found.only_in_one:
        say(f"{len(found.only_in_one)} variables are in one of the runs only.")
    say(
        "shared: edges in both, of those in either. by chance: of unrelated models, on average, "
        "and what 95% of them stay below.",
        f"Factors are partners if their correlation exceeds {found.level:.2f}; the best matches of "
        f"unrelated models have {found.chance:.2f} on average.",
        "",
        found.verdict,
    )
