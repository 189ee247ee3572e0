"""What may be claimed of a fitted model: every question asked, answered, with its statement."""

from __future__ import annotations

from ucad.scm.certificate.certify import ASSUMED, WIDTH, Certificate, certify
from ucad.scm.certificate.claims import Answer, Claim

__all__ = ["ASSUMED", "WIDTH", "Answer", "Certificate", "Claim", "certify"]
