"""What clamping a variable would do, at both levels, worked out beforehand for the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ucad.data import OBSERVATIONAL, InterventionalData
from ucad.report.strengths import EdgeStrengths, some_rows
from ucad.scm import FactorSCM, State

__all__ = ["ClampEffect", "clamp_effects", "clamped"]

MOST_VARIABLES = 200
"""Variables whose clamping is worked out for the page: the strongest; a list for a menu, and a
second or two of counterfactuals."""

MOST_AFFECTED = 12
"""Variables listed for each clamp: what can be read at a glance."""

MOST_SAMPLES = 100
"""Samples over which a counterfactual is averaged: a tenth of a standard deviation is enough for a
bar of some pixels."""

FEWEST_OBSERVATIONAL = 30
"""Observational samples from which on they alone are averaged over; below, all samples are."""

NEGLIGIBLE = 1e-3
"""Changes below this, in standard deviations, are not shown."""


@dataclass(frozen=True)
class ClampEffect:
    """Mean changes when a variable is set one standard deviation below or above its mean.

    Each is the mean over samples of the counterfactual minus that for the variable at its mean, in
    standard deviations of what changes.

    Attributes:
        variable: what is clamped.
        values: what it is set to, low and high, in the units of the model.
        reached: the factors that read the variable: the support of ω.
        factors: 2 × factors.
        affected: the most affected other variables, strongest first, with their two changes.
    """

    variable: str
    values: tuple[float, float]
    reached: tuple[str, ...]
    factors: Float[np.ndarray, "2 factors"]
    affected: tuple[tuple[str, float, float], ...]

    def to_json(self) -> dict[str, Any]:
        """Short keys and rounded numbers, for the page."""
        return {
            "variable": self.variable,
            "values": [float(f"{value:.4g}") for value in self.values],
            "reached": self.reached,
            "factors": np.round(self.factors, 3).T.tolist(),
            "affected": [
                [name, round(low, 3), round(high, 3)] for name, low, high in self.affected
            ],
        }


def clamp_effects(
    scm: FactorSCM, data: InterventionalData, strengths: EdgeStrengths
) -> list[ClampEffect]:
    """Effects for the variables that feed factors, the 200 strongest of them, in their own order.

    For each: abduct the context of some samples (observational ones if there are enough), and
    solve the model with the variable at mean − sd, mean and mean + sd.
    """
    feeding = np.flatnonzero(scm.graph.Q.any(axis=1))
    if not scm.graph.n_factors:
        return []
    weight = np.abs(strengths.into).max(axis=1, initial=0.0)
    chosen = np.sort(feeding[np.argsort(-weight[feeding], kind="stable")[:MOST_VARIABLES]])
    sample = _sample(data)
    context = scm.abduct(sample.x, sample.is_intervened).repeat(3, 1)
    unclamped = scm.solve(context)
    x = scm.tensor(data.x)
    mean, sd = x.mean(dim=0), x.std(dim=0, correction=0)
    scales = (sd.clamp_min(1e-12), scm.state_map(x).std(dim=0, correction=0).clamp_min(1e-12))
    steps = torch.tensor([-1.0, 0.0, 1.0]).to(x).repeat_interleave(sample.n_samples)
    effects = []
    for i in chosen.tolist():
        state = clamped(scm, context, unclamped, i, mean[i] + steps * sd[i])
        changes = [_changes(values, scale) for values, scale in zip(state, scales, strict=True)]
        low_high = (float(mean[i] - sd[i]), float(mean[i] + sd[i]))
        effects.append(_effect(scm, i, low_high, changes))
    return effects


def clamped(
    scm: FactorSCM,
    context: Float[Tensor, "samples variables"],
    unclamped: State,
    variable: int,
    value: Float[Tensor, " samples"],
) -> State:
    """`scm.solve(context, {variable: value})`, from the solution without that clamp.

    Only what lies downstream of the variable is worked out again: with a thousand variables that
    is a small part of the model.
    """
    graph = scm.graph
    x, z = unclamped.x.clone(), unclamped.z.clone()
    x[:, variable] = value
    moved = np.zeros(graph.n_variables, dtype=bool)
    moved[variable] = True
    for level in range(int(graph.factor_level.max(initial=-1)) + 1):
        reached = graph.Q[moved].any(axis=0) & (graph.factor_level == level)
        factors = torch.from_numpy(np.flatnonzero(reached))
        z[:, factors] = scm.factor_mechanism(x, factors)
        moved |= graph.R[:, reached].any(axis=1)
        due = moved & (graph.variable_level == level + 1)
        due[variable] = False
        variables = torch.from_numpy(np.flatnonzero(due))
        x[:, variables] = scm.variable_mechanism(z, variables) + context[:, variables]
    return State(x, z)


def _sample(data: InterventionalData) -> InterventionalData:
    observational = data.select(np.flatnonzero(data.regime == OBSERVATIONAL))
    enough = observational.n_samples >= FEWEST_OBSERVATIONAL
    pool = observational if enough else data
    return pool.select(some_rows(pool, MOST_SAMPLES))


def _changes(values: Tensor, scale: Tensor) -> np.ndarray:
    """Mean values at low and high minus those in the middle, in standard deviations: 2 × nodes."""
    low, middle, high = (part.mean(dim=0) for part in values.detach().chunk(3))
    return (torch.stack([low - middle, high - middle]) / scale.detach()).cpu().numpy()


def _effect(
    scm: FactorSCM, variable: int, values: tuple[float, float], changes: list[np.ndarray]
) -> ClampEffect:
    graph, (on_variables, on_factors) = scm.graph, changes
    size = np.abs(on_variables).max(axis=0)
    size[variable] = 0.0
    largest = np.argsort(-size, kind="stable")[:MOST_AFFECTED]
    affected = tuple(
        (graph.variable_names[j], float(on_variables[0, j]), float(on_variables[1, j]))
        for j in largest
        if size[j] > NEGLIGIBLE
    )
    name = graph.variable_names[variable]
    return ClampEffect(name, values, graph.children(name), on_factors, affected)
