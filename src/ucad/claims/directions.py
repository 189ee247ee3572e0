"""On what the direction of each low-level edge rests: interventions, layers, orientation."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad.claims.answers import Answer, Claim, listed
from ucad.claims.effects import acting_on_cause, acting_on_effect
from ucad.claims.equivalence import compelled_edges
from ucad.claims.samples import TestSamples
from ucad.data import InterventionalData
from ucad.graph import FactorGraph

__all__ = ["Rests", "directions", "edge_evidence"]

LEVEL = 0.05
"""The chance that any edge is called seen, or its reversal excluded, by accident."""

REFUTED_LEVEL = 0.001
"""The chance that any edge is called contradicted by accident."""

HALF = 0.5
"""An effect of less than half of what the model says is not the effect that it says."""

MIN_REVERSED_SHARE = 0.01
"""An effect against the direction of an edge counts from this share of variance on."""

MIN_ROWS_TO_REFUTE = 40
"""Standard errors from fewer samples are too uncertain to contradict an edge."""

MAX_EDGES_LISTED = 200
"""Edges written out in the details; the others are counted."""


class Rests(IntEnum):
    """On what the direction of an edge rests."""

    NOTHING = 0
    LAYERS = 1
    CAUSE = 2
    EFFECT = 3
    ORIENTATION = 4
    CONTRADICTED = 5


@dataclass(frozen=True, eq=False)
class EdgeEvidence:
    """What is known of the direction of every low-level edge.

    Attributes:
        rests: one `Rests` per pair of variables; meaningless where there is no edge.
        slope: b of `acting_on_cause`, 1 as the model expects and 0 for no effect.
        slope_error: its standard error; infinite where the cause was not acted on.
    """

    rests: Int[np.ndarray, "variables variables"]
    slope: Float[np.ndarray, "variables variables"]
    slope_error: Float[np.ndarray, "variables variables"]


def edge_evidence(
    samples: TestSamples,
    *,
    by_layers: bool,
    undecided: Bool[np.ndarray, "variables variables"],
    told_soft: Collection[str] = (),
) -> EdgeEvidence:
    """Looks at both ends of every edge of A.

    An edge i → j is settled by acting on i if b / se(b) exceeds what chance does with .05 / edges,
    and contradicted if b is below one half by as many standard errors as .001 / edges takes. It is
    settled by acting on j if a slope of half of β would have been seen there and was not, and
    contradicted if there is one of the same sign.
    Else by orientation, if no equivalent graph reverses it (given the settled edges) and the
    solver did not call it undecided.
    """
    A = samples.graph.variable_adjacency
    n_edges = max(int(A.sum()), 1)
    rests = np.full(A.shape, Rests.NOTHING, dtype=np.int64)
    slope, error = np.zeros(A.shape), np.full(A.shape, np.inf)
    contradicted = np.zeros_like(A)
    for j in np.flatnonzero(A.any(axis=0)):
        causes = np.flatnonzero(A[:, j])
        found, beta = acting_on_effect(samples, int(j), causes, told_soft)
        size, se = np.abs(found.value), found.error
        seen, refuted = (found.threshold(level / n_edges) for level in (LEVEL, REFUTED_LEVEL))
        rests[causes[HALF * np.abs(beta) - size > seen * se], j] = Rests.EFFECT
        acted = samples.x[samples.is_intervened[:, j], j]
        share = found.value**2 * (acted.var() if len(acted) else 0.0)
        if found.n_samples >= MIN_ROWS_TO_REFUTE:
            along = found.value * np.sign(beta)  # a reversed edge has a slope like β
            contradicted[causes, j] = (along > refuted * se) & (share > MIN_REVERSED_SHARE)
    for i in np.flatnonzero(A.any(axis=1)):
        effects = np.flatnonzero(A[i])
        found = acting_on_cause(samples, int(i), effects)
        seen, refuted = (found.threshold(level / n_edges) for level in (LEVEL, REFUTED_LEVEL))
        slope[i, effects], error[i, effects] = found.value, found.error
        rests[i, effects[found.value > seen * found.error]] = Rests.CAUSE
        if found.n_samples >= MIN_ROWS_TO_REFUTE:
            contradicted[i, effects] |= HALF - found.value > refuted * found.error
    if by_layers:
        rests[A] = Rests.LAYERS
    rests[contradicted] = Rests.CONTRADICTED
    known = A & np.isin(rests, (Rests.LAYERS, Rests.CAUSE, Rests.EFFECT))
    oriented = compelled_edges(A, known) & (rests == Rests.NOTHING) & ~undecided
    rests[oriented] = Rests.ORIENTATION
    return EdgeEvidence(rests, slope, error)


def directions(
    samples: TestSamples,
    data: InterventionalData,
    open_directions: Collection[tuple[str, str]],
    told_soft: Collection[str] = (),
) -> Claim:
    """Do the directions of all edges rest on the data?

    At best partly if most edges leave variables that were never acted on, or if acting on the cause
    of most showed at no child of their factors: the pattern of dependences says nothing of hidden
    causes. Regimes known to be soft speak only where they act on a cause.
    """
    graph, A = samples.graph, samples.graph.variable_adjacency
    by_layers = data.layer_of is not None and graph.respects_layers(data.layer_of)
    found = edge_evidence(
        samples,
        by_layers=by_layers,
        undecided=_pairs(graph.variable_names, open_directions),
        told_soft=told_soft,
    )
    counts = {kind: int((A & (found.rests == kind)).sum()) for kind in Rests}
    n_edges = int(A.sum())
    never_acted = int(A[~samples.is_intervened.any(axis=0)].sum())
    left, against = (A & (found.rests == kind) for kind in (Rests.NOTHING, Rests.CONTRADICTED))
    alone = int(_by_pattern_alone(graph, found.rests).sum())
    is_weak = not by_layers and 2 * max(never_acted, alone) > n_edges
    answer = _answer(counts, n_edges, is_weak=is_weak)
    details = {
        "n_edges": n_edges,
        "by_layers": counts[Rests.LAYERS],
        "by_acting_on_the_cause": counts[Rests.CAUSE],
        "by_acting_on_the_effect": counts[Rests.EFFECT],
        "by_orientation_only": counts[Rests.ORIENTATION],
        "by_pattern_alone": alone,
        "contradicted": counts[Rests.CONTRADICTED],
        "not_oriented": counts[Rests.NOTHING],
        "edges_leaving_variables_never_acted_on": never_acted,
        "edges_contradicted": _named(graph.variable_names, against),
        "edges_not_oriented": _named(graph.variable_names, left),
        "factors_not_oriented": _factors_with(graph, left | against),
    }
    return Claim(
        "directions",
        "Do the directions of all edges rest on the data?",
        answer,
        _text(details, answer),
        "Interventions on one end of an edge; Markov equivalence (unshielded colliders, Meek's "
        'rules), since the lemma "Identifiability of G_L" does not hold as stated',
        details,
    )


def _factors_with(graph: FactorGraph, edges: Bool[np.ndarray, "variables variables"]) -> list[str]:
    """The names of the factors that carry any of these edges."""
    return [
        graph.factor_names[k]
        for k in range(graph.n_factors)
        if edges[np.ix_(graph.Q[:, k], graph.R[:, k])].any()
    ]


def _by_pattern_alone(
    graph: FactorGraph, rests: Int[np.ndarray, "variables variables"]
) -> Bool[np.ndarray, "variables variables"]:
    """Edges oriented without help: acting on the cause showed at no child of their factors."""
    shown = graph.variable_adjacency & (rests == Rests.CAUSE)
    has_shown = graph.Q & ((shown.astype(int) @ graph.R.astype(int)) > 0)
    reached = (has_shown.astype(int) @ graph.R.T.astype(int)) > 0
    return graph.variable_adjacency & (rests == Rests.ORIENTATION) & ~reached


def _answer(counts: dict[Rests, int], n_edges: int, *, is_weak: bool) -> Answer:
    if n_edges == 0:
        return Answer.UNKNOWN
    if counts[Rests.CONTRADICTED] or counts[Rests.NOTHING] == n_edges:
        return Answer.NO
    return Answer.PARTLY if counts[Rests.NOTHING] or is_weak else Answer.YES


def _text(details: dict[str, Any], answer: Answer) -> str:
    n_edges, left = details["n_edges"], details["not_oriented"]
    if n_edges == 0:
        return "The graph has no edges, so there is nothing to orient."
    if details["by_layers"] == n_edges:
        return f"The known layers of the variables give all {n_edges} low-level edges a direction."
    parts = [f"Of {n_edges} edge{'s' * (n_edges != 1)} between variables, {_evidence(details)}"]
    if details["contradicted"]:
        parts.append(
            f"{details['contradicted']} are contradicted by the interventions: "
            f"{_edges(details['edges_contradicted'])}"
        )
    if left:
        parts.append(
            f"{left} could not be oriented: {_edges(details['edges_not_oriented'])}; acting on "
            "one end would settle it"
        )
    elif 2 * details["by_pattern_alone"] > n_edges:
        parts.append("no intervention shows the direction of most edges")
    elif answer is Answer.PARTLY:
        parts.append("most edges leave variables that were never acted on")
    return f"{'. '.join(part[0].upper() + part[1:] for part in parts)}."


def _evidence(details: dict[str, Any]) -> str:
    """How many edges rest on each kind of evidence; kinds that occur nowhere are left out."""
    kinds = {
        "by_layers": "by the known layers",
        "by_acting_on_the_cause": "by acting on the cause, which moved the effect",
        "by_acting_on_the_effect": "by acting on the effect, which did not move the cause",
        "by_orientation_only": "only by the pattern of dependences, which assumes that nothing "
        "unmeasured acts on both ends",
    }
    n_edges = details["n_edges"]
    told = [
        f"{'all' if details[key] == n_edges > 1 else details[key]} {text}"
        for key, text in kinds.items()
        if details[key]
    ]
    if not told:
        return "none is given a direction by the data"
    return f"the direction is known for {'; for '.join(told)}"


def _edges(pairs: object) -> str:
    assert isinstance(pairs, list)
    return listed([f"{cause} → {effect}" for cause, effect in pairs])


def _named(names: tuple[str, ...], which: Bool[np.ndarray, "n n"]) -> list[list[str]]:
    return [[names[i], names[j]] for i, j in np.argwhere(which)[:MAX_EDGES_LISTED]]


def _pairs(
    names: tuple[str, ...], pairs: Collection[tuple[str, str]]
) -> Bool[np.ndarray, "variables variables"]:
    position = {name: at for at, name in enumerate(names)}
    which = np.zeros((len(names), len(names)), dtype=bool)
    for cause, effect in pairs:
        if cause in position and effect in position:
            which[position[cause], position[effect]] = True
    return which
