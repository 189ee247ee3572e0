"""Was it a clamp? Whether a variable that was acted on still listens to its factors."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from ucad.claims.adequacy import MAX_P, MIN_SHARE, studentised
from ucad.claims.answers import Answer, Claim, listed
from ucad.claims.samples import TestSamples

__all__ = ["clamps", "listening_regimes"]

MIN_ACTED_ROWS = 20
"""With fewer samples in which a variable is acted on, nothing is said about it."""

CONSTANT = 1e-6
"""The variance within a regime, in units of the free variable's, below which it was held fixed."""


def clamps(samples: TestSamples, told_soft: Collection[str] = ()) -> Claim:
    """Within regimes that act on i, does x_i go with its own prediction F_X(τ(x))_i?

    T_i = Σ a b / √Σ a² b², a and b being x_i and its prediction, centred in every regime; a clamp
    makes them independent. Not a clamp if n · 2 Φ̄(|T_i|) < .001 and the correlation explains more
    than 1 % of the variance. These samples never took part in fitting F_X of i.

    Args:
        samples: the samples.
        told_soft: regimes that are known to be no clamps: they are not asked.
    """
    rows = _by_variable(samples, told_soft)
    by_regime = _by_regime(samples)
    soft = [str(row["variable"]) for row in rows if not row["is_clamp"]]
    n_acted = int(samples.is_intervened.any(axis=0).sum())
    answer = Answer.NO if soft else Answer.YES if rows or n_acted == 0 else Answer.UNKNOWN
    if n_acted == 0:
        text = "Nothing was acted on."
    elif soft:
        text = (
            f"Where they were acted on, these still follow what their factors predict: "
            f"{listed(soft)}. Either they were shifted, knocked down or changed in some other way "
            "and not clamped, or an edge into them points the wrong way."
        )
    elif not rows:
        text = (
            f"None of the {n_acted} variables that were acted on can be asked: each was held at "
            "one value, in too few samples, or is made by no factor."
        )
    else:
        text = (
            f"Of {n_acted} variables that were acted on, {len(rows)} can be asked (set to varying "
            "values, in enough samples): none of them still follows what its factors predict."
        )
    if told_soft:
        text += f" {len(told_soft)} regimes may be no clamps, and were not asked."
    return Claim(
        "clamps",
        "Were the interventions clamps?",
        answer,
        text,
        'Definition "Intervention": hard; tested within the regimes that act on a variable',
        {
            "not_clamped": soft,
            "n_acted_on": n_acted,
            "tests": rows,
            "regimes": by_regime,
            "told_soft": list(told_soft),
        },
    )


def listening_regimes(samples: TestSamples) -> frozenset[str]:
    """The regimes in which a target still goes with its prediction.

    By themselves, or together with the other regimes that act on the same variable.
    """
    soft = {row["variable"] for row in _by_variable(samples, ()) if not row["is_clamp"]}
    return frozenset(
        str(row["regime"])
        for row in _by_regime(samples)
        if not row["is_clamp"] or (row["variable"] in soft and float(row["share"]) > MIN_SHARE)
    )


def _by_variable(
    samples: TestSamples, told_soft: Collection[str]
) -> list[dict[str, float | str | bool]]:
    """The test of every variable, over all regimes that act on it and may be clamps."""
    asked = ~np.isin(samples.regime_names, list(told_soft))[samples.regime]
    tests = (_listens(samples, i, asked) for i in range(samples.n_variables))
    found = [test for test in tests if test is not None]
    return [_judged(test, len(found)) for test in found]


def _by_regime(samples: TestSamples) -> list[dict[str, float | str | bool]]:
    """The test of every target in every regime, and its spread beside that of the free variable."""
    found: list[tuple[str, Listens, float]] = []
    for label, name in enumerate(samples.regime_names):
        here = samples.regime == label
        for i in np.flatnonzero(samples.is_intervened[here].any(axis=0)):
            test = _listens(samples, int(i), here)
            if test is not None:
                found.append((name, test, float(samples.x[here, i].std())))
    return [
        {"regime": name, "spread": round(spread, 4), **_judged(test, len(found))}
        for name, test, spread in found
    ]


class Listens(NamedTuple):
    """How far a variable that is acted on goes with its prediction."""

    variable: str
    T: float
    share: float
    n_samples: int


def _judged(row: Listens, n_tests: int) -> dict[str, float | str | bool]:
    P = float(min(1.0, n_tests * 2 * ndtr(-abs(row.T))))
    return {**row._asdict(), "P": P, "is_clamp": not (P < MAX_P and row.share > MIN_SHARE)}


def _listens(samples: TestSamples, i: int, asked: np.ndarray) -> Listens | None:
    """The test of one variable; None where it has no factors or was held constant."""
    parents = samples.graph.variable_adjacency[:, i]
    rows = np.flatnonzero(samples.is_intervened[:, i] & asked)
    rows = rows[~samples.is_intervened[np.ix_(rows, np.flatnonzero(parents))].any(axis=1)]
    if len(samples.factors_of[i]) == 0 or len(rows) < MIN_ACTED_ROWS:
        return None
    a, b = (
        centred_within(values[rows, i], samples.regime[rows])
        for values in (samples.x, samples.expected)
    )
    if a.var() < CONSTANT or b.var() < CONSTANT:
        return None
    share = float((a @ b) ** 2 / ((a @ a) * (b @ b)))
    name = samples.graph.variable_names[i]
    return Listens(name, studentised(a, b), share, len(rows))


def centred_within(values: np.ndarray, regime: np.ndarray) -> np.ndarray:
    """The values minus the mean of their own regime.

    >>> centred_within(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1]))
    array([-1.,  1.,  0.])
    """
    count = np.maximum(np.bincount(regime), 1)
    if values.ndim == 1:
        return values - (np.bincount(regime, weights=values) / count)[regime]
    member = (regime[:, None] == np.arange(len(count))).astype(np.float64)
    return values - ((member.T @ values) / count[:, None])[regime]
