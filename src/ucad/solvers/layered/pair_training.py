"""The training of one pair of layers: a linear encoder, perhaps a binary factor, and a decoder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from ucad._types import Progress, ProgressEvent
from ucad.errors import check_setting
from ucad.solvers.budget import Budget
from ucad.solvers.layered.binary_factors import BinaryFactor, BinaryFactorSearch
from ucad.solvers.layered.layer_pairs import PairData
from ucad.solvers.registry import Readout

__all__ = ["BottleneckConfig", "PairTraining", "Readout"]

RANK_TOLERANCE = 1e-6
"""Directions of the causes with a smaller share of the largest variance (no unit) do not enter the
starting point: single precision carries seven digits."""

DECODER_START_SCALE = 0.3
"""Standard deviation of a decoded effect at the start, in units of `PairData`: small beside the
effect's own, so that the first steps build up the decoder instead of taking it down."""


@dataclass(frozen=True, kw_only=True)
class BottleneckConfig:
    """The settings of the bottleneck solver.

    Attributes:
        factors_per_pair: how many factors lie in each pair of layers; equally many if None.
        hidden: tanh units of the decoder.
        epochs: passes over the samples.
        batch_size: samples per step.
        learning_rate: rate of Adam at the start, falling to 0 along a cosine.
        binary_factor: how to look for a two-valued factor in every pair before the others; there
            is no such search if None.
        readouts: for every pair, the map from the later layer's units, as they were measured, to
            the network's logits. F_X(z) may be negative: begin with the layer's own ReLU.
        behaviour_weight: weight of the cross-entropy of decisions, where there are readouts.
    """

    factors_per_pair: tuple[int, ...] | None = None
    hidden: int = 64
    epochs: int = 12
    batch_size: int = 2048
    learning_rate: float = 1e-2
    binary_factor: BinaryFactorSearch | None = None
    readouts: tuple[Readout, ...] | None = None
    behaviour_weight: float = 0.5

    def __post_init__(self) -> None:
        for name in ("hidden", "epochs", "batch_size", "learning_rate", "behaviour_weight"):
            check_setting(self, name, getattr(self, name) > 0, "above 0")


class PairTraining:
    """Encoder and decoder of one pair while they are trained, in single precision.

    The factors are z = (s, A x), with s the binary factor if there is one, and
    F_X(z, w) = W2 tanh(W1 (z, w) + b1) + b2, with w the context if there is one. `parameters` are
    A, W1, b1, W2 and b2.
    """

    def __init__(
        self,
        data: PairData,
        n_factors: int,
        config: BottleneckConfig,
        seed: int,
        binary: BinaryFactor | None = None,
        readout: Readout | None = None,
    ) -> None:
        self.data, self.config, self.seed, self.binary = data, config, seed, binary
        self.readout = readout
        self.x, self.y, self.w = _single(data.x), _single(data.y), _single(data.w)
        s = np.zeros((len(data.x), 0)) if binary is None else binary(data.x)[:, None]
        self.s = _single(s)
        self.measured_mean, self.measured_scale = map(_single, data.measured)
        with torch.no_grad():
            empty = torch.empty(len(self.y), 0)
            self.decisions = empty if readout is None else self._decisions(self.y)
        self.generator = torch.Generator().manual_seed(seed)
        start = _reduced_rank_regression(self.x, self._unexplained(), n_factors - s.shape[1])
        self.parameters = [start, *self._decoder_start(n_factors + self.w.shape[1])]
        for part in self.parameters:
            part.requires_grad_()

    def run(self, progress: Progress | None, stage: str, budget: Budget | None = None) -> bool:
        """Trains until the last epoch or the end of the budget; returns if the user stopped it."""
        config, n_samples = self.config, len(self.x)
        n_batches = -(-n_samples // config.batch_size)
        adam = torch.optim.Adam(self.parameters, lr=config.learning_rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, config.epochs * n_batches)
        budget = Budget() if budget is None else budget
        try:
            for epoch in range(config.epochs):
                order = torch.randperm(n_samples, generator=self.generator)
                for rows in torch.split(order, config.batch_size):
                    if budget.is_over:
                        return False
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
        """Returns z = (s, A x) of all samples."""
        return self._encoded(torch.arange(len(self.s))).double().numpy()

    @torch.no_grad()
    def errors(self) -> Float[np.ndarray, " effects"]:
        """Returns the root mean squared error of every effect."""
        decoded = self._decoded(self._encoded(torch.arange(len(self.s))), self.w)
        return ((decoded - self.y) ** 2).mean(dim=0).sqrt().double().numpy()

    def weights(self) -> tuple[np.ndarray, ...]:
        """Returns A, W1, b1, W2 and b2 in double precision."""
        return tuple(part.detach().double().numpy() for part in self.parameters)

    def _encoded(self, rows: Tensor) -> Tensor:
        return torch.cat([self.s[rows], self.x[rows] @ self.parameters[0].T], dim=1)

    def _decoded(self, z: Tensor, w: Tensor) -> Tensor:
        _, W1, b1, W2, b2 = self.parameters
        return torch.tanh(torch.cat([z, w], dim=1) @ W1.T + b1) @ W2.T + b2

    def _loss(self, rows: Tensor) -> Tensor:
        """Returns the mean squared error, plus the cross-entropy of decisions with a readout.

        Half of the samples are decoded, F_X(z); the other half get all factors of their neighbour
        in the batch, y + F_X(z′) − F_X(z). Both must then decide as the network does on the sample
        that the factors come from. Any invertible map of the factors leaves this unchanged.
        """
        y, decoded = self.y[rows], self._decoded(self._encoded(rows), self.w[rows])
        error = ((decoded - y) ** 2).mean()
        if self.readout is None:
            return error
        half = len(rows) // 2
        given = decoded[half:].roll(1, dims=0)
        units = torch.cat([decoded[:half], y[half:] - decoded[half:] + given])
        own = self.decisions[torch.cat([rows[:half], rows[half:].roll(1, dims=0)])]
        entropy = _cross_entropy(self._decisions(units), own)
        return error + self.config.behaviour_weight * entropy

    def _decisions(self, y: Float[Tensor, "rows effects"]) -> Float[Tensor, "rows outputs"]:
        assert self.readout is not None, "only a network with a readout decides"
        return self.readout(y * self.measured_scale + self.measured_mean).reshape(len(y), -1)

    def _unexplained(self) -> Float[Tensor, "samples effects"]:
        """Returns what a linear map of the binary factor and the context leaves of the effects."""
        known = torch.cat([self.s - self.s.mean(dim=0), self.w], dim=1)
        if not known.shape[1]:
            return self.y
        return self.y - known @ (torch.linalg.pinv(known) @ self.y)

    def _decoder_start(self, n_inputs: int) -> list[Tensor]:
        hidden, n_effects = self.config.hidden, self.y.shape[1]

        def normal(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=self.generator)

        W1, b1 = normal(hidden, n_inputs), normal(hidden)
        W2 = DECODER_START_SCALE * normal(n_effects, hidden) / hidden**0.5
        return [W1, b1, W2, torch.zeros(n_effects)]


def _single(values: np.ndarray) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)


def _cross_entropy(
    output: Float[Tensor, "rows outputs"], own: Float[Tensor, "rows outputs"]
) -> Float[Tensor, ""]:
    """Compares decisions with the network's own, whose logits say how sure it is."""
    if own.shape[1] == 1:
        return nn.functional.binary_cross_entropy_with_logits(output, torch.sigmoid(own))
    return nn.functional.cross_entropy(output, torch.softmax(own, dim=1))


def _reduced_rank_regression(x: Tensor, y: Tensor, rank: int) -> Float[Tensor, "rank causes"]:
    """Returns the rows A that explain y best by a linear map of A x, with A x uncorrelated."""
    x, y = x.double(), y.double()
    values, vectors = torch.linalg.eigh(x.T @ x / len(x))
    keep = values > RANK_TOLERANCE * values.max()
    whitening = vectors[:, keep] / values[keep].sqrt()
    left = torch.linalg.svd(whitening.T @ (x.T @ y) / len(x), full_matrices=False).U
    A = (whitening @ left[:, :rank]).T
    start = torch.zeros(rank, x.shape[1], dtype=A.dtype)
    start[: len(A)] = A
    return start.float()
