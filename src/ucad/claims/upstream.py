"""Does acting on a variable move only what is below it?"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from ucad.claims.adequacy import MAX_P, MIN_SHARE
from ucad.claims.answers import Answer, Claim, listed
from ucad.claims.clamps import centred_within
from ucad.claims.samples import Rows, TestSamples

__all__ = ["upstream"]

MIN_ACTED_ROWS = 40
"""With fewer samples a correlation below chance takes a share of variance of a third and more."""

CONSTANT = 1e-6
"""The variance within a regime, in units of the free variable's, below which it was held fixed."""

MAX_LISTED = 50
"""Pairs written out in the details; the others are counted."""


class Moved(NamedTuple):
    """A variable that goes with another one that was set from outside.

    Attributes:
        cause: the variable that was acted on.
        variable: the one that moves and is not below it.
        share: of its variance, in the samples in which the cause is acted on.
        P: of the correlation, times the number of pairs.
    """

    cause: str
    variable: str
    share: float
    P: float


def upstream(samples: TestSamples, soft: Collection[str] = ()) -> Claim:
    """Where j is set from outside, does x_j leave all alone that is not below j?

    T_ij = Σ a b / √Σ a² b² over the samples in which j is acted on and i is free, a and b being x_j
    and e_i, centred in every regime. If i is not below j, e_i has no part in x_j then, and x_j
    none in e_i, however the functions were fitted. Something moves if n² · 2 Φ̄(|T_ij|) < .001 and
    the correlation explains more than 1 % of e_i there. Overall, an effect that shows only where
    j is acted on is diluted by all other samples; here it is not. O(samples · variables).

    Args:
        samples: what the tests look at.
        soft: regimes whose targets are known to listen to their parents still: left out.
    """
    found, n_acted = [], 0
    is_set = ~np.isin(samples.regime_names, list(soft))[samples.regime]
    for j in range(samples.n_variables):
        rows = np.flatnonzero(samples.is_intervened[:, j] & is_set)
        rows = rows[np.isin(samples.regime[rows], _varying(samples, j, rows))]
        if len(rows) >= MIN_ACTED_ROWS:
            n_acted += 1
            found += _moved(samples, j, rows)
    pairs = [f"{one.cause} → {one.variable}" for one in found]
    if found:
        text = (
            f"Where the first was set from outside, the second goes with it: {listed(pairs)}. In "
            "the model it is not below it: an edge is missing or points the wrong way, there is "
            "feedback, or the intervention did more than was recorded."
        )
    elif n_acted == 0:
        text = "No variable was set to varying values in enough samples to say."
    else:
        text = (
            f"None of the {n_acted} variables that were set to varying values moves a variable "
            "that is not below it."
        )
    answer = Answer.NO if found else Answer.YES if n_acted else Answer.UNKNOWN
    return Claim(
        "upstream",
        "Does acting on a variable move only what is below it?",
        answer,
        text,
        'Definition "Intervention": what is set from outside is independent of what is not below',
        {
            "moved": [one._asdict() for one in found[:MAX_LISTED]],
            "n_moved": len(found),
            "n_acted_on": n_acted,
        },
    )


def _varying(samples: TestSamples, j: int, rows: Rows) -> Rows:
    """The regimes in which x_j is set to varying values."""
    regime, x = samples.regime[rows], samples.x[rows, j]
    power = np.bincount(regime, weights=centred_within(x, regime) ** 2)
    return np.flatnonzero(power > CONSTANT * np.maximum(np.bincount(regime), 1))


def _moved(samples: TestSamples, j: int, rows: Rows) -> list[Moved]:
    """What goes with x_j over the rows, and is neither j nor below it."""
    others = np.flatnonzero(~samples.is_descendant[j])
    free = ~samples.is_intervened[np.ix_(rows, others)]
    enough = free.sum(axis=0) >= MIN_ACTED_ROWS
    others, free = others[enough], free[:, enough]
    a = centred_within(samples.x[rows, j], samples.regime[rows])[:, None] * free
    b = _centred_where(samples.residual[np.ix_(rows, others)], free, samples.regime[rows])
    product = (a * b).sum(axis=0)
    T = product / np.sqrt(np.maximum(((a * b) ** 2).sum(axis=0), 1e-300))
    share = product**2 / np.maximum((a**2).sum(axis=0) * (b**2).sum(axis=0), 1e-300)
    P = np.minimum(1.0, samples.n_variables**2 * 2 * ndtr(-np.abs(T)))
    names = samples.graph.variable_names
    return [
        Moved(names[j], names[others[t]], float(share[t]), float(P[t]))
        for t in np.flatnonzero((P < MAX_P) & (share > MIN_SHARE))
    ]


def _centred_where(
    values: Float[np.ndarray, "rows some"], free: np.ndarray, regime: np.ndarray
) -> Float[np.ndarray, "rows some"]:
    """The values minus the mean of their regime over free samples; 0 where not free."""
    member = (regime[:, None] == np.unique(regime)).astype(np.float64)
    mean = (member.T @ (values * free)) / np.maximum(member.T @ free, 1.0)
    return (values - member @ mean) * free
