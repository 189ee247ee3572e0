"""What a recording or a table will cost, found out before it starts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from ucad.networks.controls.bench import Gap
from ucad.networks.controls.lines import blocks_of
from ucad.networks.inputs import Inputs, check_inputs, input_rows, n_inputs
from ucad.networks.passes import forward, resolve_sites, undisturbed
from ucad.networks.recording import RecordSettings
from ucad.networks.sites import Site
from ucad.networks.steering import Steering
from ucad.networks.steering_table import SteeringSettings
from ucad.networks.subject import Subject
from ucad.networks.wrapped import unwrapped

__all__ = [
    "FitCost",
    "RecordingCost",
    "SteeringCost",
    "fit_cost",
    "recording_cost",
    "rows_per_pass",
    "steering_cost",
]

TIMED_ROWS = 256
"""Inputs of the pass that is timed, at most: what a pass costs per row hardly changes beyond."""

FIT_ROWS_PER_GAP, MAX_FIT_ROWS = 10_000, 10_000
"""Inputs that a fit runs for the diagnosis and the decisions kept of each gap, about, and those on
which it reads units, at most. Behaviour comes on top where inputs can be recombined."""

SLOW_SECONDS = 60.0
"""Of these passes from which on a fit is given a budget unless the user sets one."""

USUAL_BUDGET = 600.0
"""Seconds: ten minutes, which a user is ready to wait for a first answer."""

PASS_SECONDS, MIN_PASS_ROWS, MAX_PASS_ROWS = 2.0, 16, 8192
"""About how long one pass may take, since nothing is stopped within it, and rows in it."""

_PASSES_OF_A_GRADIENT = 3
"""A forward pass with its backward pass, in forward passes: the usual rule of thumb."""


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
    seconds = _seconds_per_row(model, inputs, chosen, settings.batch_size)
    rows = observed + per_clamp * clamps
    size = rows * sum(units.values()) * np.dtype(settings.precision).itemsize
    return RecordingCost(units, observed, per_clamp, clamps, rows * seconds, size)


@dataclass(frozen=True)
class FitCost:
    """How much of a network a fit runs, apart from behaviour and from training.

    Attributes:
        rows: passes of one input.
        seconds: of these passes, estimated from one timed pass.
    """

    rows: int
    seconds: float

    @property
    def budget(self) -> float | None:
        """The seconds to give a fit if the user does not say; None for no limit."""
        return USUAL_BUDGET if self.seconds > SLOW_SECONDS else None

    def __str__(self) -> str:
        return f"About {self.rows} passes of one input, {self.seconds:.0f} s, and training."


def fit_cost(model: Any, inputs: Inputs, sites: Sequence[Site]) -> FitCost:
    """Counts the passes of `fit_network`, and times one."""
    model, inputs = unwrapped(model), check_inputs(inputs)
    rows = FIT_ROWS_PER_GAP * max(1, len(sites) - 1) + min(MAX_FIT_ROWS, n_inputs(inputs))
    return FitCost(rows, rows * _seconds_per_row(model, inputs, sites, TIMED_ROWS))


def rows_per_pass(subject: Subject) -> int:
    """As many as a pass of a second or two takes: a large network gets fewer."""
    per_row = _seconds_per_row(subject.model, subject.inputs, subject.sites, MIN_PASS_ROWS)
    return int(np.clip(PASS_SECONDS / max(per_row, 1e-9), MIN_PASS_ROWS, MAX_PASS_ROWS))


@dataclass(frozen=True)
class SteeringCost:
    """How much a steering table runs.

    Attributes:
        rows: passes of one input, those with gradients counted three times.
        seconds: of these passes, estimated from one timed pass.
    """

    rows: int
    seconds: float

    def __str__(self) -> str:
        return f"About {self.rows} passes of one input, {self.seconds:.0f} s, and the decoders."


def steering_cost(
    steering: Steering,
    inputs: Inputs,
    settings: SteeringSettings,
    *,
    n_concepts: int,
    n_pairs: int,
) -> SteeringCost:
    """Counts the passes of `steering_table`, and times one."""
    gaps = Gap.all_of(steering)
    widest = max((len(gap.factors) for gap in gaps), default=1)
    draws, half = settings.n_draws, n_pairs / 2
    untrained = max(1, draws // 3)
    read_otherwise = 1 + draws + (3 + untrained) * (widest + 1)
    two_valued = 1 + draws + (1 + untrained) * (widest + 1) if settings.two_valued else 0
    swaps = half * (2 * len(blocks_of(gaps)) + 3 + read_otherwise + two_valued)
    steps = settings.n_starts * settings.subspace.n_steps if settings.ceiling_directions else 0
    learned = _PASSES_OF_A_GRADIENT * steps * min(settings.subspace.batch_size, half)
    once = min(n_inputs(inputs), settings.max_fitted + 2 * n_pairs * n_concepts)
    rows = int(once + n_concepts * (swaps + learned) + untrained * once)
    per_row = _seconds_per_row(steering.model, inputs, steering.sites, steering.batch_size)
    return SteeringCost(rows, rows * per_row)


def _seconds_per_row(
    model: nn.Module, inputs: Inputs, sites: Sequence[Site], batch_size: int
) -> float:
    rows = np.arange(min(TIMED_ROWS, batch_size, n_inputs(inputs)))
    few = input_rows(model, inputs, rows)
    with undisturbed(model), torch.no_grad():
        started = time.perf_counter()
        forward(model, few, sites)
        return (time.perf_counter() - started) / len(rows)
