"""The candidate factors found so far, and whether they leave anything of a variable to be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float

from ucad.scm.families import Function
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import RIDGE, Regression, values_of
from ucad.solvers.search.causes import parent_sets

__all__ = ["KnownCandidates"]


@dataclass(frozen=True, eq=False)
class KnownCandidates:
    """Candidates, in the order in which they were found.

    Attributes:
        problem: the problem.
        functions: the candidates.
    """

    problem: Problem
    functions: list[Function] = field(default_factory=list)

    def keeping(self, found: Iterable[Function]) -> Iterator[Function]:
        """Passes candidates on and remembers them."""
        for function in found:
            self.functions.append(function)
            yield function

    def leave_something(
        self,
        j: int,
        allowed: Bool[np.ndarray, " variables"],
        usable: Bool[np.ndarray, " variables"],
    ) -> bool:
        """Whether allowed variables predict what candidates made of usable ones leave of x_j.

        A variable of several factors, or a second child of one, is a function of candidates that
        were read off others, so that to fit it to its many parents would show nothing new. What is
        left of it is asked of additive functions, which cost a hundredth of a network.
        """
        candidates = [f for f in self.functions if usable[f.parents].all()]
        if not candidates:
            return True
        left = self._left(candidates, self.problem.regression(j))[:, None]
        only = np.zeros((len(allowed), len(allowed)), dtype=bool)
        only[:, j] = allowed
        (parents,), _ = parent_sets(self.problem, only, lambda _: left, backward=False, of=[j])
        return len(parents) > 0

    def _left(
        self, candidates: Sequence[Function], regression: Regression
    ) -> Float[np.ndarray, " samples"]:
        """The target less a sum of functions of single candidates, by least squares."""
        values = values_of(candidates, self.problem.data.x)
        features = self.problem.variable_family.features(values).reshape(len(values), -1)
        design = np.column_stack([features, np.ones(len(values))])
        weighted = design * regression.weights[:, None]
        gram = (weighted.T @ design).astype(np.float64)
        gram[np.diag_indices_from(gram)] += RIDGE * len(values)
        left = regression.target - design @ np.linalg.solve(gram, weighted.T @ regression.target)
        left[regression.weights == 0] = 0.0
        return np.asarray(left)
