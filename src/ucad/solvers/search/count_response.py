"""Counts as linear regressions: the working response of a negative binomial model, and its fit.

With η the logarithm of a rate, μ = depth · e^η and dispersion φ, the log-likelihood of a count c
is, around η, that of a normal y = η + (c − μ) / μ with weight w = μ / (1 + φ μ).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from ucad._types import BooleanMatrix, VariableSamples
from ucad.data import InterventionalData
from ucad.data.readings import counts_behind
from ucad.scm.noise.counts import count_log_prob
from ucad.solvers.problem import Response

__all__ = ["CountSamples", "first_response"]

MAX_PREDICTORS = 32
"""Variables in a first regression of one variable: those that go with it most."""

N_STEPS = 25
"""Steps of a regression at most; Newton's method takes fewer than ten unless it diverges."""

MAX_STEP = 3.0
"""The most that the logarithm of a rate may change in one step, in any sample."""

DONE = 1e-4
"""A change of the logarithm of a rate below which a regression has converged."""

RIDGE = 1e-3
"""Added to the information on every weight: it only settles what the data leave open."""

DISPERSIONS = (1e-3, 10.0)
"""The range of φ: below it counts are Poisson's, above it they are hardly counts of anything."""

RATES = (-20.0, 12.0)
"""The range of the logarithm of an expected count: beyond it exponentials overflow."""

MAX_RESPONSE = 50.0
"""How far a working response may be off η: at expected counts below 0.02 a single count is."""


class CountSamples(NamedTuple):
    """Counts of every variable.

    Attributes:
        counted: the counts themselves.
        log_depth: of every sample.
        free: where a variable is not left out of the likelihood.
    """

    counted: VariableSamples
    log_depth: Float[np.ndarray, " samples"]
    free: Bool[np.ndarray, "samples variables"]

    @classmethod
    def of(cls, data: InterventionalData) -> CountSamples | None:
        """The counts whose log(1 + count / depth) the data are; None if they are not."""
        raw = data.unstandardised()
        free = ~data.is_left_out
        counts = counts_behind(raw.x.astype(np.float64), free)
        if counts is None or (not counts.is_logged and not _are_logs(raw.x, free)):
            return None
        rate = counts.rate if counts.is_logged else np.expm1(np.maximum(raw.x, 0.0))
        return cls(np.round(rate * counts.depth[:, None]), np.log(counts.depth), free)

    @property
    def n_events(self) -> float:
        """The number of samples in which a typical variable is counted at all.

        Zeros tell little of a low rate: as in survival analysis, what counts as the size of a
        sample is its number of events.
        """
        return float(np.median(((self.counted > 0) & self.free).sum(axis=0)))

    def dispersions(self, eta: VariableSamples) -> Float[np.ndarray, " variables"]:
        """φ from the variance beyond Poisson's, Σ (c − μ)² − μ over Σ μ²."""
        mu = self._mean(eta)
        beyond = np.where(self.free, (self.counted - mu) ** 2 - mu, 0.0).sum(axis=0)
        phi = beyond / np.maximum(np.where(self.free, mu**2, 0.0).sum(axis=0), 1e-300)
        return np.clip(phi, *DISPERSIONS)

    def response(self, eta: VariableSamples) -> Response:
        """The working response around given logarithms of rates, weights 1 on average."""
        mu = self._mean(eta)
        step = np.clip((self.counted - mu) / mu, -1.0, MAX_RESPONSE)
        weights = np.where(self.free, mu / (1 + self.dispersions(eta) * mu), 0.0)
        mean = weights.sum(axis=0) / np.maximum(self.free.sum(axis=0), 1)
        return Response(eta + step, weights / np.maximum(mean, 1e-300))

    def log_likelihood(self, eta: VariableSamples) -> float:
        """That of all counts, at the dispersions they show."""
        log_mean = np.clip(eta + self.log_depth[:, None], *RATES)
        parts = (self.counted, log_mean, self.dispersions(eta))
        terms = count_log_prob(*(torch.from_numpy(np.asarray(part)) for part in parts)).numpy()
        return float(terms[self.free].sum())

    def _mean(self, eta: VariableSamples) -> VariableSamples:
        return np.exp(np.clip(eta + self.log_depth[:, None], *RATES))


def first_response(
    data: InterventionalData, counts: CountSamples, may_cause: BooleanMatrix
) -> Response:
    """The working response around regressions of every variable on all that may cause it."""
    eta = np.zeros(counts.counted.shape)
    for j in range(data.n_variables):
        rows, allowed = np.flatnonzero(counts.free[:, j]), np.flatnonzero(may_cause[:, j])
        strongest = _strongest(data.x[np.ix_(rows, allowed)], data.x[rows, j])
        design = data.x[:, allowed[strongest]]
        weights = _regression(design[rows], counts.counted[rows, j], counts.log_depth[rows])
        eta[:, j] = design @ weights[:-1] + weights[-1]
    return counts.response(eta)


def _are_logs(x: VariableSamples, free: Bool[np.ndarray, "samples variables"]) -> bool:
    """Whether all values are 0: whole numbers are counts, and no logarithms of them."""
    return not bool((x[free] > 0).any())


def _strongest(
    x: VariableSamples, target: Float[np.ndarray, " samples"]
) -> Int[np.ndarray, " few"]:
    """The numbers of the columns that go with a target most."""
    if x.shape[1] <= MAX_PREDICTORS:
        return np.arange(x.shape[1])
    strength = np.abs((target - target.mean()) @ (x - x.mean(axis=0)))
    strength = strength / np.maximum(x.std(axis=0), 1e-12)
    return np.sort(np.argsort(-strength, kind="stable")[:MAX_PREDICTORS])


def _regression(
    x: Float[np.ndarray, "samples inputs"],
    count: Float[np.ndarray, " samples"],
    log_depth: Float[np.ndarray, " samples"],
) -> Float[np.ndarray, " weights"]:
    """Weights and constant of a Poisson regression with a logarithmic link, by Newton's method."""
    design = np.column_stack([x, np.ones(len(x))])
    ridge = RIDGE * np.append(np.ones(x.shape[1]), 0.0)
    weights = np.zeros(design.shape[1])
    weights[-1] = np.log(max(float(count.sum()), 0.5) / max(float(np.exp(log_depth).sum()), 0.5))
    for _ in range(N_STEPS):
        mu = np.exp(np.clip(design @ weights + log_depth, *RATES))
        weighted = design * mu[:, None]
        slope = design.T @ (count - mu) - ridge * weights
        step = np.linalg.solve(weighted.T @ design + np.diag(ridge + 1e-9), slope)
        largest = float(np.abs(design @ step).max(initial=0.0))
        weights = weights + step * min(1.0, MAX_STEP / max(largest, 1e-300))
        if largest < DONE:
            break
    return weights
