"""Worlds without factors: variables that act on each other directly, or not at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ucad._types import FactorSamples, VariableSamples
from ucad.errors import InvalidInputError
from ucad.simulate.random_models import random_targets
from ucad.simulate.worlds.experiment import Experiment, check_action
from ucad.simulate.worlds.problem import Source, Truth, Violation, WorldProblem, make_problem
from ucad.simulate.worlds.settings import start
from ucad.simulate.worlds.system import Context, System, gaussian_noise

__all__ = ["Unfactored", "unfactored_problem"]


@dataclass(frozen=True, kw_only=True)
class Unfactored:
    """A linear model on a random DAG over the variables, with variance 1 and no factors.

    Attributes:
        n_variables: the paper's n.
        edge_probability: of each edge along a random order; 0 for independent variables.
        n_samples: for training and validation together, the same number in every regime.
        signal: the range of R², the share of a variable's variance that comes from its parents.
        action: what is done to a target, one of `ACTIONS`.
        value: of the action, in standard deviations of the target from its mean.
        asked_factors: how many factors a solver is asked for.
    """

    n_variables: int = 20
    edge_probability: float = 0.1
    n_samples: int = 8_000
    signal: tuple[float, float] = (0.5, 0.9)
    action: str = "random"
    value: float = -3.0
    asked_factors: int = 3

    def __post_init__(self) -> None:
        check_action(self.action)
        if not 0 <= self.edge_probability <= 1:
            raise InvalidInputError(
                "The 'edge_probability' setting must be from 0 to 1. Got "
                f"{self.edge_probability} instead."
            )


def unfactored_problem(
    seed: int, settings: Unfactored | None = None, /, *, name: str = "sparse-dag", **changes: object
) -> WorldProblem:
    """Makes a world without factors: graph, weights, data and truth, from one seed.

    >>> problem = unfactored_problem(0, n_samples=2100)
    >>> problem.n_factors, problem.asked_factors, problem.graph is None
    (0, 3, True)
    """
    chosen, rng = start(settings or Unfactored(), changes, seed, name)
    n_variables = chosen.n_variables
    weight, noise_scale = _weights(chosen, rng)

    def factors(x: VariableSamples, _u: Context) -> FactorSamples:
        return np.empty((len(x), 0))

    def variables(x: VariableSamples, _z: FactorSamples, u: Context) -> VariableSamples:
        return x @ weight + u

    experiment = Experiment(
        targets=random_targets(n_variables, n_variables, rng),
        regime=np.sort(np.arange(chosen.n_samples) % (n_variables + 1)),
        action=chosen.action,
        value=chosen.value,
    )
    truth = Truth(
        graph=None,
        adjacency=weight != 0,
        asked_factors=chosen.asked_factors,
        violates=(Violation.NO_FACTORS,),
    )
    system = System(factors, variables, gaussian_noise(noise_scale))
    return make_problem(name, seed, Source(system, experiment, is_standard=True), truth, rng)


def _weights(
    settings: Unfactored, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "variables variables"], Float[np.ndarray, " variables"]]:
    """Weights, a row being a cause, and noise, such that every variable has variance 1."""
    n_variables = settings.n_variables
    drawn = np.triu(rng.random((n_variables, n_variables)) < settings.edge_probability, k=1)
    weight = drawn * rng.uniform(0.5, 1.5, drawn.shape) * rng.choice([-1.0, 1.0], drawn.shape)
    R2 = np.where(drawn.any(axis=0), rng.uniform(*settings.signal, n_variables), 0.0)
    L = np.diag(np.sqrt(1 - R2))
    for j in np.flatnonzero(drawn.any(axis=0)):
        weight[:, j] *= np.sqrt(R2[j]) / np.linalg.norm(weight[:, j] @ L)
        L[j] += weight[:, j] @ L
    order = rng.permutation(n_variables)
    return weight[np.ix_(order, order)], np.sqrt(1 - R2)[order]
