"""Systems with other functions, noise and kinds of variables than an f-SCM of our classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ucad._types import FactorSamples, VariableSamples
from ucad.errors import InvalidInputError, did_you_mean
from ucad.simulate.worlds.functions import FUNCTIONS, WeightedFunction
from ucad.simulate.worlds.linear import LinearModel
from ucad.simulate.worlds.noise import EMISSIONS, NOISES, Emission, scaled_noise
from ucad.simulate.worlds.sparse import SPARSE, sparse_system
from ucad.simulate.worlds.system import Context, System

__all__ = ["Form", "shaped_system"]

N_PILOT = 20_000
"""Samples from which mean and spread of factors and signals are read, so that both can be set: a
variance is then known to 1 % for normal values, and to a few per cent for heavy tails."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """The form of the equations.

    Attributes:
        factor_function: F_Z, one of `FUNCTIONS`.
        variable_function: F_X, one of `FUNCTIONS`.
        noise: one of `NOISES`.
        emission: how signal and noise make a variable, one of `EMISSIONS` or of `SPARSE`.
        zeros: the share of zeros of a sparse emission.
    """

    factor_function: str = "linear"
    variable_function: str = "linear"
    noise: str = "gaussian"
    emission: str = "additive"
    zeros: float = 0.5

    def __post_init__(self) -> None:
        for name, choices in (
            ("factor_function", FUNCTIONS),
            ("variable_function", FUNCTIONS),
            ("noise", NOISES),
            ("emission", [*EMISSIONS, *SPARSE]),
        ):
            value = getattr(self, name)
            if value not in choices:
                raise InvalidInputError(
                    f"The '{name}' setting must be one of {', '.join(choices)}. Got '{value}' "
                    f"instead.{did_you_mean(value, choices)}"
                )
        if not 0 < self.zeros < 1:
            raise InvalidInputError(
                f"The 'zeros' setting must be between 0 and 1. Got {self.zeros} instead."
            )

    @property
    def is_linear(self) -> bool:
        """Whether the expected values follow the linear model exactly."""
        linear = self.factor_function == self.variable_function == "linear"
        return linear and self.emission in ("additive", "uneven")


class _Standard(NamedTuple):
    """Means and spreads that take the raw values of a function to the spread wanted."""

    mean: Float[np.ndarray, " targets"]
    spread: Float[np.ndarray, " targets"]

    @classmethod
    def of(cls, values: np.ndarray) -> _Standard:
        spread = values.std(axis=0)
        return cls(values.mean(axis=0), np.where(spread > 0, spread, 1.0))

    @classmethod
    def none(cls, n_targets: int) -> _Standard:
        return cls(np.zeros(n_targets), np.ones(n_targets))

    def __call__(self, values: np.ndarray) -> np.ndarray:
        return (values - self.mean) / self.spread


class _Equations(NamedTuple):
    """F_Z, F_X and how a variable is made, before factors and signals are standardised."""

    F_Z: WeightedFunction
    F_X: WeightedFunction
    emission: Emission
    R2: Float[np.ndarray, " variables"]

    @classmethod
    def of(cls, model: LinearModel, form: Form) -> _Equations:
        R2 = 1 - model.noise_scale**2
        # F_X gets arguments of variance 1, whatever the share of signal.
        unit = np.sqrt(np.where(R2 > 0, R2, 1.0))
        F_X = WeightedFunction(form.variable_function, model.W_X / unit[:, None])
        return cls(
            WeightedFunction(form.factor_function, model.W_Z), F_X, EMISSIONS[form.emission], R2
        )

    def factors(self, x: VariableSamples) -> FactorSamples:
        return self.F_Z(x - self.emission.centre)

    def variables(self, signal: VariableSamples, u: Context) -> VariableSamples:
        return self.emission.emit(signal * np.sqrt(self.R2), u[:, : len(self.R2)], self.R2)

    def standards(self, u: Context, n_levels: int) -> tuple[_Standard, _Standard]:
        """The standards of factors and signals on given noise.

        One sweep per level: what a level reads no longer changes once those before it are set.
        """
        x = self.variables(np.zeros_like(u), u)
        for _ in range(n_levels):
            to_factors = _Standard.of(self.factors(x))
            raw = self.F_X(to_factors(self.factors(x)))
            to_signal = _Standard.of(raw)
            x = self.variables(to_signal(raw), u)
        return to_factors, to_signal


def shaped_system(model: LinearModel, form: Form, rng: np.random.Generator) -> System:
    """The system on the graph and weights of a linear model, with functions of another form.

    Factors have mean 0 and variance 1, and every child has the share of signal that it has in the
    linear model, before it is made binary or a count.
    """
    if form.emission in SPARSE:
        functions = (form.factor_function, form.variable_function)
        return sparse_system(model, functions, (form.emission, form.zeros), rng)
    draw_noise = scaled_noise(form.noise, model.noise_scale)
    equations = _Equations.of(model, form)
    if form.is_linear:
        to_factors, to_signal = (_Standard.none(size) for size in model.W_Z.shape)
    else:
        n_levels = int(model.graph.factor_level.max(initial=0)) + 1
        to_factors, to_signal = equations.standards(draw_noise(N_PILOT, rng), n_levels)

    def factors(x: VariableSamples, _u: Context) -> FactorSamples:
        return to_factors(equations.factors(x))

    def variables(_x: VariableSamples, z: FactorSamples, u: Context) -> VariableSamples:
        return equations.variables(to_signal(equations.F_X(z)), u)

    return System(factors, variables, draw_noise)
