"""What the graph means: interventions, mechanisms, factor SCMs and the abstraction."""

from __future__ import annotations

from ucad.scm.abstraction import Abstraction, AbstractionError, HighLevelModel, LowLevelModel
from ucad.scm.bound import ErrorBound, error_bound
from ucad.scm.factor_scm import VARIANCE_FLOOR, FactorSCM, State
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
    parametric,
    soft,
)
from ucad.scm.mechanisms import (
    AffineMap,
    Bijection,
    LinearMechanism,
    Mechanism,
    MLPMechanism,
    Reparametrised,
)
from ucad.scm.storage import load_scm, save_scm

__all__ = [
    "IDENTITY",
    "VARIANCE_FLOOR",
    "Abstraction",
    "AbstractionError",
    "AffineMap",
    "Bijection",
    "Clamp",
    "Constant",
    "ErrorBound",
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
    "State",
    "Transform",
    "error_bound",
    "hard",
    "load_scm",
    "parametric",
    "save_scm",
    "soft",
]
