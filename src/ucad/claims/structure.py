"""Theorems about the learned graph: cycles, anchors, uniqueness, factors that look alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from ucad._types import LayerOf
from ucad.claims.answers import Answer, Claim, listed, percent
from ucad.claims.weights import MIN_WEIGHT, Weights
from ucad.data import InterventionalData
from ucad.errors import FactorisationError
from ucad.graph import FactorGraph, boolean_rank, factorise

__all__ = ["acyclicity", "anchors", "distinctness", "uniqueness"]

COLLINEAR = 0.99
"""The share of a factor's variance above which the other factors make it redundant."""

MAX_VARIABLES_FOR_RANK = 64
"""Variables up to which the Boolean rank is computed."""

MAX_RECTANGLES_FOR_RANK = 2000
"""Sizes up to which the Boolean rank is computed: it is NP-complete."""


def acyclicity(graph: FactorGraph, data: InterventionalData) -> Claim:
    """Does the graph, a DAG by construction, respect the layers of the variables?"""
    against = [] if data.layer_of is None else _factors_against_layers(graph, data.layer_of)
    text = "The graph has no cycles, neither between variables nor between factors"
    if data.layer_of is not None and not against:
        text += ", and every factor reads from earlier layers than it writes to"
    if against:
        text += (
            f"; but {listed(against)} contradict the layers that were given for the variables: the "
            "graph or the layers are wrong"
        )
    return Claim(
        "acyclic",
        "Is the graph free of cycles, and in accord with the layers?",
        Answer.NO if against else Answer.YES,
        f"{text}.",
        'Assumption "Strong acyclicity"',
        {"layers_given": data.layer_of is not None, "factors_against_layers": against},
    )


def _factors_against_layers(graph: FactorGraph, layer_of: LayerOf) -> list[str]:
    latest = np.where(graph.Q, layer_of[:, None], -np.inf).max(axis=0, initial=-np.inf)
    first = np.where(graph.R, layer_of[:, None], np.inf).min(axis=0, initial=np.inf)
    return [graph.factor_names[k] for k in np.flatnonzero(latest >= first)]


def anchors(graph: FactorGraph, weights: Weights) -> Claim:
    """Has every factor an in- and an out-anchor that carries weight?

    An in-anchor carries the share of the factor's variance that is lost without it; an out-anchor
    the share of its own variance that the factor explains.
    """
    rows, missing, weightless = [], [], []
    for k, factor in enumerate(graph.factor_names):
        sides = [
            _anchor_shares(graph, present[:, k], share[:, k])
            for present, share in (
                (graph.in_anchors, weights.into),
                (graph.out_anchors, weights.out_of),
            )
        ]
        if not all(sides):
            missing.append(factor)
        elif not all(max(side.values()) >= MIN_WEIGHT for side in sides):
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
            "min_share_of_variance": MIN_WEIGHT,
        },
    )


def _anchor_shares(graph: FactorGraph, which: np.ndarray, share: np.ndarray) -> dict[str, float]:
    """The anchors of one factor, the heaviest first."""
    heaviest = sorted(np.flatnonzero(which), key=lambda i: -share[i])
    return {graph.variable_names[i]: round(float(share[i]), 4) for i in heaviest}


def _anchor_text(missing: Sequence[str], weightless: Sequence[str]) -> str:
    rule = (
        f"an anchor carries weight if it accounts for at least {percent(MIN_WEIGHT)} of the "
        "variance: an in-anchor of its factor's, a factor of its out-anchor's"
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
    if min(A.any(axis=1).sum(), A.any(axis=0).sum()) <= MAX_VARIABLES_FOR_RANK:
        rank = boolean_rank(A, max_rectangles=MAX_RECTANGLES_FOR_RANK)
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


def distinctness(weights: Weights) -> Claim:
    """Do the data tell the factors apart? Idle, constant and collinear factors, fixed chains."""
    samples, graph = weights.samples, weights.samples.graph
    idle = np.asarray(~graph.Q.any(axis=0) | ~graph.R.any(axis=0))
    share = _explained_by_others(samples.z, weights.is_constant)
    between = graph.R.any(axis=1) & graph.Q.any(axis=1) & ~samples.is_intervened.any(axis=0)
    between &= weights.explained >= COLLINEAR
    chains = [graph.variable_names[j] for j in np.flatnonzero(between)]
    single = _names(graph, np.asarray((graph.R.sum(axis=0) == 1) & ~idle))
    problems = [
        text.format(listed(names))
        for text, names in [
            ("{} explain nothing: fewer factors may be enough.", _names(graph, idle)),
            ("{} never change in the data.", _names(graph, weights.is_constant & ~idle)),
            (
                f"At least {percent(COLLINEAR)} of the variance of {{}} follows from the others.",
                _names(graph, np.asarray(share >= COLLINEAR)),
            ),
            (
                "No regime acts on {}, which factors make almost exactly and other factors read: "
                "whether those read it, or what it is made from, may not be claimed.",
                chains,
            ),
        ]
        if names
    ]
    doubtful = weights.is_constant | idle | (share >= COLLINEAR)
    answer = Answer.YES if not problems else Answer.NO if doubtful.all() else Answer.PARTLY
    good = (
        "Every factor varies, and none follows from the others (at most "
        f"{percent(share.max(initial=0.0))} of a factor's variance does)."
    )
    remark = f" {listed(single)} drive a single variable each: only names for its mechanism."
    return Claim(
        "distinct",
        "Do the data tell the factors apart?",
        answer,
        (" ".join(problems) or good) + (remark if single else ""),
        "No statement of the paper: collinear factors, and chains through variables that were "
        "never intervened on, fulfil every assumption and still cannot be told apart",
        {
            "factors": [
                {"factor": name, "explained_by_other_factors": round(float(part), 4)}
                for name, part in zip(graph.factor_names, share, strict=True)
            ],
            "explain_nothing": _names(graph, idle),
            "constant": _names(graph, weights.is_constant),
            "with_a_single_child": single,
            "mediators_never_acted_on": chains,
        },
    )


def _explained_by_others(
    z: Float[np.ndarray, "samples factors"], constant: Bool[np.ndarray, " factors"]
) -> Float[np.ndarray, " factors"]:
    """R² of every factor in a linear regression on the other ones."""
    share = np.zeros(len(constant))
    if len(z) == 0:
        return share
    gram = z.T @ z / len(z)
    for k in np.flatnonzero(~constant):
        others = np.delete(np.arange(len(gram)), k)
        weight = np.linalg.pinv(gram[np.ix_(others, others)]) @ gram[others, k]
        share[k] = min(1.0, float(weight @ gram[others, k]) / gram[k, k])
    return share


def _names(graph: FactorGraph, which: Bool[np.ndarray, " factors"]) -> list[str]:
    return [graph.factor_names[k] for k in np.flatnonzero(which)]
