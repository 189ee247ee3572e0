"""Gaps between consecutive layers: which variables a factor may read, and which it may make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.graph import FactorGraph
from ucad.scm import FactorSCM, LinearMechanism, MLPMechanism

__all__ = [
    "FactorSwitch",
    "Gap",
    "GapModel",
    "assemble",
    "gaps_of",
    "held_out_nll",
    "usable_rows",
]

_MOST_SCORED = 20_000
_NEARLY_LINEAR = 1e-4


class Gap(NamedTuple):
    """The factors between two consecutive layers.

    Attributes:
        causes: the variables of the earlier layer, by number.
        effects: the variables of the later layer.
        n_factors: how many factors lie between them.
    """

    causes: Int[np.ndarray, " causes"]
    effects: Int[np.ndarray, " effects"]
    n_factors: int


class FactorSwitch(NamedTuple):
    """What a two-valued function of the causes adds to z: gain · tanh(direction · x + offset).

    Attributes:
        direction: one number a cause.
        offset: of the tanh.
        gain: one number a factor.
    """

    direction: Float[np.ndarray, " causes"]
    offset: float
    gain: Float[np.ndarray, " factors"]


class GapModel(NamedTuple):
    """z = W x_causes + b, and x_effect = w2 · tanh(W1 z + b1) + b2 + u for every effect.

    Attributes:
        weight: W, factors × causes.
        bias: b.
        w1: effects × hidden × factors; zero where a factor does not make the effect.
        b1: effects × hidden.
        w2: effects × hidden.
        b2: one an effect.
        noise_scale: the root of the mean squared error of each effect.
        switch: is added to z if not None.
    """

    weight: Float[np.ndarray, "factors causes"]
    bias: Float[np.ndarray, " factors"]
    w1: Float[np.ndarray, "effects hidden factors"]
    b1: Float[np.ndarray, "effects hidden"]
    w2: Float[np.ndarray, "effects hidden"]
    b2: Float[np.ndarray, " effects"]
    noise_scale: Float[np.ndarray, " effects"]
    switch: FactorSwitch | None = None


def gaps_of(
    data: InterventionalData, n_factors: int, factors_per_gap: Sequence[int] | None = None
) -> list[Gap]:
    """The gaps of layered data, with the factors dealt out evenly unless told otherwise.

    >>> x = np.random.default_rng(0).normal(size=(9, 5))
    >>> data = InterventionalData.from_arrays(x, layer_of=[0, 0, 1, 1, 2])
    >>> [(gap.causes.tolist(), gap.effects.tolist(), gap.n_factors) for gap in gaps_of(data, 2)]
    [([0, 1], [2, 3], 1), ([2, 3], [4], 1)]
    """
    if data.layer_of is None or len(np.unique(data.layer_of)) < 2:
        raise InvalidInputError(
            "This solver works between consecutive layers: 'layer_of' must name at least two. "
            "Give the layer of every variable, or use the solver 'search'."
        )
    layers = [np.flatnonzero(data.layer_of == layer) for layer in np.unique(data.layer_of)]
    n_gaps = len(layers) - 1
    if factors_per_gap is None:
        if n_factors % n_gaps:
            raise InvalidInputError(
                f"The number of factors must be a multiple of the number of gaps between layers, "
                f"{n_gaps}. Got {n_factors} instead."
            )
        factors_per_gap = [n_factors // n_gaps] * n_gaps
    if len(factors_per_gap) != n_gaps or sum(factors_per_gap) != n_factors:
        raise InvalidInputError(
            f"'factors_per_gap' must have {n_gaps} entries that add up to {n_factors}. "
            f"Got {list(factors_per_gap)} instead."
        )
    gaps = [Gap(*ends) for ends in zip(layers[:-1], layers[1:], factors_per_gap, strict=True)]
    for gap in gaps:
        if not 1 <= gap.n_factors <= len(gap.causes):
            raise InvalidInputError(
                f"A gap must have between 1 and as many factors as its layer has variables, "
                f"{len(gap.causes)}. Got {gap.n_factors} instead."
            )
    return gaps


def usable_rows(data: InterventionalData, gap: Gap) -> Int[np.ndarray, " rows"]:
    """The samples in which no effect of the gap is clamped: there F_X can be seen at work."""
    return np.flatnonzero(~data.is_intervened[:, gap.effects].any(axis=1))


def assemble(
    data: InterventionalData, gaps: Sequence[Gap], models: Sequence[GapModel]
) -> FactorSCM:
    """One `FactorSCM` of all gaps; variables of the first layer are roots."""
    n, m = data.n_variables, sum(gap.n_factors for gap in gaps)
    hidden = max(model.w2.shape[1] for model in models)
    w1, b1, w2 = np.zeros((n, hidden, m)), np.zeros((n, hidden)), np.zeros((n, hidden))
    b2, noise = data.x.mean(axis=0), data.x.std(axis=0)
    first = 0
    for gap, model in zip(gaps, models, strict=True):
        own, h = np.arange(first, first + gap.n_factors), model.w2.shape[1]
        w1[np.ix_(gap.effects, np.arange(h), own)] = model.w1
        b1[gap.effects, :h], w2[gap.effects, :h] = model.b1, model.w2
        b2[gap.effects], noise[gap.effects] = model.b2, model.noise_scale
        first += gap.n_factors
    parts = (torch.tensor(part, dtype=torch.float64) for part in (w1, b1, w2, b2))
    F_Z, F_X = _factor_mechanism(data, gaps, models), MLPMechanism(*parts)
    return FactorSCM(
        FactorGraph(_edges(F_Z).T, _edges(F_X), variable_names=data.variable_names),
        F_Z,
        F_X,
        torch.tensor(noise, dtype=torch.float64),
    )


def held_out_nll(
    scm: FactorSCM, data: InterventionalData, validation: InterventionalData | None
) -> float:
    """The NLL on the validation data, or on the data themselves, of at most 20,000 samples."""
    scored = data if validation is None else validation
    if scored.n_samples > _MOST_SCORED:
        share = _MOST_SCORED / scored.n_samples
        scored = scored.split(share, 1 - share).train
    return scm.nll(scored.x, scored.is_intervened)


def _factor_mechanism(
    data: InterventionalData, gaps: Sequence[Gap], models: Sequence[GapModel]
) -> LinearMechanism | MLPMechanism:
    """F_Z of all gaps: linear, unless a gap has a switch.

    With a switch, every factor has two tanh units: one for the switch, and one for its linear part
    u, as tanh(εu)/ε with ε so small that on the samples this is u to one part in 10⁸.
    """
    n, m = data.n_variables, sum(gap.n_factors for gap in gaps)
    weight, bias, first = np.zeros((m, n)), np.zeros(m), 0
    steep, offset, gain = np.zeros((m, n)), np.zeros(m), np.zeros(m)
    for gap, model in zip(gaps, models, strict=True):
        own = np.arange(first, first + gap.n_factors)
        weight[np.ix_(own, gap.causes)], bias[own] = model.weight, model.bias
        if model.switch is not None:
            steep[np.ix_(own, gap.causes)] = model.switch.direction
            offset[own], gain[own] = model.switch.offset, model.switch.gain
        first += gap.n_factors
    if not gain.any():
        return LinearMechanism(_double(weight), _double(bias))
    largest = np.maximum(np.abs(data.x @ weight.T).max(axis=0), np.finfo(float).tiny)
    epsilon = np.where(weight.any(axis=1), _NEARLY_LINEAR / largest, 0.0)
    inverse = np.divide(1.0, epsilon, out=np.zeros_like(epsilon), where=epsilon > 0)
    return MLPMechanism(
        _double(np.stack([epsilon[:, None] * weight, steep], axis=1)),
        _double(np.stack([np.zeros(m), offset], axis=1)),
        _double(np.stack([inverse, gain], axis=1)),
        _double(bias),
    )


def _double(values: np.ndarray) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def _edges(mechanism: LinearMechanism | MLPMechanism) -> Bool[np.ndarray, "targets inputs"]:
    return np.asarray(mechanism.uses().numpy() != 0)
