"""The search: from a problem to a factor SCM by the theory of anchors."""

from __future__ import annotations

from ucad.solvers.search.given_graph import oracle_score
from ucad.solvers.search.solver import fit_search

__all__ = ["fit_search", "oracle_score"]
