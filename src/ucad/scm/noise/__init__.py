"""Noise families: the law of a variable given its factors. A new one is a file and an entry."""

from __future__ import annotations

from ucad.scm.noise.base import Given, NoiseFamily
from ucad.scm.noise.counts import NegativeBinomial
from ucad.scm.noise.gaussian import GAUSSIAN, Gaussian
from ucad.scm.noise.student import StudentT

__all__ = [
    "GAUSSIAN",
    "NOISES",
    "Gaussian",
    "Given",
    "NegativeBinomial",
    "NoiseFamily",
    "StudentT",
]

NOISES: tuple[type[NoiseFamily], ...] = (Gaussian, StudentT, NegativeBinomial)
"""All families, simple ones first."""
