"""What a data set must fulfil, one function a condition, each with a message that says where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ucad._types import LayerOf, RegimeOf, VariableSamples, WhichIntervened
from ucad.errors import InvalidInputError

__all__ = [
    "as_flags",
    "as_layers",
    "as_whole_numbers",
    "check_finite",
    "check_fittable",
    "check_informative",
    "check_magnitude",
    "check_matrix",
    "check_names",
    "check_regime_names",
    "check_regimes",
    "check_same_shape",
    "check_scaling",
    "check_shapes",
    "check_storable",
    "some",
]

_SHOWN = 5
"""Names or numbers listed in a message: enough to recognise what they have in common."""

MAX_MAGNITUDE = 1e100
"""The largest size and the inverse of the smallest spread that a fit takes, in the user's units.
A fit adds up fourth powers at most, which stay below the largest double, 1.8e308, up to about
1e77 once a variable is standardised; what is measured in such units is a slip in any case."""


def check_matrix(x: Any, *, may_be_empty: bool = False) -> None:
    """Refuses anything but a matrix of numbers with at least one sample and one variable."""
    if len(x.shape) != 2 or (0 in x.shape and not may_be_empty):
        raise InvalidInputError(
            f"'x' must be a matrix, samples × variables, with at least one of each. "
            f"Got shape {x.shape} instead."
        )
    if x.dtype.kind not in "fiub":
        kind = "real numbers" if x.dtype.kind == "c" else "numbers"
        raise InvalidInputError(f"'x' must hold {kind}. Got dtype {x.dtype} instead.")


def check_same_shape(x: Any, flags: Any, name: str = "is_intervened") -> None:
    """Refuses flags that are not one per measurement."""
    if flags.shape != x.shape:
        raise InvalidInputError(
            f"'{name}' must have the shape of 'x', {x.shape}. Got {flags.shape} instead."
        )


def check_shapes(x: Any, is_intervened: Any, regime: Any, layer_of: Any) -> None:
    """Refuses arrays that do not belong together."""
    check_same_shape(x, is_intervened)
    if regime.shape != x.shape[:1]:
        raise InvalidInputError(
            f"'regime' must have one entry per sample, {len(x)}. Got shape {regime.shape} instead."
        )
    if layer_of is not None and layer_of.shape != x.shape[1:]:
        raise InvalidInputError(
            f"'layer_of' must have one entry per variable, {x.shape[1]}. "
            f"Got shape {layer_of.shape} instead."
        )


def check_names(names: Sequence[str], n_variables: int) -> None:
    """Refuses a wrong number of names, empty ones and duplicates."""
    if len(names) != n_variables:
        raise InvalidInputError(
            f"'variable_names' must have one name per variable, {n_variables}. "
            f"Got {len(names)} instead."
        )
    doubled = [name for name, count in Counter(names).items() if count > 1]
    if doubled:
        raise InvalidInputError(f"Variable names must differ. Used twice: {some(doubled)}.")
    if "" in names:
        raise InvalidInputError(f"Variable {list(names).index('')} has an empty name.")


def check_finite(x: VariableSamples, names: Sequence[str]) -> None:
    """Refuses missing values (NaN) and infinity, and says how many and where."""
    with np.errstate(over="ignore", invalid="ignore"):
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
    advice = (
        "Leave these rows out with --missing drop, or fill the values in with --missing mean "
        "(missing='drop' or 'mean' in Python)."
        if np.isnan(x[rows, columns]).all()
        else "Leave these rows or columns out, or fill the values in, first."
    )
    raise InvalidInputError(
        f"{len(rows)} value(s) are missing or infinite, in {len(np.unique(rows))} of {len(x)} rows "
        f"and {len(np.unique(columns))} of {x.shape[1]} columns: {'; '.join(where)}{more}. {advice}"
    )


def check_fittable(x: VariableSamples, names: Sequence[str]) -> None:
    """Refuses what no solver can compute with, and names that no run folder could hold."""
    check_storable(names)
    if len(x) < 2:
        raise InvalidInputError(f"A fit needs at least 2 samples. Got {len(x)}.")
    if x.shape[1] < 2:
        raise InvalidInputError(f"A fit needs at least 2 variables. Got {x.shape[1]}.")
    check_magnitude(x, names)
    spread = x.max(axis=0).astype(np.float64) - x.min(axis=0).astype(np.float64)
    is_tiny = (spread > 0) & (spread < 1 / MAX_MAGNITUDE)
    tiny = [names[j] for j in np.flatnonzero(is_tiny).tolist()]
    if tiny:
        raise InvalidInputError(
            f"{len(tiny)} variable(s) vary by less than {1 / MAX_MAGNITUDE:g}: {some(tiny)}. "
            f"Measure them in smaller units."
        )


def check_magnitude(x: VariableSamples, names: Sequence[str]) -> None:
    """Refuses values whose squares and sums are no numbers any more."""
    low, high = (end.astype(np.float64) for end in (x.min(axis=0), x.max(axis=0)))
    is_huge = np.maximum(-low, high) > MAX_MAGNITUDE
    huge = [names[j] for j in np.flatnonzero(is_huge).tolist()]
    if huge:
        raise InvalidInputError(
            f"{len(huge)} variable(s) hold values beyond {MAX_MAGNITUDE:g}: {some(huge)}. "
            f"Measure them in larger units."
        )


def check_storable(names: Sequence[str]) -> None:
    """Refuses names that some file could not give back: with a null, or half a character."""
    for name in names:
        if "\0" in name or name != name.encode("utf-8", "replace").decode("utf-8"):
            raise InvalidInputError(
                f"The name {name!r} cannot be written to a file and read back. Rename it."
            )


def check_scaling(mean: Any, scale: Any, n_variables: int) -> None:
    """Refuses a scaling that is not one finite mean and one positive scale per variable."""
    for name, part in (("mean", mean), ("scale", scale)):
        if part.shape != (n_variables,) or part.dtype.kind not in "fiu":
            raise InvalidInputError(
                f"The {name} of a scaling must be one number per variable, {n_variables}. "
                f"Got shape {part.shape} of dtype {part.dtype} instead."
            )
        if not np.isfinite(part).all() or (name == "scale" and not (part > 0).all()):
            raise InvalidInputError("A scaling must have finite means and positive scales.")


def as_flags(values: Any, name: str) -> np.ndarray:
    """Truth values, or zeros and ones, as truth values."""
    values = np.asarray(values)
    if values.dtype.kind == "b":
        return values
    if values.dtype.kind not in "fiu" or not np.isin(values, (0, 1)).all():
        raise InvalidInputError(f"'{name}' must hold only zeros and ones, or True and False.")
    return values.astype(bool)


def as_whole_numbers(values: Any, name: str) -> np.ndarray:
    """Numbers without a fraction as integers; NaN, text and fractions are refused."""
    try:
        values = np.asarray(values)
    except ValueError as error:
        raise InvalidInputError(f"'{name}' must be one row of whole numbers: {error}.") from error
    whole = values.dtype.kind in "iub" or (
        values.dtype.kind == "f"
        and bool((np.abs(values) < 2**53).all() and (values == np.rint(values)).all())
    )
    if not whole:
        raise InvalidInputError(f"'{name}' must hold whole numbers. Got {_first_odd(values)}.")
    return values.astype(np.int64)


def as_layers(layer_of: Any) -> LayerOf | None:
    """The layer of every variable as whole numbers, or None."""
    return None if layer_of is None else as_whole_numbers(layer_of, "layer_of")


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
                f"{some(constant)}. Leave them out (`ucad.read(…, drop_constant=True)`, or "
                f"--drop-constant on the command line)."
            )
    always = [names[column] for column in np.flatnonzero(is_intervened.all(axis=0)).tolist()]
    if always:
        raise InvalidInputError(
            f"{len(always)} variable(s) are clamped in every sample, so how they behave by "
            f"themselves was never seen: {some(always)}. Add samples where they are free."
        )


def some(names: Sequence[str]) -> str:
    """The first names in quotes, and how many more there are.

    >>> some(["a", "b"])
    "'a', 'b'"
    """
    shown = ", ".join(f"'{name}'" for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _first_odd(values: np.ndarray) -> str:
    """The first entry that is no whole number, or the kind of all of them."""
    if values.dtype.kind != "f":
        return f"dtype {values.dtype} instead"
    with np.errstate(invalid="ignore"):
        odd = ~(np.abs(values) < 2**53) | (values != np.rint(values))
    return f"{values[odd].reshape(-1)[0]} instead"
