"""Readouts: the rest of a network, from the units of a site to its logits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ucad.errors import InvalidInputError
from ucad.networks.inputs import (
    Inputs,
    check_inputs,
    input_rows,
    n_inputs,
    select_inputs,
)
from ucad.networks.outputs import ReadOutput, output_reader, tensor_output
from ucad.networks.passes import forward, undisturbed
from ucad.networks.recording import Recording
from ucad.networks.rest import Rest, SiteReadout
from ucad.networks.sites import Site
from ucad.networks.subject import Subject
from ucad.networks.wrapped import unwrapped

__all__ = ["readouts"]

CHECKED_ROWS = 200
"""Inputs on which a readout must give the network's own output."""

TOLERANCE = 1e-3
"""How far it may be off, in the spread of the output: single precision over a few layers."""


def readouts(
    model: Any,
    recording: Recording,
    inputs: Inputs,
    *,
    read_output: ReadOutput = tensor_output,
) -> tuple[Callable[[Tensor], Tensor], ...]:
    """For every site but the first, the map from its recorded units to the network's output.

    Given to the bottleneck solver (`BottleneckConfig(readouts=…)`), errors count by what they do to
    the network's own decisions. Units that were left out of the recording never change, so that
    the rest of the network is run on one input, with the units of the site replaced.

    >>> from torch import nn
    >>> from ucad.networks import record
    >>> model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4), nn.ReLU(),
    ...                          nn.Linear(4, 1)), torch.randn(50, 3)
    >>> (read,) = readouts(model, record(model, x, ["1", "3"]), x)

    Raises:
        InvalidInputError: the units of a site do not determine the output; something else reaches
            it.
    """
    model, inputs = unwrapped(model), check_inputs(inputs)
    found = []
    for site, act in list(zip(recording.sites, recording.activations, strict=True))[1:]:
        first = select_inputs(inputs, [0])
        subject = Subject(model, first, (site,), read_output=read_output)
        read = _Readout(site, SiteReadout(Rest(subject, 0), act))
        _check(model, site, read, inputs, read_output)
        found.append(read)
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Readout:
    """The rest of the network after one site, for as many units as were recorded there."""

    site: Site
    read: SiteReadout

    def __call__(self, units: Float[Tensor, "rows units"]) -> Float[Tensor, "rows outputs"]:
        width = len(self.site.units or ())
        if units.shape[1] != width:
            raise InvalidInputError(
                f"The readout of site '{self.site.name}' needs its {width} units. "
                f"Got {units.shape[1]}: fit the data of the recording, with no column left out."
            )
        return self.read(units)


def _check(
    model: torch.nn.Module,
    site: Site,
    read: Callable[[Tensor], Tensor],
    inputs: Inputs,
    read_output: ReadOutput,
) -> None:
    rows = np.arange(min(CHECKED_ROWS, n_inputs(inputs)))
    with torch.no_grad(), undisturbed(model):
        passed = forward(model, input_rows(model, inputs, rows), [site])
        own = output_reader(read_output)(passed.output).reshape(len(rows), -1)
        error = (read(passed.units) - own).square().mean().sqrt()
    if float(error) > TOLERANCE * float(own.std(correction=0).clamp_min(1e-12)):
        raise InvalidInputError(
            f"The units at site '{site.name}' must determine the network's output for a readout, "
            "and something else reaches it, too (other tokens, a residual stream, later inputs). "
            "Choose a site that everything passes through, or leave the readouts out."
        )
