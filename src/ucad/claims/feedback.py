"""Does no variable act back on its own causes? All that is known of an effect against its cause."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from scipy.special import ndtr, ndtri

from ucad._types import VariableSamples
from ucad.claims.adequacy import MAX_P, studentised
from ucad.claims.answers import Answer, Claim, listed
from ucad.claims.control import MAX_SMALLEST_SHARE
from ucad.claims.own_noise import MIN_NOISE, MIN_ROWS, MIN_SHARE, beyond_factors
from ucad.claims.samples import Rows, TestSamples

__all__ = ["feedback", "without_own_noise"]

MAX_CAUSES = 64
"""Of the variables of a large model, so many are asked, spread evenly over those with effects."""

MAX_ROWS = 8000
"""Samples that each cause is looked at in: a correlation of .05 is then four standard errors."""

CLEAR = 4.0
"""Standard errors above which one part of the evidence speaks for itself."""

Vector = Float[np.ndarray, " rows"]


class Back(NamedTuple):
    """An effect that goes with the noise of its own cause.

    Attributes:
        effect: the variable below.
        cause: the variable above it, which it seems to act on.
        correlation: of e_i and c_ij.
        P: of it, times the number of pairs.
        is_heard: whether e_i also goes with what others do to the effect, or with what it was set
            to: then it is feedback; else a hidden cause of both is as likely.
    """

    effect: str
    cause: str
    correlation: float
    P: float
    is_heard: bool


def feedback(samples: TestSamples, soft: Collection[str] = ()) -> Claim:
    """Does x_j leave the noise of its causes alone, for every j below i?

    c_ij is x_j as it would have been with e_i = 0, the noise of all others and all settings kept.
    In an f-SCM it is made of everything but e_i, so T_ij = Σ e_i c_ij / √Σ e_i² c_ij² over the
    samples in which i is free is about N(0, 1), and less far from 0 for functions fitted to the
    same samples. If x_j acts on x_i, e_i goes with all that x_j is made of: with values it was set
    to, with its own noise and with its other causes. This is the score test of one more coefficient
    j → i: it pools what single tests see in parts. There is feedback if the number of pairs times
    2 Φ̄(|T_ij|) is below .001 and r² > .0025, before and after smooth functions of their factors
    are taken off e_i and e_j. O(samples · edges) for every variable that has effects.

    Args:
        samples: what the tests look at.
        soft: regimes whose targets are known to listen to their parents still: what such a target
            would have been is not known, so they are left out where it is below i.
    """
    causes = [i for i in range(samples.n_variables) if samples.is_descendant[i].sum() > 1]
    n_pairs = int(samples.is_descendant.sum()) - samples.n_variables
    asked = causes[:: max(1, len(causes) // MAX_CAUSES)] if samples.is_large else causes
    is_soft = np.isin(samples.regime_names, list(soft))[samples.regime]
    rows = {i: _rows(samples, i, is_soft) for i in asked}
    found = [one for i in asked for one in _back(samples, i, rows[i], n_pairs)]
    found.sort(key=lambda one: one.P)
    n_rows = float(np.median([len(some) for some in rows.values()] or [0]))
    seen = float(-ndtri(MAX_P / 2 / max(n_pairs, 1)) / np.sqrt(max(n_rows, 1.0)))
    answer, text = _told(found, seen if n_pairs else None)
    return Claim(
        "feedback",
        "Does no variable act back on its own causes?",
        answer,
        text,
        'Definition "f-SCM": acyclic; score test of an edge from an effect to its cause',
        {
            "back": [one._asdict() for one in found],
            "n_pairs": n_pairs,
            "smallest_correlation_seen": round(seen, 4),
        },
    )


def without_own_noise(samples: TestSamples, i: int, rows: Rows) -> tuple[VariableSamples, Rows]:
    """The samples as they would have been with e_i = 0, and what lies below i.

    By levels: factors that read what changed are computed again, and x_j becomes F_X(z')_j + e_j
    where it is free; where it is set, it stays.
    """
    graph, scm = samples.graph, samples.scm
    x, z = samples.original(rows).copy(), samples.original_factors(rows).copy()
    e = samples.residual[rows] * samples.sd
    x[:, i] -= e[:, i]
    below = samples.is_descendant[i].copy()
    changed = graph.Q[below].any(axis=0)
    below[i] = False
    for level in range(int(graph.factor_level.max(initial=-1)) + 1):
        factors = np.flatnonzero(changed & (graph.factor_level == level))
        z[:, factors] = _made(scm.factor_mechanism(scm.tensor(x), torch.from_numpy(factors)))
        some = np.flatnonzero(below & (graph.variable_level == level + 1))
        made = _made(scm.variable_mechanism(scm.tensor(z), torch.from_numpy(some))) + e[:, some]
        is_free = ~samples.is_intervened[np.ix_(rows, some)]
        x[:, some] = np.where(is_free, made, x[:, some])
    return (x - samples.mean) / samples.sd, np.flatnonzero(below)


def _told(found: list[Back], seen: float | None) -> tuple[Answer, str]:
    if found:
        pairs = listed([f"{one.effect} on {one.cause}" for one in found])
        return Answer.NO, (
            f"What an effect is made of goes with the noise of its own cause: {pairs} (the first "
            f"by r = {found[0].correlation:.2f}, P = {found[0].P:.1e}). It acts back on it, or "
            "something unmeasured acts on both."
        )
    if seen is None:
        return Answer.YES, "No variable acts on another one."
    if seen**2 > MAX_SMALLEST_SHARE:
        return Answer.UNKNOWN, "There are too few samples to see whether effects act on causes."
    return Answer.YES, (
        "No effect goes with the noise of its own causes: one that makes up "
        f"{100 * seen**2:.1f}% of what a cause's factors leave of it would have been seen."
    )


def _rows(samples: TestSamples, i: int, is_soft: Bool[np.ndarray, " samples"]) -> Rows:
    """Samples in which i is free and nothing below it was changed softly, spread over all."""
    softly = samples.is_intervened[:, samples.is_descendant[i]].any(axis=1) & is_soft
    rows = np.flatnonzero(~samples.is_intervened[:, i] & ~softly)
    return rows[:: max(1, len(rows) // MAX_ROWS)]


def _back(samples: TestSamples, i: int, rows: Rows, n_pairs: int) -> list[Back]:
    """The effects of variable i that go with its noise.

    Where hardly anything but e_i makes x_j, how F was fitted may be the larger part of c_ij.
    """
    e = samples.residual[rows, i]
    if len(rows) < MIN_ROWS or e.var() < MIN_NOISE:
        return []
    c, below = without_own_noise(samples, i, rows)
    below = below[c[:, below].var(axis=0) > MIN_NOISE]
    kept = [j for j in below if _goes_with(e, c[:, j], n_pairs)]
    smooth = beyond_factors(samples, i)[rows] if kept else e
    found = (_confirmed(samples, (i, int(j)), rows, (smooth, c[:, j]), n_pairs) for j in kept)
    return [one for one in found if one is not None]


def _confirmed(
    samples: TestSamples,
    pair: tuple[int, int],
    rows: Rows,
    both: tuple[Vector, Vector],
    n_pairs: int,
) -> Back | None:
    """What is left of a pair once no residual depends on how the shape of F_X was fitted."""
    (i, j), (e, c) = pair, both
    own = np.where(samples.is_intervened[rows, j], 0.0, samples.residual[rows, j])
    heard = c - own
    c = heard + beyond_factors(samples, j)[rows]
    if not _goes_with(e, c, n_pairs):
        return None
    r, P = _correlation(e, c, n_pairs)
    is_heard = abs(studentised(_centred(e), _centred(heard))) > CLEAR
    names = samples.graph.variable_names
    return Back(names[j], names[i], round(r, 4), P, is_heard)


def _goes_with(e: Vector, c: Vector, n_pairs: int) -> bool:
    r, P = _correlation(e, c, n_pairs)
    return P < MAX_P and r**2 > MIN_SHARE


def _correlation(e: Vector, c: Vector, n_pairs: int) -> tuple[float, float]:
    """r, and P times the number of pairs."""
    e, c = _centred(e), _centred(c)
    r = float(e @ c / max(np.sqrt((e @ e) * (c @ c)), 1e-300))
    return r, float(min(1.0, n_pairs * 2 * ndtr(-abs(studentised(e, c)))))


def _centred(values: Vector) -> Vector:
    return values - values.mean()


def _made(values: torch.Tensor) -> np.ndarray:
    return np.asarray(values.detach().cpu().numpy())
