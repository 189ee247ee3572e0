"""The model of one pair of layers, and the `FactorSCM` that the models of all pairs make."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int

from ucad._types import VariableSamples
from ucad.data import Scaling
from ucad.data.context import Context
from ucad.graph import FactorGraph
from ucad.scm import AffineMap, ContextEffect, FactorSCM, LinearMechanism, MLPMechanism

__all__ = ["PairModel", "assemble", "network", "straight_units"]

LARGEST_TANH_INPUT = 1e-4
"""A linear term u beside a tanh is written as tanh(εu)/ε; this is the largest |εu| over the
samples, without a unit. tanh(v) is v to one part in v²/3, so here in 3 · 10⁸."""

Columns = Int[np.ndarray, " _"]
Block = tuple[MLPMechanism, Columns, Columns]
"""A mechanism, with its targets and inputs by their numbers among all."""


@dataclass(frozen=True, eq=False)
class PairModel:
    """z = F_Z(x_causes) and x_effects = F_X(z, w) + u.

    Attributes:
        causes: columns of the earlier layer.
        effects: columns of the later one.
        encoder: F_Z.
        decoder: F_X, of the factors and then the covariates.
        noise_scale: the root mean squared error of each effect.
        covariates: columns of the context that the decoder takes.
        average: F_X of the factors alone; the decoder at the average context if None.
    """

    causes: Columns
    effects: Columns
    encoder: LinearMechanism | MLPMechanism
    decoder: MLPMechanism
    noise_scale: Float[np.ndarray, " effects"]
    covariates: Columns
    average: MLPMechanism | None = None

    @property
    def n_factors(self) -> int:
        """How many factors lie between the layers."""
        return self.decoder.w1.shape[2] - len(self.covariates)

    def in_units(self, causes: Scaling, effects: Scaling, covariates: Scaling) -> PairModel:
        """Returns the model of x, y and w when this one is of (x − mean) / scale, of all three."""
        factors = Scaling(np.zeros(self.n_factors), np.ones(self.n_factors))
        inputs = Scaling(*map(np.concatenate, zip(factors, covariates, strict=True)))
        decoder = self.decoder.before(_from_units(inputs).inverse())
        return replace(
            self,
            encoder=self.encoder.before(_from_units(causes).inverse()),
            decoder=decoder.after(_from_units(effects)),
            noise_scale=self.noise_scale * effects.scale,
        )

    def at(self, w: Float[np.ndarray, " covariates"]) -> MLPMechanism:
        """Returns F_X of the factors alone, in a given context."""
        m, F = self.n_factors, self.decoder
        b1 = F.b1 + F.w1[:, :, m:] @ torch.tensor(w[self.covariates])
        return MLPMechanism(F.w1[:, :, :m], b1, F.w2, F.b2)


def assemble(
    x: VariableSamples,
    variable_names: tuple[str, ...],
    models: Sequence[PairModel],
    context: Context | None = None,
) -> FactorSCM:
    """Returns one `FactorSCM` of all pairs; variables that no pair makes are roots.

    With a context, F_X is that of the average context, and F_X(z, w) is beside it.

    Args:
        x: samples, for the mean and spread of roots and the range of linear parts.
        variable_names: one per column.
        models: with at least one factor each.
        context: the covariates that decoders may take.
    """
    firsts = np.cumsum([0, *(model.n_factors for model in models)])
    n, m = len(variable_names), int(firsts[-1])
    own = [np.arange(*ends) for ends in itertools.pairwise(firsts)]
    noise, mean = x.std(axis=0, dtype=np.float64), x.mean(axis=0, dtype=np.float64)
    for model in models:
        noise[model.effects] = model.noise_scale
    known = np.zeros((1, 0)) if context is None else context.values
    blocks = [
        (model.average or model.at(known.mean(axis=0)), model.effects, factors)
        for model, factors in zip(models, own, strict=True)
    ]
    F_Z, F_X = _factor_mechanism(x, models, own), _stacked(blocks, m, mean)
    Q, R = F_Z.uses().numpy().T != 0, F_X.uses().numpy() != 0
    effect = None
    if context is not None:
        blocks = [
            (model.decoder, model.effects, np.r_[factors, m + model.covariates])
            for model, factors in zip(models, own, strict=True)
        ]
        joint = _stacked(blocks, m + known.shape[1], mean)
        no_weight = torch.zeros(n, known.shape[1], dtype=torch.float64)
        average = torch.tensor(known.mean(axis=0))
        effect = ContextEffect(context.names, average, no_weight, joint=joint)
        R |= joint.uses().numpy()[:, :m] != 0
    graph = FactorGraph(Q, R, variable_names=variable_names)
    return FactorSCM(graph, F_Z, F_X, torch.tensor(noise), context=effect)


def straight_units(
    weight: Float[np.ndarray, "targets inputs"], largest: Float[np.ndarray, " targets"]
) -> tuple[Float[np.ndarray, "targets inputs"], Float[np.ndarray, " targets"]]:
    """Returns the slope and the gain of one tanh unit per target that is W v, nearly.

    Args:
        weight: W.
        largest: the largest |W v| of each target over the samples.
    """
    tiny = np.finfo(float).tiny
    epsilon = np.where(weight.any(axis=1), LARGEST_TANH_INPUT / np.maximum(largest, tiny), 0.0)
    gain = np.divide(1.0, epsilon, out=np.zeros_like(epsilon), where=epsilon > 0)
    return epsilon[:, None] * weight, gain


def network(*parts: np.ndarray) -> MLPMechanism:
    """Returns the mechanism of w1, b1, w2 and b2, in double precision."""
    return MLPMechanism(*(torch.tensor(part, dtype=torch.float64) for part in parts))


def _factor_mechanism(
    x: VariableSamples, models: Sequence[PairModel], own: Sequence[Columns]
) -> LinearMechanism | MLPMechanism:
    """Returns F_Z of all pairs: linear, if that of every pair is."""
    m, blocks, is_linear = sum(map(len, own)), [], True
    weight, bias = np.zeros((m, x.shape[1])), np.zeros(m)
    for model, factors in zip(models, own, strict=True):
        encoder = model.encoder
        if isinstance(encoder, LinearMechanism):
            weight[np.ix_(factors, model.causes)], bias[factors] = encoder.weight, encoder.bias
            largest = np.abs(x @ weight[factors].T).max(axis=0)
            slope, gain = straight_units(encoder.weight.numpy(), largest)
            none = np.zeros((len(factors), 1))
            encoder = network(slope[:, None], none, gain[:, None], bias[factors])
        else:
            is_linear = False
        blocks.append((encoder, factors, model.causes))
    if is_linear:
        return LinearMechanism(torch.tensor(weight), torch.tensor(bias))
    return _stacked(blocks, x.shape[1], bias)


def _stacked(
    blocks: Sequence[Block], n_inputs: int, otherwise: Float[np.ndarray, " targets"]
) -> MLPMechanism:
    """Returns the mechanism of all targets; those of no block have a constant value."""
    hidden = max(block.w1.shape[1] for block, _, _ in blocks)
    w1 = np.zeros((len(otherwise), hidden, n_inputs))
    b1, w2, b2 = np.zeros(w1.shape[:2]), np.zeros(w1.shape[:2]), otherwise.copy()
    for block, targets, inputs in blocks:
        units = np.arange(block.w1.shape[1])
        w1[np.ix_(targets, units, inputs)] = block.w1
        b1[np.ix_(targets, units)], w2[np.ix_(targets, units)] = block.b1, block.w2
        b2[targets] = block.b2
    return network(w1, b1, w2, b2)


def _from_units(units: Scaling) -> AffineMap:
    """The map from (x − mean) / scale to x."""
    return AffineMap(torch.tensor(units.scale), torch.tensor(units.mean))
