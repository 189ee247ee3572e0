"""Pairs of consecutive layers: the variables on both sides, and the data in common units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad.data import InterventionalData, Scaling
from ucad.errors import InvalidInputError

__all__ = ["LayerPair", "PairData", "layer_pairs"]

ZERO_TOLERANCE = 1e-9
"""A value counts as above 0 only by more than this, in standard deviations of its layer: data that
were standardised come back to exactly 0 only up to rounding."""


class LayerPair(NamedTuple):
    """Two consecutive layers and the factors between them.

    Attributes:
        causes: the variables of the earlier layer, by number.
        effects: the variables of the later layer.
        n_factors: how many factors lie between them.
    """

    causes: Int[np.ndarray, " causes"]
    effects: Int[np.ndarray, " effects"]
    n_factors: int


def layer_pairs(
    data: InterventionalData, n_factors: int, factors_per_pair: Sequence[int] | None = None
) -> list[LayerPair]:
    """Returns the pairs of consecutive layers, with equally many factors unless told otherwise.

    >>> x = np.random.default_rng(0).normal(size=(9, 5))
    >>> data = InterventionalData.from_arrays(x, layer_of=[0, 0, 1, 1, 2])
    >>> [(one.causes.tolist(), one.effects.tolist()) for one in layer_pairs(data, 2)]
    [([0, 1], [2, 3]), ([2, 3], [4])]
    """
    if data.layer_of is None or len(np.unique(data.layer_of)) < 2:
        raise InvalidInputError(
            "This solver works between consecutive layers: 'layer_of' must name at least two. "
            "Give the layer of every variable, or use the solver 'search'."
        )
    layers = [np.flatnonzero(data.layer_of == layer) for layer in np.unique(data.layer_of)]
    shares = _factors_per_pair(n_factors, len(layers) - 1, factors_per_pair)
    pairs = [LayerPair(*one) for one in zip(layers[:-1], layers[1:], shares, strict=True)]
    for pair in pairs:
        if not 1 <= pair.n_factors <= len(pair.causes):
            raise InvalidInputError(
                "A pair of layers must have at least 1 factor, and at most as many as the earlier "
                f"layer has variables, {len(pair.causes)}. Got {pair.n_factors} instead."
            )
    return pairs


class PairData(NamedTuple):
    """The samples of a pair in the units in which it is fitted: the one place that changes units.

    As they were measured, variables are centred and divided by one number per layer, the root mean
    variance of its variables: a unit that hardly varies hardly counts. A model of this x and y is
    turned into one of the data as they were given by `PairModel.in_units`.

    Attributes:
        pair: the two layers.
        x: values of the causes.
        y: values of the effects.
        natural_rows: the samples in which nothing is clamped; all if there are none.
        causes: mean and scale of x in the units of the given data, standardised or not.
        effects: mean and scale of y in the units of the given data.
        measured: mean and scale of y as it was measured.
        w: the context, each covariate with mean 0 and variance 1; no columns if there is none.
        context: mean and scale of w.
    """

    pair: LayerPair
    x: Float[np.ndarray, "samples causes"]
    y: Float[np.ndarray, "samples effects"]
    natural_rows: Int[np.ndarray, " rows"]
    causes: Scaling
    effects: Scaling
    measured: Scaling
    w: Float[np.ndarray, "samples covariates"]
    context: Scaling

    @classmethod
    def of(cls, data: InterventionalData, pair: LayerPair) -> PairData:
        """Takes the samples in which no effect is clamped: there F_X can be seen at work."""
        rows = np.flatnonzero(~data.is_left_out[:, pair.effects].any(axis=1))
        if not len(rows):
            raise InvalidInputError(
                "Every sample clamps a variable of the same later layer, so that nothing shows how "
                "the layer before acts on it. Add samples in which that layer is left alone."
            )
        x, causes, _ = _in_pair_units(data, rows, pair.causes)
        y, effects, measured = _in_pair_units(data, rows, pair.effects)
        natural = np.flatnonzero(~data.is_intervened[rows].any(axis=1))
        natural = natural if len(natural) > 1 else np.arange(len(rows))
        known = np.zeros((len(data.x), 0)) if data.context is None else data.context.values
        context = Scaling.of(known[rows])
        w = (known[rows] - context.mean) / context.scale
        return cls(pair, x, y, natural, causes, effects, measured, w, context)

    @property
    def is_active(self) -> Bool[np.ndarray, "samples effects"]:
        """Where an effect was measured above 0, as a rectified unit is where it is active."""
        zero = -self.measured.mean / self.measured.scale
        return np.asarray(self.y > zero + ZERO_TOLERANCE)


def _in_pair_units(
    data: InterventionalData, rows: Int[np.ndarray, " rows"], columns: Int[np.ndarray, " columns"]
) -> tuple[Float[np.ndarray, "rows columns"], Scaling, Scaling]:
    """Returns one layer in units of the pair, and those units in the data's and as measured."""
    values, n = data.x[np.ix_(rows, columns)], len(columns)
    given = Scaling(np.zeros(n), np.ones(n))
    if data.scaling is not None:
        given = Scaling(data.scaling.mean[columns], data.scaling.scale[columns])
        values = given.mean + given.scale * values
    mean, scale = values.mean(axis=0), float(np.sqrt(values.var(axis=0).mean())) or 1.0
    in_data = Scaling((mean - given.mean) / given.scale, scale / given.scale)
    return (values - mean) / scale, in_data, Scaling(mean, np.full(n, scale))


def _factors_per_pair(n_factors: int, n_pairs: int, asked: Sequence[int] | None) -> tuple[int, ...]:
    if asked is None:
        if n_factors % n_pairs:
            raise InvalidInputError(
                "The number of factors must be a multiple of the number of pairs of consecutive "
                f"layers, {n_pairs}. Got {n_factors} instead."
            )
        return (n_factors // n_pairs,) * n_pairs
    if len(asked) != n_pairs or sum(asked) != n_factors:
        raise InvalidInputError(
            f"'factors_per_pair' must have {n_pairs} entries that add up to {n_factors}. "
            f"Got {list(asked)} instead."
        )
    return tuple(asked)
