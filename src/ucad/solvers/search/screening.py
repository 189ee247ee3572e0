"""Who can cause whom, read off the interventions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from ucad._types import BooleanMatrix, VariableSamples, WhichIntervened
from ucad.solvers.search.moments import N_FUNCTIONS, additive_features

__all__ = ["ScreeningConfig", "dependence", "screen", "transitive_closure"]

N_PRODUCTS = 4


@dataclass(frozen=True, kw_only=True)
class ScreeningConfig:
    """How sure the interventions must be.

    Attributes:
        ancestor_evidence: nats of dependence, beyond log n², above which a clamped variable is an
            ancestor. The largest of n² null values is about log n².
        n_rounds: how often the test is repeated on what known ancestors leave unexplained.
    """

    ancestor_evidence: float = 4.0
    n_rounds: int = 3


def dependence(
    x: VariableSamples,
    is_intervened: WhichIntervened,
    residual: VariableSamples,
    *,
    nonlinear: bool,
) -> Float[np.ndarray, "clamped variables"]:
    """T[v, j] = −N_vj/2 · log(1 − R²) of the residual of x_j on x_v, where v is clamped and j not.

    x_v is set from outside there, so dependence means that v is an ancestor of j. If nonlinear,
    functions of x_v are used as well, at the price of two nats each. O(N^c n) in all, for N^c
    pairs of a sample and a target.
    """
    evidence = np.zeros((x.shape[1], x.shape[1]))
    for v in np.flatnonzero(is_intervened.any(axis=0)):
        rows = is_intervened[:, v]
        evidence[v] = _evidence(x[rows, v], residual[rows], ~is_intervened[rows], nonlinear)
    np.fill_diagonal(evidence, 0.0)
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
    """Returns the evidence T and the known ancestors, the closure of T > log n² + evidence.

    After the first round, T is computed again on x_j minus its additive regression on those known
    ancestors that do not depend on v; such a residual is independent of x_v, too, unless v causes
    j. The maximum over rounds is kept.
    """
    enough = config.ancestor_evidence + 2 * float(np.log(x.shape[1]))
    evidence = dependence(x, is_intervened, x, nonlinear=nonlinear)
    ancestors = _acyclic_closure(evidence, enough)
    for _ in range(config.n_rounds - 1):
        sharper = _residual_evidence(x, is_intervened, ancestors, nonlinear=nonlinear)
        evidence = np.maximum(evidence, sharper)
        ancestors = _acyclic_closure(evidence, enough)
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
    clamped = is_intervened.any(axis=0)
    evidence = np.zeros(ancestors.shape)
    for j in np.flatnonzero(ancestors.any(axis=0)):
        usable = ancestors[:, j] & ~ancestors & ~np.eye(len(ancestors), dtype=bool)
        keys, group = np.unique(usable, axis=0, return_inverse=True)
        for number, known in enumerate(keys):
            if not known.any():
                continue
            free = ~is_intervened[:, j]
            design = features[:, known].reshape(len(x), -1)
            left = x[:, [j]] - _predict(design, x[:, j], free)[:, None]
            if nonlinear:
                left = _with_products(left, x[:, known])
            for v in np.flatnonzero((group.reshape(-1) == number) & clamped):
                rows = is_intervened[:, v] & free
                all_free = np.ones((int(rows.sum()), 1), dtype=bool)
                nats = _evidence(x[rows, v], left[rows], all_free, nonlinear)
                evidence[v, j] = nats.max() - np.log(left.shape[1])
    np.fill_diagonal(evidence, 0.0)
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


def _with_products(
    residual: Float[np.ndarray, "samples one"], known: Float[np.ndarray, "samples ancestors"]
) -> Float[np.ndarray, "samples products"]:
    """A residual e, and e·x_a and e·(x_a² − 1) of its strongest known ancestors a.

    A cause that only acts through another leaves no trace in e itself; where v is set from outside
    and causes nothing, all of these are independent of x_v.
    """
    strength = np.abs((np.abs(residual) - np.abs(residual).mean()).T @ known**2)[0]
    strength += np.abs(residual.T @ known)[0]
    some = known[:, np.argsort(-strength, kind="stable")[:N_PRODUCTS]]
    return np.concatenate([residual, residual * some, residual * (some**2 - 1)], axis=1)


def _evidence(
    cause: Float[np.ndarray, " samples"],
    effect: Float[np.ndarray, "samples variables"],
    free: Bool[np.ndarray, "samples each"],
    nonlinear: bool,
) -> Float[np.ndarray, " variables"]:
    """Nats by which functions of one variable predict others, each over its free samples.

    One column of `free` stands for all variables.
    """
    nats = np.zeros(effect.shape[1])
    widths = (1, N_FUNCTIONS) if nonlinear else (1,)
    count = np.maximum(free.sum(axis=0), 1)
    y = _ranks(effect, free) if nonlinear else effect
    y = np.where(free, y - np.where(free, y, 0.0).sum(axis=0) / count, 0.0)
    total = np.maximum((y**2).sum(axis=0), 1e-12)
    features = additive_features(cause[:, None], nonlinear)[:, 0]
    for width in widths:
        design = np.concatenate([features[:, :width], np.ones((len(cause), 1))], axis=1)
        pairs = (design[:, :, None] * design[:, None, :]).reshape(-1, (width + 1) ** 2)
        gram = (free.astype(np.float64).T @ pairs).reshape(-1, width + 1, width + 1)
        gram += 1e-6 * count[:, None, None] * np.eye(width + 1)
        to = (design.T @ y).T[:, :, None]
        explained = (to * (np.linalg.inv(gram) @ to)).sum(axis=(1, 2))
        share = np.clip(explained / total, 0.0, 1 - 1e-12)
        nats = np.maximum(nats, -count / 2 * np.log1p(-share) - 2 * (width - 1))
    return nats


def _ranks(
    values: Float[np.ndarray, "samples columns"], free: Bool[np.ndarray, "samples each"]
) -> Float[np.ndarray, "samples columns"]:
    """Ranks among the free samples: products have heavy tails that pass for dependence."""
    order = np.argsort(np.where(free, values, np.inf), axis=0, kind="stable")
    return np.argsort(order, axis=0, kind="stable").astype(np.float64)


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
