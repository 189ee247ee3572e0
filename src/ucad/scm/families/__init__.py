"""Families of functions: what F_Z and F_X may be. A new one is a file here and an entry below."""

from __future__ import annotations

from ucad.errors import InvalidInputError, did_you_mean
from ucad.scm.families.affine import AFFINE, EMPTY, Affine, LinearMechanism
from ucad.scm.families.base import AffineMap, Family, Function, Mechanism, StackedMechanism, Targets
from ucad.scm.families.counts import CountMechanism
from ucad.scm.families.network import NETWORK, MLPMechanism, Network
from ucad.scm.families.spline import SPLINE, Spline, SplineMechanism

__all__ = [
    "AFFINE",
    "EMPTY",
    "FAMILIES",
    "NETWORK",
    "SPLINE",
    "Affine",
    "AffineMap",
    "CountMechanism",
    "Family",
    "Function",
    "LinearMechanism",
    "MLPMechanism",
    "Mechanism",
    "Network",
    "Spline",
    "SplineMechanism",
    "StackedMechanism",
    "Targets",
    "family_named",
    "family_of",
]

FAMILIES: tuple[Family, ...] = (AFFINE, NETWORK, SPLINE)
"""All families, simple ones first."""


def family_named(name: str) -> Family:
    """The family with this name.

    >>> family_named("linear").is_affine
    True
    """
    for family in FAMILIES:
        if family.name == name:
            return family
    known = [family.name for family in FAMILIES]
    raise InvalidInputError(
        f"There is no family of mechanisms '{name}'.{did_you_mean(name, known)} "
        f"Known are {', '.join(known)}."
    )


def family_of(mechanism: Mechanism) -> Family:
    """The family that a mechanism belongs to, or that can stand for it: splines for counts."""
    if isinstance(mechanism, CountMechanism):
        return SPLINE
    for family in FAMILIES:
        if isinstance(mechanism, family.mechanism_type):
            return family
    raise InvalidInputError(f"No family makes mechanisms of type {type(mechanism).__name__}.")
