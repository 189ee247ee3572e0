"""`Context`: what is known of every sample beside the variables, such as its batch or its depth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ucad.data.frames import check_same_rows, without_columns
from ucad.errors import InvalidInputError

__all__ = ["Context", "take_context"]

MAX_LEVELS = 50
"""Different texts in one column of context; a column with more is rather a name of the samples."""

MAX_CODES = 12
"""Different whole numbers up to which a column of them is taken for labels, such as 1, 2, 3 for
batches: an indicator per number costs little, and a slope over codes means nothing."""


@dataclass(frozen=True, eq=False)
class Context:
    """Covariates w that are observed and never abstracted, samples × covariates.

    >>> Context.from_columns({"batch": ["a", "b", "a"], "depth": [1.0, 2.0, 4.0]}).names
    ('batch=a', 'batch=b', 'depth')

    Attributes:
        names: one name per covariate; `column=text` for the indicator of a text.
        values: the covariates, finite.
    """

    names: tuple[str, ...]
    values: Float[np.ndarray, "samples covariates"]

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != len(self.names):
            raise InvalidInputError(
                f"The context must be samples × {len(self.names)} covariates, as it has names. "
                f"Got shape {values.shape} instead."
            )
        doubled = [name for name, count in Counter(self.names).items() if count > 1]
        if doubled:
            raise InvalidInputError(f"Two covariates of the context are named '{doubled[0]}'.")
        wrong = np.argwhere(~np.isfinite(values))
        if len(wrong):
            row, column = wrong[0]
            raise InvalidInputError(
                f"The context '{self.names[column]}' must be known in every sample. Row {row} is "
                f"{values[row, column]}. Leave those samples out, or that covariate."
            )
        values.flags.writeable = False
        object.__setattr__(self, "values", values)

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> Context:
        """Makes a context of named columns: numbers as they are, texts as one indicator per text.

        A few whole numbers that all occur repeatedly count as texts: they are codes.

        Raises:
            InvalidInputError: a column has missing entries, or nearly as many texts as samples.
        """
        names: list[str] = []
        parts: list[np.ndarray] = []
        for name, column in columns.items():
            for label, values in _encoded(str(name), column):
                names.append(label)
                parts.append(values)
        lengths = {len(part) for part in parts}
        if len(lengths) != 1:
            raise InvalidInputError(
                "The columns of a context must have the same number of samples, and there must be "
                f"one. Got {sorted(lengths)} samples."
            )
        return cls(tuple(names), np.stack(parts, axis=1))

    def __len__(self) -> int:
        return len(self.values)

    def select(self, rows: Any) -> Context:
        """The context of some samples."""
        return Context(self.names, self.values[rows])

    def aligned(self, names: Sequence[str]) -> Context:
        """The same covariates in another order; a text that does not occur here is 0 everywhere.

        Raises:
            InvalidInputError: a covariate is missing, or a text occurs that was not known.
        """
        columns = {name.partition("=")[0] for name in names if "=" in name}
        known = dict(zip(self.names, self.values.T, strict=True))
        new = [name for name in known if name not in names]
        missing = [n for n in names if n not in known and n.partition("=")[0] not in columns]
        if new or missing:
            raise InvalidInputError(
                f"The context must have the covariates {', '.join(names)}. Got "
                f"{', '.join(self.names)} instead."
            )
        zero = np.zeros(len(self.values))
        return Context(tuple(names), np.stack([known.get(n, zero) for n in names], axis=1))


def take_context(X: Any, context: Any) -> tuple[Any, Context | None]:
    """The context that a user gives beside X, and X without it.

    Args:
        X: samples × variables.
        context: a `Context`; columns by name (a mapping or a frame); an array; or the name or the
            names of columns of X, which are then taken out of it.
    """
    if context is None or isinstance(context, Context):
        return X, context
    if _names_columns(X, context):
        names = [context] if isinstance(context, str) else list(context)
        if not hasattr(X, "columns") or any(name not in list(X.columns) for name in names):
            raise InvalidInputError(
                f"'context' names the columns {', '.join(names)}, and X has no such columns."
            )
        return without_columns(X, names), Context.from_columns({n: list(X[n]) for n in names})
    check_same_rows(X, context, "context")
    if hasattr(context, "columns"):
        return X, Context.from_columns({str(n): list(context[n]) for n in context.columns})
    if isinstance(context, Mapping):
        return X, Context.from_columns(context)
    try:
        values = np.asarray(context)
    except ValueError as error:
        raise InvalidInputError(f"'context' must be samples × covariates: {error}") from error
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2:
        raise InvalidInputError(f"'context' must be samples × covariates. Got {values.shape}.")
    columns = {f"context{at}": column for at, column in enumerate(values.T, start=1)}
    return X, Context.from_columns(columns)


def _names_columns(X: Any, context: Any) -> bool:
    """Whether a context is the names of columns of X; one text per sample is a context itself."""
    if isinstance(context, str):
        return True
    if not isinstance(context, list | tuple) or not all(isinstance(n, str) for n in context):
        return False
    is_per_sample = hasattr(X, "__len__") and len(context) == len(X)
    return not (is_per_sample and len(set(context)) < len(context))


def _are_codes(numbers: np.ndarray) -> bool:
    """Whether whole numbers are labels; a straight effect of them is a case of indicators."""
    if not np.isfinite(numbers).all() or (numbers != np.round(numbers)).any():
        return False
    _, counts = np.unique(numbers, return_counts=True)
    return len(counts) <= MAX_CODES and bool(counts.min(initial=2) > 1)


def _encoded(name: str, column: Any) -> list[tuple[str, np.ndarray]]:
    """A column as numbers, or as indicators of its texts (or few whole numbers), sorted."""
    raw = np.asarray(column)
    if raw.ndim != 1:
        raise InvalidInputError(f"The context '{name}' must be one column. Got shape {raw.shape}.")
    values = raw.tolist()
    try:
        numbers = np.array([float(value) for value in values])
        is_number = not all(isinstance(value, str) for value in values)
        if (is_number or np.isfinite(numbers).all()) and not _are_codes(numbers):
            return [(name, numbers)]
        values = [f"{number:g}" for number in numbers]
    except (TypeError, ValueError):
        pass
    texts = np.array(["" if v is None or v != v else str(v).strip() for v in values])
    if (texts == "").any():
        raise InvalidInputError(
            f"The context '{name}' must be known in every sample. Row "
            f"{int(np.argmax(texts == ''))} has none."
        )
    levels = np.unique(texts)
    if len(levels) > min(MAX_LEVELS, max(len(texts) // 2, 2)):
        raise InvalidInputError(
            f"The context '{name}' has {len(levels)} different texts in {len(texts)} samples. "
            f"A context has at most {MAX_LEVELS}: it looks like a name of the samples."
        )
    return [(f"{name}={level}", (texts == level).astype(np.float64)) for level in levels]
