"""The bottleneck solver: a few factors between every two layers, singled out by independence."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ucad._types import Progress, ProgressEvent
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.solvers.gaps import Gap, GapModel, assemble, gaps_of, held_out_nll, usable_rows
from ucad.solvers.independence import Axes, independent_axes
from ucad.solvers.status import FitResult, FitStatus

__all__ = ["BottleneckConfig", "fit_bottleneck"]


@dataclass(frozen=True, kw_only=True)
class BottleneckConfig:
    """The settings of the bottleneck solver.

    Attributes:
        factors_per_gap: how many factors lie in each gap; as many in each if None.
        hidden: tanh units of the decoder.
        epochs: passes over the samples.
        batch_size: samples a step.
        learning_rate: of Adam, falling to 0 along a cosine.
    """

    factors_per_gap: tuple[int, ...] | None = None
    hidden: int = 64
    epochs: int = 12
    batch_size: int = 2048
    learning_rate: float = 1e-2

    def __post_init__(self) -> None:
        for name in ("hidden", "epochs", "batch_size", "learning_rate"):
            if not getattr(self, name) > 0:
                raise InvalidInputError(
                    f"The '{name}' setting of BottleneckConfig must be above 0. "
                    f"Got {getattr(self, name)} instead."
                )


def fit_bottleneck(
    data: InterventionalData,
    n_factors: int,
    *,
    config: BottleneckConfig | None = None,
    validation: InterventionalData | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> FitResult:
    """Fits z = W x_l + b and x_{l+1} = F_X(z) + u in every gap between two layers.

    A dense layer makes every gap complete bipartite: any invertible map of a gap's factors explains
    the data as well, and there are no anchors to choose by. So the factors are found in two steps:

    1. W and F_X (one hidden layer of tanh) minimise Σ_j (x_j − F_X,j(W x_l + b))² over the samples
       in which no x_j of layer l + 1 is clamped. Errors are in the units the data were measured
       in: a unit that hardly varies hardly counts.
    2. The factors of a gap are turned to the axes of least kurtosis (`independent_axes`), the most
       two-valued first.

    Labels are not used, nor is anything beyond the next layer. O(samples · factors · hidden) an
    epoch.

    Args:
        data: samples of layered variables, standardised or not.
        n_factors: of all gaps together.
        config: the settings.
        validation: held-out samples in the same units; the data themselves if None.
        seed: of the start, the batches and the axes.
        progress: told after every epoch.
    """
    started, config = time.perf_counter(), config or BottleneckConfig()
    gaps = gaps_of(data, n_factors, config.factors_per_gap)
    measured = data.unstandardised()
    models, history, interrupted = [], [], False
    for number, gap in enumerate(gaps):
        gap_data = _GapData.of(measured, gap)
        training = _Training(gap_data, gap.n_factors, config, seed)
        if not interrupted:
            interrupted = training.run(progress, f"Gap {number + 1} of {len(gaps)}")
        model, axes = training.model()
        models.append(model)
        history.append(_row(number, gap_data, model, axes))
    scm = assemble(measured, gaps, models)
    if data.scaling is not None:
        scm = scm.in_standard_units(data.scaling)
    return FitResult(
        scm,
        _status(interrupted),
        held_out_nll(scm, data, validation),
        tuple(history),
        time.perf_counter() - started,
    )


class _GapData(NamedTuple):
    """The two sides of a gap, centred and divided by one number a layer."""

    x: Float[Tensor, "samples causes"]
    y: Float[Tensor, "samples effects"]
    is_observational: np.ndarray
    x_mean: Float[np.ndarray, " causes"]
    y_mean: Float[np.ndarray, " effects"]
    x_scale: float
    y_scale: float

    @classmethod
    def of(cls, data: InterventionalData, gap: Gap) -> _GapData:
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


class _Training:
    """Encoder and decoder of one gap while they are trained."""

    def __init__(self, data: _GapData, n_factors: int, config: BottleneckConfig, seed: int) -> None:
        self.data, self.config, self.seed = data, config, seed
        self.generator = torch.Generator().manual_seed(seed)
        n_effects = data.y.shape[1]
        start = _reduced_rank_regression(data.x, data.y, n_factors)
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
                for batch in range(batches):
                    rows = order[batch * config.batch_size : (batch + 1) * config.batch_size]
                    adam.zero_grad()
                    loss = ((self._decoded(self.data.x[rows]) - self.data.y[rows]) ** 2).mean()
                    loss.backward()  # type: ignore[no-untyped-call]
                    adam.step()
                    schedule.step()
                if progress is not None:
                    progress(ProgressEvent(stage, epoch + 1, config.epochs))
        except KeyboardInterrupt:
            return True
        return False

    @torch.no_grad()
    def model(self) -> tuple[GapModel, Axes]:
        """The trained gap in the units of the data, its factors turned to independent axes."""
        data = self.data
        A, W1, b1, W2, b2 = (part.detach().double().numpy() for part in self.parameters)
        z = data.x.double().numpy() @ A.T
        seen = data.is_observational if data.is_observational.sum() > 1 else slice(None)
        axes = independent_axes(z[seen], seed=self.seed)
        weight = axes.unmixing @ A / data.x_scale
        mixing = np.linalg.inv(axes.unmixing)
        effects = data.y.shape[1]
        error = ((self._decoded(data.x) - data.y) ** 2).mean(dim=0).sqrt().double().numpy()
        moves = (data.y.std(dim=0) > 0).numpy()[:, None]
        model = GapModel(
            weight=weight,
            bias=-axes.unmixing @ axes.mean - weight @ data.x_mean,
            w1=np.tile(W1 @ mixing, (effects, 1, 1)),
            b1=np.tile(b1 + W1 @ axes.mean, (effects, 1)),
            w2=np.where(moves, W2, 0.0) * data.y_scale,
            b2=data.y_mean + b2 * data.y_scale,
            noise_scale=error * data.y_scale,
        )
        return model, axes

    def _decoded(self, x: Tensor) -> Tensor:
        A, W1, b1, W2, b2 = self.parameters
        return torch.tanh(x @ (W1 @ A).T + b1) @ W2.T + b2

    def _normal(self, *shape: int) -> Tensor:
        return torch.randn(*shape, generator=self.generator)


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


def _row(number: int, data: _GapData, model: GapModel, axes: Axes) -> dict[str, float | int | str]:
    unexplained = (model.noise_scale / data.y_scale) ** 2
    return {
        "gap": number,
        "r2": float(1 - unexplained.mean()),
        "kurtosis": " ".join(f"{value:.2f}" for value in axes.kurtosis),
    }


def _status(interrupted: bool) -> FitStatus:
    note = (
        "Every gap is complete bipartite, so there are no anchors: the axes were chosen by "
        "independence (least kurtosis), which the paper's theorem does not cover."
    )
    if interrupted:
        reason = "Stopped before the end of training."
        return FitStatus(
            converged=False, feasible=True, interrupted=True, reason=reason, notes=(note,)
        )
    return FitStatus(
        converged=True, feasible=True, reason="Every gap was trained to the end.", notes=(note,)
    )
