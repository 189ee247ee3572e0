"""The positive control: how large would something left have to be for the test to see it?"""

from __future__ import annotations

import numpy as np

from ucad.claims.adequacy import MIN_SHARE, Adequacy, Learner, Level, leftover
from ucad.claims.ridge import CLIP
from ucad.claims.samples import TestSamples

__all__ = ["MAX_SMALLEST_SHARE", "SHARES", "smallest_share_seen"]

SHARES = (0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2)
"""The shares of variance that are planted; between them what would be found is interpolated."""

MIN_FOUND = 0.9
"""The part of the plants that must be found."""

MAX_SMALLEST_SHARE = 0.05
"""A test that only sees larger shares than this calls no model adequate without reserve."""

N_PLANTS = 40
"""Planted effects per share: 36 of 40 found has a standard error of 5 %."""


def smallest_share_seen(adequacy: Adequacy, seed: int) -> float | None:
    """δ*: the share of variance that is found in 90 % of 40 plants, or None if 20 % is not.

    Between two planted shares it is interpolated in log δ, so that δ* does not jump. A plant adds
    √δ · u to the residual of a variable at level 1, on fitting and test rows, where u is x_i or
    x_i² of a random non-descendant i, cut at 3 sd, at mean 0 and variance 1.
    """
    samples, rng = adequacy.samples, np.random.default_rng(seed)
    others = [np.flatnonzero(~samples.is_descendant[j]) for j in range(samples.n_variables)]
    able = [j for j in adequacy.tested if len(others[j]) and adequacy.has_rows(j)]
    if not able:
        return None
    n_hosts = min(len(able), N_PLANTS // 2)
    found = np.zeros(len(SHARES))
    count = 0
    for number, j in enumerate(rng.permutation(able)[:n_hosts]):
        per_host = len(range(number, N_PLANTS, n_hosts))
        planted = rng.choice(others[j], min(per_host, len(others[j])), replace=False)
        results = _plants(adequacy, int(j), planted)
        found += results.sum(axis=0)
        count += len(results)
    return _share_found_by(MIN_FOUND, found / count)


def _share_found_by(part: float, found: np.ndarray) -> float | None:
    """Where the part that is found, made to rise with the share, reaches a given one.

    >>> _share_found_by(0.9, np.array([0, 0, 0, 0, 0.8, 1, 1, 1, 1]))
    0.0592
    """
    rising = np.maximum.accumulate(found)
    above = int(np.searchsorted(rising, part))
    if above == len(SHARES):
        return None
    if above == 0:
        return SHARES[0]
    way = (part - rising[above - 1]) / (rising[above] - rising[above - 1])
    low, high = np.log(SHARES[above - 1 : above + 1])
    return round(float(np.exp(low + way * (high - low))), 4)


def _plants(adequacy: Adequacy, j: int, planted: np.ndarray) -> np.ndarray:
    """Which shares of which plants are found; the second, fourth, … plant is a square."""
    samples = adequacy.samples
    learners = adequacy.learners(j, extra=tuple(int(i) for i in planted))
    n_targets = len(planted) * len(SHARES)
    e_parts, h_parts, lost = [], [], np.zeros(n_targets, dtype=bool)
    for learner in learners:
        e_fit, e_test = adequacy.residual(j, Level.GRAPH, learner)
        u_fit, u_test = _signals(samples, planted, learner)
        y_fit, y_test = e_fit[:, None] + u_fit, e_test[:, None] + u_test
        n_used = learner.n_used(Level.GRAPH)
        w = learner.ridge.first(n_used).weights(y_fit)
        lost |= (u_fit.var(axis=0) / y_fit.var(axis=0)) < learner.choice.bound
        e_parts.append(y_test)
        h_parts.append(learner.X_test[:, :n_used] @ w)
    if not e_parts:  # no noise: whatever exceeds the smallest share that counts is seen
        return np.tile(np.array(SHARES) > MIN_SHARE, (len(planted), 1))
    e, h = np.concatenate(e_parts), np.concatenate(h_parts)
    tests = [leftover(e[:, t], h[:, t], samples.n_variables).is_found for t in range(n_targets)]
    return (np.array(tests) & ~lost).reshape(len(planted), len(SHARES))


def _signals(
    samples: TestSamples, planted: np.ndarray, learner: Learner
) -> tuple[np.ndarray, np.ndarray]:
    """√δ · u for every plant and share, on fitting and on test rows."""
    fit, test = [], []
    for number, i in enumerate(planted):
        u_fit, u_test = (np.clip(samples.x[r, i], -CLIP, CLIP) for r in (learner.fit, learner.test))
        if number % 2:
            u_fit, u_test = u_fit**2, u_test**2
        mean, sd = u_fit.mean(), max(float(u_fit.std()), 1e-12)
        for share in SHARES:
            fit.append(np.sqrt(share) * (u_fit - mean) / sd)
            test.append(np.sqrt(share) * (u_test - mean) / sd)
    return np.stack(fit, axis=1), np.stack(test, axis=1)
