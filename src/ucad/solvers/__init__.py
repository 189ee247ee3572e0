"""From data to a factor SCM: the solvers, and how to choose between their results."""

from __future__ import annotations

from ucad.solvers.gradient import GradientConfig, fit_gradient, preset
from ucad.solvers.selection import best_result
from ucad.solvers.status import FitResult, FitStatus

__all__ = ["FitResult", "FitStatus", "GradientConfig", "best_result", "fit_gradient", "preset"]
