"""What regimes with unmeasured targets act on: variables or factors, inferred by score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float

from ucad.data import InterventionalData
from ucad.data.kinds import RegimeKind
from ucad.scm import FactorSCM

__all__ = ["HiddenAction", "hidden_actions", "left_out", "marked"]

PRICE_PER_LOG_SAMPLE = 2.0
"""A term for one variable or factor in one regime costs as much as an edge, 2 log N nats."""

MIN_ROWS = 5
"""Samples of a regime below which nothing is inferred of it."""

STEP = 1e-3
"""Of numerical slopes of F_X, in standard deviations of a factor."""

NEW = 1e-6
"""Share of a pattern that is not explained by those chosen before it, below which it is none."""


class HiddenAction(NamedTuple):
    """One node whose mechanism a regime with an unmeasured target changes.

    Attributes:
        regime: the regime's name.
        node: a variable or a factor.
        nats: log-likelihood that the regime's own term for it gains, given the other nodes.
        shift: how far it moves, in standard deviations of its noise (of itself for a factor).
        n_samples: of the regime.
        or_nodes: what `node` cannot be told from: the factors that it feeds, if it is a variable
            whose place as their parent no regime of its own has shown.
    """

    regime: str
    node: str
    nats: float
    shift: float
    n_samples: int
    or_nodes: tuple[str, ...] = ()

    def __str__(self) -> str:
        nodes = " or ".join((self.node, *self.or_nodes))
        return f"{nodes} (moved by {self.shift:+.2g} sd, log odds {self.nats:.0f})"

    @property
    def nodes(self) -> tuple[str, ...]:
        """The set of nodes, of which one or more are acted on."""
        return (self.node, *self.or_nodes)


def hidden_actions(scm: FactorSCM, data: InterventionalData) -> tuple[HiddenAction, ...]:
    """For every regime with an unmeasured target, which nodes got another mechanism.

    Residuals e_j = (x_j − F_X(τ(x))_j) / σ_j have mean 0 where nothing acts on j itself, whatever
    happens above j. In regime r their mean is m; a term for variable j explains the j-th entry, a
    term for factor k the pattern ∂F_X/∂z_k / σ of all its children. Terms are added while one more
    gains n_r/2 · ‖projection of m‖² > 2 log N nats. Only shifts of means are seen. What a regime is
    known to act on beside the unmeasured target has no part in it.

    Where causes of a factor are not measured, its best child passes for a parent, and moves with
    it. So a parent that is never acted on is one set with the factors it feeds.
    """
    regimes = [r for r in np.unique(data.regime) if data.acts_on_hidden[r]]
    if not regimes:
        return ()
    e = scm.abduct(data.x, data.is_left_out).detach().cpu().numpy()
    at_home = ~np.isin(data.regime, regimes)
    free = ~data.is_left_out & at_home[:, None]
    sd = np.sqrt(np.maximum(_mean((e - _mean(e, free)) ** 2, free), 1e-12))
    names, patterns = _patterns(scm, data.x, sd)
    fed = _fed_by_untested(scm, data)
    price = PRICE_PER_LOG_SAMPLE * float(np.log(max(data.n_samples, 2)))
    found: list[HiddenAction] = []
    for r in regimes:
        rows = data.regime == r
        n = int(rows.sum())
        if n < MIN_ROWS:
            continue
        other, is_free = _compared_with(data, int(r), at_home), ~data.targets[int(r)]
        m = is_free * (e[rows].mean(axis=0) - _mean(e, free & other[:, None])) / sd
        size = n * other.sum() / (n + max(int(other.sum()), 1))
        name = data.regime_names[int(r)]
        chosen = [
            HiddenAction(name, names[at], nats, shift, n)
            for at, nats, shift in _chosen(m, patterns * is_free, float(size), price)
        ]
        found += _as_sets(chosen, fed)
    return tuple(found)


def _fed_by_untested(scm: FactorSCM, data: InterventionalData) -> dict[str, tuple[str, ...]]:
    """The factors that each variable feeds that no regime acts on."""
    graph = scm.graph
    untested = np.flatnonzero(graph.Q.any(axis=1) & ~data.targets.any(axis=0))
    return {
        graph.variable_names[j]: tuple(graph.factor_names[k] for k in np.flatnonzero(graph.Q[j]))
        for j in untested
    }


def _as_sets(
    chosen: Sequence[HiddenAction], fed: Mapping[str, tuple[str, ...]]
) -> list[HiddenAction]:
    """Untested parents as sets with the factors they feed, which then do not stand alone."""
    sets = [action._replace(or_nodes=fed.get(action.node, ())) for action in chosen]
    named = {node for action in sets for node in action.or_nodes}
    return [action for action in sets if action.node not in named]


def _mean(
    values: Float[np.ndarray, "samples variables"], used: Bool[np.ndarray, "samples variables"]
) -> Float[np.ndarray, " variables"]:
    return np.asarray((values * used).sum(axis=0) / np.maximum(used.sum(axis=0), 1))


def _compared_with(
    data: InterventionalData, regime: int, at_home: Bool[np.ndarray, " samples"]
) -> Bool[np.ndarray, " samples"]:
    """All samples at home; for a combination with a measured target those of that target alone.

    What the model has wrong of the measured target is then not taken for the other's doing.
    """
    targets = data.targets[regime]
    same = (data.targets == targets).all(axis=1)[data.regime] & at_home
    return same if targets.any() and int(same.sum()) >= MIN_ROWS else at_home


def marked(data: InterventionalData, actions: Sequence[HiddenAction]) -> InterventionalData:
    """The data with the variables that hidden targets act on as targets of an unknown kind."""
    hit = _hit(data, actions)
    if not hit.any():
        return data
    old = data.kinds or (RegimeKind.AUTO,) * data.n_regimes
    changed = np.atleast_1d(hit.any(axis=1)).tolist()
    kinds = tuple(RegimeKind.UNKNOWN if c else k for c, k in zip(changed, old, strict=True))
    return replace(data, is_intervened=data.is_intervened | hit[data.regime], kinds=kinds)


def left_out(
    data: InterventionalData, actions: Sequence[HiddenAction], scm: FactorSCM
) -> InterventionalData:
    """The data without the terms of what hidden targets act on: of variables, and of children."""
    below = [
        action._replace(node=child)
        for action in actions
        for node in action.nodes
        if node in scm.graph.factor_names
        for child in scm.graph.children(node)
    ]
    own = _hit(data, [*actions, *below])[data.regime]
    return replace(data, is_missing=own if data.is_missing is None else own | data.is_missing)


def _hit(
    data: InterventionalData, actions: Sequence[HiddenAction]
) -> Bool[np.ndarray, "regimes variables"]:
    hit = np.zeros((data.n_regimes, data.n_variables), dtype=bool)
    for action in actions:
        if action.node in data.variable_names:
            column = data.variable_names.index(action.node)
            hit[data.regime_names.index(action.regime), column] = True
    return hit


def _patterns(
    scm: FactorSCM, x: np.ndarray, sd: Float[np.ndarray, " variables"]
) -> tuple[list[str], Float[np.ndarray, "nodes variables"]]:
    """Unit vectors of the variables, and what moving a factor by its spread adds to its children.

    A factor with one child has no pattern of its own.
    """
    z = scm.state_map(x)
    centre, spread = z.mean(dim=0), z.std(dim=0, correction=0)
    names, rows = list(scm.graph.variable_names), list(np.eye(len(sd)))
    for k, name in enumerate(scm.graph.factor_names):
        if scm.graph.R[:, k].sum() < 2:
            continue
        step = torch.zeros_like(centre)
        step[k] = STEP * spread[k]
        ends = scm.expected_variables(torch.stack([centre + step, centre - step]))
        slope = (ends[0] - ends[1]).detach().cpu().numpy() / (2 * STEP)
        names.append(name)
        rows.append(slope / sd)
    return names, np.array(rows)


def _chosen(
    m: Float[np.ndarray, " variables"],
    patterns: Float[np.ndarray, "nodes variables"],
    size: float,
    price: float,
) -> list[tuple[int, float, float]]:
    """The patterns that explain m, each with what it gains given the others, and its weight."""
    chosen: list[int] = []
    left, basis = m.copy(), np.zeros((0, len(m)))
    while len(chosen) < len(m):
        free = patterns - patterns @ basis.T @ basis
        length = np.linalg.norm(free, axis=1)
        is_new = length > NEW * np.maximum(np.linalg.norm(patterns, axis=1), 1e-300)
        gain = np.where(is_new, (free @ left / np.where(is_new, length, 1.0)) ** 2, 0.0)
        best = int(np.argmax(gain))
        if size / 2 * gain[best] <= price:
            break
        chosen.append(best)
        basis = np.vstack([basis, free[best] / length[best]])
        left = m - basis.T @ (basis @ m)
    return _supported(m, patterns, chosen, size, price)


def _supported(
    m: Float[np.ndarray, " variables"],
    patterns: Float[np.ndarray, "nodes variables"],
    chosen: list[int],
    size: float,
    price: float,
) -> list[tuple[int, float, float]]:
    """Those of the chosen that the others cannot do without, the weakest taken away first."""
    while chosen:
        own = patterns[chosen]
        inverse = np.linalg.pinv(own @ own.T)
        weight = inverse @ (own @ m)
        nats = size / 2 * weight**2 / np.maximum(np.diag(inverse), 1e-300)
        weakest = int(np.argmin(nats))
        if nats[weakest] > price:
            return [(at, float(n), float(w)) for at, n, w in zip(chosen, nats, weight, strict=True)]
        chosen = chosen[:weakest] + chosen[weakest + 1 :]
    return []
