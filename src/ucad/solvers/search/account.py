"""What the data could not tell: directions, and factors that cannot be told apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ucad.data import InterventionalData
from ucad.graph import in_anchors, out_anchors
from ucad.solvers.search.causes import Causes
from ucad.solvers.search.refinement import Model
from ucad.solvers.status import FitStatus

__all__ = ["fit_status", "undetermined"]

COLLINEAR = 0.99


def fit_status(
    data: InterventionalData, model: Model, causes: Causes | None, *, interrupted: bool
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
    notes = tuple(undetermined(data, model, causes))
    advice = ("Clamp the variables named in the notes to settle them.",) if notes else ()
    reason = "Interrupted; this is the best model so far." if interrupted else "No move helps."
    return FitStatus(
        converged=not interrupted,
        feasible=not violations,
        interrupted=interrupted,
        reason=reason,
        violations=violations,
        advice=advice,
        notes=notes,
    )


def undetermined(data: InterventionalData, model: Model, causes: Causes | None) -> Iterator[str]:
    """What no method could know from these data, one sentence each."""
    never = ~np.any(data.is_intervened, axis=0)
    names = data.variable_names
    z = model.state
    used = np.flatnonzero(model.Q.any(axis=0) & model.R.any(axis=0))
    for k in np.setdiff1d(np.arange(len(model.factors)), used):
        yield f"Z{k + 1} explains nothing: fewer factors may be enough."
    for k in used:
        parents, children = np.flatnonzero(model.Q[:, k]), np.flatnonzero(model.R[:, k])
        pair = len(parents) == len(children) == 1
        if data.layer_of is None and pair and never[parents[0]] and never[children[0]]:
            yield (
                f"The direction of {names[parents[0]]} → Z{k + 1} → {names[children[0]]} is a "
                "guess: nobody clamps either."
            )
        for i in parents[never[parents]]:
            if model.R[i].any() and data.layer_of is None:
                yield (
                    f"{names[i]} is never clamped and lies between factors: its place in the chain "
                    f"before Z{k + 1} is a guess."
                )
    if len(used) > 1:
        correlation = np.abs(np.corrcoef(z[:, used].T))
        for a, b in np.argwhere(np.triu(correlation > COLLINEAR, k=1)):
            yield f"Z{used[a] + 1} and Z{used[b] + 1} are collinear and cannot be told apart."
    if causes is not None and causes.position is not None and data.layer_of is None and never.all():
        yield "Nothing was clamped: all directions rest on sparsity alone."
        if any(function.w1 is not None for function in (*model.factors, *model.variables)):
            yield "The order of the variables comes from linear regressions: it may be wrong here."
