"""A density with heavy tails, by which errors are judged where no single sample may decide."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from ucad.scm.factor_scm import VARIANCE_FLOOR

__all__ = ["log_density", "spread"]

DEGREES_OF_FREEDOM = 4
"""Of the Student-t density by which residuals are judged: tails as heavy as those of real
measurements, at little cost for normal ones."""

MEDIAN_OF_NORMAL = 0.6745
"""The median of |u| for u ~ N(0, 1), by which a median becomes a standard deviation."""


def log_density(u: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """That of Student's t with 4 degrees of freedom, up to a constant."""
    far = np.hypot(1.0, u / np.sqrt(DEGREES_OF_FREEDOM))  # √(1 + u²/ν), whose square may not fit
    return -(DEGREES_OF_FREEDOM + 1) * np.log(far)


def spread(errors: Float[np.ndarray, " rows"]) -> float:
    """The standard deviation of normal errors with the same median size; never 0."""
    middle = float(np.median(np.abs(errors))) if len(errors) else 0.0
    return max(middle / MEDIAN_OF_NORMAL, VARIANCE_FLOOR**0.5)
