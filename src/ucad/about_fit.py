"""What travels with a fitted model: its settings, what the data were, and some of the samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from ucad.data import InterventionalData

__all__ = ["about_data", "plain_settings", "sample_of"]

SAMPLE_SIZE = 2000
"""Samples that travel with a model, for its report and certificate."""


def sample_of(data: InterventionalData, seed: int) -> InterventionalData:
    """At most 2,000 samples, from every regime in proportion, to travel with the model."""
    share = SAMPLE_SIZE / data.n_samples
    if share >= 1:
        return data
    return data.split(share, 1 - share, seed=seed).train


def about_data(data: InterventionalData) -> dict[str, Any]:
    """What a run folder says of the data it was made from."""
    return {
        "fingerprint": data.fingerprint,
        "n_samples": data.n_samples,
        "n_variables": data.n_variables,
        "n_regimes": len(np.unique(data.regime)),
        "context": "" if data.context is None else ", ".join(data.context.names),
    }


def plain_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that JSON can hold; the others are shown as text."""
    plain: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | str):
            plain[name] = value
        elif name in ("layers", "measurement_noise"):
            plain[name] = np.asarray(value).tolist()
        elif name not in ("progress", "readouts"):
            plain[name] = repr(value)
    return plain
