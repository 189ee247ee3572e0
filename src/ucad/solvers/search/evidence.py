"""Who is an ancestor of whom, for all that interventions show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad._types import BooleanMatrix
from ucad.data import InterventionalData
from ucad.scm.families import Family
from ucad.solvers.regression.moments import masked_covariance
from ucad.solvers.search.regime_power import is_tested
from ucad.solvers.search.regime_tests import RegimeTests

__all__ = ["Evidence", "interventional_evidence"]

BEYOND_NULL = 4.0
"""Nats beyond log n² for an ancestor. Under no effect 2T is χ²₁, so n² pairs have about
exp(−4) / 4 false ones among them, some 0.005."""

WEAK = 3.0
"""Nats above which a tested pair stays open: P(χ²₁ > 6) is 0.014."""

N_ROUNDS = 3
"""How often the tests are repeated on what known ancestors leave unexplained."""

RIDGE = 1e-3
"""Added to variances of 1 in the regressions on known ancestors, which may be collinear."""

N_PRODUCTS = 4
"""Known ancestors whose products with a residual are tested as well."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the interventions show.

    Attributes:
        nats: entry [v, j], the evidence that v is an ancestor of j.
        ancestors: the acyclic closure of all pairs with enough evidence.
        is_tested: entry [v, j] says that an effect of v on j worth an edge would have shown.
        still_listens: variables whose regimes are no clamps: they follow their causes there.
        never_acted_on: variables that no regime targets.
    """

    nats: Float[np.ndarray, "variables variables"]
    ancestors: BooleanMatrix
    is_tested: BooleanMatrix
    still_listens: Bool[np.ndarray, " variables"]
    never_acted_on: Bool[np.ndarray, " variables"]

    @property
    def is_open(self) -> BooleanMatrix:
        """Pairs (v, j) that the interventions do not speak against."""
        return (self.nats > WEAK) | ~self.is_tested


def interventional_evidence(data: InterventionalData, family: Family) -> Evidence:
    """Tests every variable that was acted on against every other.

    After the first round the tests are repeated on x_j minus its additive regression on known
    ancestors that do not depend on v: such a residual has nothing to do with v, too, unless v
    causes j. The maximum over rounds is kept. O(N^c n) per round, for N^c pairs of a sample and a
    target.
    """
    tests = RegimeTests(data, family)
    enough = BEYOND_NULL + 2 * float(np.log(data.n_variables))
    nats = np.zeros((data.n_variables, data.n_variables), dtype=np.float32)
    for j in range(data.n_variables):
        nats[:, j] = tests.nats(data.x[:, j], ~data.is_left_out[:, j])
    np.fill_diagonal(nats, 0.0)
    ancestors, done = _acyclic_closure(nats, enough), np.zeros_like(nats, dtype=bool)
    for _ in range(N_ROUNDS - 1):
        # A residual of the ancestors it was taken of before shows nothing new.
        changed = np.flatnonzero((ancestors != done).any(axis=0) & ancestors.any(axis=0))
        for j in changed.tolist():
            certain = ancestors[:, j] & (nats[:, j] > enough)
            nats[:, j] = np.maximum(nats[:, j], _on_residuals(tests, ancestors, j, certain))
        done, ancestors = ancestors, _acyclic_closure(nats, enough)
    return Evidence(
        nats=nats,
        ancestors=ancestors,
        is_tested=is_tested(tests),
        still_listens=tests.still_listens,
        never_acted_on=np.logical_not(data.is_intervened.any(axis=0)),
    )


def _on_residuals(
    tests: RegimeTests, ancestors: BooleanMatrix, j: int, certain: Bool[np.ndarray, " variables"]
) -> Float[np.ndarray, " variables"]:
    """The tests of all variables on residuals of x_j; those that are certain need none.

    Variables v that leave j the same known ancestors share a residual.
    """
    data, free = tests.data, ~tests.data.is_left_out[:, j]
    known, nats = np.flatnonzero(ancestors[:, j]), np.zeros(len(ancestors))
    asked = tests.targets[~certain[tests.targets] & (tests.targets != j)]
    usable = ~ancestors[np.ix_(asked, known)] & (asked[:, None] != known)
    keys, group = np.unique(usable, axis=0, return_inverse=True)
    for number, key in enumerate(keys):
        if key.any():
            left = _residual(tests, j, known[key], free)
            if not tests.family.is_affine:
                left = _with_products(left, data.x[:, known[key]])
            each = np.stack([tests.nats(column, free) for column in left.T])
            some = asked[group.reshape(-1) == number]
            nats[some] = each[:, some].max(axis=0) - np.log(left.shape[1])
    return nats


def _residual(
    tests: RegimeTests, j: int, known: Int[np.ndarray, " known"], free: Bool[np.ndarray, " samples"]
) -> Float[np.ndarray, "samples one"]:
    """x_j less its additive regression on some variables where it is free, up to a constant."""
    x = tests.data.x
    if tests.family.is_affine:
        both = masked_covariance(tests.data.moments, j, known)
        slope = np.linalg.solve(both[:-1, :-1] + RIDGE * np.eye(len(known)), both[:-1, -1])
        line: Float[np.ndarray, "samples one"] = x[:, [j]] - x[:, known] @ slope[:, None]
        return line
    design = tests.family.features(x[:, known]).reshape(len(x), -1)
    centred = design - design[free].mean(axis=0)
    gram = centred[free].T @ centred[free]
    gram[np.diag_indices_from(gram)] += RIDGE * free.sum()
    beta = np.linalg.solve(gram, centred[free].T @ x[free, j])
    residual: Float[np.ndarray, "samples one"] = x[:, [j]] - (centred @ beta)[:, None]
    return residual


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


def _acyclic_closure(evidence: Float[np.ndarray, "n n"], threshold: float) -> BooleanMatrix:
    """The closure of T > threshold, the weaker direction left out where two contradict."""
    causes, effects = np.nonzero(evidence > threshold)
    order = np.argsort(-evidence[causes, effects], kind="stable")
    closed = np.zeros(evidence.shape, dtype=bool)
    has_cause, has_effect = (np.zeros(len(evidence), dtype=bool) for _ in "ab")
    for v, j in zip(causes[order].tolist(), effects[order].tolist(), strict=True):
        if closed[j, v] or closed[v, j]:
            continue
        if not (has_cause[v] or has_effect[j]):
            closed[v, j] = has_effect[v] = has_cause[j] = True
            continue
        before = np.append(np.flatnonzero(closed[:, v]), v)
        after = np.append(np.flatnonzero(closed[j]), j)
        closed[before[:, None], after] = True
        has_effect[before], has_cause[after] = True, True
    return closed
