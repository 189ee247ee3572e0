"""Ridge regression on flexible columns, its penalty chosen by generalised cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

__all__ = ["CLIP", "N_RANDOM_FEATURES", "N_RANDOM_IF_LARGE", "Ridge", "curves", "fitted"]

N_RANDOM_FEATURES = 40
"""How many random tanh features stand for smooth functions of several inputs."""

N_RANDOM_IF_LARGE = 10
"""The same for large models, where most of the time would go into them."""

MAX_INPUTS_FOR_PRODUCTS = 8
"""With more inputs, products and steps of single inputs are left out: they grow too many."""

STEPS = np.array([-1.5, -0.75, 0.0, 0.75, 1.5])
"""Where the steps tanh(2 (u − c)) of every single input lie, in standard deviations. Without them
a function of two inputs, one of them idle, is fitted worse than a function of the other alone."""

CLIP = 3.0
"""Standard deviations at which inputs of curves are cut, so that no single sample decides."""

PENALTIES = 10.0 ** np.arange(-5.0, 3.5, 0.5)
"""λ per sample, for columns of variance 1; the largest leaves nearly nothing of any column."""

Matrix = Float[np.ndarray, "_ _"]


def curves(u: Matrix, *, seed: int = 0, n_random: int = N_RANDOM_FEATURES) -> Matrix:
    """[u, u², u³/3, tanh(2 (u − c)), products u_a u_b, tanh(u W + b)] of standardised inputs.

    Args:
        u: the inputs, each of variance 1.
        seed: of W ~ N(0, 1.5² / inputs) and b ~ N(0, 1): the same for train and test.
        n_random: how many columns of tanh.

    >>> curves(np.zeros((5, 2)), n_random=3).shape
    (5, 20)
    """
    n_samples, n_inputs = u.shape
    if n_inputs == 0:
        return np.empty((n_samples, 0))
    cut = np.clip(u, -CLIP, CLIP)
    squared = cut * cut
    pieces = [u, squared, squared * cut / 3]  # a general power takes twenty times as long
    if n_inputs <= MAX_INPUTS_FOR_PRODUCTS:
        pieces += [np.tanh(2 * (cut - c)) for c in STEPS]
        first, second = np.triu_indices(n_inputs, k=1)
        pieces.append(cut[:, first] * cut[:, second])
    if n_random:
        rng = np.random.default_rng(seed)
        W = 1.5 / np.sqrt(n_inputs) * rng.standard_normal((n_inputs, n_random))
        pieces.append(np.tanh(cut @ W + rng.standard_normal(n_random)))
    return np.concatenate(pieces, axis=1)


@dataclass(frozen=True, eq=False)
class Ridge:
    """Ridge regressions on the same columns: w = (XᵀX + λ N I)⁻¹ Xᵀ y, X and y centred.

    λ minimises GCV(λ) = (RSS / N) / (1 − df / N)², df = 1 + Σ d / (d + λ N) over the eigenvalues d
    of XᵀX, for each y on its own. O(samples · columns²) once, then O(samples · columns) per y.
    """

    columns: Matrix

    @cached_property
    def gram(self) -> Float[np.ndarray, "columns columns"]:
        """XᵀX."""
        return self.X.T @ self.X

    def first(self, count: int) -> Ridge:
        """The regressions on the first columns alone; nothing is multiplied again."""
        part = Ridge(self.columns[:, :count])
        part.__dict__.update(X=self.X[:, :count], gram=self.gram[:count, :count])
        return part

    @cached_property
    def mean(self) -> Float[np.ndarray, " columns"]:
        """Of the columns."""
        return np.asarray(self.columns.mean(axis=0))

    @cached_property
    def scale(self) -> Float[np.ndarray, " columns"]:
        """Their standard deviation; 1 where a column is constant."""
        sd = self.columns.std(axis=0)
        return np.where(sd > 1e-12, sd, 1.0)

    @cached_property
    def X(self) -> Matrix:
        """The columns at mean 0 and variance 1."""
        return (self.columns - self.mean) / self.scale

    @cached_property
    def _spectrum(self) -> tuple[Float[np.ndarray, " columns"], Matrix]:
        values, vectors = np.linalg.eigh(self.gram)
        return np.clip(values, 0.0, None), vectors

    def weights(
        self, y: Float[np.ndarray, "samples targets"]
    ) -> Float[np.ndarray, "columns targets"]:
        """The w of every target, in units of the standardised columns."""
        values, vectors = self._spectrum
        n = len(y)
        centred = y - y.mean(axis=0)
        c = vectors.T @ (self.X.T @ centred)
        shrunk = values[:, None] + PENALTIES * n  # columns × penalties
        df = 1 + (values[:, None] / shrunk).sum(axis=0)
        inverse, curvature = 1 / shrunk, values[:, None] / shrunk**2
        rss = (centred**2).sum(axis=0)[:, None] - (c**2).T @ (
            2 * inverse - curvature
        )  # targets × penalties
        gcv = np.clip(rss, 0.0, None) / np.clip(1 - df / n, 1e-3, None) ** 2
        best = gcv.argmin(axis=1)
        return np.asarray(vectors @ (c * inverse[:, best]))

    def standardised(self, columns: Matrix) -> Matrix:
        """Other rows of the same columns, in the units of X."""
        return (columns - self.mean) / self.scale


def fitted(
    fit: Matrix, y: Float[np.ndarray, " samples"], *others: Matrix
) -> list[Float[np.ndarray, " _"]]:
    """The ridge regression of y on the columns `fit`, evaluated there and on other rows.

    Without columns it is the mean, and without samples 0.
    """
    if 0 in fit.shape:
        return [np.full(len(rows), y.mean() if len(y) else 0.0) for rows in (fit, *others)]
    ridge = Ridge(fit)
    w = ridge.weights(y[:, None])[:, 0]
    return [y.mean() + ridge.standardised(rows) @ w for rows in (fit, *others)]
