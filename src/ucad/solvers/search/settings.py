"""The settings of the search, and what every stage needs to know of the model class and score."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from ucad.solvers.search.functions import FunctionConfig
from ucad.solvers.search.order import OrderConfig
from ucad.solvers.search.screening import ScreeningConfig

__all__ = ["FitSettings", "Mechanisms", "SearchConfig"]

LENIENCE = 3.0


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """What every stage of the search needs to know of the model class and the score.

    Attributes:
        factor_fit: how a factor is fitted; `hidden=0` if F_Z is linear.
        variable_fit: how a variable is fitted; `hidden=0` if F_X is linear.
        penalty: the price of an edge, in nats.
        floor: s₀, the variance that no explanation goes below.
    """

    factor_fit: FunctionConfig
    variable_fit: FunctionConfig
    penalty: float
    floor: float

    @property
    def nonlinear(self) -> bool:
        """Whether a variable may be a nonlinear function of its low-level parents."""
        return bool(self.factor_fit.hidden or self.variable_fit.hidden)

    def lenient(self) -> FitSettings:
        """The same with cheaper edges, to see what all but pays."""
        penalty = self.penalty / LENIENCE
        return replace(
            self,
            factor_fit=replace(self.factor_fit, penalty=penalty),
            variable_fit=replace(self.variable_fit, penalty=penalty),
            penalty=penalty,
        )


class Mechanisms(Enum):
    """What F_Z or F_X may be."""

    LINEAR = "linear"
    MLP = "mlp"
    AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """All settings of the search.

    Attributes:
        factor_mechanism: the class of F_Z; `AUTO` tries both and keeps the lower BIC.
        variable_mechanism: the class of F_X; `AUTO` tries both and keeps the lower BIC.
        penalty_per_log_sample: an edge costs this many times log N nats.
        floor: s₀, the variance that no explanation goes below, at variables of variance 1.
        n_improvements: rounds of proposing better factors.
        n_cycles: how often the jointly fitted factors are put back and bettered again.
        n_polish: rounds of joint fitting at the end.
        screening: how ancestors are read off interventions.
        ordering: how long orders of variables are searched.
        fit: how nonlinear functions are fitted on the way.
        final_samples: samples used for the functions of the final model.
        final_steps: Levenberg–Marquardt steps at most for these.
        final_tolerance: the share of the error below which a step is the last for these.
    """

    factor_mechanism: Mechanisms = Mechanisms.LINEAR
    variable_mechanism: Mechanisms = Mechanisms.LINEAR
    penalty_per_log_sample: float = 2.0
    floor: float = 1e-3
    n_improvements: int = 8
    n_cycles: int = 3
    n_polish: int = 4
    screening: ScreeningConfig = field(default_factory=ScreeningConfig)
    ordering: OrderConfig = field(default_factory=OrderConfig)
    fit: FunctionConfig = field(default_factory=FunctionConfig)
    final_samples: int = 8000
    final_steps: int = 100
    final_tolerance: float = 1e-4

    @property
    def improvements(self) -> int:
        """Rounds of proposing better factors; half of them where a choice is scored roughly."""
        is_rough = self.variable_mechanism is Mechanisms.MLP
        return self.n_improvements // 2 if is_rough else self.n_improvements

    def classes(self) -> list[SearchConfig]:
        """The configurations to try, `AUTO` written out, simple ones first."""

        def options(choice: Mechanisms) -> list[Mechanisms]:
            both = [Mechanisms.LINEAR, Mechanisms.MLP]
            return both if choice is Mechanisms.AUTO else [choice]

        pairs = itertools.product(options(self.factor_mechanism), options(self.variable_mechanism))
        return [replace(self, factor_mechanism=z, variable_mechanism=x) for z, x in pairs]

    def settings(self, n_samples: int, seed: int) -> FitSettings:
        """The model class and the score, for a number of samples."""
        penalty = self.penalty_per_log_sample * float(np.log(n_samples))
        fit = replace(self.fit, floor=self.floor, penalty=penalty, seed=seed)
        affine = replace(fit, hidden=0)
        return FitSettings(
            factor_fit=fit if self.factor_mechanism is Mechanisms.MLP else affine,
            variable_fit=fit if self.variable_mechanism is Mechanisms.MLP else affine,
            penalty=penalty,
            floor=self.floor,
        )

    def final(self, settings: FitSettings) -> FitSettings:
        """The same model class, fitted to more samples and to the end."""

        def thorough(fit: FunctionConfig) -> FunctionConfig:
            return replace(
                fit,
                n_samples=self.final_samples,
                n_steps=self.final_steps,
                tolerance=self.final_tolerance,
            )

        return replace(
            settings,
            factor_fit=thorough(settings.factor_fit),
            variable_fit=thorough(settings.variable_fit),
        )
