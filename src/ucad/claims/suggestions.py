"""What a refused model suggests, in plain words, the likeliest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ucad.claims.adequacy import MIN_SHARE, Adequacy, Finding, Level
from ucad.claims.answers import listed
from ucad.claims.clamps import centred_within
from ucad.claims.ridge import Ridge, curves
from ucad.claims.samples import TestSamples
from ucad.claims.weights import Weights

__all__ = ["Suggestion", "suggestions"]

MANY_EQUAL = 0.5
"""A variable that has one and the same value in more than half of its samples has many zeros."""

SIGNIFICANT = 4.0
"""Standard errors above which the effect of acting on something counts as seen."""

MIN_ACTED_ROWS = 20
"""Samples of a regime for its effect to be looked at."""

MAX_CANDIDATES = 30
"""How many possible causes of each finding are looked at."""

MAX_EFFECTS = 3
"""How many sources of a finding are asked whether they are its effects."""

MAX_FINDINGS = 12
"""How many findings are explained, the largest first."""

CONTRADICTED_WEIGHT = 0.5
"""The weight of edges that do not act, or act both ways, where nothing else was found."""

FIXED = 1e-6
"""The variance below which a variable was held at one value."""


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
    adequacy: Adequacy,
    weights: Weights,
    not_clamped: list[str],
    contradicted: list[list[str]],
    moved: Sequence[Mapping[str, Any]] = (),
    noisy: Sequence[str] = (),
) -> tuple[Suggestion, ...]:
    """Weighs the explanations of all findings.

    Args:
        adequacy: what is left.
        weights: for values that repeat.
        not_clamped: variables that still listen to their factors where they were acted on.
        contradicted: edges, (cause, effect), that interventions contradict.
        moved: what goes with a cause that was set from outside and is not below it.
        noisy: factors whose children share noise.
    """
    samples = adequacy.samples
    votes: dict[str, float] = dict.fromkeys(_TEXTS, 0.0)
    names: dict[str, list[str]] = {kind: [] for kind in _TEXTS}
    if not_clamped:
        votes["clamp"] = 10.0
        names["clamp"] = not_clamped
    graph_findings = adequacy.at(Level.GRAPH)[:MAX_FINDINGS]
    beyond_parents = {finding.variable for finding in adequacy.at(Level.PARENTS)}
    driven = [finding for finding in graph_findings if _causal(samples, finding)]
    for finding in graph_findings:
        reading = _Reading(
            is_beyond_parents=finding.variable in beyond_parents,
            is_source_driven=bool({one.variable for one in driven} & _first_source(finding)),
        )
        for kind, weight in _votes(samples, finding, reading).items():
            votes[kind] += weight / len(graph_findings)
            names[kind] += [finding.variable] if weight > 0 else []
    if not graph_findings and adequacy.at(Level.SHAPE):
        votes["class"] += 1.0
        names["class"] = [finding.variable for finding in adequacy.at(Level.SHAPE)]
    if contradicted and not graph_findings:
        votes["cause"] += CONTRADICTED_WEIGHT
        votes["edge"] += CONTRADICTED_WEIGHT / 2
        names["cause"] = names["edge"] = [effect for _, effect in contradicted]
    if noisy and not graph_findings:
        votes["cause"] += 1.0
        names["cause"] = [*names["cause"], *noisy]
    if moved and not graph_findings:
        votes["edge"] += 1.0
        names["edge"] += [str(row["variable"]) for row in moved]
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
    many = {graph.variable_names[j] for j in np.flatnonzero(weights.mode_share > MANY_EQUAL)} & set(
        concerned
    )
    if many:
        votes["zeros"] = max(votes.values()) * (0.5 + len(many) / len(set(concerned)))
        names["zeros"] = sorted(many)


class _Reading(NamedTuple):
    """What else is known of a finding.

    Attributes:
        is_beyond_parents: whether something is left beyond functions of the low-level parents.
        is_source_driven: whether its strongest source has a finding with a cause of its own.
    """

    is_beyond_parents: bool
    is_source_driven: bool


def _first_source(finding: Finding) -> set[str]:
    return {name for (kind, name), _ in finding.sources[:1] if kind == "value"}


def _causal(samples: TestSamples, finding: Finding) -> list[int]:
    """Variables outside the low-level parents that move the finding where they are acted on."""
    j = samples.graph.variable_index(finding.variable)
    is_parent = samples.graph.variable_adjacency[:, j]
    candidates = _candidates(samples, finding, j)
    return [i for i in candidates if not is_parent[i] and _moves(samples, i, j)]


def _votes(samples: TestSamples, finding: Finding, reading: _Reading) -> dict[str, float]:
    """What one variable with something left speaks for.

    A variable outside P(j), the low-level parents, that moves e_j where it is acted on is a direct
    cause or the parent of a missing factor. A parent whose effect differs between where it is free
    and where it is acted on, or a source that goes along only where it is free, shares a hidden
    cause; unless that source is driven itself, since children of a missing factor go along, too.
    What a smooth function of the parents explains is a missing factor or a direct edge where they
    enter linearly, and another class of mechanisms where they do not: no flaw of the graph bends a
    straight line.
    """
    j = samples.graph.variable_index(finding.variable)
    is_parent = samples.graph.variable_adjacency[:, j]
    causal = _causal(samples, finding)
    linear, curved = _linear_and_curved(samples, j)
    if not reading.is_beyond_parents and curved > max(MIN_SHARE, linear):
        return {"class": 1.0}
    biased = [i for i in np.flatnonzero(is_parent) if _differs(samples, int(i), j)]
    if causal and reading.is_beyond_parents:
        first, second = ("edge", "factor") if len(causal) == 1 else ("factor", "edge")
        return {first: 0.6, second: 0.4, "cause": 0.2 * bool(biased)}
    if biased:
        return {"cause": 1.0}
    if not reading.is_beyond_parents:
        part = linear / max(linear + curved, 1e-12)
        return {"factor": 0.6 * part, "edge": 0.4 * part, "class": 1.0 - part}
    if any(_moves(samples, j, i) for i in _named(samples, finding)[:MAX_EFFECTS]):
        return {"factor": 0.5, "edge": 0.5}  # the cause's side of a missing edge
    kind, name = finding.sources[0][0] if finding.sources else ("value", finding.variable)
    if kind == "regime":
        return {"regime": 0.5, "cause": 0.5}
    if kind == "shape":
        return {"class": 0.5, "factor": 0.5}
    acted = samples.is_intervened[:, samples.graph.variable_index(name)]
    if reading.is_source_driven:
        return {"factor": 0.6, "edge": 0.2, "cause": 0.2}
    if acted.sum() >= MIN_ACTED_ROWS:
        return {"cause": 0.7, "factor": 0.2, "edge": 0.1}
    return {"factor": 0.35, "edge": 0.3, "cause": 0.35}


def _candidates(samples: TestSamples, finding: Finding, j: int) -> list[int]:
    """Non-descendants of j that were acted on: all, or those that the finding names first."""
    able = ~samples.is_descendant[j] & (samples.is_intervened.sum(axis=0) >= MIN_ACTED_ROWS)
    if able.sum() <= MAX_CANDIDATES:
        return [int(i) for i in np.flatnonzero(able)]
    return [i for i in _named(samples, finding) if able[i]][:MAX_CANDIDATES]


def _named(samples: TestSamples, finding: Finding) -> list[int]:
    """The variables among the sources of a finding, the strongest first."""
    names = [name for (kind, name), _ in finding.sources if kind == "value"]
    return [samples.graph.variable_index(name) for name in names]


def _moves(samples: TestSamples, i: int, j: int) -> bool:
    """Whether e_j goes with x_i where i is acted on, the low-level parents held fixed."""
    found = _partial_slope(samples, i, j, acted=True)
    return found is not None and abs(found[0]) > SIGNIFICANT * found[1]


def _differs(samples: TestSamples, i: int, j: int) -> bool:
    """Whether x_i bears on e_j differently where i is acted on and where it is free."""
    acted, free = (_partial_slope(samples, i, j, acted=side) for side in (True, False))
    if acted is None or free is None:
        return False
    return abs(acted[0] - free[0]) > SIGNIFICANT * float(np.hypot(acted[1], free[1]))


def _partial_slope(
    samples: TestSamples, i: int, j: int, *, acted: bool
) -> tuple[float, float] | None:
    """The slope of e_j on x_i given the other low-level parents, with its standard error.

    Within regimes where i varies; where it was held at a value, against the samples in which it
    is free. None where there are too few samples.
    """
    rows = np.flatnonzero((samples.is_intervened[:, i] == acted) & ~samples.is_intervened[:, j])
    if len(rows) < MIN_ACTED_ROWS:
        return None
    regime = samples.regime[rows]
    if acted and centred_within(samples.x[rows, i], regime).var() < FIXED:
        rows = np.flatnonzero(~samples.is_intervened[:, j])
        regime = np.zeros(len(rows), dtype=np.int64)
    parents = np.flatnonzero(samples.graph.variable_adjacency[:, j])
    others = centred_within(samples.x[np.ix_(rows, parents[parents != i])], regime)
    x, e = (
        centred_within(values, regime) for values in (samples.x[rows, i], samples.residual[rows, j])
    )
    if others.shape[1]:
        both = np.stack([x, e], axis=1)
        both = both - others @ np.linalg.lstsq(others, both, rcond=None)[0]
        x, e = both[:, 0], both[:, 1]
    power = float(x @ x)
    if power < FIXED * len(rows):
        return None
    slope = float(x @ e) / power
    return slope, float(np.sqrt((x**2 * (e - slope * x) ** 2).sum())) / power


def _linear_and_curved(samples: TestSamples, j: int) -> tuple[float, float]:
    """The share of x_j that its parents predict linearly of e_j, and what curves add to it."""
    rows = samples.free(j, samples.folds[0].fit)
    parents = np.flatnonzero(samples.graph.variable_adjacency[:, j])
    if len(parents) == 0:
        return 0.0, 0.0
    e, u = samples.residual[rows, j], samples.x[np.ix_(rows, parents)]
    z = samples.z[np.ix_(rows, samples.factors_of[j])]
    e = e - _prediction(curves(z), e)
    linear, smooth = (float(_prediction(columns, e).var()) for columns in (u, curves(u)))
    return linear, max(smooth - linear, 0.0)


def _prediction(columns: np.ndarray, y: np.ndarray) -> np.ndarray:
    ridge = Ridge(columns)
    return y.mean() + ridge.X @ ridge.weights(y[:, None])[:, 0]
