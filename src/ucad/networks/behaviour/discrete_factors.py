"""Factors with few values: read out of one layer, decoded into the next by the simplest map."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from jaxtyping import Float, Int
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

__all__ = ["ClassReadout", "Decoder", "DecoderKind", "class_readout", "fit_decoder", "hidden_layer"]

STEEPNESS = 3.0
"""What tanh is given where a tenth of the samples lie closer to the border between two classes:
tanh 3 = 0.995, so nine samples in ten have a value that is one of two."""

STEEP_QUANTILE = 0.1
"""That tenth."""

CELL_STEEPNESS = 4.0
"""Slope of the indicator of a cell in one factor: at the factor's two values it is 0.9997 and
0.0003, as shares of its range."""

MAX_CELLS = 64
"""Cells of a table: 30 samples each at 2,000 samples, and 64 hidden units of the mechanism."""

N_HIDDEN = 64
"""Random tanh units of the decoder that is neither affine nor a table."""

RIDGE = 1e-6
"""Of the least squares for all decoders, per sample; hidden units are of order 1."""

LOGISTIC_C = 10.0
"""Inverse strength of the ridge in the logistic regression on standardised units."""


class DecoderKind(StrEnum):
    """What F_X can compute, the simplest first."""

    AFFINE = "affine"
    TABLE = "table"
    NETWORK = "network"


@dataclass(frozen=True, eq=False)
class ClassReadout:
    """z = shift + Σ_h gain_h tanh(direction_h · x + offset_h), close to the code of a class.

    Two classes have the codes −1 and 1, more have 0, 1, 2, …

    Attributes:
        direction: hidden × causes.
        offset: one per hidden unit.
        gain: one per hidden unit.
        shift: a number.
        n_classes: how many values z has.
    """

    direction: Float[np.ndarray, "hidden causes"]
    offset: Float[np.ndarray, " hidden"]
    gain: Float[np.ndarray, " hidden"]
    shift: float
    n_classes: int

    def __call__(self, x: Float[np.ndarray, "samples causes"]) -> Float[np.ndarray, " samples"]:
        """The code of every sample, softly."""
        hidden = np.tanh(x @ self.direction.T + self.offset)
        return np.asarray(self.shift + hidden @ self.gain)

    def classes(self, x: Float[np.ndarray, "samples causes"]) -> Int[np.ndarray, " samples"]:
        """The class of every sample."""
        z = self(x)
        if self.n_classes == 2:
            return (z > 0).astype(np.int64)
        return np.clip(np.round(z), 0, self.n_classes - 1).astype(np.int64)

    @property
    def borders(self) -> Float[np.ndarray, " borders"]:
        """Between the codes of neighbouring classes."""
        return np.zeros(1) if self.n_classes == 2 else np.arange(self.n_classes - 1) + 0.5


def class_readout(
    x: Float[np.ndarray, "samples causes"], label: Int[np.ndarray, " samples"], n_classes: int
) -> ClassReadout:
    """Reads classes out of units by logistic regressions, one against the rest.

    >>> x = np.array([[0.0, 5.0], [0.2, 1.0], [2.0, 4.0], [2.1, 0.0]] * 5)
    >>> class_readout(x, np.array([0, 0, 1, 1] * 5), 2).classes(x)[:4].tolist()
    [0, 0, 1, 1]
    """
    mean, spread = x.mean(axis=0), x.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    wanted = [1] if n_classes == 2 else list(range(1, n_classes))
    rows = [_logistic((x - mean) / scale, label == one) for one in wanted]
    direction = np.array([row[:-1] for row in rows]) / scale
    offset = np.array([row[-1] for row in rows]) - direction @ mean
    if n_classes == 2:
        return ClassReadout(direction, offset, np.ones(1), 0.0, 2)
    codes = np.array(wanted, dtype=float)
    return ClassReadout(direction, offset, codes / 2, float(codes.sum() / 2), n_classes)


def _logistic(x: np.ndarray, is_one: np.ndarray) -> np.ndarray:
    """Slope and offset of a steep tanh between two classes."""
    if is_one.all() or not is_one.any():
        return np.r_[np.zeros(x.shape[1]), STEEPNESS if is_one.all() else -STEEPNESS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = LogisticRegression(C=LOGISTIC_C, max_iter=300, class_weight="balanced").fit(
            x, is_one
        )
    row = np.r_[found.coef_[0], found.intercept_[0]]
    away = np.abs(x @ row[:-1] + row[-1])
    return np.asarray(row * STEEPNESS / max(float(np.quantile(away, STEEP_QUANTILE)), 1e-9))


@dataclass(frozen=True, eq=False)
class Decoder:
    """F_X(z, w) = linear (z, w) + w2 tanh(w1 (z, w) + b1) + b2 of one pair of layers.

    Attributes:
        kind: what it can compute.
        w1: hidden × (factors and covariates).
        b1: one per hidden unit.
        w2: effects × hidden.
        b2: one per effect.
        linear: effects × (factors and covariates).
    """

    kind: DecoderKind
    w1: Float[np.ndarray, "hidden inputs"]
    b1: Float[np.ndarray, " hidden"]
    w2: Float[np.ndarray, "effects hidden"]
    b2: Float[np.ndarray, " effects"]
    linear: Float[np.ndarray, "effects inputs"]

    def __call__(self, inputs: Float[np.ndarray, "samples inputs"]) -> np.ndarray:
        """The effects expected from factors and covariates side by side."""
        hidden = np.tanh(inputs @ self.w1.T + self.b1)
        return np.asarray(hidden @ self.w2.T + inputs @ self.linear.T + self.b2)


def hidden_layer(
    kind: DecoderKind,
    readouts: Sequence[ClassReadout],
    w: Float[np.ndarray, "samples covariates"],
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray] | None:
    """The fixed hidden layer of a decoder, (w1, b1); None if a table would be too large.

    A table has one unit for every cell, that is for the values of all two-valued factors and of
    the covariates, which is 1 there and −1 elsewhere; a factor with more values must be the only
    one, and has units that are 1 from a value on.
    """
    n_inputs = len(readouts) + w.shape[1]
    if kind is DecoderKind.AFFINE:
        return np.zeros((0, n_inputs)), np.zeros(0)
    if kind is DecoderKind.NETWORK:
        rng = np.random.default_rng(seed)
        reach = np.r_[np.ones(len(readouts)), 1 / np.where(w.std(axis=0) > 0, w.std(axis=0), 1.0)]
        w1 = rng.standard_normal((N_HIDDEN, n_inputs)) * reach
        centre = np.r_[[one.borders.mean() for one in readouts], w.mean(axis=0)]
        return w1, rng.standard_normal(N_HIDDEN) - w1 @ centre
    return _table(readouts, w)


def _table(readouts: Sequence[ClassReadout], w: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    levels = [np.unique(column) for column in w.T]
    many = any(one.n_classes > 2 for one in readouts)
    if any(len(one) > 2 for one in levels) or (many and len(readouts) > 1):
        return None
    low, high = (np.array([level[end] for level in levels]) for end in (0, -1))
    half = np.where(high > low, (high - low) / 2, 1.0)
    coded = np.sign(w - (high + low) / 2)
    contexts = np.unique(coded, axis=0) if w.shape[1] else np.zeros((1, 0))
    borders = readouts[0].borders if many else np.zeros(0)
    codes = [np.zeros(0)] if many else list(itertools.product((-1.0, 1.0), repeat=len(readouts)))
    n_cells = len(contexts) * (len(borders) + 1 if many else len(codes))
    if n_cells > MAX_CELLS:
        return None
    rows, offsets = [], []
    for context in contexts:
        on_w = CELL_STEEPNESS * context / half
        at_w = -on_w @ ((high + low) / 2)
        active = np.count_nonzero(context)
        if many:
            wide = len(borders) + 1.0
            for border in np.r_[borders[0] - wide, borders]:
                rows.append(np.r_[2 * CELL_STEEPNESS, wide * on_w])
                offsets.append(
                    wide * (at_w - CELL_STEEPNESS * active) - 2 * CELL_STEEPNESS * border
                )
            continue
        for code in codes:
            rows.append(np.r_[CELL_STEEPNESS * np.array(code), on_w])
            offsets.append(at_w - CELL_STEEPNESS * (len(code) + active - 1))
    return np.array(rows), np.array(offsets)


def fit_decoder(
    kind: DecoderKind,
    layer: tuple[np.ndarray, np.ndarray],
    inputs: Float[np.ndarray, "samples inputs"],
    y: Float[np.ndarray, "samples effects"],
) -> Decoder:
    """Least squares of the effects on the hidden layer, and for an affine decoder on the inputs."""
    w1, b1 = layer
    hidden = np.tanh(inputs @ w1.T + b1)
    straight = inputs if kind is not DecoderKind.TABLE else inputs[:, :0]
    design = np.c_[hidden, straight]
    mean, level = design.mean(axis=0), y.mean(axis=0)
    centred = design - mean
    gram = centred.T @ centred / len(y) + RIDGE * np.eye(design.shape[1])
    found = np.linalg.solve(gram, centred.T @ (y - level) / len(y)).T
    linear = np.zeros((y.shape[1], inputs.shape[1]))
    linear[:, : straight.shape[1]] = found[:, hidden.shape[1] :]
    decoder = Decoder(kind, w1, b1, found[:, : hidden.shape[1]], level, linear)
    return replace(decoder, b2=level - found @ mean)
