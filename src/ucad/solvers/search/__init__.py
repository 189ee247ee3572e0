"""The search solver: causal order, regression functions, anchors, refinement."""

from __future__ import annotations

from ucad.solvers.search.solver import Mechanisms, SearchConfig, fit_search, score_structure

__all__ = ["Mechanisms", "SearchConfig", "fit_search", "score_structure"]
