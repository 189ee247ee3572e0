"""One Levenberg–Marquardt loop for every least-squares fit."""

from __future__ import annotations

from typing import Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float

__all__ = ["NormalEquations", "Objective", "levenberg_marquardt"]

SMALLEST_DAMPING = 1e-8
"""Below this the damping is lost in the rounding of single-precision Jacobians."""

LARGEST_DAMPING = 1e6
"""Above this a step changes nothing: the point is a minimum as far as one can tell."""

FASTER, SLOWER = 1 / 3, 4.0
"""How the damping changes after a step that helps, and after one that does not."""

State = TypeVar("State")


class NormalEquations(NamedTuple):
    """JᵀJ and Jᵀe, both divided by the number of samples."""

    gram: Float[np.ndarray, "weights weights"]
    slope: Float[np.ndarray, " weights"]


@runtime_checkable
class Objective(Protocol, Generic[State]):
    """What is minimised over a flat vector of weights."""

    def at(self, weights: Float[np.ndarray, " weights"]) -> tuple[float, State]:
        """The loss, and whatever else is worth keeping of the point."""
        ...

    def normal_equations(
        self, weights: Float[np.ndarray, " weights"], state: State
    ) -> NormalEquations:
        """The quadratic model of the loss at a point."""
        ...

    @property
    def per_square(self) -> float:
        """The loss is this many times the mean of squared residuals, to second order."""
        ...

    def is_done(self, before: float, after: float) -> bool:
        """Whether a step that took the loss from one value to the other is the last."""
        ...


def levenberg_marquardt(
    objective: Objective[State],
    weights: Float[np.ndarray, " weights"],
    *,
    n_steps: int,
    damping: float,
) -> Float[np.ndarray, " weights"]:
    """Damped Gauss–Newton, w ← w + (JᵀJ + λ)⁻¹ Jᵀe; λ falls after a step that helps, else rises.

    A step costs O(N P²) for P weights: some thirty do what many thousand of a first-order method
    do. It also ends where the quadratic model expects less of a step than would be worth one.
    """
    loss, state = objective.at(weights)
    for _ in range(n_steps):
        gram, slope = objective.normal_equations(weights, state)
        before = loss
        while damping < LARGEST_DAMPING:
            damped = gram.copy()
            damped[np.diag_indices_from(damped)] += damping
            step = np.linalg.solve(damped, slope)
            expected = objective.per_square * float(2 * slope @ step - step @ gram @ step)
            if objective.is_done(before, before - expected):
                return weights
            trial = weights + step
            trial_loss, trial_state = objective.at(trial)
            if trial_loss < loss:
                weights, loss, state = trial, trial_loss, trial_state
                damping = max(damping * FASTER, SMALLEST_DAMPING)
                break
            damping *= SLOWER
        if objective.is_done(before, loss):
            break
    return weights
