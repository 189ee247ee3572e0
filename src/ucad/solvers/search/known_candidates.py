"""The candidate factors found so far, and whether they leave anything of a variable to be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float

from ucad.scm.families import Function
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import Regression, values_of
from ucad.solvers.search.causes import parent_sets

__all__ = ["KnownCandidates"]
import os
DBG = os.environ.get("DBG")

@dataclass(frozen=True, eq=False)
class KnownCandidates:
    """Candidates in the order in which they were found.

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

    def leave_something(self, j: int, allowed: Bool[np.ndarray, " variables"]) -> bool:
        """Whether functions of the allowed variables predict what candidates of them leave of x_j.

        The lemma "Reading Q, R in A": the smallest sets of parents are those of anchors, so that a
        variable of several factors is a function of candidates that were read off others.
        """
        usable = [f for f in self.functions if allowed[f.parents].all()]
        if not usable:
            return True
        regression = self.problem.regression(j)
        left = self._left(usable, regression)
        only = np.zeros((len(allowed), len(allowed)), dtype=bool)
        only[:, j] = allowed
        s, gains = parent_sets(self.problem, only, lambda some: left, backward=False, only=[j])
        if DBG:
            e0=regression.weights@ (regression.target**2)/regression.weights.sum(); e1=regression.weights@ (left**2)/regression.weights.sum()
            print(f"    x{j} usable {len(usable)} of {len(self.functions)} var {float(e0):.3f} left {np.ravel(e1)[0]:.3f} leftover parents {len(s[0])} gain {float(np.ravel(gains[0])[0]):.0f}")
        return len(s[0]) > 0

    def _left(self, usable: list[Function], regression: Regression) -> Float[np.ndarray, "samples one"]:
        """The target less its least-squares sum of functions of candidates."""
        values = values_of(usable, self.problem.data.x)
        features = self.problem.variable_family.features(values).reshape(len(values), -1)
        design = np.column_stack([features, np.ones(len(values))])
        weighted = design * regression.weights[:, None]
        gram = weighted.T @ design
        gram[np.diag_indices_from(gram)] += 1e-6 * len(values)
        slope = np.linalg.solve(gram, weighted.T @ regression.target)
        left = regression.target - design @ slope
        left[regression.weights == 0] = 0
        return left[:, None]
