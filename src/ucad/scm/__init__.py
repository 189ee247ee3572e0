"""What the graph means: interventions, mechanisms, factor SCMs and the abstraction."""

from __future__ import annotations

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

__all__ = [
    "IDENTITY",
    "VARIANCE_FLOOR",
    "AffineMap",
    "Bijection",
    "Clamp",
    "Constant",
    "FactorSCM",
    "Function",
    "Intervention",
    "InterventionLike",
    "Kind",
    "LinearMechanism",
    "MLPMechanism",
    "Mechanism",
    "Reparametrised",
    "State",
    "Transform",
    "hard",
    "parametric",
    "soft",
]
