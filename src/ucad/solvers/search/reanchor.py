"""Giving the place of a factor that others can do without to one that is missing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from ucad._types import VariableSamples, VariablesByFactors
from ucad.data import InterventionalData
from ucad.graph import boolean_product, topological_levels
from ucad.solvers.search.functions import NOTHING, Function
from ucad.solvers.search.moments import additive_features
from ucad.solvers.search.pruning import prune
from ucad.solvers.search.refinement import Model, fit_variables, polish
from ucad.solvers.search.settings import FitSettings

__all__ = ["gains_of", "most_missing", "occupy", "reanchor", "unexplained", "vacate"]

N_SLOTS = 2
N_CANDIDATES = 2
ALIKE = 0.95
OPTIMISM = 3.0


def reanchor(
    data: InterventionalData, model: Model, pool: Sequence[Function], settings: FitSettings
) -> Model:
    """Replaces a factor by a candidate that explains more of what the others leave.

    A variable with several factors is not an additive function of them, so a factor of its own may
    have been chosen for it. Here its children are first given to all other factors, which shows
    what the factor is really worth; the least useful ones make room. Kept if the score is higher;
    a candidate is not even tried if three times what it promises would not be enough.
    """
    spared = [vacate(data, model, k, settings) for k in range(len(model.factors))]
    slots = np.argsort([-spare.score for spare in spared], kind="stable")[:N_SLOTS]
    best = model
    for k in slots:
        spare = spared[k]
        for function, gains in most_missing(data, spare, int(k), pool, settings, N_CANDIDATES):
            if spare.score + OPTIMISM * gains.sum() < best.score:
                continue
            trial = occupy(data, spare, int(k), function, gains, settings)
            if trial is not None and trial.score > best.score:
                best = trial
    return best


def vacate(data: InterventionalData, model: Model, k: int, settings: FitSettings) -> Model:
    """The model whose factor k has no edges, its children being given to all others they may."""
    Q, R = model.Q.copy(), model.R.copy()
    children = np.flatnonzero(R[:, k])
    Q[:, k] = R[:, k] = False
    for j in children:
        for other in range(len(model.factors)):
            wider = R.copy()
            wider[j, other] = other != k and Q[:, other].any() and not Q[j, other]
            if _is_acyclic(Q, wider):
                R = wider
    factors = list(model.factors)
    factors[k] = NOTHING
    refitted = fit_variables(data, factors, R, settings, start=model, only=children)
    return prune(data, refitted, settings, only=children)


def most_missing(
    data: InterventionalData,
    spare: Model,
    k: int,
    pool: Sequence[Function],
    settings: FitSettings,
    n_candidates: int,
) -> list[tuple[Function, Float[np.ndarray, " variables"]]]:
    """The candidates that would explain most of what is left, with what each variable gains."""
    others = [values for at, values in enumerate(spare.state.T) if at != k and values.std() > 0]
    left = unexplained(data, spare)
    ranked = []
    for function in pool:
        values = function.values(data.x)
        if any(abs(np.corrcoef(values, other)[0, 1]) > ALIKE for other in others):
            continue
        gains = gains_of(data, spare, k, function, left, settings)
        ranked.append(
            (float(gains.sum()) - settings.penalty * len(function.parents), function, gains)
        )
    ranked.sort(key=lambda entry: -entry[0])
    return [(function, gains) for _, function, gains in ranked[:n_candidates]]


def unexplained(data: InterventionalData, model: Model) -> VariableSamples:
    """What the factors leave of every variable; 0 where it is clamped."""
    z = model.state
    left = np.stack([x - g.values(z) for x, g in zip(data.x.T, model.variables, strict=True)]).T
    return np.where(data.is_intervened, 0.0, left)


def gains_of(  # noqa: PLR0913  (one candidate against all that is known)
    data: InterventionalData,
    spare: Model,
    k: int,
    function: Function,
    left: VariableSamples,
    settings: FitSettings,
    *,
    least: float = 0.0,
) -> Float[np.ndarray, " variables"]:
    """What each variable would gain, less an edge, if a function took the free place k.

    `least` stands for gains below it and for children that would close a cycle.
    """
    counts = (~data.is_intervened).sum(axis=0)
    gains = np.maximum(_gains(function.values(data.x), left, counts, spare, settings), least)
    Q, R = spare.Q.copy(), spare.R.copy()
    Q[function.parents, k] = True
    gains[Q[:, k]] = least
    for j in np.argsort(-gains, kind="stable")[: int((gains > least).sum())]:
        R[j, k] = True
        if not _is_acyclic(Q, R):
            R[j, k], gains[j] = False, least
    return gains


def _gains(
    values: Float[np.ndarray, " samples"],
    left: Float[np.ndarray, "samples variables"],
    counts: Int[np.ndarray, " variables"],
    spare: Model,
    settings: FitSettings,
) -> Float[np.ndarray, " variables"]:
    """Nats that functions of one candidate explain of each residual, less the price of an edge."""
    nonlinear = settings.variable_fit.hidden > 0
    features = additive_features(values[:, None], nonlinear)[:, 0]
    design = np.column_stack([features, np.ones(len(values))])
    explained = ((design @ np.linalg.lstsq(design, left, rcond=None)[0]) ** 2).sum(axis=0)
    share = explained / (counts * (spare.errors + settings.floor))
    nats: Float[np.ndarray, " variables"] = -counts / 2 * np.log1p(-np.minimum(share, 1 - 1e-9))
    return nats - settings.penalty


def occupy(
    data: InterventionalData,
    spare: Model,
    k: int,
    function: Function,
    gains: Float[np.ndarray, " variables"],
    settings: FitSettings,
) -> Model | None:
    """The model with a function in the free place k; None if no variable gains."""
    children = np.flatnonzero(gains)
    if not len(children):
        return None
    R = spare.R.copy()
    R[children, k] = True
    factors = list(spare.factors)
    factors[k] = function
    trial = fit_variables(data, factors, R, settings, start=spare, only=children)
    return prune(data, polish(data, trial, settings, 2, only=[k]), settings)


def _is_acyclic(Q: VariablesByFactors, R: VariablesByFactors) -> bool:
    return topological_levels(boolean_product(R.T, Q)) is not None and not (Q & R).any()
