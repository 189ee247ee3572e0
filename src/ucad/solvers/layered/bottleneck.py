"""The bottleneck solver: a few factors between every two layers, singled out by independence."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float

from ucad._types import Progress
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.scm import LinearMechanism, MLPMechanism
from ucad.solvers.budget import Budget
from ucad.solvers.layered.binary_factors import MAX_KURTOSIS, BinaryFactor, two_valued_direction
from ucad.solvers.layered.fit_pairs import PairFit, fit_pairs
from ucad.solvers.layered.independence import excess_kurtosis, independent_axes
from ucad.solvers.layered.layer_pairs import PairData, layer_pairs
from ucad.solvers.layered.pair_model import PairModel, network, straight_units
from ucad.solvers.layered.pair_training import BottleneckConfig, PairTraining, Readout
from ucad.solvers.status import FitResult, FitStatus

__all__ = ["BottleneckConfig", "Readout", "fit_bottleneck"]

STATUS = FitStatus(
    converged=True,
    feasible=True,
    reason="Every pair of layers was trained to the end.",
    notes=(
        "Every pair of layers is complete bipartite, so there are no anchors: the axes were chosen "
        "by independence (least kurtosis), which the paper's theorem does not cover.",
    ),
)
"""Of every fit that was done."""

MAX_CLUSTERED_SAMPLES = 20_000
"""Samples in which two clusters are looked for. The direction between them needs a few samples per
unit of the layer, and each round costs samples · units²."""


def fit_bottleneck(  # noqa: PLR0913  (the entry point: everything a user may say about one fit)
    data: InterventionalData,
    n_factors: int,
    *,
    config: BottleneckConfig | None = None,
    validation: InterventionalData | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    max_seconds: float | None = None,
) -> FitResult:
    """Fits z = W x_l + b and x_{l+1} = F_X(z) + u in every pair of consecutive layers.

    A dense layer makes every pair complete bipartite: any invertible map of its factors explains
    the data as well, and there are no anchors to choose by. So the factors are found in two steps:

    With a context w, such as the next input of a recurrent network, it is F_X(z, w).

    1. W and F_X (one hidden layer of tanh) minimise Σ_j (x_j − F_X,j(W x_l + b))² over the samples
       in which no x_j of layer l + 1 is clamped. Errors are in the units the data were measured
       in: a unit that hardly varies hardly counts.
    2. The factors of a pair are rotated to the axes of least kurtosis (`independent_axes`), the
       most two-valued first.

    With the setting `binary_factor`, a two-valued factor comes first: the axes of a first
    bottleneck are improved among all units (`two_valued_direction`), and the most two-valued of
    these directions is put through a steep tanh. The other factors are then trained beside it, and
    made uncorrelated with it; a pair without such an axis is fitted as above. With `readouts`,
    small errors that matter to the network count too: its decisions from F_X(z) must be those it
    takes itself, which is a measurement, not a label.

    Nothing else beyond the next layer is used. O(samples · factors · hidden) per epoch.

    Args:
        data: samples of layered variables, standardised or not.
        n_factors: number of factors of all pairs together.
        config: the settings.
        validation: held-out samples in the same units; the data themselves if None.
        seed: random seed of the start, the batches and the axes.
        progress: called after every epoch.
        max_seconds: limit on the time of the fit; layers that it does not reach keep the factors
            of a linear regression.
    """
    budget, config = Budget(max_seconds), config or BottleneckConfig()
    pairs = layer_pairs(data, n_factors, config.factors_per_pair)
    readouts = config.readouts or (None,) * len(pairs)
    if len(readouts) != len(pairs):
        raise InvalidInputError(
            "The 'readouts' setting of BottleneckConfig must have one entry per pair of layers, "
            f"{len(pairs)}. Got {len(readouts)} instead."
        )

    def fit_pair(number: int, data: PairData, stopped: bool) -> PairFit:
        stage = f"Pair of layers {number + 1} of {len(pairs)}"
        fitter = _PairFitter(data, config, readouts[number], seed, progress, stage, budget)
        return fitter.fit(stopped)

    return fit_pairs(data, pairs, fit_pair, lambda _: STATUS, validation, budget)


@dataclass(frozen=True, eq=False)
class _PairFitter:
    """The fit of one pair, and what it goes by."""

    data: PairData
    config: BottleneckConfig
    readout: Readout | None
    seed: int
    progress: Progress | None
    stage: str
    budget: Budget

    def fit(self, stopped: bool) -> PairFit:
        binary, n_factors = None, self.data.pair.n_factors
        if self.config.binary_factor is not None and not stopped:
            binary, stopped = self._binary_factor()
        training = PairTraining(self.data, n_factors, self.config, self.seed, binary, self.readout)
        if not stopped:
            stopped = training.run(self.progress, self.stage, self.budget)
        model, kurtosis = _rotated(training)
        figures: dict[str, float | int | str] = {
            "r2": float(1 - (model.noise_scale**2).mean()),
            "kurtosis": " ".join(f"{value:.2f}" for value in kurtosis),
            "binary_factor": "no" if binary is None else "yes",
        }
        return PairFit(model, figures, stopped)

    def _binary_factor(self) -> tuple[BinaryFactor | None, bool]:
        """Returns the binary factor, if there is one, and whether the user stopped the search."""
        data, search, seed = self.data, self.config.binary_factor, self.seed
        assert search is not None
        wide = replace(self.config, hidden=search.hidden, epochs=search.epochs)
        readout = self.readout if search.by_behaviour else None
        n_factors = min(search.n_factors, data.x.shape[1])
        training = PairTraining(data, n_factors, wide, seed, readout=readout)
        stage = f"{self.stage}, search for a binary factor"
        if training.run(self.progress, stage, self.budget):
            return None, True
        axes = independent_axes(training.factors()[data.natural_rows], seed=seed)
        starts = axes @ training.weights()[0]
        rows = np.random.default_rng(seed).permutation(data.natural_rows)[:MAX_CLUSTERED_SAMPLES]
        x = data.x[rows]
        # A heavy-tailed factor can keep the search for axes from its goal, so every axis is tried.
        found = np.array([two_valued_direction(x, start) for start in starts])
        kurtosis = excess_kurtosis(x @ found.T)
        if kurtosis.min() > MAX_KURTOSIS:
            return None, False
        return BinaryFactor.along(x, found[kurtosis.argmin()]), False


def _rotated(training: PairTraining) -> tuple[PairModel, Float[np.ndarray, " factors"]]:
    """Returns the trained pair with z = U (ẑ − mean) of the trained factors ẑ, and their kurtosis.

    U leaves the binary factor alone, takes what is correlated with it out of the other factors, and
    rotates those to independent axes; every factor has mean 0 and variance 1.
    """
    data, k = training.data, training.s.shape[1]
    A, W1, b1, W2, b2 = training.weights()
    z = training.factors()[data.natural_rows]
    U, mean = _unmixing(z, k, training.seed), z.mean(axis=0)
    W1, V = W1[:, : z.shape[1]], W1[:, z.shape[1] :]
    n_effects = data.y.shape[1]
    moves = (data.y.std(axis=0) > 0)[:, None]
    on_inputs = np.c_[W1 @ np.linalg.inv(U), V]
    model = PairModel(
        data.pair.causes,
        data.pair.effects,
        encoder=_encoder(training, U[:, k:] @ A, U[:, :k], -U @ mean),
        decoder=network(
            np.tile(on_inputs, (n_effects, 1, 1)),
            np.tile(b1 + W1 @ mean, (n_effects, 1)),
            np.where(moves, W2, 0.0),
            b2,
        ),
        noise_scale=training.errors(),
        covariates=np.arange(V.shape[1]),
    )
    return model, excess_kurtosis((z - mean) @ U.T)


def _encoder(
    training: PairTraining,
    weight: Float[np.ndarray, "factors causes"],
    gain: Float[np.ndarray, "factors binary"],
    bias: Float[np.ndarray, " factors"],
) -> LinearMechanism | MLPMechanism:
    """Returns z = W x + gain · s(x) + b, with s the binary factor if there is one."""
    if training.binary is None:
        return LinearMechanism(torch.tensor(weight), torch.tensor(bias))
    s, m = training.binary, len(bias)
    slope, unbent = straight_units(weight, np.abs(training.data.x @ weight.T).max(axis=0))
    steep = np.tile(s.direction, (m, 1))
    w1, b1 = np.stack([slope, steep], axis=1), np.tile([0.0, s.offset], (m, 1))
    return network(w1, b1, np.c_[unbent, gain], bias)


def _unmixing(
    z: Float[np.ndarray, "samples factors"], n_binary: int, seed: int
) -> Float[np.ndarray, "factors factors"]:
    k, U = n_binary, np.zeros((z.shape[1], z.shape[1]))
    s, others = z[:, :k] - z[:, :k].mean(axis=0), z[:, k:] - z[:, k:].mean(axis=0)
    shared = np.linalg.lstsq(s, others, rcond=None)[0]
    U[:k, :k] = np.diag(1 / s.std(axis=0))
    if others.shape[1]:
        U[k:, k:] = independent_axes(others - s @ shared, seed=seed)
        U[k:, :k] = -U[k:, k:] @ shared.T
    return U
