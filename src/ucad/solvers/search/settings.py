"""The model class and the score, as every stage of the search needs to know them."""

from __future__ import annotations

from dataclasses import dataclass

from ucad.solvers.search.functions import FunctionConfig

__all__ = ["FitSettings"]


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """What every stage of the search needs to know of the model class and the score.

    Attributes:
        factor_fit: how a factor is fitted; `hidden=0` if F_Z is linear.
        variable_fit: how a variable is fitted; `hidden=0` if F_X is linear.
        penalty: the price of an edge, in nats.
        floor: s₀, the variance that no explanation goes below.
    """

    factor_fit: FunctionConfig
    variable_fit: FunctionConfig
    penalty: float
    floor: float

    @property
    def nonlinear(self) -> bool:
        """Whether a variable may be a nonlinear function of its low-level parents."""
        return bool(self.factor_fit.hidden or self.variable_fit.hidden)
