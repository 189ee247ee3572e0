"""The paper's learner: a relaxed graph under constraints, many configurations at once."""

from __future__ import annotations

from ucad.solvers.gradient.discretise import RefitSettings
from ucad.solvers.gradient.epoch import Driver, Feasibility, TrainingSettings
from ucad.solvers.gradient.fit import fit_gradient
from ucad.solvers.gradient.many import fit_gradients
from ucad.solvers.gradient.mechanisms import MechanismKind, ModelSettings
from ucad.solvers.gradient.presets import GradientConfig, Preset, fast, paper, preset
from ucad.solvers.gradient.problem import ConstraintSettings
from ucad.solvers.gradient.relaxed_graph import Edge, Sampling, TemperatureSchedule
from ucad.solvers.gradient.replace_factor import ReplaceSettings

__all__ = [
    "ConstraintSettings",
    "Driver",
    "Edge",
    "Feasibility",
    "GradientConfig",
    "MechanismKind",
    "ModelSettings",
    "Preset",
    "RefitSettings",
    "ReplaceSettings",
    "Sampling",
    "TemperatureSchedule",
    "TrainingSettings",
    "fast",
    "fit_gradient",
    "fit_gradients",
    "paper",
    "preset",
]
