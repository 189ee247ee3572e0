"""Whether the parts of a `FactorSCM` belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool

from ucad.errors import InvalidInputError
from ucad.scm.families import Mechanism

if TYPE_CHECKING:
    from ucad.scm.factor_scm import FactorSCM

__all__ = ["check_model"]


def check_model(scm: FactorSCM) -> None:
    """Refuses mechanisms that see more than the graph allows, and parts of the wrong size."""
    _check_mask("factor_mechanism", scm.factor_mechanism, scm.graph.Q.T)
    _check_mask("variable_mechanism", scm.variable_mechanism, scm.graph.R)
    if scm.noise_scale.shape != (scm.graph.n_variables,):
        raise InvalidInputError(
            f"'noise_scale' must have one entry a variable, {scm.graph.n_variables}. "
            f"Got shape {tuple(scm.noise_scale.shape)} instead."
        )
    if not bool((scm.noise_scale >= 0).all()):
        raise InvalidInputError("'noise_scale' must be at least 0 everywhere.")
    if scm.reading_noise is not None and (
        scm.reading_noise.shape != scm.noise_scale.shape or not bool((scm.reading_noise >= 0).all())
    ):
        raise InvalidInputError(
            "'reading_noise' must have one entry of at least 0 per variable, "
            f"{scm.graph.n_variables}. Got shape {tuple(scm.reading_noise.shape)}."
        )
    if scm.context is not None and len(scm.context.weight) != scm.graph.n_variables:
        raise InvalidInputError(
            f"'context' must have weights for {scm.graph.n_variables} variables. Got "
            f"{len(scm.context.weight)} instead."
        )


def _check_mask(
    name: str, mechanism: Mechanism, allowed: Bool[np.ndarray, "targets inputs"]
) -> None:
    uses = mechanism.uses().detach().cpu().numpy()
    if uses.shape != allowed.shape:
        raise InvalidInputError(
            f"'{name}' must map {allowed.shape[1]} inputs to {allowed.shape[0]} targets. "
            f"Got {uses.shape[1]} to {uses.shape[0]} instead."
        )
    if not np.isfinite(uses).all():
        raise InvalidInputError(f"The weights of '{name}' must be finite.")
    beyond = np.argwhere((uses != 0) & ~allowed)
    if len(beyond):
        target, source = beyond[0]
        raise InvalidInputError(
            f"'{name}' must be zero where the graph has no edge. Target {target} uses input "
            f"{source}, and the graph says it does not."
        )
