"""What users hand to an estimator, as data: arrays, frames, or data sets with interventions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ucad.data import InterventionalData
from ucad.data.checks import as_layers, check_finite
from ucad.data.given import check_table, given_interventions, take_column
from ucad.errors import InvalidInputError

__all__ = ["as_data", "validated"]


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
    x = validated(estimator, X, ensure_min_samples=2, ensure_min_features=2)
    frame_names = getattr(estimator, "feature_names_in_", None)
    names = None if frame_names is None else frame_names.tolist()
    given = None if interventions is None else given_interventions(interventions, x.shape)
    if given is None or isinstance(given, np.ndarray):
        return InterventionalData.from_arrays(x, given, variable_names=names, layer_of=layers)
    return InterventionalData.from_targets(x, given, variable_names=names, layer_of=layers)


def validated(estimator: Any, X: Any, **options: Any) -> NDArray[np.float64]:
    """X as scikit-learn checks it, as numbers."""
    check_table(X)
    try:
        x = validate_data(estimator, X, dtype=np.float64, ensure_all_finite=False, **options)
    except (OverflowError, RuntimeError) as error:
        raise InvalidInputError(f"X must be a matrix of numbers: {error}.") from error
    names = getattr(estimator, "feature_names_in_", range(x.shape[1]))
    check_finite(x, [str(name) for name in names])
    return np.ascontiguousarray(x)
