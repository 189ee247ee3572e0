"""From data to a factor SCM: problems, results and the registry of solvers.

Importing this imports no solver; `solve` imports the one that is asked for.
"""

from __future__ import annotations

from ucad.solvers.prior import PriorKnowledge, read_prior
from ucad.solvers.problem import Problem
from ucad.solvers.registry import SOLVERS, SolveSettings, solve
from ucad.solvers.status import FitResult, FitStatus

__all__ = [
    "SOLVERS",
    "FitResult",
    "FitStatus",
    "PriorKnowledge",
    "Problem",
    "SolveSettings",
    "read_prior",
    "solve",
]
