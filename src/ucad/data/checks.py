"""What a data set must fulfil, one function a condition, each with a message that says where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "check_finite",
    "check_informative",
    "check_matrix",
    "check_names",
    "check_regime_names",
    "check_regimes",
    "check_same_shape",
    "check_shapes",
    "split_targets",
]

from ucad._types import RegimeOf, VariableSamples, WhichIntervened
from ucad.errors import InvalidInputError

_SHOWN = 5


def check_matrix(x: Any, *, may_be_empty: bool = False) -> None:
    """Refuses anything but a matrix of numbers with at least one sample and one variable."""
    if x.ndim != 2 or (0 in x.shape and not may_be_empty):
        raise InvalidInputError(
            f"'x' must be a matrix, samples × variables, with at least one of each. "
            f"Got shape {x.shape} instead."
        )
    if x.dtype.kind not in "fiub":
        raise InvalidInputError(f"'x' must hold numbers. Got dtype {x.dtype} instead.")


def check_same_shape(x: Any, is_intervened: Any) -> None:
    """Refuses an `is_intervened` that is not one flag a measurement."""
    if is_intervened.shape != x.shape:
        raise InvalidInputError(
            f"'is_intervened' must have the shape of 'x', {x.shape}. "
            f"Got {is_intervened.shape} instead."
        )


def check_shapes(x: Any, is_intervened: Any, regime: Any, layer_of: Any) -> None:
    """Refuses arrays that do not belong together."""
    check_same_shape(x, is_intervened)
    if regime.shape != x.shape[:1]:
        raise InvalidInputError(
            f"'regime' must have one entry a sample, {len(x)}. Got shape {regime.shape} instead."
        )
    if layer_of is not None and layer_of.shape != x.shape[1:]:
        raise InvalidInputError(
            f"'layer_of' must have one entry a variable, {x.shape[1]}. "
            f"Got shape {layer_of.shape} instead."
        )


def check_names(names: Sequence[str], n_variables: int) -> None:
    """Refuses a wrong number of names, empty ones and duplicates."""
    if len(names) != n_variables:
        raise InvalidInputError(
            f"'variable_names' must have one name a variable, {n_variables}. "
            f"Got {len(names)} instead."
        )
    doubled = [name for name, count in Counter(names).items() if count > 1]
    if doubled:
        raise InvalidInputError(f"Variable names must differ. Used twice: {_some(doubled)}.")
    if "" in names:
        raise InvalidInputError(f"Variable {list(names).index('')} has an empty name.")


def check_finite(x: VariableSamples, names: Sequence[str]) -> None:
    """Refuses NaN and infinity, and says where they are."""
    if np.isfinite(x.sum()):
        return
    rows, columns = np.nonzero(~np.isfinite(x))
    if len(rows) == 0:
        return
    where = [
        f"{x[row, column]} at row {row}, column '{names[column]}'"
        for row, column in zip(rows[:_SHOWN], columns[:_SHOWN], strict=True)
    ]
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    raise InvalidInputError(
        f"'x' must be finite. Found {'; '.join(where)}{more}. Remove or impute these values first."
    )


def check_regimes(is_intervened: WhichIntervened, regime: RegimeOf) -> None:
    """Refuses regimes whose samples clamp different variables, and a clamping regime 0."""
    if regime.min(initial=0) < 0:
        raise InvalidInputError(
            f"'regime' must hold 0 (observational) or positive numbers. Got {regime.min()}."
        )
    labels, first, inverse = np.unique(regime, return_index=True, return_inverse=True)
    differs = (is_intervened != is_intervened[first][inverse.reshape(-1)]).any(axis=1)
    if differs.any():
        row = int(np.argmax(differs))
        raise InvalidInputError(
            f"All samples of a regime must have the same variables clamped. In regime "
            f"{regime[row]}, sample {row} differs from sample "
            f"{first[np.searchsorted(labels, regime[row])]}. Give them different regimes."
        )
    clamped = (regime == 0) & is_intervened.any(axis=1)
    if clamped.any():
        raise InvalidInputError(
            f"Regime 0 is observational and must clamp nothing. Sample {int(np.argmax(clamped))} "
            f"is in regime 0 and has a clamped variable."
        )


def check_regime_names(regime: RegimeOf, names: Sequence[str]) -> None:
    """Refuses regimes without a name."""
    if len(names) <= regime.max(initial=0):
        raise InvalidInputError(
            f"'regime_names' must name every regime up to {regime.max()}. Got {len(names)} names."
        )


def check_informative(
    x: VariableSamples, is_intervened: WhichIntervened, names: Sequence[str]
) -> None:
    """Refuses variables from which nothing can be learned: constant, or clamped in every sample."""
    if len(x) > 1:
        flat = x.min(axis=0) == x.max(axis=0)
        constant = [names[column] for column in np.flatnonzero(flat).tolist()]
        if constant:
            raise InvalidInputError(
                f"{len(constant)} variable(s) never change and carry no information: "
                f"{_some(constant)}. Leave them out (`ucad.read(…, drop_constant=True)`, or "
                f"--drop-constant on the command line)."
            )
    always = [names[column] for column in np.flatnonzero(is_intervened.all(axis=0)).tolist()]
    if always:
        raise InvalidInputError(
            f"{len(always)} variable(s) are clamped in every sample, so how they behave by "
            f"themselves was never seen: {_some(always)}. Add samples where they are free."
        )


def split_targets(label: str) -> list[str]:
    """Returns the targets named in one label.

    >>> split_targets("STAT1; JAK2")
    ['STAT1', 'JAK2']
    """
    return [part.strip() for part in label.split(";") if part.strip()]


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
