"""What was measured: data sets, their moments, and the files they come from."""

from __future__ import annotations

from ucad.data.context import Context
from ucad.data.dataset import InterventionalData, Scaling, Split
from ucad.data.moments import MaskedMoments, Moment
from ucad.data.splits import OBSERVATIONAL

__all__ = [
    "OBSERVATIONAL",
    "Context",
    "InterventionalData",
    "MaskedMoments",
    "Moment",
    "Scaling",
    "Split",
]
