"""A trained network is a low-level SCM: record and clamp its units, and steer its factors."""

from __future__ import annotations

from ucad.networks.interchange import (
    InterchangeScore,
    SwapPairs,
    decision,
    factor_swap,
    interchange_score,
    swap_pairs,
)
from ucad.networks.passes import Inputs, forward, undisturbed
from ucad.networks.recording import (
    Activation,
    Recording,
    RecordSettings,
    load_recording,
    record,
)
from ucad.networks.sites import Pooling, Site
from ucad.networks.steering import Steered, Steering, Swapped

__all__ = [
    "Activation",
    "Inputs",
    "InterchangeScore",
    "Pooling",
    "RecordSettings",
    "Recording",
    "Site",
    "Steered",
    "Steering",
    "SwapPairs",
    "Swapped",
    "decision",
    "factor_swap",
    "forward",
    "interchange_score",
    "load_recording",
    "record",
    "swap_pairs",
    "undisturbed",
]
