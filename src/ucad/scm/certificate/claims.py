"""Claims about a learned graph: what its structure alone, and what was clamped, entitle us to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from jaxtyping import Float

from ucad.data import InterventionalData
from ucad.errors import FactorisationError
from ucad.graph import FactorGraph, boolean_rank, factorise, topological_levels

__all__ = [
    "Answer",
    "Claim",
    "acyclicity",
    "anchors",
    "figure",
    "listed",
    "two_parents",
    "uniqueness",
]

ANCHOR_SHARE = 0.01
"""The least share of variance by which an anchor is said to carry weight."""

MOST_VARIABLES_FOR_RANK = 64
MOST_RECTANGLES_FOR_RANK = 2000


class Answer(StrEnum):
    """What a check found."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Claim:
    """One question about a fitted model, and what was found.

    Attributes:
        key: a short name of the question, for programs.
        question: the question itself; the answer yes is always the good one.
        answer: what the check found.
        text: what may and what may not be claimed, in plain words.
        statement: the title of the paper's statement behind it.
        details: the numbers and names it rests on, ready for JSON.
    """

    key: str
    question: str
    answer: Answer
    text: str
    statement: str
    details: dict[str, Any] = field(default_factory=dict)


def listed(names: Iterable[str], most: int = 6) -> str:
    """Joins names for a sentence.

    >>> listed(["a", "b", "c"], most=2), listed(["a", "b"]), listed([])
    ('a, b and 1 more', 'a and b', 'none')
    """
    names = list(names)
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]])) or "none"


def figure(value: float) -> str:
    """A number for a sentence.

    >>> figure(0.01234), figure(1255.97), figure(6e18)
    ('0.0123', '1,256', '6e+18')
    """
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.3g}"


def acyclicity(graph: FactorGraph, data: InterventionalData) -> Claim:
    """Is the graph a DAG, at both levels, and does it respect the layers?"""
    levels = [topological_levels(B) for B in (graph.factor_adjacency, graph.variable_adjacency)]
    acyclic = all(level is not None for level in levels)
    against = [] if data.layer_of is None else _factors_against_layers(graph, data.layer_of)
    text = (
        "The graph has no cycles, neither between variables nor between factors"
        if acyclic
        else "The graph has a cycle, so nothing causal may be claimed from it"
    )
    if data.layer_of is not None and not against:
        text += ", and every factor reads from earlier layers than it writes to"
    if against:
        text += f"; but {listed(against)} do not respect the layers of the variables"
    answer = Answer.NO if not acyclic else Answer.PARTLY if against else Answer.YES
    return Claim(
        "acyclic",
        "Is the graph free of cycles?",
        answer,
        f"{text}.",
        'Assumption "Strong acyclicity"',
        {
            "acyclic": acyclic,
            "layers_given": data.layer_of is not None,
            "factors_against_layers": against,
        },
    )


def _factors_against_layers(
    graph: FactorGraph, layer_of: np.ndarray[Any, np.dtype[np.int64]]
) -> list[str]:
    latest = np.where(graph.Q, layer_of[:, None], -np.inf).max(axis=0, initial=-np.inf)
    first = np.where(graph.R, layer_of[:, None], np.inf).min(axis=0, initial=np.inf)
    return [graph.factor_names[k] for k in np.flatnonzero(latest >= first)]


def anchors(
    graph: FactorGraph,
    in_share: Float[np.ndarray, "variables factors"],
    out_share: Float[np.ndarray, "variables factors"],
) -> Claim:
    """Has every factor an in- and an out-anchor that carries weight?

    Args:
        graph: the graph.
        in_share: for every in-anchor the share of the factor's variance that is lost without it.
        out_share: for every out-anchor the share of its variance that the factor explains.
    """
    rows, missing, weightless = [], [], []
    for k, factor in enumerate(graph.factor_names):
        sides = [
            _anchor_shares(graph, present[:, k], share[:, k])
            for present, share in ((graph.in_anchors, in_share), (graph.out_anchors, out_share))
        ]
        if not all(sides):
            missing.append(factor)
        elif not all(max(side.values()) >= ANCHOR_SHARE for side in sides):
            weightless.append(factor)
        rows.append({"factor": factor, "in_anchors": sides[0], "out_anchors": sides[1]})
    answer = Answer.NO if missing else Answer.PARTLY if weightless else Answer.YES
    return Claim(
        "anchors",
        "Has every factor variables of its own (anchors) on both sides?",
        answer,
        _anchor_text(missing, weightless),
        'Definition "Anchors", and the assumption of an in- and an out-anchor for every factor',
        {
            "factors": rows,
            "without_anchors": missing,
            "anchors_without_weight": weightless,
            "least_share_of_variance": ANCHOR_SHARE,
        },
    )


def _anchor_shares(graph: FactorGraph, which: np.ndarray, share: np.ndarray) -> dict[str, float]:
    """The anchors of one factor, the heaviest first."""
    heaviest = sorted(np.flatnonzero(which), key=lambda i: -share[i])
    return {graph.variable_names[i]: round(float(share[i]), 4) for i in heaviest}


def _anchor_text(missing: Sequence[str], weightless: Sequence[str]) -> str:
    rule = (
        f"an anchor carries weight if it accounts for at least {ANCHOR_SHARE:.0%} of the variance: "
        "an in-anchor of its factor's, a factor of its out-anchor's"
    )
    if missing:
        more = f" Those of {listed(weightless)} carry no weight ({rule})." if weightless else ""
        return (
            f"No in-anchor or no out-anchor: {listed(missing)}. That these are single factors, "
            f"and not parts or mixtures of others, may not be claimed.{more}"
        )
    if weightless:
        return (
            f"Every factor has anchors on paper, but those of {listed(weightless)} carry no weight "
            f"on one side, so for these the assumption is met in name only ({rule})."
        )
    return (
        "Every factor has a variable that feeds only it and a variable that is made only by it, "
        f"and both carry weight ({rule})."
    )


def two_parents(graph: FactorGraph) -> Claim:
    """Has every factor at least two parents?"""
    counts = graph.Q.sum(axis=0)
    few = [graph.factor_names[k] for k in np.flatnonzero(counts < 2)]
    answer = Answer.YES if not few else Answer.NO if len(few) == len(counts) else Answer.PARTLY
    text = (
        "Every factor is made from at least two variables, so even without interventions the "
        "directions of the low-level graph are determined."
        if not few
        else f"Fewer than two parents: {listed(few)}. That observations alone determine the "
        "directions of the low-level graph may not be claimed; what interventions add is said "
        "in the answer on directions."
    )
    return Claim(
        "two_parents",
        "Is every factor made from at least two variables?",
        answer,
        text,
        'Lemma "Identifiability of G_L"',
        {
            "factors": [
                {"factor": name, "n_parents": count}
                for name, count in zip(graph.factor_names, counts.tolist(), strict=True)
            ],
            "fewer_than_two": few,
        },
    )


def uniqueness(graph: FactorGraph) -> Claim:
    """Is (Q, R) the only factorisation of A, up to the order of the factors?"""
    details: dict[str, Any] = {"without_anchors": _without_anchors(graph)}
    try:
        found = factorise(graph.variable_adjacency)
    except FactorisationError as error:
        return _not_read_back(graph, {**details, "reason": str(error)})
    details["n_factors_read_back"] = found.Q.shape[1]
    other = FactorGraph(found.Q, found.R, graph.variable_names, _anonymous(found.Q.shape[1]))
    if graph.is_same_up_to_relabelling(other):
        text = (
            "Given the low-level graph, its factors can be read back from it and are the ones "
            "found: which variables belong to which factor may be claimed, up to the order of "
            "the factors."
        )
        return _uniqueness_claim(Answer.YES, text, found.statement, details)
    details["other_factors"] = [
        {"made_from": list(other.parents(name)), "drives": list(other.children(name))}
        for name in other.factor_names
    ]
    text = (
        f"The same low-level graph also comes from {other.n_factors} other factors (listed in the "
        f"details). That the {graph.n_factors} found are the true ones may not be claimed."
    )
    return _uniqueness_claim(Answer.NO, text, found.statement, details)


def _not_read_back(graph: FactorGraph, details: dict[str, Any]) -> Claim:
    """The anchors are missing: say at least whether fewer factors could do."""
    A = graph.variable_adjacency
    lacking = details["without_anchors"]
    text = (
        "No theorem guarantees that the low-level graph has only this explanation by factors"
        f"{f'; without anchors on both sides: {listed(lacking)}' if lacking else ''}."
    )
    answer = Answer.UNKNOWN
    if min(A.any(axis=1).sum(), A.any(axis=0).sum()) <= MOST_VARIABLES_FOR_RANK:
        rank = boolean_rank(A, max_rectangles=MOST_RECTANGLES_FOR_RANK)
        details["boolean_rank"] = {"at_least": rank.lower, "at_most": rank.upper}
        if rank.upper < graph.n_factors:
            answer = Answer.NO
            text += f" {rank.upper} factors would do for it, {graph.n_factors} were found."
        elif rank.lower == graph.n_factors:
            text += f" Fewer than {graph.n_factors} factors cannot explain it, though."
    statement = 'Theorem "Identifiability of (Q,R)" does not apply'
    return _uniqueness_claim(answer, text, statement, details)


def _uniqueness_claim(answer: Answer, text: str, statement: str, details: dict[str, Any]) -> Claim:
    question = "Are these the only factors that explain the low-level graph?"
    return Claim("unique", question, answer, text, statement, details)


def _without_anchors(graph: FactorGraph) -> list[str]:
    both = graph.in_anchors.any(axis=0) & graph.out_anchors.any(axis=0)
    return [graph.factor_names[k] for k in np.flatnonzero(~both)]


def _anonymous(count: int) -> tuple[str, ...]:
    """Names that no variable of a user has."""
    return tuple(f"\0{number}" for number in range(count))
