"""Random f-SCMs and interventional data; the paper's settings a … i by name."""

from __future__ import annotations

from ucad.simulate.problems import (
    PAPER,
    SETTINGS,
    SIZES,
    Problem,
    Setting,
    Variation,
    paper_problem,
)
from ucad.simulate.random_models import (
    GraphRecipe,
    MechanismRecipe,
    random_factor_graph,
    random_factor_scm,
    random_targets,
    simulate,
)

__all__ = [
    "PAPER",
    "SETTINGS",
    "SIZES",
    "GraphRecipe",
    "MechanismRecipe",
    "Problem",
    "Setting",
    "Variation",
    "paper_problem",
    "random_factor_graph",
    "random_factor_scm",
    "random_targets",
    "simulate",
]
