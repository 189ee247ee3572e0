"""What a recording will cost, found out before it starts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ucad.networks.inputs import Inputs, check_inputs, input_rows, n_inputs
from ucad.networks.passes import forward, resolve_sites, undisturbed
from ucad.networks.recording import RecordSettings
from ucad.networks.sites import Site
from ucad.networks.wrapped import unwrapped

__all__ = ["RecordingCost", "recording_cost"]

TIMED_ROWS = 256
"""Inputs of the pass that is timed, at most: what a pass costs per row hardly changes beyond."""


@dataclass(frozen=True)
class RecordingCost:
    """How much is recorded, if every unit lives.

    Attributes:
        units: the number of units of every site, by its name.
        observational: rows without a clamp.
        per_clamp: rows for each clamp.
        clamps: how many clamps.
        seconds: estimated, from one timed pass.
        bytes: of the recorded values.
    """

    units: dict[str, int]
    observational: int
    per_clamp: int
    clamps: int
    seconds: float
    bytes: int

    @property
    def rows(self) -> int:
        """How many rows go through the network."""
        return self.observational + self.per_clamp * self.clamps

    def __str__(self) -> str:
        sites = ", ".join(f"{name} ({n})" for name, n in self.units.items())
        return (
            f"Units: {sites}. {self.rows} passes of one input: {self.observational} without a "
            f"clamp and {self.per_clamp} for each of {self.clamps} clamps; about "
            f"{self.seconds:.0f} s and {self.bytes / 1e6:.0f} MB."
        )


def recording_cost(
    model: Any, inputs: Inputs, sites: Sequence[Site | str], settings: RecordSettings
) -> RecordingCost:
    """Runs the network twice on a few inputs, and multiplies.

    >>> from torch import nn
    >>> model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
    >>> cost = recording_cost(model, torch.randn(100, 4), ["1", "2"], RecordSettings())
    >>> cost.units, cost.rows
    ({'1': 3, '2': 2}, 500)
    """
    model, inputs = unwrapped(model), check_inputs(inputs)
    named = [Site.parse(site) if isinstance(site, str) else site for site in sites]
    chosen = resolve_sites(model, inputs, named)
    units = {site.name: len(site.units or ()) for site in chosen}
    total = n_inputs(inputs)
    observed = total if settings.observational is None else min(settings.observational, total)
    clamps = len(settings.groups) + (sum(units.values()) if settings.each_unit else 0)
    per_clamp = settings.per_clamp_for(observed, clamps)
    few = input_rows(model, inputs, np.arange(min(TIMED_ROWS, settings.batch_size, total)))
    with undisturbed(model), torch.no_grad():
        started = time.perf_counter()
        forward(model, few, chosen)
        seconds = (time.perf_counter() - started) / n_inputs(few)
    rows = observed + per_clamp * clamps
    size = rows * sum(units.values()) * np.dtype(settings.precision).itemsize
    return RecordingCost(units, observed, per_clamp, clamps, rows * seconds, size)
