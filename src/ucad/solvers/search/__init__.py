"""The search solver: causal order, regression functions, anchors, refinement."""

from __future__ import annotations

from ucad.solvers.search.ceiling import score_structure
from ucad.solvers.search.settings import Mechanisms, SearchConfig
from ucad.solvers.search.solver import fit_search

__all__ = ["Mechanisms", "SearchConfig", "fit_search", "score_structure"]
