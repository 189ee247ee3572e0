"""What a residual may be predictable from: one column per way in which something can be left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ucad.claims.ridge import CLIP, N_RANDOM_FEATURES, N_RANDOM_IF_LARGE, curves
from ucad.claims.samples import Rows, TestSamples

__all__ = ["Choice", "Columns", "Scores", "Source", "choose", "columns_for", "screening_scores"]

MAX_COLUMNS = 160
"""Up to so many columns are all used; of more, the best are chosen on fitting rows."""

SCREENED_VARIABLES, SCREENED_REGIMES, SCREENED_PRODUCTS = 20, 20, 8
"""How many variables and regimes are chosen at most, and how many variables may also be multiplied
with the factors, where columns are screened."""

MIN_SCREENED = 4
"""Beyond the first so many, a column is chosen only if its squared correlation exceeds
2 ln(columns) / rows, which the best of as many idle columns seldom does: chosen idle columns are
fitted to noise, and hide what is left."""

MIN_REGIME_ROWS = 5
"""A regime with fewer fitting samples gets no column of its own."""

MAX_PRODUCTS = 8
"""Products of two variables or two factors that are chosen on fitting rows, at most."""

MAX_VARIABLES_FOR_PRODUCTS = 64
"""With more variables only factors are multiplied: all pairs of variables take too long."""

FACTORS, PARENTS = "its own factors", "its low-level parents together"
PRODUCTS = "products of variables or factors"

Source = tuple[str, str]
"""What a column is made of: its kind (`value`, `regime` or `shape`) and the name."""


Scores = Callable[[], tuple[np.ndarray, np.ndarray]]
"""Gives `screening_scores` when they are needed."""


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns for one variable, over given rows.

    Attributes:
        values: rows × columns.
        sources: what each column is made of.
        n_outside: the first so many columns are made of single non-descendants and regimes; then
            follow curves of the low-level parents (up to `n_parents_end`), then of the factors.
        n_parents_end: where the curves of the low-level parents end.
    """

    values: Float[np.ndarray, "rows columns"]
    sources: tuple[Source, ...]
    n_outside: int
    n_parents_end: int


@dataclass(frozen=True, eq=False)
class Choice:
    """Which non-descendants and regimes make columns for one variable.

    Attributes:
        variables: the non-descendants.
        regimes: the regimes.
        n_products: so many of the variables are also multiplied with the factors.
        bound: the squared correlation that it took to be chosen; 0 where all were taken.
        pairs: positions of two variables, or two factors after them, that are multiplied.
    """

    variables: Rows
    regimes: Rows
    n_products: int
    bound: float = 0.0
    pairs: tuple[tuple[int, int], ...] = ()


def choose(samples: TestSamples, j: int, fit: Rows, scores: Scores) -> Choice:
    """All non-descendants and regimes or, if they are too many, the best on the fitting rows."""
    counts = np.bincount(samples.regime[fit], minlength=len(samples.regime_names))
    regimes = np.flatnonzero(counts >= MIN_REGIME_ROWS)
    others = np.flatnonzero(~samples.is_descendant[j])
    n_columns = (4 + len(samples.factors_of[j])) * len(others) + len(regimes)
    pairs = _products(samples, j, fit)
    if n_columns <= MAX_COLUMNS:
        return Choice(others, regimes, len(others), pairs=pairs)
    by_value, by_regime = (part[j] for part in scores())
    order = others[np.argsort(-by_value[others], kind="stable")]
    noise = 2 * np.log(n_columns) / max(len(fit), 1)
    n_kept = _number(by_value[order], noise, SCREENED_VARIABLES)
    regimes = regimes[np.argsort(-by_regime[regimes], kind="stable")]
    regimes = regimes[: _number(by_regime[regimes], noise, SCREENED_REGIMES)]
    bound = float(by_value[order[n_kept]]) if n_kept < len(order) else 0.0
    return Choice(order[:n_kept], regimes, SCREENED_PRODUCTS, bound, pairs)


def _products(samples: TestSamples, j: int, fit: Rows) -> tuple[tuple[int, int], ...]:
    """Pairs of non-descendants or of factors made from them whose product e_j goes with.

    A child of z_k · z_l is uncorrelated with every variable, with their squares and with its own
    factors if the model gives it none. r² of all products is had from two matrix products; up to
    8 are chosen, if r² > 4 ln(inputs) / rows, which the best of as many idle ones seldom exceeds.
    """
    below, n = samples.is_descendant[j], samples.n_variables
    usable = np.concatenate([~below, ~samples.graph.Q[below].any(axis=0)])
    if n > MAX_VARIABLES_FOR_PRODUCTS:
        usable[:n] = False
    some = np.flatnonzero(usable)
    if len(some) == 0 or len(fit) == 0:
        return ()
    v = _inputs(samples, fit, some)
    e = samples.residual[fit, j] - samples.residual[fit, j].mean()
    squared = v**2
    size = np.maximum(squared.T @ squared * (e @ e), 1e-12)
    r2 = np.triu((v.T @ (e[:, None] * v)) ** 2 / size, k=1)
    best = np.argsort(-r2, axis=None, kind="stable")[:MAX_PRODUCTS]
    noise = 4 * np.log(max(len(some), 2)) / len(fit)
    first, second = np.unravel_index(best[r2.ravel()[best] > noise], r2.shape)
    return tuple((int(some[a]), int(some[b])) for a, b in zip(first, second, strict=True))


def _inputs(samples: TestSamples, rows: Rows, some: Rows) -> Float[np.ndarray, "rows inputs"]:
    """Some variables, or factors (numbered after them), cut at 3 standard deviations."""
    n = samples.n_variables
    x, z = samples.x[np.ix_(rows, some[some < n])], samples.z[np.ix_(rows, some[some >= n] - n)]
    values = np.empty((len(rows), len(some)))
    values[:, some < n], values[:, some >= n] = x, z
    return np.clip(values, -CLIP, CLIP, out=values)


def _number(scores: Float[np.ndarray, " some"], noise: float, most: int) -> int:
    """How many of the columns, the best first, are chosen."""
    return int(np.clip((scores > noise).sum(), MIN_SCREENED, most))


def columns_for(samples: TestSamples, j: int, rows: Rows, choice: Choice) -> Columns:
    """x_i, x_i², x_i·1[i acted on], 1[i acted on], x_i·z_k (k ∈ pa(j)), regimes, products, curves.

    The curves of the low-level parents, and after them those of the factors z_pa(j), come last.
    """
    names, graph = samples.graph.variable_names, samples.graph
    others, multiplied = choice.variables, slice(choice.n_products)
    x = np.clip(samples.x[np.ix_(rows, others)], -CLIP, CLIP)
    z = samples.z[np.ix_(rows, samples.factors_of[j])]
    acted = samples.is_intervened[np.ix_(rows, others)]
    pieces = [x, x**2, x * acted, acted.astype(np.float64)]
    pieces += [x[:, multiplied] * np.clip(z[:, [k]], -CLIP, CLIP) for k in range(z.shape[1])]
    pieces.append((samples.regime[rows][:, None] == choice.regimes).astype(np.float64))
    first, second = np.array(choice.pairs, dtype=np.int64).reshape(-1, 2).T
    pieces.append(_inputs(samples, rows, first) * _inputs(samples, rows, second))
    value = [("value", names[i]) for i in others]
    sources = 4 * value + z.shape[1] * value[multiplied]
    sources += [("regime", samples.regime_names[r]) for r in choice.regimes]
    sources += len(first) * [("shape", PRODUCTS)]
    n_outside = len(sources)
    parents = np.flatnonzero(graph.variable_adjacency[:, j])
    n_random = N_RANDOM_IF_LARGE if samples.is_large else N_RANDOM_FEATURES
    x_parents = samples.x[np.ix_(rows, parents)]
    by_parents = curves(x_parents, seed=1, n_random=n_random)[:, 3 * len(parents) :]
    by_factors = curves(z, seed=2, n_random=n_random)
    sources += by_parents.shape[1] * [("shape", PARENTS)]
    n_parents_end = len(sources)
    sources += by_factors.shape[1] * [("shape", FACTORS)]
    values = np.concatenate([*pieces, by_parents, by_factors], axis=1)
    return Columns(values, tuple(sources), n_outside, n_parents_end)


def screening_scores(
    samples: TestSamples, rows: Rows
) -> tuple[Float[np.ndarray, "variables variables"], Float[np.ndarray, "variables regimes"]]:
    """How well x_i, x_i² or x_i·1[acted] alone, and each regime alone, predict each residual.

    Entry [j, i] is the largest squared correlation, over the rows in which j is free; 0 for
    descendants i of j. Three products of O(rows · variables²).
    """
    x = np.clip(samples.x[rows], -CLIP, CLIP).astype(np.float32)
    acted = samples.is_intervened[rows]
    free = (~acted).astype(np.float32)
    count = np.maximum(free.sum(axis=0), 1.0)
    e = samples.residual[rows].astype(np.float32) * free
    e -= free * (e.sum(axis=0) / count)
    power = np.maximum((e**2).sum(axis=0), 1e-12)
    best = np.zeros((samples.n_variables, samples.n_variables), dtype=np.float32)
    for column in (x, x**2, x * acted):
        centred = column - column.mean(axis=0)
        size = np.maximum(free.T @ centred**2, 1e-12)
        np.maximum(best, (e.T @ centred) ** 2 / (size * power[:, None]), out=best)
    best[samples.is_descendant] = 0.0
    member = np.eye(len(samples.regime_names), dtype=np.float32)[samples.regime[rows]]
    size = np.maximum(free.T @ member, 1.0)
    by_regime = (e.T @ member) ** 2 / (size * power[:, None])
    return best.astype(np.float64), by_regime.astype(np.float64)
