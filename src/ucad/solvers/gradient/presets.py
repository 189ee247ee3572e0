"""All settings of the gradient learner, and two sets of them: `fast`, ours, and `paper`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from ucad.errors import InvalidInputError, did_you_mean
from ucad.solvers.gradient.discretise import RefitSettings
from ucad.solvers.gradient.epoch import Driver, Feasibility, TrainingSettings
from ucad.solvers.gradient.lagrangian import GROWTH_TOLERANCE
from ucad.solvers.gradient.mechanisms import ModelSettings
from ucad.solvers.gradient.problem import ConstraintSettings
from ucad.solvers.gradient.relaxed_graph import Sampling
from ucad.solvers.gradient.replace_factor import ReplaceSettings
from ucad.solvers.prior import PriorKnowledge

__all__ = ["GradientConfig", "Preset", "fast", "paper", "preset"]


@dataclass(frozen=True, kw_only=True)
class GradientConfig:
    """All settings of the gradient learner.

    Attributes:
        model: what the mechanisms are.
        constraints: what the graph must meet.
        training: how the constrained problem is solved.
        refit: how mechanisms are fitted once the graph is discrete.
        replace_factor: how factors that are stuck are replaced.
        tie: models whose validation NLL differs by less are equally likely; the sparser is taken.
        prior: what is known of the graph beforehand; layers come with the data.
    """

    model: ModelSettings = field(default_factory=ModelSettings)
    constraints: ConstraintSettings = field(default_factory=ConstraintSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    refit: RefitSettings = field(default_factory=RefitSettings)
    replace_factor: ReplaceSettings = field(default_factory=ReplaceSettings)
    tie: float = 5e-4
    prior: PriorKnowledge | None = None


class Preset(Enum):
    """The presets by name."""

    FAST = "fast"
    PAPER = "paper"


def preset(name: str, n_variables: int, model: ModelSettings | None = None) -> GradientConfig:
    """Returns a preset by name, for so many variables and the given mechanisms.

    >>> preset("paper", n_variables=16).training.epochs
    50000
    """
    names = [one.value for one in Preset]
    if name not in names:
        raise InvalidInputError(
            f"The preset must be one of {', '.join(names)}. Got '{name}' instead."
            f"{did_you_mean(name, names)}"
        )
    return fast(n_variables, model) if name == Preset.FAST.value else paper(model)


def fast(n_variables: int, model: ModelSettings | None = None) -> GradientConfig:
    """Few, large steps from several starts, then other factors for those that came to nothing.

    Every factor needs two edges, a density of 2 / n; the tolerance leaves 0.15 beyond that. Much
    more, and the constraint no longer works against edges that spoil anchors; the paper's 0.2
    excludes some of its own graphs of 16 variables.
    """
    model = ModelSettings() if model is None else model
    return GradientConfig(
        model=model,
        constraints=ConstraintSettings(sparsity_tolerance=min(1.0, 0.15 + 2 / n_variables)),
        training=TrainingSettings(n_seeds=8 if model.is_linear else 4),
        refit=RefitSettings(steps=300 if model.is_linear else 600),
    )


def paper(model: ModelSettings | None = None) -> GradientConfig:
    """The paper's "Hyperparameters": 5 rates × 2 growths × 3 seeds, driven by Cooper.

    An epoch has 16 steps, as many as there are batches of 512 in 8,000 samples; with linear
    mechanisms each step sees all of them, through their moments. Two things the paper does not
    say are ours. A constraint counts as met if it is violated by at most 1e-4, where Cooper
    stops to raise penalties: active constraints keep swinging about zero (the paper's own network
    model has a DAG violation of 1.8e-6). And patience begins anew only if the NLL falls by more
    than 1e-3: smaller gains go on for tens of thousands of epochs.
    """
    return GradientConfig(
        model=ModelSettings() if model is None else model,
        constraints=ConstraintSettings(sparsity_tolerance=0.2, acyclicity_tolerance=1e-6),
        training=TrainingSettings(
            learning_rates=(2e-4, 5e-4, 7e-4, 1e-3, 2e-3),
            penalty_growths=(1.003, 1.004),
            warm_up_epochs=(0,),
            n_seeds=3,
            epochs=50_000,
            steps_per_epoch=16,
            batch_size=512,
            patience=2_000,
            min_gain=1e-3,
            evaluate_every=50,
            sampling=Sampling.STRAIGHT_THROUGH,
            feasibility=Feasibility.RELAXED,
            slack=GROWTH_TOLERANCE,
            driver=Driver.COOPER,
        ),
        replace_factor=ReplaceSettings(rounds=0),
        tie=0.0,
    )
