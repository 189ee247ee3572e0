"""Which run to keep: feasible before infeasible, then the lowest validation NLL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ucad.errors import InvalidInputError

__all__ = ["Candidate", "advice_for", "best_candidate"]


class Candidate(NamedTuple):
    """What is compared between runs.

    Attributes:
        validation_nll: negative log-likelihood per free entry on the validation data.
        violations: by how much each constraint that does not hold is missed; empty is feasible.
        n_edges: of the graph.
        pooled_nll: the same on training and validation data together.
    """

    validation_nll: float
    violations: Mapping[str, float]
    n_edges: int = 0
    pooled_nll: float = 0.0


def best_candidate(candidates: Sequence[Candidate], tie: float = 0.0) -> int:
    """Returns the position of the feasible candidate with the lowest NLL.

    If none is feasible, of the one with the smallest sum of violations. Among candidates whose NLL
    is within `tie` of the lowest, the graph with the fewest edges wins: without noise, equally
    likely models can differ in edges that carry nothing new. Among equally sparse ones all data
    decide: a weak factor does not show in the validation data alone. The paper's "Model selection
    and evaluation" has no ties.

    >>> best_candidate([Candidate(0.1, {"sparsity": 0.3}), Candidate(0.5, {}), Candidate(0.4, {})])
    2
    """
    if not candidates:
        raise InvalidInputError("'candidates' must hold at least one run. Got none.")

    missed = [sum(one.violations.values(), start=0.0) for one in candidates]
    closest = [at for at, amount in enumerate(missed) if amount == min(missed)]
    lowest = min(candidates[at].validation_nll for at in closest)
    tied = [at for at in closest if candidates[at].validation_nll <= lowest + tie]
    if tie == 0:
        return tied[0]

    def rank(at: int) -> tuple[int, float, float]:
        one = candidates[at]
        return one.n_edges, one.pooled_nll, one.validation_nll

    return min(tied, key=rank)


def advice_for(violations: Mapping[str, float]) -> tuple[str, ...]:
    """Returns what to try against each kind of violation, one sentence each.

    >>> advice_for({"out-anchor of Z2": 0.99})[0]
    'Ask for fewer factors: one without an anchor of its own often has nothing left to explain.'
    """
    advice = []
    if any("anchor" in name for name in violations):
        advice.append(
            "Ask for fewer factors: one without an anchor of its own often has nothing left to "
            "explain."
        )
    if "sparsity" in violations:
        excess = violations["sparsity"]
        advice.append(f"Raise 'sparsity_tolerance' by at least {excess:.2g}, or train for longer.")
    if any(name == "acyclicity" or name.startswith("layer") for name in violations):
        advice.append("Raise 'penalty_growths' or 'epochs', so that cycles are punished harder.")
    if violations:
        advice.append("Try more seeds ('n_seeds').")
    return tuple(advice)
