"""Worlds: named, seeded problems beside the paper's settings, many of them breaking assumptions."""

from __future__ import annotations

from ucad.simulate.worlds.experiment import ACTIONS
from ucad.simulate.worlds.problem import Violation, WorldProblem
from ucad.simulate.worlds.screen import SHAPES, Screen, screen_problem

__all__ = ["ACTIONS", "SHAPES", "Screen", "Violation", "WorldProblem", "screen_problem"]
