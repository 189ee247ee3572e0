"""What a refused model suggests, in plain words, the likeliest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ucad.claims.adequacy import MIN_SHARE, Adequacy, Finding, Level
from ucad.claims.answers import listed
from ucad.claims.partial_slopes import MIN_ACTED_ROWS, differs, linear_and_curved, moves
from ucad.claims.samples import TestSamples
from ucad.claims.weights import Weights

__all__ = ["Evidence", "Suggestion", "suggestions"]

MANY_EQUAL = 0.5
"""A variable that has one and the same value in more than half of its samples has many zeros."""

MAX_CANDIDATES = 30
"""How many possible causes of each finding are looked at."""

MAX_EFFECTS = 3
"""How many sources of a finding are asked whether they are its effects."""

MAX_FINDINGS = 12
"""How many findings are explained, the largest first."""

CONTRADICTED_WEIGHT = 0.5
"""The weight of edges that do not act, or act both ways, where nothing else was found."""

PROVED_WEIGHT = 10.0
"""The weight of interventions that proved to be no clamps: nothing else is said before it."""

SILENT_WEIGHT = 1.5
"""The weight of regimes that move something without a measured target: above any finding."""

HEARD_WEIGHT = 1.2
"""The weight of one clear feedback: just above any finding, twice that where nothing is left."""


@dataclass(frozen=True)
class Suggestion:
    """One explanation of what was found.

    Attributes:
        kind: `factor`, `edge`, `feedback`, `cause`, `clamp`, `class`, `zeros` or `regime`.
        weight: how much speaks for it; only the order means something.
        text: the explanation, in plain words.
    """

    kind: str
    weight: float
    text: str


_TEXTS = {
    "factor": "A factor is missing: ask for more factors.",
    "edge": "A variable acts on another one directly, not through the factors.",
    "feedback": "A variable acts back on its own causes (a cycle).",
    "cause": "Something that was not measured acts on several variables (a hidden common cause).",
    "clamp": "An intervention is not a clamp: a shift, a knock-down, or an edge that points the "
    "wrong way.",
    "class": "The mechanisms are of another class: let F_Z or F_X be nonlinear, or both.",
    "zeros": "Too many values are equal (zeros, counts): a model of Gaussian noise does not fit.",
    "regime": "An intervention reaches variables in a way that its targets do not explain.",
}


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What other tests found that explains a refusal.

    Attributes:
        not_clamped: variables or regimes that still listen to their factors where acted on.
        contradicted: edges, (cause, effect), that interventions contradict.
        moved: what goes with a cause that was set from outside and is not below it.
        noisy: factors, or variables, that share noise.
        back: effects that go with the noise of their causes, the clearest first.
        silent: regimes that move something although nothing measured was acted on.
    """

    not_clamped: Sequence[str] = ()
    contradicted: Sequence[Sequence[str]] = ()
    moved: Sequence[Mapping[str, Any]] = ()
    noisy: Sequence[str] = ()
    back: Sequence[Mapping[str, Any]] = ()
    silent: Sequence[str] = ()


def suggestions(adequacy: Adequacy, weights: Weights, evidence: Evidence) -> tuple[Suggestion, ...]:
    """Weighs the explanations of all findings.

    Args:
        adequacy: what is left.
        weights: for values that repeat.
        evidence: what other tests found.
    """
    ballot = _Ballot.empty()
    _hear_interventions(ballot, evidence)
    graph_findings = adequacy.at(Level.GRAPH)[:MAX_FINDINGS]
    _hear_findings(ballot, adequacy, graph_findings)
    if not graph_findings:
        _hear_doubts(ballot, evidence, [one.variable for one in adequacy.at(Level.SHAPE)])
    _add_zeros(ballot, weights)
    return tuple(
        Suggestion(kind, round(weight, 3), _worded(kind, ballot.names[kind]))
        for kind, weight in sorted(ballot.votes.items(), key=lambda vote: -vote[1])
        if weight > 0
    )


class _Ballot(NamedTuple):
    """The weight of every kind, and the names it was seen at."""

    votes: dict[str, float]
    names: dict[str, list[str]]

    @classmethod
    def empty(cls) -> _Ballot:
        return cls(dict.fromkeys(_TEXTS, 0.0), {kind: [] for kind in _TEXTS})

    def add(self, kind: str, weight: float, names: Sequence[str]) -> None:
        """Adds a weight where there are names to it."""
        if names and weight > 0:
            self.votes[kind] += weight
            self.names[kind] += names


def _hear_interventions(ballot: _Ballot, evidence: Evidence) -> None:
    """What stands whatever else was found.

    Targets that still listen are no clamps. A regime that moves something without a measured target
    acts on something unmeasured. What goes with the noise of its own cause, and not only by its
    own noise, acts back on it; a hidden cause of both would show in their noise alone.
    """
    ballot.add("clamp", PROVED_WEIGHT, evidence.not_clamped)
    ballot.add("cause", SILENT_WEIGHT, evidence.silent)
    ballot.add("regime", SILENT_WEIGHT, evidence.silent)
    if evidence.back and evidence.back[0]["is_heard"]:
        weight = HEARD_WEIGHT / (1 + (_n_loops(evidence.back) - 1) / 2)
        ballot.add("feedback", weight, _pairs(evidence.back, is_heard=True))


def _hear_doubts(ballot: _Ballot, evidence: Evidence, shapes: Sequence[str]) -> None:
    """What counts only where nothing is left of any variable, since that would explain it."""
    effects = [effect for _, effect in evidence.contradicted]
    ballot.add("class", 1.0, shapes)
    ballot.add("cause", CONTRADICTED_WEIGHT, effects)
    ballot.add("edge", CONTRADICTED_WEIGHT / 2, effects)
    ballot.add("cause", 1.0, evidence.noisy)
    ballot.add("edge", 1.0, [str(row["variable"]) for row in evidence.moved])
    is_heard = bool(evidence.back) and bool(evidence.back[0]["is_heard"])
    weight = HEARD_WEIGHT if is_heard else CONTRADICTED_WEIGHT
    ballot.add("feedback", weight, _pairs(evidence.back, is_heard=is_heard))


def _n_loops(back: Sequence[Mapping[str, Any]]) -> int:
    """How many effects must act back, at least, to explain what is heard.

    One that acts back is heard at all its causes, or by all its effects at one cause. Where many of
    the variables would have to, one wrong graph is likelier. A further loop counts half, since one
    is heard at its siblings, too.
    """
    heard = [row for row in back if row["is_heard"]]
    return min(len({row["effect"] for row in heard}), len({row["cause"] for row in heard}))


def _pairs(back: Sequence[Mapping[str, Any]], *, is_heard: bool) -> list[str]:
    return [f"{row['effect']} on {row['cause']}" for row in back if row["is_heard"] == is_heard]


def _hear_findings(ballot: _Ballot, adequacy: Adequacy, graph_findings: Sequence[Finding]) -> None:
    """Every variable with something left has one vote, shared among its explanations."""
    samples = adequacy.samples
    beyond_parents = {finding.variable for finding in adequacy.at(Level.PARENTS)}
    driven = {finding.variable for finding in graph_findings if _causal(samples, finding)}
    for finding in graph_findings:
        reading = _Reading(
            is_beyond_parents=finding.variable in beyond_parents,
            is_source_driven=bool(driven & _first_source(finding)),
        )
        for kind, weight in _votes(samples, finding, reading).items():
            ballot.add(kind, weight / len(graph_findings), [finding.variable])


def _worded(kind: str, names: list[str]) -> str:
    return f"{_TEXTS[kind]} (Seen at {listed(dict.fromkeys(names))}.)" if names else _TEXTS[kind]


def _add_zeros(ballot: _Ballot, weights: Weights) -> None:
    concerned = {name for names in ballot.names.values() for name in names}
    graph = weights.samples.graph
    repeats = np.flatnonzero(weights.mode_share > MANY_EQUAL)
    many = sorted({graph.variable_names[j] for j in repeats} & concerned)
    share = 0.5 + len(many) / max(len(concerned), 1)
    ballot.add("zeros", max(ballot.votes.values()) * share, many)


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
    return [i for i in candidates if not is_parent[i] and moves(samples, i, j)]


def _votes(samples: TestSamples, finding: Finding, reading: _Reading) -> dict[str, float]:
    """What one variable with something left speaks for.

    A variable outside P(j), the low-level parents, that moves e_j where it is acted on is a direct
    cause or the parent of a missing factor. A parent whose effect differs between where it is free
    and where it is acted on, or a source that goes along only where it is free, shares a hidden
    cause; unless that source is driven itself, since children of a missing factor go along, too.
    What a smooth function of the parents explains is a missing factor or a direct edge where they
    enter linearly, and another class of mechanisms where they do not: no flaw of the graph bends a
    straight line. Of a linear model that holds for what is no parent, too: an even function of
    variables looks like no edge at all.
    """
    j = samples.graph.variable_index(finding.variable)
    is_parent = samples.graph.variable_adjacency[:, j]
    causal = _causal(samples, finding)
    linear, curved = linear_and_curved(samples, j)
    if _is_bent(samples, finding, j) or (
        not reading.is_beyond_parents and curved > max(MIN_SHARE, linear)
    ):
        return {"class": 1.0}
    biased = [i for i in np.flatnonzero(is_parent) if differs(samples, int(i), j)]
    if causal and reading.is_beyond_parents:
        first, second = ("edge", "factor") if len(causal) == 1 else ("factor", "edge")
        return {first: 0.6, second: 0.4, "cause": 0.2 * bool(biased)}
    if biased:
        return {"cause": 1.0}
    if not reading.is_beyond_parents:
        part = linear / max(linear + curved, 1e-12)
        return {"factor": 0.6 * part, "edge": 0.4 * part, "class": 1.0 - part}
    if any(moves(samples, j, i) for i in _named(samples, finding)[:MAX_EFFECTS]):
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


def _is_bent(samples: TestSamples, finding: Finding, j: int) -> bool:
    """Whether the sources of a finding enter by curves, although the model is linear."""
    if not (samples.scm.factor_mechanism.is_affine and samples.scm.variable_mechanism.is_affine):
        return False
    linear, curved = linear_and_curved(samples, j, _named(samples, finding)[:MAX_EFFECTS])
    return curved > max(MIN_SHARE, linear)


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
