"""What chosen factors leave of the variables, column by column: never all of it at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ucad._types import VariableSamples
from ucad.solvers.problem import Problem
from ucad.solvers.regression.stepwise import Selection
from ucad.solvers.search.causes import Some
from ucad.solvers.search.ordered_choice import Choice, Order

__all__ = ["Residuals"]


@dataclass(frozen=True, eq=False)
class Residuals:
    """x_j less the additive regression on its chosen factors; 0 where it is left out.

    Attributes:
        problem: the problem.
        choice: the candidates.
        order: those of them that were chosen.
        children: the regressions of all variables on them.
    """

    problem: Problem
    choice: Choice
    order: Order
    children: Selection

    def __call__(self, some: Some) -> VariableSamples:
        """The residuals of some variables, with mean 0 where they count."""
        left = self._predicted(some)
        np.subtract(self.problem.targets[:, some], left, out=left)
        data, weights = self.problem.data, self.problem.weights
        is_left_out = data.is_left_out[:, some]
        if weights is None:
            left[is_left_out] = 0.0
            left -= left.sum(axis=0) / np.maximum(data.moments.left_out.n_free[some], 1)
        else:
            mass = np.maximum(weights[:, some].sum(axis=0), 1)
            left -= np.einsum("sj,sj->j", left, weights[:, some]) / mass
        left[is_left_out] = 0.0
        return left

    def _predicted(self, some: Some) -> Float[np.ndarray, "samples some"]:
        """What the additive regressions on the chosen factors predict of some variables."""
        values = self.choice.values
        features = self.problem.variable_family.features(values[:, self.order])
        width = features.shape[2]
        chosen = [c * width + f for c in self.order for f in range(width)]
        weights = self.children.coefficients[some][:, chosen].T.astype(features.dtype)
        predicted: Float[np.ndarray, "samples some"] = features.reshape(len(values), -1) @ weights
        return predicted
