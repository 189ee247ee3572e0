"""What the data could not tell: directions, and factors that cannot be told apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from ucad.claims.answers import listed
from ucad.claims.equal_parents import equal_parents
from ucad.data.moments import product
from ucad.graph import boolean_product, in_anchors, out_anchors
from ucad.solvers.problem import Problem
from ucad.solvers.regression.moments import MIN_SIGNAL
from ucad.solvers.search.causes import Causes
from ucad.solvers.search.model import Model
from ucad.solvers.status import FitStatus

__all__ = ["fit_status", "open_directions"]

COLLINEAR = 0.99
"""Correlation above which two factors cannot be told apart."""

CONSTANT = 1e-9
"""Variance below which a factor, of variance 1 over all samples, does not vary in some of them."""


def fit_status(
    problem: Problem, model: Model, causes: Causes | None, *, interrupted: bool = False
) -> FitStatus:
    """How the search ended, with what could not be oriented or told apart."""
    names = [f"Z{k + 1}" for k in range(len(model.factors))]
    violations = {
        f"{kind} of {names[k]}": 1.0
        for kind, edges, anchors in [
            ("in-anchor", model.Q, in_anchors(model.Q)),
            ("out-anchor", model.R, out_anchors(model.R)),
        ]
        for k in range(edges.shape[1])
        if not np.asarray(anchors)[:, k].any()
    }
    variables = problem.data.variable_names
    pairs = open_directions(problem, model, causes)
    guesses = (
        *_guesses(model),
        *_equal_causes(problem, model),
        *_equal_parents(problem, model),
    )
    notes = (
        *_about_directions(problem, pairs),
        *guesses,
        *_about_clamps(problem, causes),
        *_about_noise(problem),
    )
    advice = ("Act on the variables named in the notes to settle them.",) if pairs else ()
    status = FitStatus(
        converged=True,
        feasible=not violations,
        reason="The search is complete: no change of the graph improves the score.",
        violations=violations,
        advice=advice,
        notes=notes,
        open_directions=tuple((variables[i], variables[j]) for i, j in pairs),
        guesses=guesses,
    )
    return status.unless_cut_short(problem.budget, interrupted)


def _about_directions(problem: Problem, pairs: Sequence[tuple[int, int]]) -> Iterator[str]:
    data = problem.data
    if pairs:
        names = data.variable_names
        shown = listed(f"{names[i]} → {names[j]}" for i, j in pairs)
        yield f"Directions that no intervention shows and that could be turned: {shown}."
    if data.layer_of is None and not data.is_intervened.any():
        yield "Nothing was acted on: all directions rest on the pattern of dependences alone."


def _guesses(model: Model) -> Iterator[str]:
    """What no method could know from these data of the factors themselves."""
    used = np.flatnonzero(model.is_used)
    for k in np.flatnonzero(~model.is_used):
        yield f"Z{k + 1} explains nothing: fewer factors may be enough."
    if len(used) > 1:
        correlation = np.abs(np.corrcoef(model.state[:, used].T))
        for a, b in np.argwhere(np.triu(correlation > COLLINEAR, k=1)):
            yield f"Z{used[a] + 1} and Z{used[b] + 1} are collinear and cannot be told apart."


def _equal_causes(problem: Problem, model: Model) -> Iterator[str]:
    """Children of a factor that another one explains as well: equal wherever the child is free.

    Without noise a factor and a child of its child are, but for the samples that act on that child.
    """
    Q, R, names = model.Q, model.R, problem.data.variable_names
    left = _LeftOfFactors(problem, model)
    for j in np.flatnonzero(R.any(axis=1)).tolist():
        pairs = (left.where_free(j) < problem.floor) & R[j][:, None] & ~(R[j] | Q[j])
        for k, other in np.argwhere(pairs).tolist():
            changed = R.copy()
            changed[j, [k, other]] = False, True
            if problem.admissible.allows(Q, changed):
                yield (
                    f"{names[j]} may be a child of Z{k + 1} or of Z{other + 1}: they go together "
                    f"wherever {names[j]} was not acted on."
                )


def _equal_parents(problem: Problem, model: Model) -> Iterator[str]:
    """Parents that another variable could stand for."""
    names = problem.data.variable_names
    Q, R, data = model.Q, model.R, problem.data
    for i, k, copies in equal_parents(Q, R, data, problem.admissible.allows):
        yield (
            f"Z{k + 1} may be made of {names[i]} or of {listed(names[c] for c in copies)}: they go "
            f"together wherever Z{k + 1} can be seen."
        )


class _LeftOfFactors:
    """The share of the variance of each factor that a multiple of another one leaves.

    Second moments over all samples are made once; a variable's own samples are taken off.
    """

    def __init__(self, problem: Problem, model: Model) -> None:
        self.z, self.left_out = model.state, problem.data.moments.left_out
        self.is_used = model.is_used
        self.total, self.sums = product(self.z, self.z), self.z.sum(axis=0, dtype=np.float64)

    def where_free(self, j: int) -> Float[np.ndarray, "factors factors"]:
        """Over the samples that variable j does not leave out; 1 where a factor does not vary."""
        taken = self.z[self.left_out[j]].astype(np.float64)
        count = max(int(self.left_out.n_free[j]), 1)
        mean = (self.sums - taken.sum(axis=0)) / count
        covariance = (self.total - taken.T @ taken) / count - mean[:, None] * mean
        variance = np.diagonal(covariance)
        varies = self.is_used & (variance > CONSTANT)
        scale = np.where(varies, 1 / np.sqrt(np.where(varies, variance, 1.0)), 0.0)
        return np.asarray(1.0 - (covariance * scale * scale[:, None]) ** 2)


def _about_clamps(problem: Problem, causes: Causes | None) -> Iterator[str]:
    if causes is not None and causes.evidence is not None:
        soft = [
            problem.data.variable_names[v] for v in np.flatnonzero(causes.evidence.still_listens)
        ]
        if soft:
            yield (
                "Still following their causes where they were acted on, so that it was no clamp: "
                f"{listed(soft)}."
            )


def _about_noise(problem: Problem) -> Iterator[str]:
    if problem.noise is None:
        return
    share = problem.noise / np.maximum(problem.data.x.var(axis=0), 1e-12)
    names = problem.data.variable_names
    hidden = [names[j] for j in np.flatnonzero(share > 1 - MIN_SIGNAL)]
    yield (
        f"Measurement noise is {np.median(share):.0%} of the variance of a reading (median over "
        f"variables) and was taken off; factors are estimates with an error."
    )
    if hidden:
        yield f"Readings that are nearly all noise: {listed(hidden)}."
    barred = problem.admissible.barred
    if barred is not None and barred.any():
        silent = int((barred.sum(axis=1) == len(barred)).sum())
        yield (
            f"In a screen of noisy readings an edge must show in the regime of its cause: "
            f"{silent} variables are not considered as causes, most of them never acted on."
        )


def open_directions(problem: Problem, model: Model, causes: Causes | None) -> list[tuple[int, int]]:
    """Low-level edges (i, j) whose direction neither interventions nor the graph settle.

    An edge is settled if i is known to be an ancestor of j, if j was tested against i and does
    not act on it, or if it cannot be turned round without changing who depends on whom: an edge
    i → j can be only if j has exactly the parents of i, and i besides (a covered edge).
    """
    if causes is None or problem.data.layer_of is not None:
        return []
    A = boolean_product(model.Q, model.R.T)
    settled = problem.admissible.ancestors.copy()
    if causes.evidence is not None:
        settled |= causes.evidence.is_tested.T & ~causes.evidence.is_open.T
    is_open = []
    for i, j in np.argwhere(A & ~settled):
        parents_j = A[:, j].copy()
        parents_j[i] = False
        if (parents_j == A[:, i]).all():
            is_open.append((int(i), int(j)))
    return is_open
