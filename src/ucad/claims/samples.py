"""The samples that tests are made on: which rows fit, which rows test, and what the model says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad._types import FactorSamples, VariableSamples, WhichIntervened
from ucad.data import InterventionalData
from ucad.graph import FactorGraph, boolean_product
from ucad.scm import FactorSCM

__all__ = ["MIN_SAMPLES_FOR_ONE_SPLIT", "MIN_SAMPLES_TO_HOLD_OUT", "Fold", "Rows", "TestSamples"]

MIN_SAMPLES_FOR_ONE_SPLIT = 4000
"""Below so many samples every sample takes part in the test, by cross-fitting: with 300 samples
one factor too few was seen 3 times of 4 by one split and 4 of 4 by five folds, and with 2,700 a
fifth of them saw only shares of variance of 10 % and more."""

MIN_SAMPLES_TO_HOLD_OUT = 1000
"""Below so many samples a solver needs all of them: none are held out for claims."""

N_FOLDS, N_FOLDS_IF_HELD_OUT = 5, 3
"""How many folds take turns, without and with enough samples to hold some out."""

TEST_SHARE = 0.25
"""The share of samples that test where nothing was held back."""

MAX_ROWS = 20_000
"""Samples that tests look at in each part, at most."""

MAX_ENTRIES = 3_000_000
"""The most samples, and samples × variables, that tests look at in each part: they bound the time.
With them a model of 1,000 variables is certified in a few seconds."""

MIN_ROWS = 2000
"""Samples that tests look at in each part however many variables there are."""

MAX_VARIABLES_IN_FULL = 128
"""Of larger models only the most doubtful variables, edges and regimes are tested."""

Rows = Int[np.ndarray, " _"]
"""Positions of samples or of variables; several of them in one call differ in number."""


class Fold(NamedTuple):
    """Rows to learn from, and rows to test on."""

    fit: Int[np.ndarray, " fit"]
    test: Int[np.ndarray, " test"]


@dataclass(frozen=True, eq=False)
class TestSamples:
    """Samples with what a model makes of them, every variable and factor at variance 1.

    Attributes:
        scm: the model.
        x: the variables, (x_j − mean) / sd, mean and sd over the samples in which j is free.
        z: the factors τ(x), standardised; 0 where constant.
        residual: e_j = (x_j − F_X(τ(x))_j) / sd_j.
        is_intervened: True where a variable is acted on.
        regime: the regime of every sample, numbered from 0 without gaps.
        regime_names: one name per regime.
        folds: which rows fit and which rows test.
        held_out: whether the test rows were not used to find the model.
        mean: of every variable where it is free, in its own units.
        sd: its standard deviation.
        z_mean: of every factor, in its own units.
        z_sd: its standard deviation; infinite where the factor is constant.
    """

    __test__ = False  # its name is no invitation to pytest

    scm: FactorSCM
    x: VariableSamples
    z: FactorSamples
    residual: VariableSamples
    is_intervened: WhichIntervened
    regime: Int[np.ndarray, " samples"]
    regime_names: tuple[str, ...]
    folds: tuple[Fold, ...]
    held_out: bool
    mean: Float[np.ndarray, " variables"]
    sd: Float[np.ndarray, " variables"]
    z_mean: Float[np.ndarray, " factors"]
    z_sd: Float[np.ndarray, " factors"]

    @classmethod
    def of(
        cls,
        scm: FactorSCM,
        train: InterventionalData,
        held_out: InterventionalData | None,
        seed: int,
    ) -> TestSamples:
        """Standardises samples and deals them out.

        With samples held out, `train` fits and `held_out` tests. Without, a quarter of `train`
        tests. With fewer than 4,000 samples in all, three folds take turns, and five below 1,000.
        """
        rng = np.random.default_rng(seed)
        parts = [part for part in (train, held_out) if part is not None and part.n_samples]
        kept = [_subsample(part, rng) for part in parts]
        x = np.concatenate([part.x[rows] for part, rows in zip(parts, kept, strict=True)])
        acted = np.concatenate(
            [part.is_intervened[rows] for part, rows in zip(parts, kept, strict=True)]
        )
        labels = np.concatenate([part.regime[rows] for part, rows in zip(parts, kept, strict=True)])
        present, regime = np.unique(labels, return_inverse=True)
        names = tuple(train.regime_names[label] for label in present)
        z = scm.state_map(x).detach().cpu().numpy()
        residual = x - scm.expected_variables(scm.tensor(z)).detach().cpu().numpy()
        mean, sd = _free_moments(x, ~acted)
        z_mean, z_sd = _moments_of_factors(z)
        folds = _folds(regime, None if held_out is None else len(kept[0]), rng)
        return cls(
            scm,
            (x - mean) / sd,
            (z - z_mean) / z_sd,
            residual / sd,
            acted,
            regime.reshape(-1),
            names,
            folds,
            held_out is not None,
            mean,
            sd,
            z_mean,
            z_sd,
        )

    @property
    def is_large(self) -> bool:
        """Whether only a part of the variables, edges and regimes is tested."""
        return self.n_variables > MAX_VARIABLES_IN_FULL

    @property
    def graph(self) -> FactorGraph:
        """The graph of the model."""
        return self.scm.graph

    @property
    def n_variables(self) -> int:
        """The paper's n."""
        return self.x.shape[1]

    @cached_property
    def factors_of(self) -> list[Int[np.ndarray, " factors"]]:
        """pa(j), the factors that make each variable."""
        return [np.flatnonzero(row) for row in self.graph.R]

    @cached_property
    def is_descendant(self) -> Bool[np.ndarray, "variables descendants"]:
        """Entry [j, i]: i is j or is reached from j along the low-level graph."""
        reach = self.graph.variable_adjacency | np.eye(self.n_variables, dtype=bool)
        while True:
            further = boolean_product(reach, reach)
            if (further == reach).all():
                return reach
            reach = further

    @cached_property
    def expected(self) -> VariableSamples:
        """F_X(τ(x)), in the units of `x`."""
        return self.x - self.residual

    def original(self, rows: Rows) -> VariableSamples:
        """The variables in their own units."""
        return self.mean + self.sd * self.x[rows]

    def original_factors(self, rows: Rows) -> FactorSamples:
        """The factors τ(x) in their own units."""
        return self.z_mean + np.where(np.isfinite(self.z_sd), self.z_sd, 0.0) * self.z[rows]

    def free(self, j: int, rows: Rows) -> Rows:
        """Those of the rows in which variable j is not acted on."""
        return rows[~self.is_intervened[rows, j]]


def _subsample(data: InterventionalData, rng: np.random.Generator) -> Rows:
    limit = min(MAX_ROWS, max(MIN_ROWS, MAX_ENTRIES // data.n_variables))
    if data.n_samples <= limit:
        return np.arange(data.n_samples)
    return np.sort(rng.permutation(data.n_samples)[:limit])


def _free_moments(
    x: VariableSamples, free: WhichIntervened
) -> tuple[Float[np.ndarray, " variables"], Float[np.ndarray, " variables"]]:
    """Mean and standard deviation of every variable where it is free; of all, if it never is."""
    weight = np.where(free.any(axis=0), free, 1.0)
    count = weight.sum(axis=0)
    mean = (x * weight).sum(axis=0) / count
    variance = ((x - mean) ** 2 * weight).sum(axis=0) / count
    return mean, np.where(variance > 0, np.sqrt(variance), 1.0)


def _moments_of_factors(
    z: FactorSamples,
) -> tuple[Float[np.ndarray, " factors"], Float[np.ndarray, " factors"]]:
    """Mean and standard deviation, infinite where a factor is constant but for rounding."""
    sd = z.std(axis=0)
    is_constant = sd <= 1e-9 * (1 + np.abs(z).max(axis=0, initial=0.0))
    return z.mean(axis=0), np.where(is_constant, np.inf, sd)


def _folds(
    regime: Int[np.ndarray, " samples"], n_train: int | None, rng: np.random.Generator
) -> tuple[Fold, ...]:
    n = len(regime)
    if n >= MIN_SAMPLES_FOR_ONE_SPLIT and n_train is not None:
        return (Fold(np.arange(n_train), np.arange(n_train, n)),)
    order = rng.permutation(n)
    turn = np.empty(n, dtype=np.int64)  # the samples of a regime are dealt out in turn
    turn[order[np.argsort(regime[order], kind="stable")]] = np.arange(n)
    if n >= MIN_SAMPLES_FOR_ONE_SPLIT:
        tests = turn % round(1 / TEST_SHARE) == 0
        return (Fold(np.flatnonzero(~tests), np.flatnonzero(tests)),)
    n_folds = N_FOLDS if n < MIN_SAMPLES_TO_HOLD_OUT else N_FOLDS_IF_HELD_OUT
    number = turn % n_folds
    return tuple(
        Fold(np.flatnonzero(number != f), np.flatnonzero(number == f)) for f in range(n_folds)
    )
