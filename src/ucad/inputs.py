"""What users hand to an estimator, before and after its fit: arrays, frames, or data sets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ucad.data import InterventionalData
from ucad.data.checks import as_flags, as_layers, check_finite
from ucad.data.context import take_context
from ucad.data.duplicates import merged_as
from ucad.data.frames import check_same_rows
from ucad.data.given import (
    check_table,
    clamps_of,
    columns_by_name,
    given_interventions,
    take_column,
)
from ucad.data.labels import read_labels
from ucad.errors import InvalidInputError

__all__ = [
    "as_data",
    "check_has_regimes",
    "check_no_target",
    "clamped",
    "samples_and_context",
    "validated",
]


def as_data(estimator: Any, X: Any, interventions: Any) -> InterventionalData:
    """X as a data set; the estimator is told its number of columns and their names."""
    layers = estimator.layers
    if isinstance(X, InterventionalData):
        if interventions is not None:
            raise InvalidInputError("An InterventionalData brings its own interventions.")
        estimator.n_features_in_ = X.n_variables
        estimator.__dict__.pop("feature_names_in_", None)
        return X if layers is None else replace(X, layer_of=as_layers(layers))
    if isinstance(interventions, str):
        X, interventions = take_column(X, interventions)
    check_same_rows(X, interventions, "interventions")
    x = validated(estimator, X, ensure_min_samples=2, ensure_min_features=2)
    frame_names = getattr(estimator, "feature_names_in_", None)
    names = None if frame_names is None else frame_names.tolist()
    given = None if interventions is None else given_interventions(interventions, x.shape, names)
    if given is None or isinstance(given, np.ndarray):
        return InterventionalData.from_arrays(x, given, variable_names=names, layer_of=layers)
    known = [f"X{number}" for number in range(1, x.shape[1] + 1)] if names is None else names
    found = read_labels(given, known)
    data = InterventionalData.from_targets(
        x, found.labels, variable_names=names, control=found.control, layer_of=layers
    )
    return replace(data, notes=(*data.notes, *found.notes))


def validated(estimator: Any, X: Any, **options: Any) -> NDArray[np.float64]:
    """X as scikit-learn checks it, as numbers."""
    from sklearn.utils.validation import validate_data

    check_table(X)
    try:
        x = validate_data(estimator, X, dtype=np.float64, ensure_all_finite=False, **options)
    except (OverflowError, RuntimeError) as error:
        reason = str(error).rstrip(".")
        raise InvalidInputError(f"X must be a matrix of numbers: {reason}.") from error
    names = getattr(estimator, "feature_names_in_", range(x.shape[1]))
    check_finite(x, [str(name) for name in names])
    return np.ascontiguousarray(x)


def samples_and_context(
    model: Any, X: Any, context: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """The variables of a fitted model, and its covariates if they are given."""
    X, known = take_context(X, context)
    effect, names = model.scm_.context, model.graph_.variable_names
    if isinstance(X, InterventionalData):
        x, known = model.reads_.of(merged_as(X, names)).x, known or X.context
    else:
        by_name = None if hasattr(model, "feature_names_in_") else columns_by_name(X, names)
        table = validated(model, X, reset=False) if by_name is None else by_name
        x = model.reads_.values(model.columns_.merged(table) if by_name is None else table)
    if context is not None and effect is None:
        raise InvalidInputError("The model was fitted without a context, so none can be given.")
    return x, None if known is None or effect is None else known.aligned(effect.names).values


def check_has_regimes(X: Any) -> None:
    """Refuses a bare table where it is asked what regimes did."""
    if not isinstance(X, InterventionalData):
        raise InvalidInputError(
            f"Regimes are predicted of an InterventionalData, such as ucad.read gives. Got "
            f"{type(X).__name__} instead."
        )


def check_no_target(X: Any, y: Any) -> None:
    """Refuses what was clamped where scikit-learn has the labels, which are ignored."""
    is_flags = getattr(getattr(y, "dtype", None), "kind", "") == "b"
    if is_flags and np.shape(y) == np.shape(X):
        raise InvalidInputError(
            "The second argument of fit is scikit-learn's y, which is ignored. Say what was "
            "clamped with interventions=…"
        )


def clamped(model: Any, n_samples: int, interventions: Any) -> NDArray[np.bool_] | None:
    """Which variables of a fitted model were clamped in which samples; None if not told."""
    if interventions is None:
        return None
    names = getattr(model, "feature_names_in_", model.graph_.variable_names)
    given = given_interventions(interventions, (n_samples, model.n_features_in_), list(names))
    if isinstance(given, np.ndarray):
        return model.columns_.any_of(as_flags(given, "interventions"))
    return clamps_of(given, model.graph_.variable_names)
