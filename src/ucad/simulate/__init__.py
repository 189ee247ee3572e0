"""Random f-SCMs and interventional data; the paper's settings a … i and worlds by name."""

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
from ucad.simulate.worlds import WORLDS, WorldProblem, world_problem

__all__ = [
    "PAPER",
    "SETTINGS",
    "SIZES",
    "WORLDS",
    "GraphRecipe",
    "MechanismRecipe",
    "Problem",
    "Setting",
    "Variation",
    "WorldProblem",
    "paper_problem",
    "random_factor_graph",
    "random_factor_scm",
    "random_targets",
    "simulate",
    "world_problem",
]
