"""What came back over fits on parts of the samples, as the report shows it."""

from __future__ import annotations

from typing import Any

from ucad.consensus.support import Graph, Support

__all__ = ["panel", "sentence_mark", "weak_edges"]

DESCRIPTIONS = {
    Graph.Q: "variables that make factors (Q)",
    Graph.R: "variables that factors drive (R)",
    Graph.A: "variables that act on variables (A)",
    Graph.B: "factors that act on factors",
}
"""The graphs, for readers."""


def panel(support: Support) -> dict[str, Any]:
    """The tables of the panel, with nothing left to compute."""
    return {
        "n_halves": support.n_halves,
        "n_without": len(support.fits) - support.n_halves,
        "n_failed": support.n_failed,
        "threshold": support.threshold,
        "may_be_claimed": support.may_be_claimed,
        "adequacy": support.adequacy.value,
        "adequacy_text": support.adequacy_text,
        "factors": [
            {
                "factor": one.name,
                "support": one.stability,
                **_interval(one),
                "correlation": one.correlation,
                "mark": _mark(support, one.stability, in_model=one.in_model),
            }
            for one in support.factors
        ],
        "graphs": [_graph(support, graph) for graph in Graph],
    }


def sentence_mark(support: Support | None, factor: str) -> str:
    """What is to be said of a factor that does not come back; nothing of one that does."""
    if support is None or support.stable_factor(factor):
        return ""
    share = next((one.stability for one in support.factors if one.name == factor), 0.0)
    return f" Not stable: it came back in {share:.0%} of the fits on half of the samples."


def weak_edges(support: Support | None, graph: Graph) -> set[tuple[str, str]]:
    """The edges of the model that do not come back often enough, or hang on an open direction."""
    if support is None:
        return set()
    return {
        (edge.cause, edge.effect)
        for edge in support.of(graph)
        if edge.in_model and (edge.support < support.threshold or edge.hangs)
    }


def _graph(support: Support, graph: Graph) -> dict[str, Any]:
    control = support.control[graph]
    rows = [
        {
            "edge": f"{edge.cause} → {edge.effect}",
            "support": edge.support,
            **_interval(edge),
            "mark": "stable, direction open"
            if edge.hangs and edge.support >= support.threshold
            else _mark(support, edge.support, in_model=edge.in_model),
        }
        for edge in support.of(graph)
        if edge.in_model or edge.support >= support.threshold
    ]
    return {
        "name": DESCRIPTIONS[graph],
        "rows": rows,
        "n_above": control.n_above,
        "expected_false": control.expected_false,
    }


def _interval(one: Any) -> dict[str, Any]:
    return {"low": one.low, "high": one.high, "without_regimes": one.without_regimes}


def _mark(support: Support, share: float, *, in_model: bool) -> str:
    if share < support.threshold:
        return "not stable"
    return "stable" if in_model else "stable, but not in the model"
