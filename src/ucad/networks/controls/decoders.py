"""Decoders F_X of many readings at once: the same class, the same samples, the same training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ucad.networks.behaviour.discrete_factors import (
    ClassReadout,
    Decoder,
    DecoderKind,
    fit_decoder,
    hidden_layer,
)

__all__ = ["Decoders", "Tables", "fit_decoders", "fit_tables"]

HIDDEN = 64
"""Tanh units of a decoder, as many as the bottleneck solver has."""

N_STEPS, BATCH, LEARNING_RATE = 300, 256, 1e-2
"""Steps of Adam, samples per step and its rate at the start, which falls to 0 along a cosine: the
bottleneck solver's rate, and its number of steps on a recording of 50,000 samples."""

RIDGE = 1e-3
"""The penalty of the least-squares start, in units of the variance of a tanh unit."""

STEEPNESS = (0.5, 4.0)
"""The smallest and the largest weight scale of tanh units at the start, per standard deviation of a
factor: from nearly linear to a step, spread evenly on a logarithmic scale."""


@dataclass(frozen=True, eq=False)
class Decoders:
    """F_b(z, w) = W₂ tanh(W₁ (z, w) + b₁) + W₃ (z, w) + b₂ for every reading b.

    A linear decoder has no tanh units.

    Attributes:
        mean: of the inputs (z, w) of each decoder.
        scale: their standard deviations.
        w1: weights of the tanh units.
        b1: their shifts.
        w2: weights of the tanh units and, after them, of the inputs themselves.
        b2: shifts of the outputs.
        r_squared: how much of the variance of the units each explains, on the samples it was
            trained on.
    """

    mean: Float[Tensor, "readings 1 inputs"]
    scale: Float[Tensor, "readings 1 inputs"]
    w1: Float[Tensor, "readings inputs hidden"]
    b1: Float[Tensor, "readings 1 hidden"]
    w2: Float[Tensor, "readings features units"]
    b2: Float[Tensor, "readings 1 units"]
    r_squared: tuple[float, ...] = ()

    def one(
        self, reading: int, z: Float[Tensor, "rows factors"], w: Tensor | None = None
    ) -> Float[Tensor, "rows units"]:
        """The units that one decoder makes of factors."""
        v = z if w is None else torch.cat([z, w], dim=1)
        b = slice(reading, reading + 1)
        v = (v.float()[None] - self.mean[b]) / self.scale[b]
        features = torch.cat([torch.tanh(v @ self.w1[b] + self.b1[b]), v], dim=2)
        return (features @ self.w2[b] + self.b2[b])[0].double()


@dataclass(frozen=True, eq=False)
class Tables:
    """Decoders of factors with two values: the mean units of every cell of factors and context.

    Attributes:
        each: one decoder per reading.
        r_squared: how much of the variance of the units each explains.
    """

    each: tuple[Decoder, ...]
    r_squared: tuple[float, ...]

    def one(
        self, reading: int, z: Float[Tensor, "rows factors"], w: Tensor | None = None
    ) -> Float[Tensor, "rows units"]:
        """The units that one table makes of factors."""
        v = z if w is None else torch.cat([z, w], dim=1)
        return torch.from_numpy(self.each[reading](v.numpy()))


def fit_tables(
    z: Float[np.ndarray, "readings samples factors"],
    y: Float[np.ndarray, "samples units"],
    w: Float[np.ndarray, "samples covariates"],
) -> Tables | None:
    """A table for every reading, whose factors are −1 or 1; None if it would have too many cells.

    The same tables as those that the solver `behaviour` decodes by.
    """
    layer = hidden_layer(DecoderKind.TABLE, [_CODE] * z.shape[2], w)
    if layer is None:
        return None
    each = tuple(fit_decoder(DecoderKind.TABLE, layer, np.c_[one, w], y) for one in z)
    total = max(float(y.var(axis=0).mean()), float(np.finfo(float).tiny))
    errors = [((one(np.c_[v, w]) - y) ** 2).mean() for one, v in zip(each, z, strict=True)]
    return Tables(each, tuple(float(1 - error / total) for error in errors))


_CODE = ClassReadout(np.ones((1, 1)), np.zeros(1), np.ones(1), 0.0, 2)
"""A factor that is read already, with two values."""


@torch.no_grad()
def _features(v: Tensor, w1: Tensor, b1: Tensor) -> Tensor:
    return torch.cat([torch.tanh(v @ w1 + b1), v], dim=2)


def fit_decoders(
    z: Float[Tensor, "readings samples factors"],
    y: Float[Tensor, "samples units"],
    w: Float[Tensor, "samples covariates"] | None = None,
    *,
    linear: bool = False,
    seed: int = 0,
) -> Decoders:
    """Trains a decoder from every reading to the same units, all in one go.

        min Σ_b Σ_i ‖y_i − F_b(z_bi, w_i)‖²

    The tanh units start at random, of different steepness, and the rest at its least-squares
    values; then all are trained by Adam. O(readings · batch · hidden · units) per step.

    Args:
        z: the factors of each reading.
        y: the units, the same for all.
        w: the context, the same for all.
        linear: whether the decoders have no tanh units.
        seed: random seed of the start and of the batches.
    """
    generator = torch.Generator().manual_seed(seed)
    v = z if w is None else torch.cat([z, w.expand(len(z), -1, -1)], dim=2)
    mean, spread = v.mean(dim=1, keepdim=True), v.std(dim=1, keepdim=True, correction=0)
    scale = torch.where(spread > 0, spread, 1.0)
    v, y = ((v - mean) / scale).float(), y.float()
    hidden, (n_readings, _, width) = 0 if linear else HIDDEN, v.shape
    low, high = (torch.tensor(end).log() for end in STEEPNESS)
    steep = torch.exp(low + (high - low) * torch.linspace(0, 1, hidden))
    w1 = torch.randn(n_readings, width, hidden, generator=generator) * steep / width**0.5
    b1 = torch.randn(n_readings, 1, hidden, generator=generator) * steep
    w2, b2 = _least_squares(_features(v, w1, b1), y)
    parameters = (w1, b1, w2, b2)
    if not linear:
        _train(parameters, v, y, generator)
    with torch.no_grad():
        made = _features(v, w1, b1) @ w2 + b2
        error = ((made - y) ** 2).mean(dim=(1, 2))
        total = y.var(dim=0, correction=0).mean().clamp_min(torch.finfo(y.dtype).tiny)
    explained = tuple((1 - error / total).tolist())
    w1, b1, w2, b2 = (part.detach() for part in parameters)
    return Decoders(mean.float(), scale.float(), w1, b1, w2, b2, explained)


def _least_squares(
    features: Float[Tensor, "readings samples features"], y: Float[Tensor, "samples units"]
) -> tuple[Float[Tensor, "readings features units"], Float[Tensor, "readings 1 units"]]:
    """Ridge regression with an intercept, one per reading."""
    centre, middle = features.mean(dim=1, keepdim=True), y.mean(dim=0)
    a, b = (features - centre).double(), (y - middle).double()
    gram = a.transpose(1, 2) @ a / len(y)
    gram = gram + RIDGE * torch.eye(gram.shape[1], dtype=gram.dtype)
    weights = torch.linalg.solve(gram, a.transpose(1, 2) @ b / len(y)).float()
    return weights, middle - centre @ weights


def _train(
    parameters: tuple[Tensor, ...], v: Tensor, y: Tensor, generator: torch.Generator
) -> None:
    """Adam from the least-squares start; every reading has its own share of the loss."""
    scale = y.std(dim=0, correction=0).square().mean().clamp_min(torch.finfo(y.dtype).tiny)
    for part in parameters:
        part.requires_grad_()
    adam = torch.optim.Adam(parameters, lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, N_STEPS)
    w1, b1, w2, b2 = parameters
    for _ in range(N_STEPS):
        rows = torch.randint(len(y), (min(BATCH, len(y)),), generator=generator)
        batch = v[:, rows]
        made = torch.cat([torch.tanh(batch @ w1 + b1), batch], dim=2) @ w2 + b2
        loss = ((made - y[rows]) ** 2).mean(dim=(1, 2)).sum() / scale
        for part, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            part.grad = gradient
        adam.step()
        schedule.step()
