"""Is this the network, on such inputs, that was recorded or fitted? By its units."""

from __future__ import annotations

import numpy as np
from torch import nn

from ucad.data import InterventionalData
from ucad.networks.inputs import Inputs, n_inputs, select_inputs
from ucad.networks.recording import Recording
from ucad.networks.steering import Steering
from ucad.networks.subject import Subject

__all__ = ["is_recorded", "units_are_alike"]

N_EXACT = 16
"""Recorded inputs whose units are computed again."""

MAX_CHANGE = 1e-3
"""Largest change of a unit, in its spread, that passes for single precision."""

N_ALIKE = 500
"""Inputs whose units are compared with a sample of others: means are known to a twentieth of a
standard deviation."""

MAX_SHIFT = 0.5
"""Median over the units of how far their means lie apart, in standard deviations. Other inputs of
the same kind give about 0.05."""

CHANCE = 3.0
"""Standard errors of a mean that few inputs may be away by."""


def is_recorded(recording: Recording, model: nn.Module, inputs: Inputs) -> bool:
    """Whether units that were recorded come out again."""
    rows = np.flatnonzero(recording.is_observational)[:N_EXACT]
    if recording.input_of[rows].max(initial=0) >= n_inputs(inputs):
        return False
    subject = Subject.of(model, inputs, recording.sites)
    again = np.concatenate(subject.units(subject.rows(recording.input_of[rows])), axis=1)
    x = np.asarray(recording.data.x)
    spread = x[: 100 * N_EXACT].std(axis=0)
    return bool((np.abs(again - x[rows]) <= MAX_CHANGE * np.maximum(spread, 1e-3)).all())


def units_are_alike(steering: Steering, inputs: Inputs, sample: InterventionalData | None) -> bool:
    """Whether the units have about the means that they had when the model was fitted."""
    if sample is None or sample.variable_names != steering.scm.graph.variable_names:
        return True
    before = np.asarray(sample.x)[~sample.is_intervened.any(axis=1)]
    if len(before) < 2:
        return True
    some = np.linspace(0, n_inputs(inputs) - 1, min(N_ALIKE, n_inputs(inputs))).astype(int)
    now = steering.run(select_inputs(inputs, some)).x.detach().double().cpu().numpy()
    spread = before.std(axis=0)
    shift = np.abs(now.mean(axis=0) - before.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return bool(np.median(shift) <= MAX_SHIFT + CHANCE / np.sqrt(len(some)))
