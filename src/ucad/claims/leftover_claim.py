"""The answer to: is anything left of the variables that the model does not explain?"""

from __future__ import annotations

from typing import Any

from ucad.claims.adequacy import MAX_P, MIN_SHARE, Adequacy, Finding, Level
from ucad.claims.answers import Answer, Claim, listed
from ucad.claims.control import MAX_SMALLEST_SHARE, smallest_share_seen

__all__ = ["nothing_left"]

MAX_FINDINGS_LISTED = 50
MAX_SOURCES_LISTED = 3


def nothing_left(adequacy: Adequacy, seed: int) -> Claim:
    """Is nothing left beyond the factors that could be predicted in unseen samples?

    A finding at level 1 refutes the graph; one at level 0 alone only the shape of F_X. Without a
    finding the answer is yes only if the positive control shows that 5 % of variance would have
    been seen.
    """
    graph_findings = adequacy.at(Level.GRAPH)
    share = None if graph_findings else smallest_share_seen(adequacy, seed)
    details: dict[str, Any] = {
        "max_p": MAX_P,
        "min_share": MIN_SHARE,
        "n_tested": len(adequacy.tested),
        "n_folds": len(adequacy.samples.folds),
        "smallest_share_seen": share,
        "findings": [
            _row(finding)
            for level in (Level.GRAPH, Level.SHAPE, Level.PARENTS)
            for finding in adequacy.at(level)
        ][:MAX_FINDINGS_LISTED],
    }
    if graph_findings:
        answer = Answer.NO
        text = (
            "Beyond what their factors explain, unseen samples of "
            f"{listed([f.variable for f in graph_findings])} can be predicted: "
            f"{_sentence(graph_findings[0])}"
        )
    elif share is None or share > MAX_SMALLEST_SHARE:
        seen = "even 20 %" if share is None else f"less than {share:.0%}"
        answer = Answer.UNKNOWN
        text = (
            f"Nothing was found, but with so few samples {seen} of a variable's variance would "
            "have gone unnoticed."
        )
    else:
        answer = Answer.YES
        text = f"Nothing above {share:.0%} of a variable's variance is left that this test can see."
        if adequacy.at(Level.SHAPE):
            names = listed([finding.variable for finding in adequacy.at(Level.SHAPE)])
            text += f" The shape of F_X is another one, though, for {names}."
    return Claim(
        "left",
        "Is nothing left of the variables that the model does not explain?",
        answer,
        text,
        "Test on unseen samples: one learned direction per variable; positive control by planting",
        details,
    )


def _sentence(finding: Finding) -> str:
    source = finding.sources[0][0] if finding.sources else ("", "")
    where = {"regime": f"the regime '{source[1]}'", "shape": source[1]}.get(source[0], source[1])
    return (
        f"{finding.leftover.share:.1%} of the variance of {finding.variable}, most of it from "
        f"{where} (P = {finding.leftover.P:.1e})."
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
