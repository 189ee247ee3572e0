"""The solvers for layers, by the names that users type."""

from __future__ import annotations

from dataclasses import dataclass

from ucad.scm.families import AFFINE, NETWORK, Family
from ucad.solvers.layered.binary_factors import BinaryFactorSearch
from ucad.solvers.layered.bottleneck import BottleneckConfig, fit_bottleneck
from ucad.solvers.layered.rectified import fit_rectified
from ucad.solvers.problem import Problem
from ucad.solvers.registry import Classes, Help, families_asked_for
from ucad.solvers.status import FitResult

__all__ = ["BOTTLENECK", "RECTIFIED", "SWITCH", "BottleneckSolver", "RectifiedSolver"]


@dataclass(frozen=True)
class BottleneckSolver:
    """A narrow bottleneck between consecutive layers.

    Attributes:
        with_switch: whether one factor of every pair of layers is two-valued.
    """

    with_switch: bool = False

    def classes(self, factor: str, variable: str) -> Classes:
        """Networks for F_X; F_Z is linear, and a network where a factor is two-valued."""
        F_Z: Family = NETWORK if self.with_switch else AFFINE
        made: tuple[tuple[Family, ...], tuple[Family, ...]] = ((F_Z,), (NETWORK,))
        return families_asked_for(factor, variable, made, made)

    def fit(self, problem: Problem, classes: Classes, aid: Help) -> FitResult:  # noqa: ARG002
        """Fits every pair of layers."""
        search = BinaryFactorSearch() if self.with_switch else None
        return fit_bottleneck(
            problem.data,
            problem.n_factors,
            config=BottleneckConfig(binary_factor=search, readouts=aid.readouts),
            validation=aid.validation,
            seed=problem.seed,
            progress=aid.progress,
            max_seconds=problem.budget.max_seconds,
        )


@dataclass(frozen=True)
class RectifiedSolver:
    """Slopes of rectified units, factorised by their out-anchors."""

    def classes(self, factor: str, variable: str) -> Classes:
        """Linear F_Z and a network for F_X."""
        made: tuple[tuple[Family, ...], tuple[Family, ...]] = ((AFFINE,), (NETWORK,))
        return families_asked_for(factor, variable, made, made)

    def fit(self, problem: Problem, classes: Classes, aid: Help) -> FitResult:  # noqa: ARG002
        """Fits every pair of layers."""
        return fit_rectified(
            problem.data,
            problem.n_factors,
            validation=aid.validation,
            progress=aid.progress,
            max_seconds=problem.budget.max_seconds,
        )


BOTTLENECK, SWITCH = BottleneckSolver(), BottleneckSolver(with_switch=True)
RECTIFIED = RectifiedSolver()
