"""Whether factors read logarithms: decided by the likelihood of held-out samples."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from ucad.data import InterventionalData, Scaling
from ucad.data.readings import counts_behind
from ucad.data.transforms import Reads, check_transform, reads_of
from ucad.scm import FactorSCM
from ucad.scm.families import AFFINE
from ucad.solvers.problem import Problem
from ucad.solvers.search.export import as_scm
from ucad.solvers.search.search import Search

__all__ = ["choose_reads"]

MIN_GAIN = 0.05
"""Nats per sample that a logarithm must gain for a variable by itself before models are compared:
a normal variable gains by none, a log-normal one of spread 0.3 gains that much."""

N_FACTORS = 3
"""Factors of the models compared, where their number is not known yet."""

MAX_SAMPLES = 4000
"""Samples on which models are compared."""

SIGMAS = 2.0
"""Standard errors by which the held-out likelihood must be higher."""


def choose_reads(data: InterventionalData, transform: str, n_factors: object, seed: int) -> Reads:
    """What factors read of each variable.

    With `auto`, logarithms are considered of variables that are positive, and log(1 + x) of whole
    numbers from 0 on, if they are likelier than a normal law of the values themselves. They are
    taken if a linear model of them explains held-out samples better, in the same units.

    Args:
        data: the measurements.
        transform: one of `TRANSFORMS`.
        n_factors: of the models compared.
        seed: of the split.
    """
    check_transform(transform)
    if transform != "auto":
        return reads_of(data, transform)
    plain = Reads(("none",) * data.n_variables)
    if data.context is not None or data.layer_of is not None:
        return plain
    raw = data.unstandardised()
    bent = Reads(_likelier(raw))
    if bent.is_plain:
        return plain
    few = raw if raw.n_samples <= MAX_SAMPLES else raw.split(*_shares(raw.n_samples), seed=seed)[0]
    m = min(N_FACTORS, data.n_variables)
    if isinstance(n_factors, int) and 1 <= n_factors <= data.n_variables:
        m = n_factors
    gain = _held_out(few, bent, m, seed) - _held_out(few, plain, m, seed)
    if len(gain) < 2:  # nothing was held out that could tell
        return plain
    error = float(gain.std()) / np.sqrt(len(gain))
    return bent if float(gain.mean()) > SIGMAS * error else plain


def _shares(n_samples: int) -> tuple[float, float]:
    return MAX_SAMPLES / n_samples, 1 - MAX_SAMPLES / n_samples


def _likelier(raw: InterventionalData) -> tuple[str, ...]:
    """Logarithms that make variables more normal: of counts for all or none, else of some."""
    counts = counts_behind(raw.x, ~raw.is_left_out)
    kind = "log" if counts is None else "none" if counts.is_logged else "log1p"
    offset = float(kind == "log1p")
    gains = [
        _gain(x[free] + offset) if kind != "none" and x.min() > -offset else -np.inf
        for x, free in zip(raw.x.T, ~raw.is_left_out.T, strict=True)
    ]
    if counts is not None:
        return (kind if min(gains) > -np.inf and np.median(gains) > MIN_GAIN else "none",) * len(
            gains
        )
    return tuple(kind if gain > MIN_GAIN else "none" for gain in gains)


def _gain(x: Float[np.ndarray, " samples"]) -> float:
    """Nats per sample by which a normal law of log x is likelier than one of x."""
    if len(x) < 2 or x.std() == 0:
        return 0.0
    y = np.log(x)
    return float(np.log(x.std() / max(float(y.std()), 1e-12)) - y.mean())


def _held_out(
    raw: InterventionalData, reads: Reads, n_factors: int, seed: int
) -> Float[np.ndarray, " samples"]:
    """The log-likelihood of held-out samples by a linear model of what is read, in raw units."""
    train, test = raw.split(0.75, 0.25, seed=seed)[:2]
    read = reads.of(train)
    scaling = Scaling.of(read.x)
    problem = Problem.of(read.standardised(scaling), n_factors, (AFFINE, AFFINE), seed=seed)
    scm: FactorSCM = as_scm(problem, Search(problem).run().model).in_original_units(scaling)
    values = scm.log_likelihood(reads.of(test).x, test.is_left_out).numpy()
    slope = np.where(test.is_left_out, 0.0, reads.log_slope(test.x))
    total: Float[np.ndarray, " samples"] = values + slope.sum(axis=1)
    return total
