"""What the search asks of its input."""

from __future__ import annotations

from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.solvers.prior import PriorKnowledge

__all__ = ["check_input"]


def check_input(data: InterventionalData, n_factors: int, prior: PriorKnowledge | None) -> None:
    """Raises `InvalidInputError` if a search cannot be made of this."""
    if not 1 <= n_factors < data.n_variables:
        raise InvalidInputError(
            f"'n_factors' must be at least 1 and below the number of variables, "
            f"{data.n_variables}. Got {n_factors} instead."
        )
    scale = data.x.std(axis=0)
    if not ((scale > 0.2) & (scale < 5)).all():
        raise InvalidInputError(
            "The search wants standardised data. Got standard deviations from "
            f"{scale.min():.3g} to {scale.max():.3g}. Use data.standardised()."
        )
    if prior is not None and prior.shape != (data.n_variables, n_factors):
        raise InvalidInputError(
            f"'prior' must be about {data.n_variables} variables and {n_factors} factors. "
            f"Got {prior.shape} instead."
        )
