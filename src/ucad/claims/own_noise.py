"""Is the noise of every variable its own? Whether two residuals go together in the same samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import ndtr, ndtri

from ucad.claims.adequacy import MAX_P
from ucad.claims.answers import Answer, Claim, listed
from ucad.claims.control import MAX_SMALLEST_SHARE
from ucad.claims.ridge import curves, fitted
from ucad.claims.samples import Rows, TestSamples

__all__ = ["SharedNoise", "beyond_factors", "own_noise"]

MIN_SHARE = 0.0025
"""r² of two residuals, |r| = .05, above which noise counts as shared. On 23 right models of
development, fitted to some 6,000 samples, no pair was significant at all; the bound keeps small
misfits of networks from counting where there are so many samples that everything is significant."""

MIN_NOISE = 0.01
"""The share of its variance that the factors must leave of a variable: of less, how the functions
were fitted may be the larger part, and what noiseless children leave goes together."""

MIN_ROWS = 100
"""Samples in which both variables are free: in fewer, a few extreme ones decide."""

PART_ROWS = 25
"""Samples with neighbouring values of a factor in which a residual may have a mean of its own: they
follow steps, and take one part in 25 of the noise with them."""

MAX_PAIRS = 30
"""Pairs that are looked at again with the shape of F_X taken off, the most significant first."""

Residuals = Float[np.ndarray, "rows some"]


class SharedNoise(NamedTuple):
    """Two variables whose residuals go together.

    Attributes:
        first: a variable.
        second: another one; below the first, if one of the two is below the other.
        is_below: whether it is.
        correlation: of the residuals, over the samples in which both are free.
        P: of it, times the number of pairs.
    """

    first: str
    second: str
    is_below: bool
    correlation: float
    P: float


def own_noise(samples: TestSamples) -> Claim:
    """Does no variable share its noise with another one?

    T_ij = Σ e_i e_j / √Σ e_i² e_j² over the samples in which i and j are free, centred in every
    regime. In an f-SCM noise is independent, so T_ij is about N(0, 1), whatever the tails. A hidden
    common cause, a direct effect or feedback makes residuals go together; where neither end was
    acted on this is the only trace of feedback, since what is below j is no predictor of j. Shared
    if n (n − 1) · Φ̄(|T_ij|) < .001 and r² > .0025, before and after smooth functions of its factors
    are taken off each residual. O(samples · variables²).
    """
    e, free = _centred(samples)
    e = e.astype(np.float32) if samples.is_large else e
    found = _shared(samples, e, free)
    n_pairs = samples.n_variables * (samples.n_variables - 1)
    n_both = float(np.median(free.sum(axis=0))) if len(free) else 0.0
    seen = float(-ndtri(MAX_P / max(n_pairs, 1))) / np.sqrt(max(n_both, 1.0))
    if found:
        pairs = listed([f"{one.first} and {one.second}" for one in found])
        answer = Answer.NO
        text = (
            f"The residuals of {pairs} go together (the first by r = {found[0].correlation:.2f}, "
            f"P = {found[0].P:.1e}): something unmeasured acts on both, one acts on the other "
            "past the factors, or there is feedback."
        )
    elif seen**2 > MAX_SMALLEST_SHARE or n_pairs == 0:
        answer = Answer.UNKNOWN
        text = "There are too few samples to see whether two variables share noise."
    else:
        answer = Answer.YES
        text = f"No two residuals go together: a correlation of {seen:.2f} would have been seen."
    return Claim(
        "noise",
        "Is the noise of every variable its own?",
        answer,
        text,
        'Definition "f-SCM": independent noise; correlation of residuals over free samples',
        {"shared": [one._asdict() for one in found], "smallest_correlation_seen": round(seen, 4)},
    )


def _shared(
    samples: TestSamples, e: Residuals, free: Bool[np.ndarray, "rows some"]
) -> list[SharedNoise]:
    """The pairs whose residuals go together, the strongest first."""
    T, r = _correlations(e, free)
    first, second = np.nonzero(np.triu(_is_shared(T, r, samples.n_variables), k=1))
    strongest = np.argsort(-np.abs(T[first, second]), kind="stable")[:MAX_PAIRS]
    if len(strongest) == 0:
        return []
    first, second = first[strongest], second[strongest]
    concerned, place = np.unique(np.concatenate([first, second]), return_inverse=True)
    smoothed, free = _centred(samples, concerned)
    T, r = _correlations(smoothed, free)
    kept = _is_shared(T, r, samples.n_variables)
    pairs = place.reshape(2, -1).T
    found = [_named(samples, concerned, (int(a), int(b)), T, r) for a, b in pairs if kept[a, b]]
    return sorted(found, key=lambda one: one.P)


def beyond_factors(samples: TestSamples, j: int) -> Float[np.ndarray, " samples"]:
    """e_j minus functions of the factors of j, over samples in which j is free; else 0.

    A smooth function of all, and then of each alone its means in equal parts of the samples, which
    follow steps: siblings that step at the same values share no noise. What is left no longer
    depends on how the shape of F_X was fitted.
    """
    rows, factors = np.flatnonzero(~samples.is_intervened[:, j]), samples.factors_of[j]
    e = np.zeros(len(samples.residual))
    e[rows] = samples.residual[rows, j]
    if len(factors) and len(rows):
        e[rows] -= fitted(curves(samples.z[np.ix_(rows, factors)]), e[rows])[0]
    n_parts = len(rows) // PART_ROWS
    for k in factors if n_parts else ():
        part = np.argsort(np.argsort(samples.z[rows, k], kind="stable")) * n_parts // len(rows)
        e[rows] -= (np.bincount(part, e[rows]) / np.bincount(part))[part]
    return e


def _centred(
    samples: TestSamples, smoothed: Rows | None = None
) -> tuple[Residuals, Bool[np.ndarray, "rows some"]]:
    """e_j minus its mean in every regime, 0 where j is acted on, and where it is free.

    Args:
        samples: what the tests look at.
        smoothed: only these variables, minus smooth functions of their factors; all as they are
            if None.
    """
    some = np.arange(samples.n_variables) if smoothed is None else smoothed
    free = ~samples.is_intervened[:, some]
    if smoothed is None:
        e = np.where(free, samples.residual, 0.0)
    else:
        e = np.stack([beyond_factors(samples, int(j)) for j in some], axis=1)
    order = np.argsort(samples.regime, kind="stable")
    starts = np.flatnonzero(np.diff(samples.regime[order], prepend=-1))
    total, count = (np.add.reduceat(v[order].astype(np.float64), starts) for v in (e, free))
    mean = total / np.maximum(count, 1.0)
    number = np.searchsorted(samples.regime[order][starts], samples.regime)
    return np.where(free, e - mean[number], 0.0), free


def _correlations(
    e: Residuals, free: Bool[np.ndarray, "rows some"]
) -> tuple[np.ndarray, np.ndarray]:
    """T and r of all pairs; 0 where too few samples have both free, or one has hardly any noise."""
    both = free.astype(e.dtype)
    largest = np.abs(e).max(axis=0, initial=0.0)
    e = e / np.where(largest > 0, largest, 1.0)  # squares of far values may not fit
    squared = e**2
    product = e.T @ e
    T = product / np.sqrt(np.maximum(squared.T @ squared, 1e-30))
    power = squared.T @ both  # of e_i where j is free
    r = product / np.sqrt(np.maximum(power * power.T, 1e-30))
    count = both.T @ both
    spread = largest * np.sqrt(squared.sum(axis=0) / np.maximum(both.sum(axis=0), 1.0))
    is_noise = spread > np.sqrt(MIN_NOISE)
    able = (count >= MIN_ROWS) & is_noise & is_noise[:, None] & ~np.eye(len(r), dtype=bool)
    return np.where(able, T, 0.0), np.where(able, r, 0.0)


def _is_shared(T: np.ndarray, r: np.ndarray, n_variables: int) -> np.ndarray:
    return (_P(T, n_variables) < MAX_P) & (r**2 > MIN_SHARE)


def _P(T: np.ndarray, n_variables: int) -> np.ndarray:
    return np.minimum(1.0, n_variables * (n_variables - 1) * ndtr(-np.abs(T)))


def _named(
    samples: TestSamples, some: Rows, pair: tuple[int, int], T: np.ndarray, r: np.ndarray
) -> SharedNoise:
    (a, b), below = pair, samples.is_descendant
    first, second = (some[b], some[a]) if below[some[b], some[a]] else (some[a], some[b])
    names = samples.graph.variable_names
    return SharedNoise(
        names[first],
        names[second],
        bool(below[first, second]),
        round(float(r[a, b]), 4),
        float(_P(T, samples.n_variables)[a, b]),
    )
