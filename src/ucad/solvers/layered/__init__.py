"""Solvers for layered variables, as in networks: a few factors between every two layers."""

from __future__ import annotations

from ucad.solvers.layered.binary_factors import BinaryFactorSearch
from ucad.solvers.layered.bottleneck import fit_bottleneck
from ucad.solvers.layered.pair_training import BottleneckConfig, Readout
from ucad.solvers.layered.rectified import fit_rectified

__all__ = [
    "BinaryFactorSearch",
    "BottleneckConfig",
    "Readout",
    "fit_bottleneck",
    "fit_rectified",
]
