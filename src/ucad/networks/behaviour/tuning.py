"""Tuning: read-outs and decoders improved by swaps inside the network, against its own answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ucad.networks.activation import Activation
from ucad.networks.behaviour.discrete_factors import ClassReadout, DecoderKind
from ucad.networks.behaviour.gap_fit import (
    GapData,
    GapModel,
    Quality,
    Swaps,
    fit_kind,
    quality,
)
from ucad.networks.decisions import decision_loss
from ucad.networks.passes import input_rows

__all__ = ["Decoded", "decode_gap", "tuned"]

N_STEPS = 200
"""Steps of Adam; on dense networks for A ∨ B agreement has settled after some hundred."""

BATCH = 256
"""Pairs per step and factor."""

LEARNING_RATE = 0.01
"""Of Adam, falling to 0 along a cosine; parameters are of order 1 in units of their spread."""

ERROR_WEIGHT = 0.3
"""Weight of the squared error of the next site, in its variance, beside the cross-entropy of
decisions: units that no decision depends on would drift without it."""


class Decoded(NamedTuple):
    """A gap's model, how good it is, and whether swaps inside the network improved it."""

    model: GapModel
    quality: Quality
    is_tuned: bool


def decode_gap(data: GapData, readouts: Sequence[ClassReadout]) -> Decoded:
    """The simplest decoder that keeps decisions and swaps as the network itself does.

    Affine, a table of the factors' values and the context, then a small network, as least squares
    give them. The first is taken for which decoding keeps 0.99 of the decisions and swaps agree as
    often; if there is none, each is improved by swaps inside the network, and the best is taken,
    all on inputs that no decoder was fitted to.
    """
    held_out = data.pairs(data.parts.validation)
    models = [fit_kind(data, readouts, kind) for kind in DecoderKind]
    fitted = []
    for model in models:
        if model is None:
            continue
        found = Decoded(model, quality(data, model, held_out), False)
        if found.quality.is_enough:
            return found
        fitted.append(found)
    swaps = data.pairs(data.parts.train, n_pairs=2000)
    best: Decoded | None = None
    for found in fitted:
        better = tuned(data, found.model, swaps)
        after = quality(data, better, held_out)
        if sum(after) > sum(found.quality):
            found = Decoded(better, after, True)
        if best is None or found.quality.is_better(best.quality):
            best = found
        if found.quality.is_enough:
            break
    assert best is not None, "an affine decoder can always be fitted"
    return best


def tuned(data: GapData, model: GapModel, swaps: list[Swaps]) -> GapModel:
    """The model after gradient steps through the network.

    The loss is the cross-entropy of decisions after a factor's swap against those that the network
    takes by itself, on a hybrid input or with the whole state swapped, and the squared error of
    the next site. What the decoder can compute stays what it was.
    """
    training = _Training(data, model, swaps)
    training.run()
    return training.model()


class _Training:
    """Parameters in single precision, in units of the spread of the units they act on."""

    def __init__(self, data: GapData, model: GapModel, swaps: list[Swaps]) -> None:
        self.data, self.start, self.swaps = data, model, swaps
        x, y, _ = data.units(data.parts.train)
        self.x_scale = _single(np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0))
        self.y_scale = _single(np.full(y.shape[1], max(float(y.std()), 1e-9)))
        decoder = model.decoder
        self.readouts = [
            [_single(one.direction) * self.x_scale, _single(one.offset)] for one in model.readouts
        ]
        self.decoder = [
            _single(decoder.w2) / self.y_scale[:, None],
            _single(decoder.b2) / self.y_scale,
            _single(decoder.linear) / self.y_scale[:, None],
        ]
        self.parameters = [part for pair in self.readouts for part in pair] + self.decoder
        for part in self.parameters:
            part.requires_grad_()
        self.cache = [self._tensors(one) for one in swaps]

    def run(self) -> None:
        adam = torch.optim.Adam(self.parameters, lr=LEARNING_RATE)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, N_STEPS)
        rng = np.random.default_rng(self.data.seed)
        for _ in range(N_STEPS):
            loss = torch.stack([self._loss(k, rng) for k in range(len(self.swaps))]).sum()
            gradients = torch.autograd.grad(loss, self.parameters, allow_unused=True)
            for part, gradient in zip(self.parameters, gradients, strict=True):
                part.grad = torch.zeros_like(part) if gradient is None else gradient
            adam.step()
            schedule.step()

    def model(self) -> GapModel:
        """The model with the parameters as they are now."""
        readouts = tuple(
            replace(
                one,
                direction=(direction / self.x_scale).detach().double().numpy(),
                offset=offset.detach().double().numpy(),
            )
            for one, (direction, offset) in zip(self.start.readouts, self.readouts, strict=True)
        )
        w2, b2, linear = self.decoder
        decoder = replace(
            self.start.decoder,
            w2=(w2 * self.y_scale[:, None]).detach().double().numpy(),
            b2=(b2 * self.y_scale).detach().double().numpy(),
            linear=(linear * self.y_scale[:, None]).detach().double().numpy(),
        )
        return replace(self.start, readouts=readouts, decoder=decoder)

    def _tensors(self, swaps: Swaps) -> tuple[Tensor, ...]:
        x, y, w = self.data.units(swaps.base)
        other = self.data.units(swaps.source)[0]
        return tuple(map(_single, (x, y, w, other)))

    def _loss(self, k: int, rng: np.random.Generator) -> Tensor:
        swaps, (x, y, w, other) = self.swaps[k], self.cache[k]
        rows = rng.integers(len(swaps.base), size=BATCH)
        at = torch.from_numpy(rows)
        z, new = self._factors(x[at]), self._factors(other[at])
        own = self._children(z, w[at])
        mixed = torch.cat([z[:, :k], new[:, k : k + 1], z[:, k + 1 :]], dim=1)
        child = self._children(mixed, w[at])
        subject = self.data.subject
        inputs = input_rows(subject.model, subject.inputs, swaps.base[rows])
        output = subject.output(inputs, self.data.site + 1, child)
        wanted = torch.from_numpy(swaps.expected[rows]).to(output.device)
        error = (((own - y[at]) / self.y_scale) ** 2).mean()
        return decision_loss(subject.decide, output, wanted) + ERROR_WEIGHT * error

    def _factors(self, x: Tensor) -> Tensor:
        columns = []
        for one, (direction, offset) in zip(self.start.readouts, self.readouts, strict=True):
            hidden = torch.tanh((x / self.x_scale) @ direction.T + offset)
            columns.append(hidden @ _single(one.gain) + one.shift)
        return torch.stack(columns, dim=1)

    def _children(self, z: Tensor, w: Tensor) -> Tensor:
        decoder, (w2, b2, linear) = self.start.decoder, self.decoder
        inputs = torch.cat([z, w], dim=1)
        hidden = torch.tanh(inputs @ _single(decoder.w1).T + _single(decoder.b1))
        made = (hidden @ w2.T + inputs @ linear.T + b2) * self.y_scale
        return made.clamp_min(0.0) if self.start.activation is Activation.RELU else made


def _single(values: np.ndarray) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)
