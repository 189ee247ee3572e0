"""The model of gaps with discrete factors, and the `FactorSCM` that all of them make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int

from ucad._types import VariableSamples
from ucad.data.context import Context
from ucad.graph import FactorGraph
from ucad.scm import ContextEffect, FactorSCM, MLPMechanism
from ucad.solvers.layered.discrete_factors import ClassReadout, Decoder

__all__ = ["Gap", "assemble_gaps"]

STRAIGHT = 1e-4
"""Slope ε of the tanh that stands for the affine part of a decoder, tanh(ε v) / ε."""


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
    factor_names: tuple[str, ...] = (),
) -> FactorSCM:
    """One `FactorSCM` of all gaps; variables that no gap makes are roots.

    Args:
        x: samples, for the mean and spread of roots.
        names: of the variables.
        gaps: with at least one factor each.
        context: the covariates that decoders may take.
        factor_names: Z1, Z2, … if not given.
    """
    n, m = len(names), sum(len(gap.readouts) for gap in gaps)
    F_Z, mean = _factor_mechanism(gaps, n, m), x.mean(axis=0)
    F_X = _variable_mechanism([(gap.average, gap) for gap in gaps], (n, m, 0), mean)
    noise = x.std(axis=0)
    for gap in gaps:
        noise[gap.effects] = gap.noise_scale
    effect = None
    if context is not None:
        joint = [(gap.decoder, gap) for gap in gaps]
        effect = ContextEffect(
            context.names,
            torch.tensor(context.values.mean(axis=0)),
            torch.zeros(n, len(context.names), dtype=torch.float64),
            joint=_variable_mechanism(joint, (n, m, len(context.names)), mean),
        )
    Q = np.asarray(F_Z.uses().numpy() != 0).T
    R = np.asarray(F_X.uses().numpy() != 0)
    if effect is not None and effect.joint is not None:
        R |= np.asarray(effect.joint.uses().numpy() != 0)[:, :m]
    graph = FactorGraph(Q, R, variable_names=names, **_named(factor_names))
    return FactorSCM(graph, F_Z, F_X, torch.tensor(noise), context=effect)


def _named(factor_names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {"factor_names": factor_names} if factor_names else {}


def _factor_mechanism(gaps: Sequence[Gap], n: int, m: int) -> MLPMechanism:
    hidden = max(len(one.offset) for gap in gaps for one in gap.readouts)
    w1, b1, w2 = np.zeros((m, hidden, n)), np.zeros((m, hidden)), np.zeros((m, hidden))
    b2 = np.zeros(m)
    for gap, own in _with_factors(gaps):
        for k, one in zip(own, gap.readouts, strict=True):
            h = len(one.offset)
            w1[np.ix_([k], np.arange(h), gap.causes)] = one.direction[None]
            b1[k, :h], w2[k, :h], b2[k] = one.offset, one.gain, one.shift
    return MLPMechanism(*map(torch.tensor, (w1, b1, w2, b2)))


def _variable_mechanism(
    decoders: Sequence[tuple[Decoder, Gap]],
    sizes: tuple[int, int, int],
    mean: Float[np.ndarray, " variables"],
) -> MLPMechanism:
    """F_X of all gaps, of factors and then covariates; an affine part is a nearly straight unit."""
    n, m, c = sizes
    hidden = 1 + max(len(decoder.b1) for decoder, _ in decoders)
    w1, b1, w2 = np.zeros((n, hidden, m + c)), np.zeros((n, hidden)), np.zeros((n, hidden))
    b2 = mean.copy()
    owns = [own for _, own in _with_factors([gap for _, gap in decoders])]
    for (decoder, gap), own in zip(decoders, owns, strict=True):
        columns = np.r_[own, m + gap.covariates] if c else own
        h = len(decoder.b1)
        w1[np.ix_(gap.effects, np.arange(h), columns)] = decoder.w1
        b1[gap.effects, :h] = decoder.b1
        w2[gap.effects, :h], b2[gap.effects] = decoder.w2, decoder.b2
        if decoder.linear.any():
            w1[np.ix_(gap.effects, np.array([hidden - 1]), columns)] = (
                STRAIGHT * decoder.linear[:, None]
            )
            w2[gap.effects, hidden - 1] = 1 / STRAIGHT
    return MLPMechanism(*map(torch.tensor, (w1, b1, w2, b2)))


def _with_factors(gaps: Sequence[Gap]) -> Iterator[tuple[Gap, Int[np.ndarray, " factors"]]]:
    first = 0
    for gap in gaps:
        yield gap, np.arange(first, first + len(gap.readouts))
        first += len(gap.readouts)
