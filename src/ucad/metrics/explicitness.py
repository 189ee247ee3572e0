"""Explicitness: how much of each true factor can be read off all learned ones (R²)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Int
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

from ucad._types import FactorSamples
from ucad.errors import InvalidInputError
from ucad.metrics.checks import check_factors, constant_columns, warn_of_constant_factors

__all__ = ["Decoder", "Explicitness", "HeldOut", "explicitness", "held_out_rows", "r_squared"]

FEWEST_HELD_OUT = 2
"""Samples on either side of a split: R² of a single one is not defined."""

FEWEST_FOR_EARLY_STOPPING = 50
"""Samples from which on a tenth is kept for early stopping: of fewer, not even five would be."""


class Decoder(StrEnum):
    """What reads the true factors off the learned ones."""

    LINEAR = "linear"
    MLP = "mlp"


@dataclass(frozen=True)
class Explicitness:
    """R² per true factor on held-out samples, with the predictions it was computed from.

    Attributes:
        per_factor: R² of each true factor; below 0 if the mean would have predicted it better.
        predicted: of the held-out samples, (held out, true factors).
        target: the true factors there.
        decoder: the estimator, by name and size.
        n_train: how many samples it was fitted on.
    """

    per_factor: Float[np.ndarray, " true"]
    predicted: Float[np.ndarray, "held_out true"]
    target: Float[np.ndarray, "held_out true"]
    decoder: str
    n_train: int

    @property
    def mean(self) -> float:
        """The mean over the true factors."""
        return float(self.per_factor.mean())

    def __str__(self) -> str:
        return (
            f"R² {self.mean:.4f} by {self.decoder}, fitted on {self.n_train} samples, "
            f"over {len(self.per_factor)} true factors on {len(self.target)} held-out samples"
        )


class HeldOut(NamedTuple):
    """Row numbers of the samples to fit on and of those to score."""

    train: Int[np.ndarray, " train"]
    test: Int[np.ndarray, " test"]


def explicitness(
    learned: npt.ArrayLike,
    true: npt.ArrayLike,
    decoder: Decoder = Decoder.LINEAR,
    *,
    test_fraction: float = 0.2,
    seed: int = 0,
) -> Explicitness:
    """Returns the variance explained of each true factor by a fit from all learned factors.

        R²_k = 1 - Σ (z_k - f_k(ẑ))² / Σ (z_k - mean z_k)²,  over held-out samples

    f_k is least squares, or a network of one hidden layer of 64 units fitted by Adam, with early
    stopping on a tenth of the training samples if there are at least 50. Unlike MCC, R² is
    blind to linear mixing. A constant true factor counts 0, with a warning.

    Cost: one fit per true factor.
    Source: the paper's section "Metrics".

    >>> z = np.random.default_rng(0).standard_normal((200, 2))
    >>> print(explicitness(z @ [[1.0, 2.0], [3.0, 4.0]], z))
    R² 1.0000 by sklearn LinearRegression, fitted on 160 samples, over 2 true factors \
on 40 held-out samples
    """
    pair = check_factors(learned, true)
    warn_of_constant_factors(pair)
    rows = held_out_rows(len(pair.true), test_fraction, seed)
    scaler = StandardScaler().fit(pair.learned[rows.train])
    fit = _fit_linear if decoder is Decoder.LINEAR else _fit_mlp
    predicted, name = fit(
        scaler.transform(pair.learned[rows.train]),
        pair.true[rows.train],
        scaler.transform(pair.learned[rows.test]),
        seed,
    )
    target = pair.true[rows.test]
    return Explicitness(r_squared(predicted, target), predicted, target, name, len(rows.train))


def held_out_rows(n_samples: int, test_fraction: float, seed: int) -> HeldOut:
    """Returns a random split of the samples, both parts large enough to fit and to score.

    >>> [len(part) for part in held_out_rows(10, 0.2, seed=0)]
    [8, 2]
    """
    if not 0 < test_fraction < 1:
        raise InvalidInputError(
            f"The 'test_fraction' must be between 0 and 1. Got {test_fraction} instead."
        )
    n_test = round(test_fraction * n_samples)
    if n_test < FEWEST_HELD_OUT or n_samples - n_test < FEWEST_HELD_OUT:
        raise InvalidInputError(
            f"At least {FEWEST_HELD_OUT} samples must be left on both sides of a split. Got "
            f"{n_samples} samples with a test fraction of {test_fraction} instead."
        )
    order = np.random.default_rng(seed).permutation(n_samples)
    return HeldOut(train=order[n_test:], test=order[:n_test])


def r_squared(predicted: FactorSamples, target: FactorSamples) -> Float[np.ndarray, " factors"]:
    """Returns 1 - residual / total sum of squares per column, 0 where the target is constant.

    >>> r_squared(np.array([[1.0], [2.0], [3.5]]), np.array([[1.0], [2.0], [3.0]])).tolist()
    [0.875]
    """
    residual = np.sum((target - predicted) ** 2, axis=0)
    total = np.sum((target - target.mean(axis=0)) ** 2, axis=0)
    constant = constant_columns(target)
    return np.asarray(np.where(constant, 0.0, 1 - residual / np.where(constant, 1.0, total)))


def _fit_linear(
    inputs: Float[np.ndarray, "train learned"],
    targets: Float[np.ndarray, "train true"],
    new_inputs: Float[np.ndarray, "held_out learned"],
    _seed: int,
) -> tuple[Float[np.ndarray, "held_out true"], str]:
    model = LinearRegression().fit(inputs, targets)
    return np.asarray(model.predict(new_inputs)), "sklearn LinearRegression"


def _fit_mlp(
    inputs: Float[np.ndarray, "train learned"],
    targets: Float[np.ndarray, "train true"],
    new_inputs: Float[np.ndarray, "held_out learned"],
    seed: int,
) -> tuple[Float[np.ndarray, "held_out true"], str]:
    scaler = StandardScaler().fit(targets)
    scaled = scaler.transform(targets)
    predicted = np.zeros((len(new_inputs), targets.shape[1]))
    for k in range(targets.shape[1]):
        model = MLPRegressor(
            hidden_layer_sizes=(64,),
            learning_rate_init=1e-2,
            early_stopping=len(inputs) >= FEWEST_FOR_EARLY_STOPPING,
            max_iter=100,
            random_state=seed,
        )
        with warnings.catch_warnings():
            # Early stopping ends the fit; running into max_iter first only makes R² lower.
            warnings.simplefilter("ignore", ConvergenceWarning)
            predicted[:, k] = model.fit(inputs, scaled[:, k]).predict(new_inputs)
    return np.asarray(scaler.inverse_transform(predicted)), "sklearn MLPRegressor (64 hidden units)"
