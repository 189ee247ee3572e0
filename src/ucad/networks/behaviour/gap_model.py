"""The model of gaps with discrete factors, and the `FactorSCM` that all of them make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ucad._types import VariableSamples
from ucad.data.context import Context
from ucad.networks.behaviour.discrete_factors import ClassReadout, Decoder
from ucad.scm import FactorSCM, MLPMechanism
from ucad.solvers.layered.pair_model import PairModel, assemble, network, straight_units

__all__ = ["Gap", "assemble_gaps"]


@dataclass(frozen=True, eq=False)
class Gap:
    """Factors between two layers.

    Attributes:
        causes: columns of the earlier layer.
        effects: columns of the later one.
        readouts: one per factor.
        decoder: from factors and covariates to the effects.
        average: the same without covariates.
        covariates: columns of the context that the decoder takes.
        noise_scale: what it leaves of every effect.
    """

    causes: Int[np.ndarray, " causes"]
    effects: Int[np.ndarray, " effects"]
    readouts: tuple[ClassReadout, ...]
    decoder: Decoder
    average: Decoder
    covariates: Int[np.ndarray, " covariates"]
    noise_scale: Float[np.ndarray, " effects"]


def assemble_gaps(
    x: VariableSamples,
    names: tuple[str, ...],
    gaps: Sequence[Gap],
    context: Context | None = None,
) -> FactorSCM:
    """One `FactorSCM` of all gaps; variables that no gap makes are roots.

    Args:
        x: samples, for the mean and spread of roots.
        names: of the variables.
        gaps: with at least one factor each.
        context: the covariates that decoders may take.
    """
    models = [
        PairModel(
            gap.causes,
            gap.effects,
            encoder=_encoder(gap.readouts),
            decoder=_decoder(gap.decoder),
            noise_scale=gap.noise_scale,
            covariates=gap.covariates,
            average=_decoder(gap.average),
        )
        for gap in gaps
    ]
    return assemble(x, names, models, context)


def _encoder(readouts: Sequence[ClassReadout]) -> MLPMechanism:
    """F_Z; a factor with fewer tanh units than another has some that do nothing."""
    hidden = max(len(one.offset) for one in readouts)
    w1 = np.zeros((len(readouts), hidden, readouts[0].direction.shape[1]))
    b1, w2 = np.zeros(w1.shape[:2]), np.zeros(w1.shape[:2])
    for k, one in enumerate(readouts):
        h = len(one.offset)
        w1[k, :h], b1[k, :h], w2[k, :h] = one.direction, one.offset, one.gain
    return network(w1, b1, w2, np.array([one.shift for one in readouts]))


def _decoder(decoder: Decoder) -> MLPMechanism:
    """F_X; all effects share hidden units, and an affine part is one more, nearly straight.

    Factors and covariates are codes of order 1, and so is the affine part for |linear| of 1.
    """
    n_effects = len(decoder.b2)
    slope, gain = straight_units(decoder.linear, np.ones(n_effects))
    w1 = np.concatenate([np.tile(decoder.w1, (n_effects, 1, 1)), slope[:, None]], axis=1)
    b1 = np.tile(np.r_[decoder.b1, 0.0], (n_effects, 1))
    return network(w1, b1, np.c_[decoder.w2, gain], decoder.b2)
