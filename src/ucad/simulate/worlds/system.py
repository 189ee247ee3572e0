"""`System`: equations over variables and factors, solved under what is done to the variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from jaxtyping import Float

from ucad._types import FactorSamples, VariableSamples
from ucad.errors import SimulationError
from ucad.simulate.worlds.experiment import Doing

__all__ = ["Context", "DrawNoise", "Sampler", "Solution", "System", "gaussian_noise", "solve"]

MAX_SWEEPS = 1000
"""Sweeps over all equations before giving up. Acyclic equations need one per level of the graph
and one more to see that nothing changes; those with feedback whose gain is below 0.95 need fewer
than 600 to reach `TOLERANCE`."""

TOLERANCE = 1e-12
"""The change in a sweep, absolute and relative, below which the equations count as solved: some
thousand rounding errors of float64."""

MAX_DRAWS = 50
"""How often a sample is drawn anew, at most: where one in ten is kept, .5 % of the samples stay in
the end whatever they are."""

Context: TypeAlias = Float[np.ndarray, "samples sources"]
"""The noise u: one column per variable, then any hidden sources."""

DrawNoise: TypeAlias = Callable[[int, np.random.Generator], Context]
"""Draws the context of so many samples."""


class Sampler(Protocol):
    """Whatever samples can be drawn from under an action."""

    def sample(self, doing: Doing, rng: np.random.Generator) -> Solution:
        """Draws one sample per row of what is done."""
        ...


class Solution(NamedTuple):
    """The values of variables and factors that solve the equations, and what else is known."""

    x: VariableSamples
    z: FactorSamples
    covariates: Mapping[str, np.ndarray] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class System:
    """The equations z = F_Z(x, u) and x = F_X(x, z, u), of any form.

    A `FactorSCM` has the form z = F_Z(x) and x = F_X(z) + u; a system may also have direct edges
    between variables, noise in its factors, noise that is not additive, or weak feedback.

    Attributes:
        factors: F_Z, from variables and context to all factors.
        variables: F_X, from variables, factors and context to all variables.
        draw_noise: draws the context u.
        observed: columns of the context that are known, by name.
        as_set: from what actions add and the context to what is added; that itself if None.
        keeps: from variables to the probability that a sample is kept; all are kept if None.
    """

    factors: Callable[[VariableSamples, Context], FactorSamples]
    variables: Callable[[VariableSamples, FactorSamples, Context], VariableSamples]
    draw_noise: DrawNoise
    observed: Mapping[str, int] = field(default_factory=dict)
    as_set: Callable[[VariableSamples, Context], VariableSamples] | None = None
    keeps: Callable[[VariableSamples], Float[np.ndarray, " samples"]] | None = None

    def sample(self, doing: Doing, rng: np.random.Generator) -> Solution:
        """Draws contexts and solves the equations under what is done in each sample.

        A sample that is not kept is drawn anew, up to `MAX_DRAWS` times.
        """
        found = self._sample(doing, rng)
        if self.keeps is None:
            return found
        dropped = np.flatnonzero(rng.random(len(found.x)) > self.keeps(found.x))
        for _ in range(MAX_DRAWS):
            if len(dropped) == 0:
                break
            again = self._sample(Doing(doing.keep[dropped], doing.offset[dropped]), rng)
            found.x[dropped], found.z[dropped] = again.x, again.z
            for name, values in again.covariates.items():
                found.covariates[name][dropped] = values
            dropped = dropped[rng.random(len(dropped)) > self.keeps(again.x)]
        return found

    def _sample(self, doing: Doing, rng: np.random.Generator) -> Solution:
        context = self.draw_noise(len(doing.keep), rng)
        if self.as_set is not None:
            doing = doing._replace(offset=self.as_set(doing.offset, context))
        known = {name: context[:, column].copy() for name, column in self.observed.items()}
        return solve(self, context, doing)._replace(covariates=known)


def solve(system: System, context: Context, doing: Doing) -> Solution:
    """Solves x = keep · F_X(x, F_Z(x, u), u) + offset by sweeps from x = 0.

    Exact for acyclic equations after as many sweeps as the graph has levels; a fixed point to
    `TOLERANCE` for weak feedback.

    Raises:
        SimulationError: the sweeps do not settle, because the feedback is too strong.
    """
    x = np.zeros_like(doing.keep)
    for _ in range(MAX_SWEEPS):
        with np.errstate(over="ignore", invalid="ignore"):
            z = system.factors(x, context)
            after = doing.keep * system.variables(x, z, context) + doing.offset
        if not np.isfinite(after).all():
            break
        if np.allclose(after, x, rtol=TOLERANCE, atol=TOLERANCE):
            return Solution(after, system.factors(after, context))
        x = after
    raise SimulationError(
        f"The equations did not settle within {MAX_SWEEPS} sweeps. Use a weaker feedback."
    )


def gaussian_noise(scale: np.ndarray) -> DrawNoise:
    """Independent N(0, scale_j²) noise, one scale per variable."""

    def draw(n_samples: int, rng: np.random.Generator) -> Context:
        return rng.standard_normal((n_samples, len(scale))) * scale

    return draw
