"""The answer to: is anything left of the variables that the model does not explain?"""

from __future__ import annotations

from typing import Any

import numpy as np

from ucad.claims.adequacy import MAX_P, MIN_SHARE, Adequacy, Finding, Level
from ucad.claims.answers import Answer, Claim, listed, percent
from ucad.claims.control import MAX_SMALLEST_SHARE, smallest_share_seen
from ucad.claims.weights import Weights

__all__ = ["nothing_left"]

HALF = 0.5
"""The part of what the factors explain that must not go unnoticed."""

UNKNOWN_FROM = 2.0
"""Times what may go unnoticed at which "partly" becomes "not known": 40 plants tell δ* to about a
fifth, so that chance moves an answer by one grade and never from "yes" to "not known"."""

MAX_FINDINGS_LISTED = 50
"""Findings written out in the details; the others are counted."""

MAX_SOURCES_LISTED = 3
"""Columns named per finding: the strongest ones."""


def nothing_left(adequacy: Adequacy, weights: Weights, seed: int) -> Claim:
    """Is nothing left beyond the factors that could be predicted in unseen samples?

    A finding at level 1 refutes the graph; one at level 0 alone only the shape of F_X. Without a
    finding the answer follows from δ*, what the positive control sees, and the limit, 5% of
    variance or half of what the factors explain of their median child if that is less: yes up to
    the limit, partly up to twice of it, and not known above, since something as large as what is
    claimed could then be missing.
    """
    share = None if adequacy.at(Level.GRAPH) else smallest_share_seen(adequacy, seed)
    explained = _median_explained(weights)
    details: dict[str, Any] = {
        "max_p": MAX_P,
        "min_share": MIN_SHARE,
        "n_tested": len(adequacy.tested),
        "n_folds": len(adequacy.samples.folds),
        "smallest_share_seen": share,
        "explained_share": explained,
        "below_resolution": [] if share is None else _weak_children(weights, share),
        "findings": [
            _row(finding)
            for level in (Level.GRAPH, Level.SHAPE, Level.PARENTS)
            for finding in adequacy.at(level)
        ][:MAX_FINDINGS_LISTED],
    }
    answer, text = _answer(adequacy, share, explained)
    return Claim(
        "left",
        "Is nothing left of the variables that the model does not explain?",
        answer,
        text,
        "Test on unseen samples: one learned direction per variable; positive control by planting",
        details,
    )


def _answer(adequacy: Adequacy, share: float | None, explained: float) -> tuple[Answer, str]:
    """What the findings, or their absence, entitle to.

    Args:
        adequacy: the findings.
        share: the smallest share of variance that the positive control found.
        explained: what the factors explain of their median child.
    """
    graph_findings = adequacy.at(Level.GRAPH)
    if graph_findings:
        names = listed([finding.variable for finding in graph_findings])
        return Answer.NO, (
            f"Beyond what their factors explain, unseen samples of {names} can be predicted: "
            f"{_sentence(graph_findings[0])}"
        )
    if share is None:
        return Answer.UNKNOWN, _unseen(share, explained)
    limit = min(MAX_SMALLEST_SHARE, HALF * explained)
    if share > limit:
        few = share > UNKNOWN_FROM * limit
        return Answer.UNKNOWN if few else Answer.PARTLY, _unseen(share, explained)
    text = (
        f"Nothing above {percent(share, 1)} of a variable's variance is left that this test can "
        "see."
    )
    if adequacy.at(Level.SHAPE):
        names = listed([finding.variable for finding in adequacy.at(Level.SHAPE)])
        text += f" The shape of F_X is another one, though, for {names}."
    return Answer.YES, text


def _unseen(share: float | None, explained: float) -> str:
    """What would have gone unnoticed, beside 5% and beside half of what is claimed."""
    if share is not None and HALF * explained < min(share, MAX_SMALLEST_SHARE):
        return (
            f"Nothing was found, but the factors explain only {percent(explained, 1)} of their "
            f"median child, and what is smaller than {percent(share, 1)} would have gone "
            "unnoticed: as much as what was found could be missing."
        )
    seen = "even 20%" if share is None else f"less than {percent(share, 1)}"
    return (
        f"Nothing was found, but with so few samples {seen} of a variable's variance would "
        "have gone unnoticed."
    )


def _median_explained(weights: Weights) -> float:
    has_factors = weights.samples.graph.R.any(axis=1)
    return float(np.median(weights.explained[has_factors])) if has_factors.any() else 0.0


def _weak_children(weights: Weights, share: float) -> list[str]:
    """Variables of which the factors explain less than the test could see."""
    graph = weights.samples.graph
    weak = graph.R.any(axis=1) & (weights.explained < share)
    return [graph.variable_names[j] for j in np.flatnonzero(weak)]


def _sentence(finding: Finding) -> str:
    source = finding.sources[0][0] if finding.sources else ("", "")
    where = {"regime": f"the regime '{source[1]}'", "shape": source[1]}.get(source[0], source[1])
    return (
        f"{percent(finding.leftover.share, 1)} of the variance of {finding.variable}, most of it "
        f"from {where} (P = {finding.leftover.P:.1e})."
    )


def _row(finding: Finding) -> dict[str, Any]:
    return {
        "variable": finding.variable,
        "level": int(finding.level),
        "share": round(finding.leftover.share, 4),
        "T": round(finding.leftover.T, 2),
        "P": finding.leftover.P,
        "sources": [
            {"kind": kind, "name": name, "part": round(part, 3)}
            for (kind, name), part in finding.sources[:MAX_SOURCES_LISTED]
        ],
    }
