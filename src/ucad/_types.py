"""Array aliases with the paper's axes, and the shape of progress reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

__all__ = [
    "BooleanMatrix",
    "FactorSamples",
    "LayerOf",
    "Progress",
    "ProgressEvent",
    "RegimeOf",
    "VariableSamples",
    "VariablesByFactors",
    "WhichIntervened",
]

VariableSamples: TypeAlias = Float[np.ndarray, "samples variables"]
FactorSamples: TypeAlias = Float[np.ndarray, "samples factors"]
WhichIntervened: TypeAlias = Bool[np.ndarray, "samples variables"]
RegimeOf: TypeAlias = Int[np.ndarray, " samples"]
LayerOf: TypeAlias = Int[np.ndarray, " variables"]
BooleanMatrix: TypeAlias = Bool[np.ndarray, "rows columns"]
VariablesByFactors: TypeAlias = Bool[np.ndarray, "variables factors"]


class ProgressEvent(NamedTuple):
    """One step of a long computation.

    Attributes:
        stage: what is being done, in a few words.
        done: how many units of this stage are finished.
        total: how many there are, or None where nobody knows.
        message: what to tell beside the bar, may be empty.
        seconds_left: how long the rest takes, where that is known better than from the pace so far.
    """

    stage: str
    done: int
    total: int | None = None
    message: str = ""
    seconds_left: float | None = None


Progress: TypeAlias = Callable[[ProgressEvent], None]
