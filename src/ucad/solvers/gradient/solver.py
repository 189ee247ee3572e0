"""The paper's learner as one of the solvers, tuned or as published."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ucad.scm.families import AFFINE, NETWORK
from ucad.solvers.gradient.fit import fit_gradient
from ucad.solvers.gradient.presets import preset
from ucad.solvers.gradient.settings import ModelSettings
from ucad.solvers.problem import Problem
from ucad.solvers.registry import Classes, Help, families_asked_for
from ucad.solvers.status import FitResult

__all__ = ["FAST", "PAPER", "GradientSolver"]


@dataclass(frozen=True)
class GradientSolver:
    """Minimises the paper's constrained objective by gradients.

    Attributes:
        preset: `fast`, or `paper` for the settings of the paper.
    """

    preset: str

    def classes(self, factor: str, variable: str) -> Classes:
        """Linear mechanisms, unless networks are asked for."""
        known = (AFFINE, NETWORK)
        linear = ((AFFINE,), (AFFINE,))
        return families_asked_for(factor, variable, linear, (known, known))

    def fit(self, problem: Problem, classes: Classes, aid: Help) -> FitResult:
        """Trains all configurations of the preset and keeps the best feasible one."""
        F_Z, F_X = classes[0]
        model = ModelSettings(factor_family=F_Z, variable_family=F_X)
        config = preset(self.preset, problem.data.n_variables, model)
        return fit_gradient(
            problem.data,
            problem.n_factors,
            config=replace(config, prior=problem.admissible.prior),
            validation=aid.validation,
            seed=problem.seed,
            device=aid.device,
            progress=aid.progress,
            checkpoint=aid.checkpoint,
            max_seconds=problem.budget.max_seconds,
        )


FAST, PAPER = GradientSolver("fast"), GradientSolver("paper")
