"""What a refused model suggests, in plain words, the likeliest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ucad.claims.adequacy import Adequacy, Finding, Level
from ucad.claims.answers import listed
from ucad.claims.clamps import centred_within
from ucad.claims.ridge import Ridge, curves
from ucad.claims.samples import TestSamples
from ucad.claims.weights import Weights

__all__ = ["Suggestion", "suggestions"]

MANY_EQUAL = 0.5
"""A variable that has one and the same value in more than half of its samples has many zeros."""

SIGNIFICANT = 3.5
"""Standard errors above which the effect of acting on something counts as seen."""

MIN_ACTED_ROWS = 20
MAX_SOURCES = 3
"""How many sources of each finding are looked at."""

MIN_SOURCE_SHARE = 0.1
"""The share of what is predicted that a source must contribute to be looked at."""


@dataclass(frozen=True)
class Suggestion:
    """One explanation of what was found.

    Attributes:
        kind: `factor`, `edge`, `cause`, `clamp`, `class`, `zeros` or `regime`.
        weight: how much speaks for it; only the order means something.
        text: the explanation, in plain words.
    """

    kind: str
    weight: float
    text: str


_TEXTS = {
    "factor": "A factor is missing: ask for more factors.",
    "edge": "A variable acts on another one directly, not through the factors.",
    "cause": "Something that was not measured acts on several variables (a hidden common cause).",
    "clamp": "An intervention is not a clamp: a shift, a knock-down, or an edge that points the "
    "wrong way.",
    "class": "The mechanisms are of another class: let F_Z or F_X be nonlinear, or both.",
    "zeros": "Too many values are equal (zeros, counts): a model of Gaussian noise does not fit.",
    "regime": "An intervention reaches variables in a way that its targets do not explain.",
}


def suggestions(
    adequacy: Adequacy, weights: Weights, not_clamped: list[str]
) -> tuple[Suggestion, ...]:
    """Weighs the explanations of all findings and of variables that were not clamped."""
    samples = adequacy.samples
    votes: dict[str, float] = dict.fromkeys(_TEXTS, 0.0)
    names: dict[str, list[str]] = {kind: [] for kind in _TEXTS}
    if not_clamped:
        votes["clamp"] = 10.0
        names["clamp"] = not_clamped
    graph_findings = adequacy.at(Level.GRAPH)
    beyond_parents = {finding.variable for finding in adequacy.at(Level.PARENTS)}
    for finding in graph_findings:
        for kind, weight in _votes(samples, finding, finding.variable in beyond_parents).items():
            votes[kind] += weight / len(graph_findings)
            names[kind].append(finding.variable)
    if not graph_findings and adequacy.at(Level.SHAPE):
        votes["class"] += 1.0
        names["class"] = [finding.variable for finding in adequacy.at(Level.SHAPE)]
    _add_zeros(votes, names, weights)
    return tuple(
        Suggestion(kind, round(weight, 3), _worded(kind, names[kind]))
        for kind, weight in sorted(votes.items(), key=lambda vote: -vote[1])
        if weight > 0
    )


def _worded(kind: str, names: list[str]) -> str:
    return f"{_TEXTS[kind]} (Seen at {listed(dict.fromkeys(names))}.)" if names else _TEXTS[kind]


def _add_zeros(votes: dict[str, float], names: dict[str, list[str]], weights: Weights) -> None:
    concerned = [name for kind in tuple(names) for name in names[kind]]
    graph = weights.samples.graph
    many = {graph.variable_names[j] for j in np.flatnonzero(weights.zero_share > MANY_EQUAL)} & set(
        concerned
    )
    if many:
        votes["zeros"] = max(votes.values()) * (0.5 + len(many) / len(set(concerned)))
        names["zeros"] = sorted(many)


def _votes(samples: TestSamples, finding: Finding, beyond_parents: bool) -> dict[str, float]:
    """What one variable with something left speaks for.

    If a smooth function of its low-level parents leaves nothing, a factor is missing where the
    parents enter linearly, and the class is wrong where they do not. Else every source speaks: one
    that has an effect where it is acted on is a direct cause, or the parent of a missing factor;
    one that goes along only where it is free shares a hidden cause.
    """
    votes: dict[str, float] = dict.fromkeys(_TEXTS, 0.0)
    j = samples.graph.variable_index(finding.variable)
    if not beyond_parents:
        linear = _linear_part(samples, j)
        return {"factor": linear, "class": 1.0 - linear}
    sources = [s for s in finding.sources[:MAX_SOURCES] if s[1] >= MIN_SOURCE_SHARE]
    for (kind, name), share in sources:
        if kind == "regime":
            _add(votes, {"regime": 0.5 * share, "cause": 0.5 * share})
        elif kind == "shape":
            _add(votes, {"class": 0.5 * share, "factor": 0.5 * share})
        else:
            i = samples.graph.variable_index(name)
            _add(votes, _source_votes(samples, i, j, share, alone=len(sources) == 1))
    return votes


def _source_votes(
    samples: TestSamples, i: int, j: int, share: float, *, alone: bool
) -> dict[str, float]:
    first, second = ("edge", "factor") if alone else ("factor", "edge")
    acted, free = (_slope(samples, i, j, acted=side) for side in (True, False))
    causal = {first: 0.6 * share, second: 0.4 * share}
    if acted is None:
        return {first: 0.4 * share, second: 0.3 * share, "cause": 0.3 * share}
    is_parent = bool(samples.graph.variable_adjacency[i, j])
    if is_parent:
        return {"cause": share} if abs(acted) > SIGNIFICANT else causal
    if abs(acted) > SIGNIFICANT:
        return causal
    hidden = free is not None and abs(free) > SIGNIFICANT
    return {"cause": share} if hidden else {"cause": 0.5 * share, first: 0.5 * share}


def _add(votes: dict[str, float], more: Mapping[str, float]) -> None:
    for kind, weight in more.items():
        votes[kind] += weight


def _slope(samples: TestSamples, i: int, j: int, *, acted: bool) -> float | None:
    """The slope of e_j on x_i in standard errors, where i is acted on or free; None if unknown."""
    rows = np.flatnonzero((samples.is_intervened[:, i] == acted) & ~samples.is_intervened[:, j])
    if len(rows) < MIN_ACTED_ROWS:
        return None
    x, e = samples.x[rows, i], samples.residual[rows, j]
    within = centred_within(x, samples.regime[rows])
    if within.var() < 1e-6:  # held at one value: compare with where it is free
        others = np.flatnonzero(~samples.is_intervened[:, i] & ~samples.is_intervened[:, j])
        e_free = samples.residual[others, j]
        error = np.sqrt(e.var() / len(e) + e_free.var() / max(len(e_free), 1))
        return float((e.mean() - e_free.mean()) / max(error, 1e-12))
    e = centred_within(e, samples.regime[rows])
    products = within * e
    return float(products.sum() / max(np.sqrt((products**2).sum()), 1e-12))


def _linear_part(samples: TestSamples, j: int) -> float:
    """Of what the low-level parents predict of e_j, the share that is linear in them."""
    rows = samples.free(j, samples.folds[0].fit)
    parents = np.flatnonzero(samples.graph.variable_adjacency[:, j])
    if len(parents) == 0:
        return 1.0
    e, u = samples.residual[rows, j], samples.x[np.ix_(rows, parents)]
    z = samples.z[np.ix_(rows, samples.factors_of[j])]
    e = e - _prediction(curves(z), e)
    linear, smooth = (float(_prediction(columns, e).var()) for columns in (u, curves(u)))
    return min(1.0, linear / max(smooth, 1e-12))


def _prediction(columns: np.ndarray, y: np.ndarray) -> np.ndarray:
    ridge = Ridge(columns)
    return y.mean() + ridge.X @ ridge.weights(y[:, None])[:, 0]
