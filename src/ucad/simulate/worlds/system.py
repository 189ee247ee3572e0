"""`System`: equations over variables and factors, solved under what is done to the variables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from ucad._types import FactorSamples, VariableSamples
from ucad.errors import SimulationError
from ucad.simulate.worlds.experiment import Doing

__all__ = ["Solution", "System", "gaussian_noise", "solve"]

MAX_SWEEPS = 1000
"""Sweeps over all equations before giving up. Acyclic equations need one per level of the graph
and one more to see that nothing changes; those with feedback whose gain is below 0.95 need fewer
than 600 to reach `TOLERANCE`."""

TOLERANCE = 1e-12
"""The change in a sweep, absolute and relative, below which the equations count as solved: some
thousand rounding errors of float64."""

DrawNoise: TypeAlias = Callable[[int, np.random.Generator], VariableSamples]
"""Draws the context u of so many samples."""


class Solution(NamedTuple):
    """The values of variables and factors that solve the equations of a system."""

    x: VariableSamples
    z: FactorSamples


@dataclass(frozen=True, eq=False)
class System:
    """The equations z = F_Z(x) and x = F_X(x, z, u), of any form.

    A `FactorSCM` has the form x = F_X(z) + u; a system may also have direct edges between
    variables, noise that is not additive, or weak feedback.

    Attributes:
        factors: F_Z, from all variables to all factors.
        variables: F_X, from variables, factors and context to all variables.
        draw_noise: draws the context u.
    """

    factors: Callable[[VariableSamples], FactorSamples]
    variables: Callable[[VariableSamples, FactorSamples, VariableSamples], VariableSamples]
    draw_noise: DrawNoise

    def sample(self, doing: Doing, rng: np.random.Generator) -> Solution:
        """Draws contexts and solves the equations under what is done in each sample."""
        return solve(self, self.draw_noise(len(doing.keep), rng), doing)


def solve(system: System, context: VariableSamples, doing: Doing) -> Solution:
    """Solves x = keep · F_X(x, F_Z(x), u) + offset by sweeps from x = 0.

    Exact for acyclic equations after as many sweeps as the graph has levels; a fixed point to
    `TOLERANCE` for weak feedback.

    Raises:
        SimulationError: the sweeps do not settle, because the feedback is too strong.
    """
    x = np.zeros_like(context)
    for _ in range(MAX_SWEEPS):
        z = system.factors(x)
        after = doing.keep * system.variables(x, z, context) + doing.offset
        if np.allclose(after, x, rtol=TOLERANCE, atol=TOLERANCE):
            return Solution(after, system.factors(after))
        x = after
    raise SimulationError(
        f"The equations did not settle in {MAX_SWEEPS} sweeps. Use a weaker feedback."
    )


def gaussian_noise(scale: np.ndarray) -> DrawNoise:
    """Independent N(0, scale_j²) noise, one scale per variable."""

    def draw(n_samples: int, rng: np.random.Generator) -> VariableSamples:
        return rng.standard_normal((n_samples, len(scale))) * scale

    return draw
