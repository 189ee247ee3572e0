"""What fits on parts of the samples predict of a clamp: how far they agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float

from ucad.consensus.consensus import Consensus
from ucad.scm import Abstraction, FactorSCM

__all__ = ["ShiftInterval", "shift_intervals", "shifts_of"]

LOW, HIGH = 0.05, 0.95
"""Quantiles over the fits: a 90 % range needs twenty of them to be more than the extremes."""

SMALL = 1e-12
"""A difference below this is rounding."""


class ShiftInterval(NamedTuple):
    """How fits on parts of the samples predict one shift.

    Attributes:
        low: the 5 % quantile over the fits, in standard deviations of what shifts.
        high: the 95 % quantile.
        moved: the share of the fits in which it moves at all; for a factor without a partner in
            a fit, it does not.
    """

    low: float
    high: float
    moved: float


class Shifts(NamedTuple):
    """Mean shifts under a clamp in standard deviations, and which are not zero by the graph."""

    x: Float[np.ndarray, " variables"]
    z: Float[np.ndarray, " factors"]


def shifts_of(scm: FactorSCM, values: Mapping[str, float], n_samples: int) -> Shifts:
    """(mean after − mean before) / standard deviation before, of every variable and factor."""
    context = scm.draw_context(n_samples)
    abstraction = Abstraction(scm)
    before, after = scm.solve(context), scm.solve(context, dict(values))
    high = abstraction.high_level.solve(context, abstraction.intervention_map(dict(values)))
    shifts = []
    for old, new in ((before.x, after.x), (before.z, high)):
        moved = (new - old).mean(dim=0) / old.std(dim=0).clamp_min(SMALL)
        still = (new - old).abs().max(dim=0).values <= SMALL
        shifts.append(torch.where(still, 0.0, moved).detach().cpu().numpy().astype(np.float64))
    return Shifts(*shifts)


def shift_intervals(
    found: Consensus, values: Mapping[str, float], n_samples: int
) -> dict[str, ShiftInterval]:
    """By name of a variable or factor of the model: what the fits predict under a clamp.

    Factors are put in correspondence and turned the same way round. Fits whose prediction is not
    finite are left out.
    """
    assert found.support is not None, "a consensus without support is not stored"
    names = [one.name for one in found.support.factors]
    rows = []
    for scm, account in zip(found.fits, found.support.fits, strict=True):
        x, z = shifts_of(scm, values, n_samples)
        own = [
            0.0 if at is None else sign * z[at]
            for at, sign in zip(account.partners, account.signs, strict=True)
        ]
        rows.append(np.concatenate([x, own]))
    shifts = np.array([row for row in rows if np.isfinite(row).all()])
    if not len(shifts):
        return {}
    low, high = np.quantile(shifts, [LOW, HIGH], axis=0)
    moved = (np.abs(shifts) > SMALL).mean(axis=0)
    every = (*found.fits[0].graph.variable_names, *names)
    return {
        name: ShiftInterval(float(low[at]), float(high[at]), float(moved[at]))
        for at, name in enumerate(every)
    }
