"""Who is an ancestor of whom, for all that interventions show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from ucad._types import BooleanMatrix
from ucad.data import InterventionalData
from ucad.graph import transitive_closure
from ucad.scm.families import Family
from ucad.solvers.search.regime_tests import RegimeTests

__all__ = ["Evidence", "interventional_evidence"]

BEYOND_NULL = 4.0
"""Nats beyond log n² for an ancestor. Under no effect 2T is χ²₁, so n² pairs have about
exp(−4) / 4 false ones among them, some 0.005."""

WEAK = 3.0
"""Nats above which a tested pair stays open: P(χ²₁ > 6) is 0.014."""

N_ROUNDS = 3
"""How often the tests are repeated on what known ancestors leave unexplained."""

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
    causes j. The maximum over rounds is kept. O(N^c n) in all, for N^c pairs of a sample and a
    target.
    """
    tests = RegimeTests(data, family)
    enough = BEYOND_NULL + 2 * float(np.log(data.n_variables))
    nats = np.zeros((data.n_variables, data.n_variables))
    rest, free = tests.at_rest(data.x), ~data.is_left_out
    for v in tests.targets:
        nats[v] = tests.nats(int(v), data.x, free, rest)
    np.fill_diagonal(nats, 0.0)
    ancestors = _acyclic_closure(nats, enough)
    for _ in range(N_ROUNDS - 1):
        nats = np.maximum(nats, _on_residuals(tests, ancestors))
        ancestors = _acyclic_closure(nats, enough)
    return Evidence(
        nats=nats,
        ancestors=ancestors,
        is_tested=tests.is_tested(),
        still_listens=tests.still_listens,
        never_acted_on=np.logical_not(data.is_intervened.any(axis=0)),
    )


def _on_residuals(
    tests: RegimeTests, ancestors: BooleanMatrix
) -> Float[np.ndarray, "variables variables"]:
    """The tests on residuals; variables v that leave j the same known ancestors share one."""
    data = tests.data
    features = tests.family.features(data.x)
    nats = np.zeros(ancestors.shape)
    others = ~ancestors & ~np.eye(len(ancestors), dtype=bool)
    for j in np.flatnonzero(ancestors.any(axis=0)):
        usable = (ancestors[:, j] & others)[tests.targets]
        keys, group = np.unique(usable, axis=0, return_inverse=True)
        free = ~data.is_left_out[:, j]
        for number, known in enumerate(keys):
            if not known.any():
                continue
            design = features[:, known].reshape(data.n_samples, -1)
            left = data.x[:, [j]] - _predicted(design, data.x[:, j], free)[:, None]
            if not tests.family.is_affine:
                left = _with_products(left, data.x[:, known])
            rest, is_free = tests.at_rest(left), np.broadcast_to(free[:, None], left.shape)
            for v in tests.targets[group.reshape(-1) == number]:
                if v != j:
                    each = tests.nats(int(v), left, is_free, rest)
                    nats[v, j] = each.max() - np.log(left.shape[1])
    return nats


def _predicted(
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
    return transitive_closure(closed)
