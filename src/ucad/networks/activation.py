"""`Activation`: what values units can have."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from torch import Tensor

__all__ = ["Activation"]


class Activation(StrEnum):
    """What values a site's units can have, and how a wanted value is brought there."""

    IDENTITY = "identity"
    RELU = "relu"

    @classmethod
    def of(cls, values: np.ndarray | Tensor) -> Activation:
        """ReLU if the smallest of the values is exactly 0."""
        return cls.RELU if float(values.min()) == 0 else cls.IDENTITY

    def __call__(self, values: Tensor) -> Tensor:
        """The nearest values that the units can have."""
        return values.clamp_min(0.0) if self is Activation.RELU else values
