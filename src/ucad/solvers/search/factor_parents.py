"""The parents of a factor, chosen by what its children say that it should be."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from ucad.data import InterventionalData
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import Regression
from ucad.solvers.regression.moments import without_noise
from ucad.solvers.regression.stepwise import Problems, select_features
from ucad.solvers.search.causes import MAX_CANDIDATES

__all__ = ["likely_parents", "select_parents"]

SAMPLES_AT_ONCE = 8192
"""Samples whose features are held at a time: sums of so many in single precision keep six
digits."""

Variables = Int[np.ndarray, " ..."]


def likely_parents(
    data: InterventionalData, regression: Regression, allowed: Variables, current: Variables
) -> Variables:
    """Of very many possible parents the current ones and the most correlated."""
    if len(allowed) <= MAX_CANDIDATES:
        return allowed
    x, mean = data.x, data.moments.sums / data.n_samples
    weighted = regression.weights * (regression.target - regression.target.mean())
    spread = np.sqrt(np.diagonal(data.moments.total) / len(x) - mean**2 + 1e-12)
    cross = weighted.astype(x.dtype, copy=False) @ x - weighted.sum() * mean
    strength = (np.abs(cross) / spread)[allowed]
    strength[np.isin(allowed, current)] = np.inf
    return np.sort(allowed[np.argsort(-strength, kind="stable")[:MAX_CANDIDATES]])


def select_parents(
    problem: Problem, regression: Regression, allowed: Variables, *, backward: bool
) -> Variables:
    """Weighted stepwise selection of additive features of the allowed variables."""
    gram, width = _weighted_gram(problem, regression, allowed)
    gram[np.diag_indices_from(gram)] += problem.floor
    if problem.noise is not None:
        gram[:-1, :-1] = without_noise(gram[:-1, :-1], np.diag(problem.noise[allowed]))
    count = np.array([float(regression.n_samples)])
    everything = np.ones((1, gram.shape[0] - 1), dtype=bool)
    one = Problems(gram[None], count, np.array([0]), everything)
    found = select_features(one, problem.penalty, backward=backward)
    return allowed[np.unique(np.flatnonzero(found.selected[0]) // width)]


def _weighted_gram(
    problem: Problem, regression: Regression, allowed: Variables
) -> tuple[Float[np.ndarray, "both both"], int]:
    """The weighted covariance of features and target, and the features per variable.

    In blocks of samples, so that the features of all samples are never held at once.
    """
    target, weights = regression
    share, family = weights / weights.sum(), problem.factor_family
    mean, gram, width = np.zeros(1), np.zeros((1, 1)), 1
    dtype = np.float64 if family.is_affine else np.float32
    for start in range(0, len(target), SAMPLES_AT_ONCE):
        rows = slice(start, start + SAMPLES_AT_ONCE)
        features = family.features(problem.data.x[rows][:, allowed])
        width = features.shape[2]
        both = np.column_stack([features.reshape(len(features), -1), target[rows]])
        root = np.sqrt(share[rows])
        both = (both * root[:, None]).astype(dtype, copy=False)
        mean = mean + root @ both
        gram = gram + both.T @ both
    return gram - mean[:, None] * mean, width
