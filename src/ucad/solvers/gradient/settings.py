"""All settings of the gradient learner: the model, the constraints, the training and the finish."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from ucad.constraints import Acyclicity
from ucad.errors import check_setting
from ucad.scm.families import AFFINE, Family
from ucad.solvers.prior import PriorKnowledge

__all__ = [
    "Configuration",
    "ConstraintSettings",
    "Feasibility",
    "GradientConfig",
    "ModelSettings",
    "Sampling",
    "TrainingSettings",
]

SEED_STRIDE = 1_000_003
"""Distance between the seeds of the starting points of two consecutive fits: a prime far above the
number of starts of one fit, so that no two fits share one."""


class Sampling(Enum):
    """How a graph is drawn: relaxed, or hard with the gradient of the relaxed one (the paper)."""

    SOFT = "soft"
    STRAIGHT_THROUGH = "straight_through"


class Feasibility(Enum):
    """Which graph must meet the constraints: that of probabilities (the paper), or the argmax."""

    RELAXED = "relaxed"
    DISCRETE = "discrete"


class Configuration(NamedTuple):
    """One member of the grid."""

    learning_rate: float
    penalty_growth: float
    warm_up_epochs: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """Which conditional densities are learned.

    Attributes:
        factor_family: what F_Z is, linear or a network.
        variable_family: what F_X is, linear or a network.
        hidden: number of hidden units of an MLP, in one layer of tanh.
        variance_floor: added to every variance; noiseless variables have none of their own.
    """

    factor_family: Family = AFFINE
    variable_family: Family = AFFINE
    hidden: int = 16
    variance_floor: float = 1e-4

    def __post_init__(self) -> None:
        for name in ("hidden", "variance_floor"):
            check_setting(self, name, getattr(self, name) > 0, "above 0")

    @property
    def is_linear(self) -> bool:
        """Whether both mechanisms are linear, so that second moments say all that the data say."""
        return self.factor_family.is_affine and self.variable_family.is_affine


@dataclass(frozen=True, kw_only=True)
class ConstraintSettings:
    """Which conditions the graph must meet, and how closely.

    Attributes:
        acyclicity: the form of C_DAG where variables have no layers.
        acyclicity_tolerance: upper bound on C_DAG (the paper's ε).
        min_anchors: anchors that every factor must have (the paper's τ).
        sparsity_tolerance: upper bound on the share of edges (the paper's tol_s).
    """

    acyclicity: Acyclicity = Acyclicity.BIPARTITE_SPECTRAL_RADIUS
    acyclicity_tolerance: float = 1e-6
    min_anchors: float = 0.99
    sparsity_tolerance: float = 0.2

    def __post_init__(self) -> None:
        for name in ("acyclicity_tolerance", "min_anchors", "sparsity_tolerance"):
            check_setting(self, name, 0 < getattr(self, name) <= 1, "above 0 and at most 1")


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """How the constrained problem is solved. The grid is rates × growths × warm-ups × seeds.

    Attributes:
        learning_rates: learning rates of the primal Adam.
        penalty_growths: factor per epoch on the penalty of a violated constraint.
        warm_up_epochs: epochs in which only the likelihood counts.
        n_seeds: starting points for each combination of the above.
        dual_rate_share: the dual learning rate as a share of the primal one.
        initial_penalty: ρ_c at the start, above 0.
        epochs: largest number of epochs.
        steps_per_epoch: Adam steps between two growths of the penalty.
        batch_size: samples per step, where minibatches are used.
        patience: epochs without a better feasible snapshot before a configuration leaves.
        min_gain: a validation NLL that is lower by less does not renew patience.
        evaluate_every: epochs between two looks at the validation data.
        sampling: how graphs are drawn.
        feasibility: which graph must meet the constraints.
        slack: a constraint that is violated by no more than this counts as met.
        confidence: an edge exists if its total probability is above this.
    """

    learning_rates: tuple[float, ...] = (3e-2,)
    penalty_growths: tuple[float, ...] = (1.025,)
    warm_up_epochs: tuple[int, ...] = (50, 100)
    n_seeds: int = 8
    dual_rate_share: float = 0.2
    initial_penalty: float = 1.0
    epochs: int = 300
    steps_per_epoch: int = 4
    batch_size: int = 512
    patience: int = 100
    min_gain: float = 0.0
    evaluate_every: int = 10
    sampling: Sampling = Sampling.SOFT
    feasibility: Feasibility = Feasibility.DISCRETE
    slack: float = 0.0
    confidence: float = 0.5

    def __post_init__(self) -> None:
        counts = ("n_seeds", "epochs", "steps_per_epoch", "batch_size", "evaluate_every")
        for name in (*counts, "patience", "initial_penalty", "dual_rate_share"):
            check_setting(self, name, getattr(self, name) > 0, "above 0")
        for name in ("min_gain", "slack"):
            check_setting(self, name, getattr(self, name) >= 0, "at least 0")
        for name, least in {"penalty_growths": 1, "warm_up_epochs": 0}.items():
            values = getattr(self, name)
            holds = bool(values) and min(values) >= least
            check_setting(self, name, holds, f"one or more numbers of at least {least}")
        holds = bool(self.learning_rates) and min(self.learning_rates) > 0
        check_setting(self, "learning_rates", holds, "one or more numbers above 0")
        check_setting(self, "confidence", 0 < self.confidence < 1, "between 0 and 1")

    def grid(self, seed: int) -> tuple[Configuration, ...]:
        """Returns all configurations; the seeds of the starting points follow from one seed."""
        seeds = [seed * SEED_STRIDE + s for s in range(self.n_seeds)]
        return tuple(
            Configuration(*one)
            for one in itertools.product(
                self.learning_rates, self.penalty_growths, self.warm_up_epochs, seeds
            )
        )


@dataclass(frozen=True, kw_only=True)
class GradientConfig:
    """All settings of the gradient learner.

    Attributes:
        model: what the mechanisms are.
        constraints: what the graph must meet.
        training: how the constrained problem is solved.
        refit_steps: Adam steps that fit the mechanisms once the graph is discrete.
        tie: models whose validation NLL differs by less are equally likely; the sparser is taken.
        prior: what is known of the graph beforehand; layers come with the data.
    """

    model: ModelSettings = field(default_factory=ModelSettings)
    constraints: ConstraintSettings = field(default_factory=ConstraintSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    refit_steps: int = 300
    tie: float = 5e-4
    prior: PriorKnowledge | None = None

    def __post_init__(self) -> None:
        check_setting(self, "refit_steps", self.refit_steps > 0, "above 0")
