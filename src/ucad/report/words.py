"""The words and small tables of the report: what each factor is, and what it goes with."""

from __future__ import annotations

from typing import Any

import numpy as np

from ucad.data import InterventionalData
from ucad.graph import FactorGraph
from ucad.report.strengths import EdgeStrengths
from ucad.scm import FactorSCM

__all__ = ["correlates", "cut", "factor_card", "factor_sentence", "overview"]

MOST_NAMED = 6
"""Names listed in a sentence, which ends with how many more there are."""

MOST_LETTERS = 60
"""Letters of all names listed in a sentence: a line of the page, two of a phone's."""

LONGEST_NAME = 40
"""Characters of a name in a sentence: half a line."""

MOST_CORRELATES = 8
"""Variables listed as going with a factor: what can be read at a glance."""


def cut(name: str, most: int = LONGEST_NAME) -> str:
    """A name short enough for its place: cut in the middle, since names differ at either end.

    >>> cut("a_long_name_of_unit_17", most=11)
    'a_lon…it_17'
    """
    if len(name) <= most:
        return name
    tail = (most - 1) // 2
    return f"{name[: most - 1 - tail]}…{name[len(name) - tail :]}"


def overview(graph: FactorGraph, data: InterventionalData, n_samples: int | None = None) -> str:
    """What the model says, in two or three sentences."""
    used = int((graph.Q.any(axis=1) | graph.R.any(axis=1)).sum())
    acts = int(graph.factor_adjacency.sum())
    clamped = int(data.is_intervened.any(axis=0).sum())
    if not graph.n_factors:
        samples = f"{n_samples or data.n_samples:,} samples of {graph.n_variables:,} variables"
        return f"In {samples}, {clamped:,} of which were clamped at some time, no factor was found."
    factors = "1 factor" if graph.n_factors == 1 else f"{graph.n_factors} factors"
    links = {0: "No factor acts on another one.", 1: "One factor acts on another."}
    samples = f"{n_samples or data.n_samples:,} samples of {graph.n_variables:,} variables"
    return (
        f"In {samples}, {clamped:,} of which were clamped at some time, {factors} "
        f"{'was' if graph.n_factors == 1 else 'were'} found. The model uses {used:,} of the "
        f"variables. {links.get(acts, f'There are {acts:,} causal links between factors.')}"
    )


def factor_sentence(graph: FactorGraph, factor: str, strengths: EdgeStrengths) -> str:
    """What a factor is made from, what it drives, and whether it lacks variables of its own.

    The strongest neighbours come first.
    """
    k = graph.factor_index(factor)
    parents = _strongest(graph, graph.Q[:, k], strengths.into[:, k])
    children = _strongest(graph, graph.R[:, k], strengths.out_of[:, k])
    acts = "".join(
        f"; it acts on {cut(other)} through {_few(_between(graph, factor, other), 3)}"
        for other in graph.high_level_children(factor)[:MOST_NAMED]
    )
    made = f"{cut(factor)} is made from {_few(parents)}; it drives {_few(children)}"
    return f"{made}{acts}{_lacking_anchors(graph, k)}."


def factor_card(graph: FactorGraph, factor: str, strengths: EdgeStrengths) -> dict[str, Any]:
    """What the page shows when a factor is chosen, ready for JSON."""
    k = graph.factor_index(factor)

    def neighbours(which: str) -> list[list[Any]]:
        edges, anchors, strength, mixed = (
            (graph.Q, graph.in_anchors, strengths.into, strengths.into_mixed)
            if which == "parents"
            else (graph.R, graph.out_anchors, strengths.out_of, strengths.out_of_mixed)
        )
        rows = sorted(np.flatnonzero(edges[:, k]), key=lambda i: -abs(strength[i, k]))
        return [
            [
                graph.variable_names[i],
                float(f"{strength[i, k]:.3g}"),
                bool(mixed[i, k]),
                bool(anchors[i, k]),
            ]
            for i in rows
        ]

    return {
        "name": factor,
        "parents": neighbours("parents"),
        "children": neighbours("children"),
        "acts_on": [
            [other, _between(graph, factor, other)] for other in graph.high_level_children(factor)
        ],
        "acted_on_by": [
            [other, _between(graph, other, factor)] for other in graph.high_level_parents(factor)
        ],
    }


def correlates(
    scm: FactorSCM, data: InterventionalData, most: int = MOST_CORRELATES
) -> list[dict[str, Any]]:
    """For every factor the variables most correlated with it (Pearson, over all samples)."""
    z = scm.state_map(data.x).detach().cpu().numpy()
    correlation = _correlation(data.x, z)
    graph, found = scm.graph, []
    for k, factor in enumerate(graph.factor_names):
        largest = np.argsort(-np.abs(correlation[:, k]), kind="stable")[:most]
        rows = [
            {
                "variable": graph.variable_names[i],
                "correlation": float(correlation[i, k]),
                "role": "feeds it" if graph.Q[i, k] else "driven by it" if graph.R[i, k] else "",
            }
            for i in largest
        ]
        found.append({"factor": factor, "rows": rows})
    return found


def _correlation(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Variables × factors; 0 where one of the two is constant."""
    centred_x, centred_z = x - x.mean(axis=0), z - z.mean(axis=0)
    norms = np.outer(np.linalg.norm(centred_x, axis=0), np.linalg.norm(centred_z, axis=0))
    return np.divide(centred_x.T @ centred_z, norms, out=np.zeros_like(norms), where=norms > 0)


def _between(graph: FactorGraph, cause: str, effect: str) -> list[str]:
    """The variables through which one factor acts on another."""
    which = graph.R[:, graph.factor_index(cause)] & graph.Q[:, graph.factor_index(effect)]
    return [graph.variable_names[j] for j in np.flatnonzero(which)]


def _strongest(graph: FactorGraph, which: np.ndarray, strength: np.ndarray) -> list[str]:
    rows = sorted(np.flatnonzero(which), key=lambda i: -abs(strength[i]))
    return [graph.variable_names[i] for i in rows]


def _lacking_anchors(graph: FactorGraph, factor: int) -> str:
    """On which side no variable is the factor's own, if on any."""
    sides = {"feeds": graph.in_anchors, "is driven by": graph.out_anchors}
    lacking = [verb for verb, anchors in sides.items() if not anchors[:, factor].any()]
    return f"; no variable {' or '.join(lacking)} this factor alone" if lacking else ""


def _few(names: list[str], most: int = MOST_NAMED) -> str:
    """The first names, as many as fit a line, and how many more there are."""
    if not names:
        return "nothing"
    lengths = np.cumsum([len(cut(name)) for name in names[:most]])
    most = max(2, min(most, int((lengths <= MOST_LETTERS).sum())))
    more = len(names) - most
    named = ", ".join(map(cut, names[:most]))
    return named + (f" and {more} more" if more > 0 else "")
