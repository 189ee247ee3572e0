"""`Experiment`: which variables are acted on, how, and in how many samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ucad._types import RegimeOf, VariableSamples
from ucad.data import OBSERVATIONAL
from ucad.errors import InvalidInputError, did_you_mean

__all__ = [
    "ACTIONS",
    "KNOCKDOWN_KEEPS",
    "SOFT_ACTIONS",
    "Doing",
    "Experiment",
    "check_action",
    "one_by_one",
    "side_effects",
]

ACTIONS = {
    "constant": "set to one value",
    "random": "set to a fresh N(0, 1) draw in every sample",
    "knockdown": "moved 70 % of the way to one value, and still listening to its parents",
    "shift": "moved by one value, and still listening to its parents",
    "knockout": "set to exactly 0 in the units in which the world is simulated",
    "coin": "set to 0 or 1 by a fair coin in every sample",
    "count": "set to log(1 + Poisson(1) count) in every sample",
}
"""What can be done to a variable; values are in its own standard deviations from its mean."""

SOFT_ACTIONS = frozenset({"knockdown", "shift"})
"""Actions that do not cut a variable off from its parents."""

KNOCKDOWN_KEEPS = 0.3
"""The share of its own mechanism that a knocked-down variable keeps. CRISPR interference typically
leaves 10 to 30 % of a gene's expression; the upper end is the harder case."""


class Doing(NamedTuple):
    """What is done to every variable in every sample: x ↦ keep · x + offset.

    Attributes:
        keep: the share of its own mechanism that a variable keeps; 1 where nothing is done.
        offset: what is added; 0 where nothing is done.
    """

    keep: VariableSamples
    offset: VariableSamples

    @classmethod
    def nothing(cls, n_samples: int, n_variables: int) -> Doing:
        """No action in any sample."""
        return cls(np.ones((n_samples, n_variables)), np.zeros((n_samples, n_variables)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Experiment:
    """Regimes, what each acts on and how.

    Attributes:
        targets: what each regime acts on; the first regime is observational.
        regime: the regime of every sample.
        action: one of `ACTIONS`.
        value: of the action, in standard deviations of the variable from its mean.
        jitter: the standard deviation of noise on what the action sets, in the same units.
        failure: the share of samples of a regime in which nothing happens to its targets.
        unlabelled: what each regime acts on beside its targets, which the data do not say.
        mislabelled: the share of samples in which the targets of another regime were acted on.
    """

    targets: Bool[np.ndarray, "regimes variables"]
    regime: RegimeOf
    action: str = "random"
    value: float = -3.0
    jitter: float = 0.0
    failure: float = 0.0
    unlabelled: Bool[np.ndarray, "regimes variables"] | None = None
    mislabelled: float = 0.0

    def __post_init__(self) -> None:
        check_action(self.action)
        assert not self.targets[OBSERVATIONAL].any(), "the first regime is observational"

    @property
    def is_in_spreads(self) -> bool:
        """Whether the action is given in standard deviations of its targets."""
        return self.action not in ("knockout", "coin", "count")

    @property
    def is_acted_on(self) -> Bool[np.ndarray, "samples variables"]:
        """What is acted on in every sample, as the data say it."""
        return self.targets[self.regime]

    def doing(
        self,
        centre: Float[np.ndarray, " variables"],
        spread: Float[np.ndarray, " variables"],
        rng: np.random.Generator,
    ) -> Doing:
        """Draws what is done, for variables with the given mean and standard deviation."""
        shape = (len(self.regime), self.targets.shape[1])
        hit = self.targets if self.unlabelled is None else self.targets | self.unlabelled
        acts = hit[self._regime_done(rng)] & (rng.random((shape[0], 1)) >= self.failure)
        is_random = self.action == "random"
        value = rng.standard_normal(shape) if is_random else np.full(shape, self.value)
        value = centre + spread * (value + self.jitter * rng.standard_normal(shape))
        keep, offset = self._effect(value, centre, rng)
        return Doing(np.where(acts, keep, 1.0), np.where(acts, offset, 0.0))

    def _regime_done(self, rng: np.random.Generator) -> RegimeOf:
        """The regime that was really done in every sample."""
        if self.mislabelled == 0:
            return self.regime
        is_wrong = rng.random(len(self.regime)) < self.mislabelled
        return np.where(is_wrong, rng.permutation(self.regime), self.regime)

    def _effect(
        self,
        value: VariableSamples,
        centre: Float[np.ndarray, " variables"],
        rng: np.random.Generator,
    ) -> tuple[float, VariableSamples]:
        """What a target keeps of its own mechanism, and what is added, for values in its units."""
        match self.action:
            case "constant" | "random":
                return 0.0, value
            case "knockdown":
                return KNOCKDOWN_KEEPS, (1 - KNOCKDOWN_KEEPS) * value
            case "shift":
                return 1.0, value - centre
            case "knockout":
                return 0.0, np.zeros_like(value)
            case "count":
                return 0.0, np.log1p(rng.poisson(1.0, size=value.shape))
        assert self.action == "coin", "checked when the experiment was made"
        return 0.0, rng.integers(2, size=value.shape).astype(np.float64)


def one_by_one(
    targeted: np.ndarray, n_variables: int, samples_per_regime: int, n_control: int
) -> tuple[Bool[np.ndarray, "regimes variables"], RegimeOf]:
    """The targets and the regime of every sample where each variable is acted on alone.

    >>> targets, regime = one_by_one(np.array([2]), 3, samples_per_regime=2, n_control=1)
    >>> targets.astype(int).tolist(), regime.tolist()
    ([[0, 0, 0], [0, 0, 1]], [0, 1, 1])
    """
    targets = np.zeros((len(targeted) + 1, n_variables), dtype=bool)
    targets[np.arange(1, len(targeted) + 1), targeted] = True
    sizes = [n_control, *[samples_per_regime] * len(targeted)]
    return targets, np.repeat(np.arange(len(sizes)), sizes)


def side_effects(
    targets: Bool[np.ndarray, "regimes variables"], share: float, rng: np.random.Generator
) -> Bool[np.ndarray, "regimes variables"]:
    """One more variable for a share of the regimes, drawn from those the regime does not target."""
    extra = np.zeros_like(targets)
    if share == 0:
        return extra
    for number in np.flatnonzero(rng.random(len(targets)) < share):
        if number != OBSERVATIONAL:
            extra[number, rng.choice(np.flatnonzero(~targets[number]))] = True
    return extra


def check_action(action: str) -> None:
    """Refuses an action that is not one of `ACTIONS`."""
    if action not in ACTIONS:
        raise InvalidInputError(
            f"The action on a variable must be one of {', '.join(ACTIONS)}. Got '{action}' "
            f"instead.{did_you_mean(action, ACTIONS)}"
        )
