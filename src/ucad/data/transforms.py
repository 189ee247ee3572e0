"""Monotone transformations of variables: what the factors read of what was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import ndtr, ndtri

from ucad._types import VariableSamples
from ucad.data.dataset import InterventionalData
from ucad.errors import FormatError, InvalidInputError, did_you_mean

__all__ = ["TRANSFORMS", "Reads", "check_transform", "reads_of"]

TRANSFORMS = ("none", "log", "log1p", "rank", "auto")
"""What may be asked for; `auto` is decided where models can be fitted."""

N_KNOTS = 65
"""Quantiles between which a rank is interpolated: finer than 8,000 samples can tell."""

Column = Float[np.ndarray, " samples"]


class _Curve(NamedTuple):
    """A monotone function, its inverse and the logarithm of its slope."""

    forward: Callable[[Column], Column]
    inverse: Callable[[Column], Column]
    log_slope: Callable[[Column], Column]


_CURVES = {
    "none": _Curve(lambda x: x, lambda x: x, np.zeros_like),
    "log": _Curve(np.log, np.exp, lambda x: -np.log(x)),
    "log1p": _Curve(np.log1p, np.expm1, lambda x: -np.log1p(x)),
}


class Reads(NamedTuple):
    """What factors read of each variable.

    >>> reads = Reads(("log", "none"))
    >>> reads.values(np.array([[1.0, 5.0]])), str(reads)
    (array([[0., 5.]]), 'log of 1 of 2 variables')

    Attributes:
        kinds: the transformation of every variable: `none`, `log`, `log1p` or `rank`.
        knots: for ranks, the values at equidistant quantiles, one row per variable.
    """

    kinds: tuple[str, ...]
    knots: Float[np.ndarray, "variables knots"] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether variables are read as they are."""
        return all(kind == "none" for kind in self.kinds)

    def __str__(self) -> str:
        each = [kind for kind in TRANSFORMS if kind != "none" and kind in self.kinds]
        n = len(self.kinds)
        parts = [f"{kind} of {self.kinds.count(kind)} of {n} variables" for kind in each]
        return ", ".join(parts) or "the values themselves"

    @property
    def note(self) -> str:
        """What is said of a fit; nothing if variables are read as they are."""
        if self.is_plain:
            return ""
        return f"Factors read the {self}; the model, its predictions and noise are in these units."

    def values(self, x: VariableSamples, names: Sequence[str] = ()) -> VariableSamples:
        """What is read of given measurements; names of variables are for the message.

        Raises:
            InvalidInputError: a value has no logarithm.
        """
        if self.is_plain:
            return x
        read = self._all_read(x)
        if not np.isfinite(read).all():
            j = int(np.flatnonzero(~np.isfinite(read).all(axis=0))[0])
            which = f"'{names[j]}'" if names else j + 1
            raise InvalidInputError(
                f"Variable {which} is read as its {self.kinds[j]}, and has a value "
                f"({np.nanmin(x[:, j])}) of which there is none. Leave such samples out."
            )
        return read

    def readable(self, data: InterventionalData) -> Bool[np.ndarray, " samples"]:
        """The samples of which everything can be read."""
        whole: Bool[np.ndarray, " samples"]
        whole = np.isfinite(self._all_read(data.unstandardised().x)).all(axis=1)
        return whole

    def _all_read(self, x: VariableSamples) -> VariableSamples:
        columns = [self._read(j, np.asarray(column, np.float64)) for j, column in enumerate(x.T)]
        return np.stack(columns, axis=1)

    def clamps(self, values: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
        """Values that some variables are set to, as they are read.

        >>> Reads(("log", "none")).clamps({"a": 1.0}, ["a", "b"])
        {'a': 0.0}
        """
        row = np.array([[values.get(name, 1.0) for name in names]])
        read = dict(zip(names, self.values(row, names)[0].tolist(), strict=True))
        return {name: read[name] for name in values}

    def measured(self, read: VariableSamples) -> VariableSamples:
        """The measurements that would be read so."""
        if self.is_plain:
            return read
        return np.stack([self._measure(j, column) for j, column in enumerate(read.T)], axis=1)

    def log_slope(self, x: VariableSamples) -> VariableSamples:
        """Log of the derivative of what is read, for every entry; 0 for ranks."""
        slopes = [_CURVES.get(kind, _CURVES["none"]).log_slope for kind in self.kinds]
        return np.stack([slope(x[:, j]) for j, slope in enumerate(slopes)], axis=1)

    def of(self, data: InterventionalData) -> InterventionalData:
        """The data as factors read them, in the user's units before any transformation."""
        if self.is_plain:
            return data
        raw = data.unstandardised()
        return replace(raw, x=self.values(raw.x, raw.variable_names), scaling=None)

    def to_json(self) -> dict[str, Any]:
        """What a run folder keeps; nothing if variables are read as they are."""
        if self.is_plain:
            return {}
        knots = {} if self.knots is None else {"transform_knots": self.knots.ravel().tolist()}
        return {"transform": list(self.kinds), **knots}

    @classmethod
    def from_json(cls, about: Mapping[str, Any], n_variables: int) -> Reads:
        """What `to_json` wrote, for so many variables."""
        kinds, knots = about.get("transform", ["none"] * n_variables), about.get("transform_knots")
        known = {*_CURVES, "rank"}
        is_whole = isinstance(kinds, list) and len(kinds) == n_variables and known.issuperset(kinds)
        if knots is None:
            fit_together = "rank" not in kinds if isinstance(kinds, list) else False
        else:
            numbers = isinstance(knots, list) and all(isinstance(k, int | float) for k in knots)
            fit_together = numbers and len(knots) == n_variables * N_KNOTS
        if not is_whole or not fit_together:
            raise FormatError("The run's 'transform' must say what is read of each variable.")
        table = None if knots is None else np.array(knots, np.float64).reshape(n_variables, -1)
        return cls(tuple(kinds), table)

    def _read(self, j: int, x: Column) -> Column:
        if self.kinds[j] == "rank":
            return np.interp(x, *self._line(j))
        with np.errstate(divide="ignore", invalid="ignore"):
            return _CURVES[self.kinds[j]].forward(x)

    def _measure(self, j: int, read: Column) -> Column:
        if self.kinds[j] == "rank":
            knots, scores = self._line(j)
            return np.interp(read, scores, knots)
        return _CURVES[self.kinds[j]].inverse(read)

    def _line(self, j: int) -> tuple[Column, Column]:
        """Different values and the normal score of each: the middle of its quantiles."""
        assert self.knots is not None
        scores = ndtri((np.arange(N_KNOTS) + 0.5) / N_KNOTS)
        values, at = np.unique(self.knots[j], return_inverse=True)
        quantiles = np.bincount(at, ndtr(scores)) / np.bincount(at)
        return values, ndtri(quantiles)


def check_transform(name: str) -> None:
    """Refuses a transformation that there is none of."""
    if name not in TRANSFORMS:
        raise InvalidInputError(
            f"What factors read (reads, --transform) must be one of {', '.join(TRANSFORMS)}. "
            f"Got {name!r} instead.{did_you_mean(str(name), TRANSFORMS)}"
        )


def reads_of(data: InterventionalData, kinds: str | Sequence[str]) -> Reads:
    """One transformation for all variables, or one for each, fitted to data where it must be.

    Raises:
        InvalidInputError: a variable has values of which there is no logarithm.
    """
    each = (kinds,) * data.n_variables if isinstance(kinds, str) else tuple(kinds)
    if "rank" not in each:
        reads = Reads(each)
        reads.of(data)
        return reads
    raw = data.unstandardised().x
    quantiles = (np.arange(N_KNOTS) + 0.5) / N_KNOTS
    return Reads(each, np.quantile(raw, quantiles, axis=0).T.astype(np.float64))
