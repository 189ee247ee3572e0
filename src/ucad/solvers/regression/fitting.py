"""Fitting one function of a family to one target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ucad._types import VariableSamples
from ucad.scm.families import EMPTY, Family, Function
from ucad.solvers.regression.affine_fits import WELL_CONDITIONED
from ucad.solvers.regression.jacobian_products import JacobianProducts, jacobian_products
from ucad.solvers.regression.least_squares import NormalEquations, levenberg_marquardt
from ucad.solvers.regression.moments import NUMERICAL, without_noise

__all__ = [
    "COMPARED",
    "RIDGE",
    "ROUGH",
    "THOROUGH",
    "Effort",
    "Fitter",
    "Regression",
    "distinct",
    "subset",
    "unit_variance",
    "values_of",
]

RIDGE = 1e-6
"""Weight decay relative to a target of variance 1: it only settles what the data leave open."""

FIRST_DAMPING = 1e-3
"""Of a fit from random hidden units, whose output weights already are least squares."""

SAME = 0.999
"""Correlation above which two functions of the same variables count as one."""

COMPARED = 20_000
"""Samples in which functions are compared: a correlation of 0.999 is then known to 1e-5."""

N_OTHER_STARTS = 2
"""How many other starts a stuck function gets. On the paper's noiseless settings c and d a third
one never helped."""

BRIEF = 10.0
"""By how much more a step must gain in a fit that one with other parents goes on from. After a
fixed number of steps, fits without noise were far from exact, and wrong parents tempting."""

STUCK = (0.1, 20.0)
"""A fit is stuck if its error is between these multiples of s₀: below it is exact, above it is
noise."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How far a function is fitted.

    Attributes:
        n_steps: the maximum number of Levenberg–Marquardt steps.
        tolerance: a step that lowers the error by less than this share of it is the last.
        n_samples: the maximum number of samples used; a regular subset is taken of more.
    """

    n_steps: int
    tolerance: float
    n_samples: int


ROUGH = Effort(n_steps=40, tolerance=1e-3, n_samples=3000)
"""For candidates and trials: a tenth of the samples-times-steps of a thorough fit."""

THOROUGH = Effort(n_steps=100, tolerance=1e-4, n_samples=8000)
"""For what is kept: 8,000 samples put the error of 100 weights near 1 % of the noise."""


class Regression(NamedTuple):
    """What a function should be, and how much each sample counts."""

    target: Float[np.ndarray, " samples"]
    weights: Float[np.ndarray, " samples"]

    @property
    def n_samples(self) -> int:
        """The number of samples that count."""
        return int((self.weights > 0).sum())

    @property
    def mean_weight(self) -> float:
        """The mean weight of the samples that count."""
        return float(self.weights.sum()) / max(self.n_samples, 1)

    def roots(self, rows: Int[np.ndarray, " some"]) -> Float[np.ndarray, " some"]:
        """The square roots of the weights of some samples, their squares 1 on average."""
        weights = self.weights[rows]
        return np.sqrt(weights / weights.mean()) if len(rows) else weights

    def error(self, function: Function, x: VariableSamples) -> float:
        """The weighted mean of (target − f)², 0 where no sample counts."""
        square = self.weights @ (self.target - function.values(x)) ** 2
        return float(square / max(float(self.weights.sum()), 1e-300))


def subset(rows: Int[np.ndarray, " rows"], n_samples: int) -> Int[np.ndarray, " some"]:
    """A regular subset of some rows, at most so many."""
    if len(rows) <= n_samples:
        return rows
    return rows[np.linspace(0, len(rows) - 1, n_samples).astype(np.int64)]


def unit_variance(function: Function, x: VariableSamples) -> Function:
    """Rescales a function to mean 0 and variance 1; a constant one is only centred."""
    values = function.values(x)
    scale = values.std()
    scale = 1.0 / scale if scale > 1e-9 else 1.0
    return function.affine(float(scale), float(-scale * values.mean()))


def values_of(
    functions: Sequence[Function], x: VariableSamples
) -> Float[np.ndarray, "samples functions"]:
    """The values of functions, one column each, never held twice."""
    values = np.empty((len(x), len(functions)), dtype=x.dtype)
    for column, function in enumerate(functions):
        values[:, column] = function.values(x)
    return values


def distinct(functions: Iterable[Function], x: VariableSamples) -> list[Function]:
    """Leaves out a function that has the parents and nearly exactly the values of another.

    Values are compared in a regular subset of the samples if there are very many.
    """
    if len(x) > COMPARED:
        x = x[subset(np.arange(len(x)), COMPARED)]
    kept: dict[tuple[int, ...], list[tuple[Function, Float[np.ndarray, " samples"]]]] = {}
    for function in functions:
        values = function.values(x)
        values = values - values.mean()
        values = values / max(float(np.linalg.norm(values)), 1e-12)
        same = kept.setdefault(tuple(function.parents.tolist()), [])
        if all(abs(float(values @ other)) < SAME for _, other in same):
            same.append((function, values))
    return [function for same in kept.values() for function, _ in same]


@dataclass(frozen=True, kw_only=True)
class Fitter:
    """Fits functions of one family.

    Attributes:
        family: linear, networks, splines, …
        effort: how far.
        floor: s₀, the error below which nothing is worth explaining.
        penalty: nats that a parent must be worth.
        seed: random seed of first guesses.
        noise: the covariance of the noise in the inputs of linear functions, or None for none.
    """

    family: Family
    effort: Effort
    floor: float
    penalty: float
    seed: int = 0
    noise: Float[np.ndarray, "columns columns"] | None = None

    @property
    def briefly(self) -> Fitter:
        """The same for a fit that another one goes on from."""
        return replace(self, effort=replace(self.effort, tolerance=BRIEF * self.effort.tolerance))

    def fit(
        self,
        x: VariableSamples,
        parents: Int[np.ndarray, " inputs"],
        regression: Regression,
        start: Function | None = None,
    ) -> Function:
        """Minimises Σ_s weight_s (target_s − f(x_s))², from a given function of the family if any.

        In closed form where the family is linear in its weights, else by Levenberg–Marquardt.
        """
        if start is not None and isinstance(start, self.family.function_type):
            return self._fit(x, regression, start.with_parents(parents))
        return self._fit(x, regression, self._first(x, parents, regression))

    def refit_stuck(
        self, x: VariableSamples, function: Function, regression: Regression, *, noisy: bool = False
    ) -> Function:
        """The function from other starts, with more freedom, if it is stuck short of exactness.

        A network fitted to the values of one of its own size can end at an error of 1e-3 instead
        of 1e-6; one half as wide again hardly ever does. Beside noise that is nothing; without
        noise it costs thousands of nats, and a wrong graph may win by them. With `noisy`, what is
        left may be noise as well: then random hidden units must predict some of it.
        """
        if self.family.is_linear_in_weights or len(function.parents) < 2:
            return function
        best, left = function, regression.error(function, x) / self.floor
        for start in range(1, N_OTHER_STARTS + 1):
            if not STUCK[0] < left < STUCK[1]:
                break
            if noisy and not self._leaves_structure(x, best, regression):
                break
            other = replace(self, seed=self.seed + start)
            first = other._first(x, function.parents, regression, wide=True)
            trial = self._fit(x, regression, first)
            error = regression.error(trial, x) / self.floor
            best, left = min((best, left), (trial, error), key=lambda pair: pair[1])
        return best

    def _leaves_structure(
        self, x: VariableSamples, function: Function, regression: Regression
    ) -> bool:
        """Whether random hidden units predict what a function leaves: noise is not predictable."""
        left = Regression(regression.target - function.values(x), regression.weights)
        other = replace(self, seed=self.seed + N_OTHER_STARTS + 1)
        guess = other._first(x, function.parents, left, wide=True)
        share = left.error(guess, x) / max(left.error(EMPTY, x), 1e-300)
        return -left.n_samples / 2 * float(np.log(max(share, 1e-300))) > self.penalty

    def nats(self, regression: Regression, before: float, after: float) -> float:
        """Log-likelihood that is gained if the error falls from one value to the other."""
        odds = (before + self.floor) / (after + self.floor)
        return float(regression.n_samples / 2 * np.log(odds))

    def _first(
        self,
        x: VariableSamples,
        parents: Int[np.ndarray, " inputs"],
        regression: Regression,
        *,
        wide: bool = False,
    ) -> Function:
        rows = self._rows(regression)[: 0 if self.family.is_affine else None]
        u, w = x[:, parents][rows], regression.roots(rows)
        return self.family.start(parents, u, regression.target[rows], w, self.seed, wide=wide)

    def _rows(self, regression: Regression) -> Int[np.ndarray, " some"]:
        rows = np.flatnonzero(regression.weights > 0)
        return rows if self.family.is_linear_in_weights else subset(rows, self.effort.n_samples)

    def _fit(self, x: VariableSamples, regression: Regression, first: Function) -> Function:
        rows = self._rows(regression)
        y, w = regression.target[rows], regression.roots(rows)
        if not len(first.parents):
            mean = float(np.average(y, weights=w**2)) if len(y) else 0.0
            return first.affine(0.0, mean)
        u, local = x[:, first.parents][rows], first.renamed(np.arange(len(first.parents)))
        if self.family.is_linear_in_weights:
            design = (local.jacobian(u) * w[:, None]).astype(np.float64, copy=False)
            if self.noise is not None and self.family.is_affine:
                return first.with_weights(self._attenuation_undone(design, y * w, first.parents))
            return first.with_weights(_least_squares(design, y * w))
        u, y, w = (part.astype(np.float32) for part in (u, y, w))
        objective = _OneTarget(local, u, y, w, self)
        weights = levenberg_marquardt(
            objective, first.weights, n_steps=self.effort.n_steps, damping=FIRST_DAMPING
        )
        return first.with_weights(weights)

    def _attenuation_undone(
        self,
        design: Float[np.ndarray, "samples weights"],
        target: Float[np.ndarray, " samples"],
        parents: Int[np.ndarray, " inputs"],
    ) -> Float[np.ndarray, " weights"]:
        """(G − N)⁻¹ g, with the noise of the inputs taken off their centred moments."""
        assert self.noise is not None
        one, inputs = design[:, -1], design[:, :-1]
        mass = float(one @ one)
        centre, level = one @ inputs / mass, float(one @ target) / mass
        inputs, target = inputs - one[:, None] * centre, target - one * level
        gram = inputs.T @ inputs / mass + NUMERICAL * np.eye(len(parents))
        signal = without_noise(gram, self.noise[np.ix_(parents, parents)])
        slope = np.linalg.solve(signal, inputs.T @ target / mass)
        return np.append(slope, level - float(slope @ centre))


def _least_squares(
    design: Float[np.ndarray, "samples weights"], y: Float[np.ndarray, " samples"]
) -> Float[np.ndarray, " weights"]:
    """Weights by the normal equations; the smallest ones where columns are nearly collinear."""
    gram = design.T @ design
    values = np.linalg.eigvalsh(gram)
    if values[0] > WELL_CONDITIONED * values[-1]:
        return np.linalg.solve(gram, design.T @ y)
    return np.asarray(np.linalg.lstsq(design, y, rcond=None)[0])


@dataclass(frozen=True, eq=False)
class _OneTarget:
    """Mean of w² (y − f)², with weight decay; samples are in single precision, for speed."""

    function: Function
    x: VariableSamples
    y: Float[np.ndarray, " samples"]
    w: Float[np.ndarray, " samples"]
    fitter: Fitter
    per_square: float = 1.0

    def at(
        self, weights: Float[np.ndarray, " weights"]
    ) -> tuple[float, tuple[Function, Float[np.ndarray, " samples"]]]:
        function = self.function.with_weights(weights)
        residual = self.w * (self.y - function.values(self.x))
        loss = float(residual @ residual) / len(residual)
        return loss + RIDGE * float(weights @ weights), (function, residual)

    def normal_equations(
        self,
        weights: Float[np.ndarray, " weights"],
        state: tuple[Function, Float[np.ndarray, " samples"]],
    ) -> NormalEquations:
        function, residual = state
        gram, pull = self.products(function, self.w if self.is_weighted else None, residual)
        gram /= len(residual)
        gram[np.diag_indices_from(gram)] += RIDGE
        return NormalEquations(gram, pull / len(residual) - RIDGE * weights)

    @cached_property
    def products(self) -> JacobianProducts:
        return jacobian_products(self.function, self.x)

    @cached_property
    def is_weighted(self) -> bool:
        return bool((self.w != 1.0).any())

    def is_done(self, before: float, after: float) -> bool:
        slack = self.fitter.floor / 10
        return before - after < self.fitter.effort.tolerance * (after + slack)
