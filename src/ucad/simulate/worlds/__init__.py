"""Worlds: named, seeded problems beside the paper's settings, many of them breaking assumptions."""

from __future__ import annotations

from ucad.simulate.worlds.experiment import ACTIONS
from ucad.simulate.worlds.genes import Genes, genes_problem
from ucad.simulate.worlds.planted import Planted, planted_problem
from ucad.simulate.worlds.problem import Violation, WorldProblem
from ucad.simulate.worlds.registry import WORLDS, World, world_problem
from ucad.simulate.worlds.screen import SHAPES, Screen, screen_problem
from ucad.simulate.worlds.settings import changes_from_text, with_changes
from ucad.simulate.worlds.unfactored import Unfactored, unfactored_problem

__all__ = [
    "ACTIONS",
    "SHAPES",
    "WORLDS",
    "Genes",
    "Planted",
    "Screen",
    "Unfactored",
    "Violation",
    "World",
    "WorldProblem",
    "changes_from_text",
    "genes_problem",
    "planted_problem",
    "screen_problem",
    "unfactored_problem",
    "with_changes",
    "world_problem",
]
