"""Who can cause whom, read off the interventions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from ucad._types import BooleanMatrix, VariableSamples, WhichIntervened
from ucad.solvers.search.moments import additive_features

__all__ = ["ScreeningConfig", "dependence", "screen", "transitive_closure"]


@dataclass(frozen=True, kw_only=True)
class ScreeningConfig:
    """How sure the interventions must be.

    Attributes:
        ancestor_evidence: nats of dependence above which a clamped variable is an ancestor. The
            largest of n² null values is about log n².
        n_rounds: how often the test is repeated on what known ancestors leave unexplained.
    """

    ancestor_evidence: float = 10.0
    n_rounds: int = 3


def dependence(
    x: VariableSamples, is_intervened: WhichIntervened, residual: VariableSamples
) -> Float[np.ndarray, "clamped variables"]:
    """T[v, j] = −N_vj/2 · log(1 − r²) of x_v and the residual of x_j where v is clamped and j not.

    x_v is set from outside there, so dependence means that v is an ancestor of j. All pairs are
    sums over the samples that clamp v: O(N^c n) in all, for N^c pairs of a sample and a target.
    """
    n_variables = x.shape[1]
    evidence = np.zeros((n_variables, n_variables))
    for v in range(n_variables):
        rows = is_intervened[:, v]
        if not rows.any():
            continue
        free = ~is_intervened[rows]
        count = np.maximum(free.sum(axis=0), 1)
        cause = np.where(free, x[rows, v][:, None], 0.0)
        effect = np.where(free, residual[rows], 0.0)
        cause = np.where(free, cause - cause.sum(axis=0) / count, 0.0)
        effect = np.where(free, effect - effect.sum(axis=0) / count, 0.0)
        scale = (cause**2).sum(axis=0) * (effect**2).sum(axis=0)
        r2 = (cause * effect).sum(axis=0) ** 2 / np.maximum(scale, 1e-12)
        evidence[v] = -count / 2 * np.log1p(-np.minimum(r2, 1 - 1e-12))
        evidence[v, v] = 0.0
    return evidence


def transitive_closure(adjacency: BooleanMatrix) -> BooleanMatrix:
    """Adds an edge for every path, by squaring: O(n³ log n) in one matrix product a step.

    >>> transitive_closure(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)).astype(int)
    array([[0, 1, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    closed = adjacency.copy()
    while True:
        wide = closed.astype(np.float32)
        longer = closed | (wide @ wide > 0)
        if (longer == closed).all():
            return closed
        closed = longer


def screen(
    x: VariableSamples,
    is_intervened: WhichIntervened,
    config: ScreeningConfig,
    *,
    nonlinear: bool,
) -> tuple[Float[np.ndarray, "clamped variables"], BooleanMatrix]:
    """Returns the evidence T and the known ancestors, the transitive closure of T > evidence.

    After the first round, T is computed again on x_j minus its additive regression on those known
    ancestors that do not depend on v; such a residual is independent of x_v, too, unless v causes
    j. The maximum over rounds is kept.
    """
    evidence = dependence(x, is_intervened, x)
    ancestors = _acyclic_closure(evidence, config.ancestor_evidence)
    for _ in range(config.n_rounds - 1):
        sharper = _residual_evidence(x, is_intervened, ancestors, nonlinear=nonlinear)
        evidence = np.maximum(evidence, sharper)
        ancestors = _acyclic_closure(evidence, config.ancestor_evidence)
    return evidence, ancestors


def _residual_evidence(
    x: VariableSamples,
    is_intervened: WhichIntervened,
    ancestors: BooleanMatrix,
    *,
    nonlinear: bool,
) -> Float[np.ndarray, "clamped variables"]:
    """T on residuals; variables v that leave j the same known ancestors share one regression."""
    features = additive_features(x, nonlinear)
    evidence = np.zeros(ancestors.shape)
    for j in np.flatnonzero(ancestors.any(axis=0)):
        usable = ancestors[:, j] & ~ancestors & ~np.eye(len(ancestors), dtype=bool)
        keys, group = np.unique(usable, axis=0, return_inverse=True)
        for number, known in enumerate(keys):
            if not known.any():
                continue
            free = ~is_intervened[:, j]
            design = features[:, known].reshape(len(x), -1)
            residual = x[:, j] - _predict(design, x[:, j], free)
            vs = np.flatnonzero(group.reshape(-1) == number)
            evidence[vs, j] = _one_effect(x, is_intervened, vs, j, residual)
    return evidence


def _predict(
    design: Float[np.ndarray, "samples features"],
    target: Float[np.ndarray, " samples"],
    rows: Bool[np.ndarray, " samples"],
) -> Float[np.ndarray, " samples"]:
    centred = design - design[rows].mean(axis=0)
    gram = centred[rows].T @ centred[rows]
    gram[np.diag_indices_from(gram)] += 1e-3 * rows.sum()
    beta = np.linalg.solve(gram, centred[rows].T @ target[rows])
    predicted: Float[np.ndarray, " samples"] = centred @ beta
    return predicted


def _one_effect(
    x: VariableSamples,
    is_intervened: WhichIntervened,
    causes: np.ndarray,
    j: int,
    residual: Float[np.ndarray, " samples"],
) -> Float[np.ndarray, " causes"]:
    """T[v, j] for some v and one j."""
    rows = is_intervened[:, causes] & ~is_intervened[:, [j]]
    count = np.maximum(rows.sum(axis=0), 1)
    cause = np.where(rows, x[:, causes], 0.0)
    cause = np.where(rows, cause - cause.sum(axis=0) / count, 0.0)
    effect = np.where(rows, residual[:, None], 0.0)
    effect = np.where(rows, effect - effect.sum(axis=0) / count, 0.0)
    scale = (cause**2).sum(axis=0) * (effect**2).sum(axis=0)
    r2 = (cause * effect).sum(axis=0) ** 2 / np.maximum(scale, 1e-12)
    evidence: Float[np.ndarray, " causes"] = -count / 2 * np.log1p(-np.minimum(r2, 1 - 1e-12))
    evidence[causes == j] = 0.0
    return evidence


def _acyclic_closure(evidence: Float[np.ndarray, "n n"], threshold: float) -> BooleanMatrix:
    """The closure of T > threshold, the weaker direction left out where two contradict."""
    order = np.argsort(-evidence, axis=None, kind="stable")
    strong = order[evidence.reshape(-1)[order] > threshold]
    closed = np.zeros(evidence.shape, dtype=bool)
    for pair in strong:
        v, j = divmod(int(pair), evidence.shape[1])
        if closed[j, v] or closed[v, j]:
            continue
        before = closed[:, v].copy()
        before[v] = True
        after = closed[j].copy()
        after[j] = True
        closed |= before[:, None] & after[None, :]
    return closed
