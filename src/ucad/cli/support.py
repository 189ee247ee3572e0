"""How commands show what came back over fits on parts of the samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ucad.consensus.support import FactorSupport, Support

__all__ = ["show_support", "support_summary"]

MAX_ROWS = 30
"""Edges that are printed; all are in support.json."""


def show_support(support: Support) -> None:
    """Prints the factors and edges with their support; what does not come back is marked."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from ucad.cli.output import say, show
    from ucad.consensus.support import EdgeSupport, Graph

    rows: list[tuple[str, str, float, FactorSupport | EdgeSupport]] = [
        ("factor", one.name, one.stability, one) for one in support.factors
    ]
    shown = [edge for graph in (Graph.Q, Graph.R) for edge in support.of(graph)]
    shown = [edge for edge in shown if edge.in_model or edge.support >= support.threshold]
    kinds = {Graph.Q: "into a factor", Graph.R: "out of a factor"}
    edges = [(kinds[e.graph], f"{e.cause} → {e.effect}", e.support, e) for e in shown]
    listed = [*rows, *edges[:MAX_ROWS]]
    has_regimes = any(one.without_regimes is not None for *_, one in listed)
    table = Table(
        title=f"What comes back in {support.n_halves} fits on half of the samples",
        box=SIMPLE_HEAD,
    )
    for heading in ("", "", "support", "95% interval", *["without regimes"] * has_regimes, ""):
        table.add_column(heading, justify="right" if heading else "left")
    for kind, name, share, one in listed:
        without = "" if one.without_regimes is None else f"{one.without_regimes:.2f}"
        hangs = isinstance(one, EdgeSupport) and one.hangs
        mark = "? not stable" if share < support.threshold else "? direction open" * hangs
        interval = f"{one.low:.2f} – {one.high:.2f}"
        table.add_row(kind, name, f"{share:.2f}", interval, *[without] * has_regimes, mark)
    show(table)
    if len(edges) > MAX_ROWS:
        say(f"… and {len(edges) - MAX_ROWS} more edges in support.json.")
    say(support_summary(support))


def support_summary(support: Support) -> str:
    """What the support entitles to, in a few sentences."""
    from ucad.consensus.support import Graph

    n_factors = sum(one.stability >= support.threshold for one in support.factors)
    A = support.control[Graph.A]
    stable = (
        f"{n_factors} of {len(support.factors)} factors and {A.n_above} edges between variables "
        f"come back in at least {support.threshold:.0%} of these fits; by chance, at most "
        f"{A.expected_false:.2g} of the edges would."
    )
    failed = f" {support.n_failed} fits failed." if support.n_failed else ""
    if support.may_be_claimed:
        hang = any(edge.hangs and edge.support >= support.threshold for edge in support.of(Graph.A))
        but = ", but no edge that hangs on a direction the data leave open" if hang else ""
        return f"{stable}{failed} The model passed its tests: what is stable may be claimed{but}."
    return (
        f"{stable}{failed} None of it may be claimed, since the model did not pass its tests on "
        f"unseen samples ({support.adequacy.value}): fits on parts of the samples repeat its bias. "
        f"{support.adequacy_text}"
    )
