"""The model of one pair of layers, and the `FactorSCM` that the models of all pairs make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from ucad.data import InterventionalData, Scaling
from ucad.graph import FactorGraph
from ucad.scm import ContextEffect, FactorSCM, LinearMechanism, MLPMechanism
from ucad.solvers.layered.binary_factors import BinaryFactor
from ucad.solvers.layered.layer_pairs import LayerPair

__all__ = ["BinaryTerm", "PairModel", "assemble"]

LARGEST_TANH_INPUT = 1e-4
"""A linear term u of a factor that also has a tanh is written as tanh(εu)/ε; this is the largest
|εu| over the samples, without a unit. tanh(v) is v to one part in v²/3, so here in 3 · 10⁸."""


@dataclass(frozen=True, eq=False)
class BinaryTerm:
    """What a two-valued function s of the causes adds to z: gain · s(x).

    Attributes:
        factor: the two-valued function.
        gain: one number per factor.
    """

    factor: BinaryFactor
    gain: Float[np.ndarray, " factors"]


@dataclass(frozen=True, eq=False)
class PairModel:
    """z = W x_causes + b, and x_effect = w2 · tanh(W1 z + V w + b1) + b2 + u for every effect.

    Attributes:
        weight: W, factors × causes.
        bias: b.
        w1: effects × hidden × factors; zero where a factor does not make the effect.
        b1: effects × hidden.
        w2: effects × hidden.
        b2: one number per effect.
        noise_scale: the root mean squared error of each effect.
        binary: added to z if not None.
        context: V, effects × hidden × covariates; None if there is no context.
    """

    weight: Float[np.ndarray, "factors causes"]
    bias: Float[np.ndarray, " factors"]
    w1: Float[np.ndarray, "effects hidden factors"]
    b1: Float[np.ndarray, "effects hidden"]
    w2: Float[np.ndarray, "effects hidden"]
    b2: Float[np.ndarray, " effects"]
    noise_scale: Float[np.ndarray, " effects"]
    binary: BinaryTerm | None = None
    context: Float[np.ndarray, "effects hidden covariates"] | None = None

    def in_units(
        self, causes: Scaling, effects: Scaling, covariates: Scaling | None = None
    ) -> PairModel:
        """Returns the model of x and y when this one is of (x − mean) / scale on both sides.

        The same for the covariates, if their units are given.
        """
        weight, binary = self.weight / causes.scale, self.binary
        context, b1 = self.context, self.b1
        if context is not None and covariates is not None:
            context = context / covariates.scale
            b1 = b1 - context @ covariates.mean
        if binary is not None:
            binary = replace(binary, factor=binary.factor.in_units(causes))
        return replace(
            self,
            weight=weight,
            bias=self.bias - weight @ causes.mean,
            w2=self.w2 * effects.scale[:, None],
            b2=effects.mean + self.b2 * effects.scale,
            noise_scale=self.noise_scale * effects.scale,
            binary=binary,
            b1=b1,
            context=context,
        )

    def at(self, w: Float[np.ndarray, " covariates"]) -> PairModel:
        """Returns the model in a given context."""
        if self.context is None:
            return self
        return replace(self, b1=self.b1 + self.context @ w, context=None)


def assemble(
    data: InterventionalData, pairs: Sequence[LayerPair], models: Sequence[PairModel]
) -> FactorSCM:
    """Returns one `FactorSCM` of all pairs; variables of the first layer are roots.

    With a context, F_X is that of the average context, and F_X(z, w) is beside it.
    """
    noise, effect, average = data.x.std(axis=0), None, models
    if data.context is not None:
        mean = data.context.values.mean(axis=0)
        average = [model.at(mean) for model in models]
        effect = ContextEffect(
            data.context.names,
            _double(mean),
            _double(np.zeros((data.n_variables, len(mean)))),
            joint=_variable_mechanism(data, pairs, models, len(mean)),
        )
    for pair, model in zip(pairs, models, strict=True):
        noise[pair.effects] = model.noise_scale
    F_Z = _factor_mechanism(data, pairs, models)
    F_X = _variable_mechanism(data, pairs, average, 0)
    graph = FactorGraph(_edges(F_Z).T, _edges(F_X), variable_names=data.variable_names)
    return FactorSCM(graph, F_Z, F_X, _double(noise), context=effect)


def _variable_mechanism(
    data: InterventionalData,
    pairs: Sequence[LayerPair],
    models: Sequence[PairModel],
    n_covariates: int,
) -> MLPMechanism:
    """Returns F_X of all pairs, of the factors and then the covariates."""
    n, m, c = data.n_variables, sum(pair.n_factors for pair in pairs), n_covariates
    hidden = max(model.w2.shape[1] for model in models)
    w1, b1, w2 = np.zeros((n, hidden, m + c)), np.zeros((n, hidden)), np.zeros((n, hidden))
    b2 = data.x.mean(axis=0)
    for pair, model, own in _with_factors(pairs, models):
        h = np.arange(model.w2.shape[1])
        w1[np.ix_(pair.effects, h, own)] = model.w1
        if model.context is not None:
            w1[np.ix_(pair.effects, h, np.arange(m, m + c))] = model.context
        b1[np.ix_(pair.effects, h)], w2[np.ix_(pair.effects, h)] = model.b1, model.w2
        b2[pair.effects] = model.b2
    return MLPMechanism(_double(w1), _double(b1), _double(w2), _double(b2))


def _factor_mechanism(
    data: InterventionalData, pairs: Sequence[LayerPair], models: Sequence[PairModel]
) -> LinearMechanism | MLPMechanism:
    """Returns F_Z of all pairs: linear, unless a pair has a binary term.

    With one, every factor has two tanh units: one for the binary term, and one for its linear part
    u, as tanh(εu)/ε with a small ε.
    """
    n, m = data.n_variables, sum(pair.n_factors for pair in pairs)
    weight, bias = np.zeros((m, n)), np.zeros(m)
    steep, offset, gain = np.zeros((m, n)), np.zeros(m), np.zeros(m)
    for pair, model, own in _with_factors(pairs, models):
        weight[np.ix_(own, pair.causes)], bias[own] = model.weight, model.bias
        if model.binary is not None:
            steep[np.ix_(own, pair.causes)], offset[own] = model.binary.factor
            gain[own] = model.binary.gain
    if not gain.any():
        return LinearMechanism(_double(weight), _double(bias))
    largest = np.maximum(np.abs(data.x @ weight.T).max(axis=0), np.finfo(float).tiny)
    epsilon = np.where(weight.any(axis=1), LARGEST_TANH_INPUT / largest, 0.0)
    inverse = np.divide(1.0, epsilon, out=np.zeros_like(epsilon), where=epsilon > 0)
    return MLPMechanism(
        _double(np.stack([epsilon[:, None] * weight, steep], axis=1)),
        _double(np.stack([np.zeros(m), offset], axis=1)),
        _double(np.stack([inverse, gain], axis=1)),
        _double(bias),
    )


def _with_factors(
    pairs: Sequence[LayerPair], models: Sequence[PairModel]
) -> Iterator[tuple[LayerPair, PairModel, Int[np.ndarray, " factors"]]]:
    """Yields every pair with its model and the numbers of its factors among all."""
    first = 0
    for pair, model in zip(pairs, models, strict=True):
        yield pair, model, np.arange(first, first + pair.n_factors)
        first += pair.n_factors


def _double(values: np.ndarray) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def _edges(mechanism: LinearMechanism | MLPMechanism) -> Bool[np.ndarray, "targets inputs"]:
    return np.asarray(mechanism.uses().numpy() != 0)
