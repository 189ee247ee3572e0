"""The paper's settings a … i by name, and what may be varied in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from ucad._types import FactorSamples
from ucad.data import OBSERVATIONAL, InterventionalData, Split
from ucad.errors import InvalidInputError, did_you_mean
from ucad.parameters import as_seed, as_whole_number
from ucad.scm import FactorSCM
from ucad.simulate.random_models import (
    GraphRecipe,
    MechanismRecipe,
    random_factor_graph,
    random_factor_scm,
    random_targets,
    simulate,
)

__all__ = ["PAPER", "SETTINGS", "SIZES", "Problem", "Setting", "Variation", "paper_problem"]


class Setting(NamedTuple):
    """One of the paper's synthetic settings."""

    description: str
    layered: bool = False
    linear_factors: bool = True
    linear_variables: bool = True
    noise_scale: float = 0.0
    observational_only: bool = False
    unseen_regimes: bool = False


SETTINGS = {
    "a": Setting("linear, noiseless, layered", layered=True),
    "b": Setting("linear, noiseless"),
    "c": Setting("nonlinear F_Z, noiseless, layered", layered=True, linear_factors=False),
    "d": Setting("nonlinear F_Z, noiseless", linear_factors=False),
    "e": Setting("nonlinear F_Z, noisy", linear_factors=False, noise_scale=0.4),
    "f": Setting("nonlinear F_X, noisy", linear_variables=False, noise_scale=0.4),
    "g": Setting(
        "nonlinear F_Z and F_X, noisy",
        linear_factors=False,
        linear_variables=False,
        noise_scale=0.4,
    ),
    "h": Setting("as b, trained on observations only", observational_only=True),
    "i": Setting("as b, tested on unseen regimes", unseen_regimes=True),
}
"""The paper's settings, by letter."""

SIZES = {"16-3": (4, 8, 4), "64-6": (16, 32, 16), "128-8": (32, 64, 32)}
"""The paper's sizes, variables-factors, with the sizes of the layers where there are layers."""

Chosen = TypeVar("Chosen")
Number = TypeVar("Number", int, float)

N_SAMPLES = 10_000
"""Samples to train and validate on, as in the paper."""

N_TEST = 2_000
"""Observational samples that scores are taken of, as many as there are to validate on."""

VALIDATION_SHARE = 0.2
"""Share of the samples that is kept for validation: 8,000 are left, 16 of the paper's batches."""


@dataclass(frozen=True)
class Problem:
    """A simulated problem with its truth, in standardised units.

    Attributes:
        train: 80 % of the samples.
        validation: the other 20 %; whole regimes of their own in setting i.
        test: fresh observational samples; unseen regimes in setting i.
        scm: the true model, in the units of the data.
        factors: the true factors of the test samples.
        setting: the letter.
        size: variables-factors.
        seed: what made it.
    """

    train: InterventionalData
    validation: InterventionalData
    test: InterventionalData
    scm: FactorSCM
    factors: FactorSamples
    setting: str
    size: str
    seed: int

    @property
    def n_factors(self) -> int:
        """The true number of factors."""
        return self.scm.graph.n_factors


@dataclass(frozen=True, kw_only=True)
class Variation:
    """How a problem differs from the paper's; everything else stays as the seed makes it.

    Attributes:
        noise_scale: of the noise added to every variable; the setting's own if None.
        n_regimes: how many regimes clamp something; if None, as many as there are variables, or
            none where the setting is observational.
        n_unanchored: how many factors lack an in-anchor or an out-anchor.
    """

    noise_scale: float | None = None
    n_regimes: int | None = None
    n_unanchored: int = 0

    def __post_init__(self) -> None:
        for name in ("noise_scale", "n_regimes"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise InvalidInputError(
                    f"The '{name}' of Variation must be at least 0. Got {value} instead."
                )


PAPER = Variation()
"""No variation."""


def paper_problem(
    setting: str,
    size: str,
    seed: int,
    *,
    n_samples: int = N_SAMPLES,
    min_parents: int = 1,
    variation: Variation = PAPER,
) -> Problem:
    """Makes one of the paper's problems: graph, mechanisms, data and truth, from one seed.

    >>> problem = paper_problem("b", "16-3", seed=0, n_samples=500)
    >>> problem.train, problem.scm.graph.n_factors
    (InterventionalData(398 samples × 16 variables, 17 regimes), 3)
    """
    chosen = _choose("setting", setting, SETTINGS)
    layer_sizes = _choose("size", size, SIZES)
    seed = as_seed(seed)
    n_samples = as_whole_number(n_samples, "n_samples", low=1)
    n_variables, n_factors = (int(part) for part in size.split("-"))
    rng = np.random.default_rng([seed, *map(ord, setting + size)])
    graph_recipe = GraphRecipe(
        n_variables=n_variables,
        n_factors=n_factors,
        layer_sizes=layer_sizes if chosen.layered else None,
        min_parents=min_parents,
        n_unanchored=variation.n_unanchored,
    )
    mechanism_recipe = MechanismRecipe(
        linear_factors=chosen.linear_factors,
        linear_variables=chosen.linear_variables,
        noise_scale=_first(variation.noise_scale, chosen.noise_scale),
    )
    graph = random_factor_graph(graph_recipe, rng)
    scm = random_factor_scm(graph, mechanism_recipe, rng)
    n_regimes = _first(variation.n_regimes, 0 if chosen.observational_only else n_variables)
    targets = random_targets(n_regimes, n_variables, rng)

    def draw(regime: Int[np.ndarray, " samples"]) -> InterventionalData:
        data_seed = int(rng.integers(2**31))
        return simulate(scm, targets, regime, data_seed, layer_of=graph_recipe.layer_of)

    parts = _parts(chosen, draw, n_regimes, n_samples, int(rng.integers(2**31)))
    scaling = parts.train.standardised().scaling
    assert scaling is not None
    train, validation, test = (part.standardised(scaling) for part in parts)
    scm = scm.in_standard_units(scaling)
    factors: Float[Tensor, "samples factors"] = scm.state_map(test.x)
    return Problem(train, validation, test, scm, factors.numpy(), setting, size, seed)


def _parts(
    setting: Setting,
    draw: Callable[[Int[np.ndarray, " samples"]], InterventionalData],
    n_regimes: int,
    n_samples: int,
    split_seed: int,
) -> Split:
    """Train, validation and test; setting i holds 6 and 12 of 64 regimes back, as in the paper."""
    regime = np.sort(np.arange(n_samples) % (n_regimes + 1))
    if setting.unseen_regimes:
        held_out = (round(n_regimes * 6 / 64), round(n_regimes * 12 / 64))
        return draw(regime).split_regimes(*held_out, seed=split_seed)
    data = draw(regime)
    split = data.split(1 - VALIDATION_SHARE, VALIDATION_SHARE, seed=split_seed)
    return split._replace(test=draw(np.full(N_TEST, OBSERVATIONAL)))


def _first(given: Number | None, otherwise: Number) -> Number:
    return otherwise if given is None else given


def _choose(what: str, name: str, choices: Mapping[str, Chosen]) -> Chosen:
    if not isinstance(name, str) or name not in choices:
        raise InvalidInputError(
            f"The {what} must be one of {', '.join(choices)}. Got '{name}' instead."
            f"{did_you_mean(str(name), choices)}"
        )
    return choices[name]
