"""The paper's learner: a relaxed graph under constraints, many configurations at once."""

from __future__ import annotations

from ucad.solvers.gradient.fit import fit_gradient
from ucad.solvers.gradient.presets import fast, paper, preset
from ucad.solvers.gradient.settings import (
    ConstraintSettings,
    Feasibility,
    GradientConfig,
    ModelSettings,
    Sampling,
    TrainingSettings,
)

__all__ = [
    "ConstraintSettings",
    "Feasibility",
    "GradientConfig",
    "ModelSettings",
    "Sampling",
    "TrainingSettings",
    "fast",
    "fit_gradient",
    "paper",
    "preset",
]
