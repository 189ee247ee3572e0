"""What may be claimed of a fitted model: theorems where they hold, tests on unseen samples."""

from __future__ import annotations

from ucad.claims.answers import Answer, Claim
from ucad.claims.certificate import ASSUMED, CLAIMABLE, WIDTH, Certificate, Permission
from ucad.claims.certify import SolverAccount, SolverNotes, certify
from ucad.claims.suggestions import Suggestion

__all__ = [
    "ASSUMED",
    "CLAIMABLE",
    "WIDTH",
    "Answer",
    "Certificate",
    "Claim",
    "Permission",
    "SolverAccount",
    "SolverNotes",
    "Suggestion",
    "certify",
]
