"""The training of one gap: a linear encoder, perhaps beside a switch, and a decoder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ucad._types import Progress, ProgressEvent
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.solvers.gaps import Gap, usable_rows
from ucad.solvers.switches import Switch, SwitchSearch

__all__ = ["BottleneckConfig", "GapData", "GapTraining", "Readout"]

Readout: TypeAlias = Callable[[Tensor], Tensor]
"""From the units of a layer to the network's output (logits), with gradients."""


@dataclass(frozen=True, kw_only=True)
class BottleneckConfig:
    """The settings of the bottleneck solver.

    Attributes:
        factors_per_gap: how many factors lie in each gap; as many in each if None.
        hidden: tanh units of the decoder.
        epochs: passes over the samples.
        batch_size: samples a step.
        learning_rate: of Adam, falling to 0 along a cosine.
        switch: how to look for a two-valued factor in every gap before the others; not if None.
        readouts: for every gap, from the later layer's units, as they were measured, to the
            network's logits. F_X(z) may be negative: begin with the layer's own ReLU.
        behaviour_weight: of the cross-entropy of decisions, where there are readouts.
    """

    factors_per_gap: tuple[int, ...] | None = None
    hidden: int = 64
    epochs: int = 12
    batch_size: int = 2048
    learning_rate: float = 1e-2
    switch: SwitchSearch | None = None
    readouts: tuple[Readout, ...] | None = None
    behaviour_weight: float = 0.5

    def __post_init__(self) -> None:
        for name in ("hidden", "epochs", "batch_size", "learning_rate", "behaviour_weight"):
            if not getattr(self, name) > 0:
                raise InvalidInputError(
                    f"The '{name}' setting of BottleneckConfig must be above 0. "
                    f"Got {getattr(self, name)} instead."
                )


class GapData(NamedTuple):
    """The two sides of a gap, centred and divided by one number a layer."""

    x: Float[Tensor, "samples causes"]
    y: Float[Tensor, "samples effects"]
    is_observational: Bool[np.ndarray, " samples"]
    x_mean: Float[np.ndarray, " causes"]
    y_mean: Float[np.ndarray, " effects"]
    x_scale: float
    y_scale: float

    @classmethod
    def of(cls, data: InterventionalData, gap: Gap) -> GapData:
        """The samples in which no effect is clamped."""
        rows = usable_rows(data, gap)
        x, y = data.x[np.ix_(rows, gap.causes)], data.x[np.ix_(rows, gap.effects)]
        x_mean, y_mean = x.mean(axis=0), y.mean(axis=0)
        x_scale = float(np.sqrt(x.var(axis=0).mean())) or 1.0
        y_scale = float(np.sqrt(y.var(axis=0).mean())) or 1.0
        return cls(
            torch.tensor((x - x_mean) / x_scale, dtype=torch.float32),
            torch.tensor((y - y_mean) / y_scale, dtype=torch.float32),
            ~data.is_intervened[rows].any(axis=1),
            x_mean,
            y_mean,
            x_scale,
            y_scale,
        )

    @property
    def seen(self) -> Int[np.ndarray, " rows"]:
        """The observational samples; all samples if there are none."""
        rows = np.flatnonzero(self.is_observational)
        return rows if len(rows) > 1 else np.arange(len(self.x))


class GapTraining:
    """Encoder and decoder of one gap while they are trained.

    The factors are z = (s, A x), with s the values of the switch if there is one, and
    F_X(z) = W2 tanh(W1 z + b1) + b2. `parameters` are A, W1, b1, W2 and b2.
    """

    def __init__(
        self,
        data: GapData,
        n_factors: int,
        config: BottleneckConfig,
        seed: int,
        switch: Switch | None = None,
        readout: Readout | None = None,
    ) -> None:
        self.data, self.config, self.seed, self.switch = data, config, seed, switch
        self.generator = torch.Generator().manual_seed(seed)
        s = np.zeros((len(data.x), 0)) if switch is None else switch(data.x.numpy())[:, None]
        self.s = torch.tensor(s, dtype=torch.float32)
        self.readout, self.own = readout, torch.empty(0)
        if readout is not None:
            with torch.no_grad():
                self.own = readout(self._measured(data.y)).reshape(len(data.y), -1)
        n_effects = data.y.shape[1]
        start = _reduced_rank_regression(data.x, self._unexplained(), n_factors - s.shape[1])
        self.parameters = [
            start.requires_grad_(),
            self._normal(config.hidden, n_factors).requires_grad_(),
            self._normal(config.hidden).requires_grad_(),
            (0.3 * self._normal(n_effects, config.hidden) / config.hidden**0.5).requires_grad_(),
            torch.zeros(n_effects, requires_grad=True),
        ]

    def run(self, progress: Progress | None, stage: str) -> bool:
        """Trains; returns whether somebody stopped it."""
        config, n_samples = self.config, len(self.data.x)
        batches = -(-n_samples // config.batch_size)
        adam = torch.optim.Adam(self.parameters, lr=config.learning_rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, config.epochs * batches)
        try:
            for epoch in range(config.epochs):
                order = torch.randperm(n_samples, generator=self.generator)
                for rows in torch.split(order, config.batch_size):
                    # Only our own gradients: the .grad of a readout's weights is left alone.
                    gradients = torch.autograd.grad(self._loss(rows), self.parameters)
                    for part, gradient in zip(self.parameters, gradients, strict=True):
                        part.grad = gradient
                    adam.step()
                    schedule.step()
                if progress is not None:
                    progress(ProgressEvent(stage, epoch + 1, config.epochs))
        except KeyboardInterrupt:
            return True
        return False

    @torch.no_grad()
    def factors(self) -> Float[np.ndarray, "samples factors"]:
        """Z = (s, A x) of all samples."""
        return self._encoded(torch.arange(len(self.s))).double().numpy()

    @torch.no_grad()
    def errors(self) -> Float[np.ndarray, " effects"]:
        """The root mean squared error of every effect."""
        decoded = self._decoded(self._encoded(torch.arange(len(self.s))))
        return ((decoded - self.data.y) ** 2).mean(dim=0).sqrt().double().numpy()

    def _encoded(self, rows: Tensor) -> Tensor:
        return torch.cat([self.s[rows], self.data.x[rows] @ self.parameters[0].T], dim=1)

    def _decoded(self, z: Tensor) -> Tensor:
        _, W1, b1, W2, b2 = self.parameters
        return torch.tanh(z @ W1.T + b1) @ W2.T + b2

    def _loss(self, rows: Tensor) -> Tensor:
        """The mean squared error, and the cross-entropy of decisions if there is a readout.

        Half of the samples are decoded, F_X(z); the other half get all factors of their neighbour
        in the batch, y + F_X(z′) − F_X(z). Both must then decide as the network does on the sample
        that the factors are of. Any invertible map of the factors leaves this as it is.
        """
        y, decoded = self.data.y[rows], self._decoded(self._encoded(rows))
        error = ((decoded - y) ** 2).mean()
        if self.readout is None:
            return error
        half = len(rows) // 2
        given = decoded[half:].roll(1, dims=0)
        units = torch.cat([decoded[:half], y[half:] - decoded[half:] + given])
        own = torch.cat([self.own[rows[:half]], self.own[rows[half:].roll(1, dims=0)]])
        output = self.readout(self._measured(units)).reshape(own.shape)
        return error + self.config.behaviour_weight * _cross_entropy(output, own)

    def _measured(self, y: Tensor) -> Tensor:
        return y * self.data.y_scale + torch.tensor(self.data.y_mean, dtype=y.dtype)

    def _unexplained(self) -> Tensor:
        """What of the effects a linear map of the switch leaves."""
        if self.switch is None:
            return self.data.y
        s = self.s - self.s.mean(dim=0)
        return self.data.y - s @ (s.T @ self.data.y) / (s**2).sum()

    def _normal(self, *shape: int) -> Tensor:
        return torch.randn(*shape, generator=self.generator)


def _cross_entropy(
    output: Float[Tensor, "rows outputs"], own: Float[Tensor, "rows outputs"]
) -> Float[Tensor, ""]:
    """Of decisions by given logits, where the network's own logits say how sure it is."""
    if own.shape[1] == 1:
        return nn.functional.binary_cross_entropy_with_logits(output, torch.sigmoid(own))
    return nn.functional.cross_entropy(output, torch.softmax(own, dim=1))


def _reduced_rank_regression(x: Tensor, y: Tensor, rank: int) -> Float[Tensor, "rank causes"]:
    """The rows A that explain y best by a linear map of A x, with A x uncorrelated."""
    x, y = x.double(), y.double()
    covariance = x.T @ x / len(x)
    values, vectors = torch.linalg.eigh(covariance)
    keep = values > 1e-6 * values.max()
    whitening = vectors[:, keep] / values[keep].sqrt()
    left = torch.linalg.svd(whitening.T @ (x.T @ y) / len(x), full_matrices=False).U
    A = (whitening @ left[:, :rank]).T
    start = torch.zeros(rank, x.shape[1], dtype=A.dtype)
    start[: len(A)] = A
    return start.float()
