"""One Levenberg–Marquardt loop for every least-squares fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float
from scipy.linalg.lapack import dposv

__all__ = ["ArrowEquations", "NormalEquations", "Objective", "Quadratic", "levenberg_marquardt"]

SMALLEST_DAMPING = 1e-8
"""Below this the damping is lost in the rounding of single-precision Jacobians."""

LARGEST_DAMPING = 1e6
"""Above this a step changes nothing: the point is a minimum as far as one can tell."""

FASTER, SLOWER = 1 / 3, 4.0
"""How the damping changes after a step that helps, and after one that does not."""

State = TypeVar("State")


@runtime_checkable
class Quadratic(Protocol):
    """The quadratic model of a loss, w ↦ wᵀ (JᵀJ) w − 2 (Jᵀe)ᵀ w."""

    @property
    def slope(self) -> Float[np.ndarray, " weights"]:
        """Jᵀe, divided by the number of samples."""
        ...

    def step(self, damping: float) -> Float[np.ndarray, " weights"]:
        """(JᵀJ + λ)⁻¹ Jᵀe."""
        ...


class NormalEquations(NamedTuple):
    """JᵀJ and Jᵀe, both divided by the number of samples."""

    gram: Float[np.ndarray, "weights weights"]
    slope: Float[np.ndarray, " weights"]

    def step(self, damping: float) -> Float[np.ndarray, " weights"]:
        """(JᵀJ + λ)⁻¹ Jᵀe, by Cholesky."""
        return _solved(self.gram, damping, self.slope)


class ArrowEquations(NamedTuple):
    """JᵀJ with one group of weights that meets all others, which do not meet each other.

    Attributes:
        tip: the block of the first group.
        sides: for each other group, its block with the first.
        blocks: for each other group, its own block.
        slope: Jᵀe, the first group first.
    """

    tip: Float[np.ndarray, "first first"]
    sides: Sequence[Float[np.ndarray, "first some"]]
    blocks: Sequence[Float[np.ndarray, "some some"]]
    slope: Float[np.ndarray, " weights"]

    def step(self, damping: float) -> Float[np.ndarray, " weights"]:
        """(JᵀJ + λ)⁻¹ Jᵀe: the other groups are eliminated, which is cubic in one group only."""
        ends = np.cumsum([len(self.tip), *(len(block) for block in self.blocks)])
        first, *others = np.split(self.slope, ends[:-1])
        tip, solved = self.tip.copy(), []
        for side, block, own in zip(self.sides, self.blocks, others, strict=True):
            both = _solved(block, damping, np.column_stack([side.T, own]))
            tip -= side @ both[:, :-1]
            first = first - side @ both[:, -1]
            solved.append(both)
        step = _solved(tip, damping, first)
        rest = [both[:, -1] - both[:, :-1] @ step for both in solved]
        return np.concatenate([step, *rest])


def _solved(
    gram: Float[np.ndarray, "weights weights"],
    damping: float,
    right: Float[np.ndarray, "weights ..."],
) -> Float[np.ndarray, "weights ..."]:
    """(G + λ)⁻¹ b; by elimination where rounding leaves no Cholesky factor."""
    damped = gram.copy()
    damped[np.diag_indices_from(damped)] += damping
    _, solution, failed = dposv(damped, right)
    return np.linalg.solve(damped, right) if failed else np.asarray(solution)


@runtime_checkable
class Objective(Protocol, Generic[State]):
    """What is minimised over a flat vector of weights."""

    def at(self, weights: Float[np.ndarray, " weights"]) -> tuple[float, State]:
        """The loss, and whatever else is worth keeping of the point."""
        ...

    def normal_equations(self, weights: Float[np.ndarray, " weights"], state: State) -> Quadratic:
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
        model = objective.normal_equations(weights, state)
        before = loss
        while damping < LARGEST_DAMPING:
            step = model.step(damping)
            expected = objective.per_square * float(model.slope @ step + damping * step @ step)
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
