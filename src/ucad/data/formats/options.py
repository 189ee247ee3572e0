"""What a reader must be told, and what a table alone cannot say."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool

from ucad._types import VariableSamples
from ucad.data.checks import (
    as_flags,
    as_whole_numbers,
    check_finite,
    check_matrix,
    check_scaling,
    check_shapes,
    check_storable,
    some,
)
from ucad.data.context import Context
from ucad.data.dataset import InterventionalData, Scaling
from ucad.data.kinds import KINDS, RegimeKind, kinds_by_sample
from ucad.data.missing import POLICIES, check_policy
from ucad.data.rest import DEFAULT_MEMORY, check_memory
from ucad.errors import FormatError, InvalidInputError, UcadError, did_you_mean
from ucad.schema import Optional, check_shape

__all__ = [
    "Kept",
    "ReadOptions",
    "beside_variables",
    "check_writable",
    "columns_to_keep",
    "columns_without",
    "is_side_information",
    "parsed_as",
    "require_column",
    "side_columns",
    "side_information",
    "with_side_information",
]

_logger = logging.getLogger(__name__)

REGIME_COLUMN = "regime"
TARGET_COLUMN = "target"


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How to read a file.

    Attributes:
        target: the column that names what was clamped: one name, several joined by `;`, or nothing
            for an observational sample. By default `target`, if there is such a column.
        control: the label of observational samples in that column, besides the empty one.
        indicators: columns of zeros and ones that say which condition a sample was taken in, with
            the variable each clamps (`""` for one that is observational); the alternative to
            `target`.
        ignore: columns that are neither variables nor targets.
        drop_constant: leave out variables that never change instead of refusing them.
        min_mean: leave out variables whose mean is below this, such as genes hardly seen.
        log_counts: turn counts into log(1 + 10⁴ · count / total of the sample).
        counts: keep counts and their depth: log(1 + count / depth), the depth being the total of
            the sample over the median total.
        matrix: which matrix of an AnnData is read: `X`, `raw` or `layers/NAME`.
        context: columns that say something of a sample and are no variables, such as its batch.
        intervention: what was done to targets, one of `KINDS`, or the column that says it.
        missing: what is done about missing values, one of `POLICIES`.
        memory: GiB that reading and fitting may take; if all samples would take more, a part of
            them is read.
    """

    target: str | None = None
    control: str = ""
    indicators: Mapping[str, str] = field(default_factory=dict)
    ignore: Sequence[str] = ()
    drop_constant: bool = False
    min_mean: float | None = None
    log_counts: bool = False
    counts: bool = False
    matrix: str = "X"
    context: Sequence[str] = ()
    intervention: str = ""
    missing: str = POLICIES[0]
    memory: float = DEFAULT_MEMORY

    def __post_init__(self) -> None:
        _check_columns(self.target, self.ignore)
        check_policy(self.missing)
        check_memory(self.memory)
        if self.counts and self.log_counts:
            raise InvalidInputError(
                "'counts' and 'log_counts' are two ways to read counts. Give one of them."
            )

    @property
    def given(self) -> tuple[str, ...]:
        """The options that are not at their default."""
        return tuple(
            f.name
            for f in fields(self)
            if getattr(self, f.name) not in (None, "", False, {}, (), [], POLICIES[0], f.default)
        )


def _check_columns(target: Any, ignore: Any) -> None:
    """Refuses what cannot be names of columns, before anything is compared with it."""
    if not (target is None or isinstance(target, str)):
        raise InvalidInputError(
            f"'target' must be the name of a column. Got {type(target).__name__} instead."
        )
    are_names = isinstance(ignore, list | tuple | set | frozenset)
    if not (isinstance(ignore, str) or (are_names and all(isinstance(n, str) for n in ignore))):
        raise InvalidInputError(
            f"'ignore' must be a list of names of columns. Got {type(ignore).__name__} instead."
        )


def require_column(name: str, columns: Sequence[str], what: str) -> None:
    """Refuses a column that is not there."""
    if name not in columns:
        raise InvalidInputError(
            f"There is no column '{name}' for the {what}.{did_you_mean(name, columns)} "
            f"The columns are {_both_ends(columns)}."
        )


def _both_ends(columns: Sequence[str], most: int = 4) -> str:
    """The first and the last columns: labels often stand at the end.

    >>> _both_ends([f"X{i}" for i in range(1, 11)], most=2)
    "'X1', 'X2', …, 'X9', 'X10'"
    """
    shown = [repr(name) for name in columns]
    if len(shown) > 2 * most:
        shown = [*shown[:most], "…", *shown[-most:]]
    return ", ".join(shown)


class Kept(NamedTuple):
    """The columns that are left, and why others are not."""

    columns: np.ndarray
    notes: tuple[str, ...]


def columns_to_keep(x: VariableSamples, names: Sequence[str], options: ReadOptions) -> Kept:
    """The columns that `min_mean` and `drop_constant` leave; missing values do not count."""
    has_gaps = x.dtype.kind == "f" and bool(np.isnan(x).any())
    if (options.min_mean is not None or options.drop_constant) and options.missing == POLICIES[0]:
        check_finite(x, names)
    reasons = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of columns without any value
        if options.min_mean is not None:
            small = ~((np.nanmean if has_gaps else np.mean)(x, axis=0) >= options.min_mean)
            reasons.append((f"their mean is below {options.min_mean:g}", small))
        if options.drop_constant and len(x):
            low, high = (np.nanmin, np.nanmax) if has_gaps else (np.min, np.max)
            reasons.append(("they never change", ~(low(x, axis=0) < high(x, axis=0))))
    return columns_without(reasons, names)


def columns_without(
    reasons: Sequence[tuple[str, Bool[np.ndarray, " variables"]]], names: Sequence[str]
) -> Kept:
    """All columns but those that there is a reason to drop; the first reason is told."""
    keep, notes = np.ones(len(names), dtype=bool), []
    for reason, dropped in reasons:
        left_out = [names[j] for j in np.flatnonzero(dropped & keep).tolist()]
        keep &= ~dropped
        if left_out:
            notes.append(f"{len(left_out)} variable(s) left out, as {reason}: {some(left_out)}.")
    if not keep.any():
        raise InvalidInputError("No variable is left: all were dropped as constant or too small.")
    return Kept(np.flatnonzero(keep), tuple(notes))


@contextlib.contextmanager
def parsed_as(path: Path, what: str) -> Iterator[None]:
    """Turns whatever another library raises on a damaged file into one line of ours."""
    try:
        yield
    except UcadError:
        raise
    except Exception as error:
        text = " ".join(str(error).split())[:200]
        raise FormatError(f"'{path}' is not {what}: {text or type(error).__name__}.") from error


def check_writable(data: InterventionalData) -> None:
    """Refuses names that some format could not give back: with a null, or half a character."""
    check_storable((*data.variable_names, *data.regime_names))


_SIDE = {
    "regime_names": [str],
    "layer_of": ([int], NoneType),
    "scaling": ([[float]], NoneType),
    "is_part": bool,
    "variable_names": Optional([str]),
    "dtype": Optional(str),
    "fingerprint": Optional(str),
    "missing": Optional([[int]]),
    "notes": Optional([str]),
    "context": Optional(({"names": [str], "values": [[float]]}, NoneType)),
    "kinds": Optional([str]),
}
"""Files of earlier versions lack the optional ones."""


def side_information(data: InterventionalData) -> dict[str, Any]:
    """What a table with a target column cannot hold, as JSON."""
    return {
        "regime_names": data.regime_names,
        "layer_of": None if data.layer_of is None else data.layer_of.tolist(),
        "scaling": None if data.scaling is None else [part.tolist() for part in data.scaling],
        "is_part": data.is_part,
        "variable_names": data.variable_names,
        "dtype": str(data.x.dtype),
        "fingerprint": data.fingerprint,
        "kinds": [str(kind) for kind in data.kinds],
        "context": None
        if data.context is None
        else {"names": data.context.names, "values": data.context.values.tolist()},
        "missing": [] if data.is_missing is None else np.argwhere(data.is_missing).tolist(),
        "notes": data.notes,
    }


def is_side_information(side: Mapping[str, Any]) -> bool:
    """Whether a JSON object is of this kind at all, and not somebody else's."""
    return "regime_names" in side and "is_part" in side


def with_side_information(
    x: VariableSamples,
    clamps: np.ndarray,
    regime: np.ndarray,
    variable_names: Sequence[str],
    side: object,
) -> InterventionalData:
    """Puts a data set together again.

    Raises:
        FormatError: the side information is damaged, or belongs to another table.
    """
    check_shape(side, _SIDE, "The data set's side information is damaged")
    assert isinstance(side, Mapping)
    layers, scaling, dtype = side["layer_of"], side["scaling"], side.get("dtype", "float64")
    if dtype not in ("float32", "float64") or (scaling is not None and len(scaling) != 2):
        raise FormatError("The data set's side information is damaged: its numbers are no pair.")
    check_matrix(x, may_be_empty=True)
    layers = None if layers is None else as_whole_numbers(layers, "layer_of")
    check_shapes(x, clamps, regime, layers)
    data = InterventionalData(
        x.astype(dtype, copy=False),
        as_flags(clamps, "is_intervened"),
        as_whole_numbers(regime, "regime"),
        tuple(side.get("variable_names", variable_names)),
        layer_of=layers,
        regime_names=tuple(side["regime_names"]),
        scaling=None if scaling is None else _scaling(scaling, x.shape[1]),
        is_part=side["is_part"],
        context=_context(side.get("context")),
        kinds=_kinds(side.get("kinds", ())),
        is_missing=_flags_at(side.get("missing", []), x.shape),
        notes=tuple(side.get("notes", ())),
    )
    if side.get("fingerprint", data.fingerprint) != data.fingerprint:
        _logger.warning("This data set was changed since ucad wrote it: %r.", data)
    return data


def side_columns(options: ReadOptions) -> tuple[str, ...]:
    """The columns that are no variables: of the context, and of kinds of interventions."""
    by_column = options.intervention not in ("", *KINDS)
    return (*options.context, *((options.intervention,) if by_column else ()))


def beside_variables(
    data: InterventionalData,
    options: ReadOptions,
    columns: Mapping[str, Any],
    rows: Sequence[int] | np.ndarray,
) -> InterventionalData:
    """The data with the context of the samples that were kept, and what was done to targets."""
    kept = {name: [values[row] for row in rows] for name, values in columns.items()}
    if options.context:
        data = data.with_context({name: kept[name] for name in options.context})
    if options.intervention in kept:
        labels = kept[options.intervention]
        return data.with_kinds(kinds_by_sample(labels, data.regime, data.regime_names))
    return data.with_kinds(options.intervention) if options.intervention else data


def _kinds(stored: Sequence[str]) -> tuple[RegimeKind, ...]:
    if any(kind not in list(RegimeKind) for kind in stored):
        raise FormatError("The data set's side information is damaged: a kind is not known.")
    return tuple(RegimeKind(kind) for kind in stored)


def _context(stored: Mapping[str, Any] | None) -> Context | None:
    if stored is None:
        return None
    names = tuple(stored["names"])
    if any(len(row) != len(names) for row in stored["values"]):
        raise FormatError("The data set's side information is damaged: its context has gaps.")
    values = np.array(stored["values"], dtype=np.float64)
    return Context(names, values.reshape(len(stored["values"]), len(names)))


def _flags_at(places: Sequence[Sequence[int]], shape: tuple[int, int]) -> np.ndarray | None:
    """True at the given rows and columns; None if there are none."""
    if not places:
        return None
    pairs = all(len(place) == 2 and max(map(abs, place)) < 2**53 for place in places)
    at = np.array(places, dtype=np.int64) if pairs else np.full((1, 2), -1)
    if (at < 0).any() or (at >= shape).any():
        raise FormatError("The data set's side information is damaged: 'missing' names no entries.")
    flags = np.zeros(shape, dtype=bool)
    flags[at[:, 0], at[:, 1]] = True
    return flags


def _scaling(pair: Sequence[Sequence[float]], n_variables: int) -> Scaling:
    mean, scale = (np.array(part, dtype=np.float64) for part in pair)
    check_scaling(mean, scale, n_variables)
    return Scaling(mean, scale)
