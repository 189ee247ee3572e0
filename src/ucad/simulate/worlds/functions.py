"""The forms of F_Z and F_X beside linear ones, as functions of two weighted sums of the inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float

__all__ = ["FUNCTIONS", "WeightedFunction"]

Values: TypeAlias = Float[np.ndarray, "samples targets"]


def _linear(first: Values, second: Values) -> Values:
    return first + second


def _relu(first: Values, second: Values) -> Values:
    return np.maximum(first + second, 0.0)


def _polynomial(first: Values, second: Values) -> Values:
    total = first + second
    return total + total**2 / 2


def _sine(first: Values, second: Values) -> Values:
    return np.sin(2 * (first + second))


def _threshold(first: Values, second: Values) -> Values:
    return (first + second > 0).astype(np.float64)


def _fold(first: Values, second: Values) -> Values:
    return np.abs(first + second)


def _product(first: Values, second: Values) -> Values:
    return first * second


def _interaction(first: Values, second: Values) -> Values:
    return first + second + first * second


FUNCTIONS: dict[str, Callable[[Values, Values], Values]] = {
    "linear": _linear,
    "relu": _relu,
    "polynomial": _polynomial,
    "sine": _sine,
    "threshold": _threshold,
    "fold": _fold,
    "product": _product,
    "interaction": _interaction,
}
"""Functions of a + b, where a and b are weighted sums over two halves of the inputs: the sum, its
positive part, a + b + (a + b)²/2, sin 2(a + b), its sign, its absolute value; and of a and b: their
product, and their sum and product together."""


class WeightedFunction(NamedTuple):
    """F_t(v) = f(a_t, b_t) for all targets, a and b being weighted sums over halves of the inputs.

    A target with one input has b = 1, so that a product of two sums becomes the one sum.

    Attributes:
        name: f, one of `FUNCTIONS`.
        weight: targets × inputs; zero where there is no edge.
    """

    name: str
    weight: Float[np.ndarray, "targets inputs"]

    @property
    def is_first(self) -> Bool[np.ndarray, "targets inputs"]:
        """Every other input of a target, starting with its first."""
        return np.cumsum(self.weight != 0, axis=1) % 2 == 1

    def __call__(self, inputs: Float[np.ndarray, "samples inputs"]) -> Values:
        """F(v) of every sample."""
        if self.name == "linear":
            return inputs @ self.weight.T
        halves = self.weight * self.is_first, self.weight * ~self.is_first
        first, second = (inputs @ half.T for half in halves)
        has_one = (self.weight != 0).sum(axis=1) == 1
        return FUNCTIONS[self.name](first, np.where(has_one, 1.0, second))
