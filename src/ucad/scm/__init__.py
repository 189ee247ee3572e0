"""What the graph means: interventions, mechanisms, factor SCMs and the abstraction."""

from __future__ import annotations

from ucad.scm.abstraction import Abstraction, AbstractionError, HighLevelModel, LowLevelModel
from ucad.scm.bound import ErrorBound, error_bound
from ucad.scm.context import ActsOn, ContextEffect, at_average_context
from ucad.scm.factor_clamps import variables_for
from ucad.scm.factor_scm import VARIANCE_FLOOR, FactorSCM, State
from ucad.scm.families import (
    FAMILIES,
    AffineMap,
    LinearMechanism,
    Mechanism,
    MLPMechanism,
    SplineMechanism,
    family_named,
    family_of,
)
from ucad.scm.interventions import (
    IDENTITY,
    Clamp,
    Constant,
    Function,
    Intervention,
    InterventionLike,
    Kind,
    Transform,
    hard,
    knock_down,
    parametric,
    shift,
    soft,
)
from ucad.scm.measurement import EstimatedState, denoised, estimated_state
from ucad.scm.mechanisms import Bijection, Reparametrised
from ucad.scm.storage import load_scm, save_scm

__all__ = [
    "FAMILIES",
    "IDENTITY",
    "VARIANCE_FLOOR",
    "Abstraction",
    "AbstractionError",
    "ActsOn",
    "AffineMap",
    "Bijection",
    "Clamp",
    "Constant",
    "ContextEffect",
    "ErrorBound",
    "EstimatedState",
    "FactorSCM",
    "Function",
    "HighLevelModel",
    "Intervention",
    "InterventionLike",
    "Kind",
    "LinearMechanism",
    "LowLevelModel",
    "MLPMechanism",
    "Mechanism",
    "Reparametrised",
    "SplineMechanism",
    "State",
    "Transform",
    "at_average_context",
    "denoised",
    "error_bound",
    "estimated_state",
    "family_named",
    "family_of",
    "hard",
    "knock_down",
    "load_scm",
    "parametric",
    "save_scm",
    "shift",
    "soft",
    "variables_for",
]
