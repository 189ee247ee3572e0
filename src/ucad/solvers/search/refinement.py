"""The whole f-SCM: scored, and fitted jointly for a given graph."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad._types import FactorSamples, VariablesByFactors
from ucad.data import InterventionalData
from ucad.graph import boolean_product
from ucad.solvers.search.functions import (
    Function,
    Regression,
    fit_function,
    unit_variance,
)
from ucad.solvers.search.joint import fit_together
from ucad.solvers.search.settings import FitSettings

__all__ = [
    "CLOSE",
    "Model",
    "changed_factors",
    "close",
    "fit_variables",
    "polish",
    "pseudo_target",
    "refit",
    "relabelled",
    "said_by_children",
    "same_graph",
    "scored",
]


CLOSE = 20.0


@dataclass(frozen=True, eq=False)
class Model:
    """An f-SCM in the making.

    score = −Σ_j N_j/2 · log(mse_j + s₀) − penalty · (|Q| + |R|) − ½ · weights

    The last term is what the weights of all functions gain on average by fitting noise.

    Attributes:
        factors: z_k as functions of the variables.
        variables: x_j as functions of the factors; constant for a root.
        state: the factors at every sample.
        errors: mse_j over the samples in which j is not clamped.
        score: the penalised log-likelihood, higher is better.
    """

    factors: tuple[Function, ...]
    variables: tuple[Function, ...]
    state: FactorSamples
    errors: Float[np.ndarray, " variables"]
    score: float

    @property
    def Q(self) -> VariablesByFactors:
        """Which variable is a parent of which factor."""
        return _incidence([f.parents for f in self.factors], len(self.variables)).T

    @property
    def R(self) -> VariablesByFactors:
        """Which variable is a child of which factor."""
        return _incidence([g.parents for g in self.variables], len(self.factors))

    def with_factor(self, k: int, function: Function, data: InterventionalData) -> Model:
        """The same with another factor k; variables and score still are those of the old one."""
        factors, state = list(self.factors), self.state.copy()
        factors[k], state[:, k] = function, function.values(data.x)
        return replace(self, factors=tuple(factors), state=state)


def fit_variables(
    data: InterventionalData,
    factors: Sequence[Function],
    R: VariablesByFactors,
    settings: FitSettings,
    start: Model | None = None,
    only: Int[np.ndarray, " some"] | None = None,
) -> Model:
    """Fits every variable to its factors and scores the whole.

    With `only`, the other variables are taken from `start`, whose factors they use.
    """
    z = np.stack([f.values(data.x) for f in factors], axis=1)
    free = ~data.is_intervened
    variables, errors = [], np.zeros(data.n_variables)
    for j in range(data.n_variables):
        if start is not None and only is not None and j not in only:
            variables.append(start.variables[j])
            errors[j] = start.errors[j]
            continue
        regression = Regression(data.x[:, j], free[:, j].astype(np.float64))
        fitted = fit_function(
            z,
            np.flatnonzero(R[j]),
            regression,
            settings.variable_fit,
            start=None if start is None else start.variables[j],
        )
        variables.append(fitted)
        errors[j] = np.mean((data.x[:, j] - fitted.values(z))[free[:, j]] ** 2)
    return scored(data, Model(tuple(factors), tuple(variables), z, errors, 0.0), settings)


def relabelled(model: Model, order: Int[np.ndarray, " factors"]) -> Model:
    """The same model with its factors in another order."""
    new = np.argsort(order)
    return replace(
        model,
        factors=tuple(model.factors[k] for k in order),
        variables=tuple(replace(g, parents=new[g.parents]) for g in model.variables),
        state=model.state[:, order],
    )


def changed_factors(before: Model | None, now: Model) -> list[int]:
    """The factors of a model that another one does not have, with the same edges."""
    if before is None:
        return list(range(len(now.factors)))
    old, new = (np.concatenate([model.Q, model.R]) for model in (before, now))
    return np.flatnonzero(~np.any((new[:, :, None] == old[:, None]).all(axis=0), axis=1)).tolist()


def same_graph(one: Model, other: Model) -> bool:
    """Whether two models differ in their functions at most."""
    return bool((one.Q == other.Q).all() and (one.R == other.R).all())


def close(trial: Model, model: Model, settings: FitSettings) -> bool:
    """Whether a roughly fitted model may overtake another once it is fitted to the end."""
    return trial.score > model.score - CLOSE * settings.penalty


def pseudo_target(
    z: Float[np.ndarray, " samples"],
    slope: Float[np.ndarray, "samples children"],
    residual: Float[np.ndarray, "samples children"],
    precision: Float[np.ndarray, " children"],
) -> Regression:
    """What the children of a factor say it should be, one Gauss–Newton step from what it is.

    Minimising Σ_j p_j (e_j − g_j δ)² over the change δ of the factor in one sample gives
    δ = Σ_j p_j g_j e_j / Σ_j p_j g_j², with the weight Σ_j p_j g_j². Clamped children have slope 0.
    """
    weights = (slope**2 * precision).sum(axis=1)
    safe = np.maximum(weights, 1e-6 * weights.max(initial=1e-12))
    return Regression(z + (slope * precision * residual).sum(axis=1) / safe, weights)


def polish(
    data: InterventionalData,
    model: Model,
    settings: FitSettings,
    n_rounds: int,
    only: Collection[int] | None = None,
) -> Model:
    """Betters factors and their children, at a fixed graph, while the score rises.

    A factor that gained less than an edge is worth waits until one that shares a child with it
    gains more. With `only`, it starts with the given factors.
    """
    waiting = set(range(len(model.factors)) if only is None else only)
    shared = boolean_product(model.R.T, model.R)
    for _ in range(n_rounds):
        for k in sorted(waiting):
            trial = _better_factor(data, model, k, settings)
            gain = 0.0 if trial is None else trial.score - model.score
            if trial is not None and gain > 0:
                model = trial
            if gain < settings.penalty:
                waiting.discard(k)
            else:
                waiting.update(np.flatnonzero(shared[k]).tolist())
    return model


def _better_factor(
    data: InterventionalData, model: Model, k: int, settings: FitSettings
) -> Model | None:
    """The model with factor k and the functions of it fitted again; None if there are none."""
    children = np.flatnonzero(model.R[:, k])
    if not len(children) or not len(model.factors[k].parents):
        return None
    if settings.variable_fit.hidden:
        return _fitted_together(data, model, k, children, settings)
    return _fitted_in_turn(data, model, k, children, settings)


def _fitted_together(
    data: InterventionalData,
    model: Model,
    k: int,
    children: Int[np.ndarray, " some"],
    settings: FitSettings,
) -> Model:
    old = [(int(j), model.variables[j]) for j in children]
    factor, functions = fit_together(
        data, model.state, k, model.factors[k], old, settings.variable_fit
    )
    changed = model.with_factor(k, factor, data)
    variables, errors = list(model.variables), model.errors.copy()
    for j, function in zip(children, functions, strict=True):
        variables[j] = function
        left = data.x[:, j] - function.values(changed.state)
        errors[j] = np.mean(left[~data.is_intervened[:, j]] ** 2)
    return scored(data, replace(changed, variables=tuple(variables), errors=errors), settings)


def _fitted_in_turn(
    data: InterventionalData,
    model: Model,
    k: int,
    children: Int[np.ndarray, " some"],
    settings: FitSettings,
) -> Model:
    regression = said_by_children(data, model, k, settings)
    fitted = fit_function(
        data.x, model.factors[k].parents, regression, settings.factor_fit, start=model.factors[k]
    )
    changed = model.with_factor(k, unit_variance(fitted, data.x), data)
    return refit(data, changed, children, settings)


def said_by_children(
    data: InterventionalData, model: Model, k: int, settings: FitSettings
) -> Regression:
    """What all its children say factor k should be."""
    children = np.flatnonzero(model.R[:, k])
    z = model.state
    free = ~data.is_intervened[:, children]
    residual, slope = np.zeros(free.shape), np.zeros(free.shape)
    for at, j in enumerate(children):
        function = model.variables[j]
        residual[:, at] = data.x[:, j] - function.values(z)
        column = int(np.flatnonzero(function.parents == k)[0])
        slope[:, at] = function.gradient(z)[:, column] * free[:, at]
    precision = 1.0 / (model.errors[children] + settings.floor)
    return pseudo_target(z[:, k], slope, residual, precision)


def refit(
    data: InterventionalData,
    model: Model,
    some: Int[np.ndarray, " some"],
    settings: FitSettings,
) -> Model:
    """The model with some variables fitted to the factors again, and its score."""
    z, variables, errors = model.state, list(model.variables), model.errors.copy()
    for j in some:
        free = ~data.is_intervened[:, j]
        variables[j] = fit_function(
            z,
            model.variables[j].parents,
            Regression(data.x[:, j], free.astype(np.float64)),
            settings.variable_fit,
            start=model.variables[j],
        )
        errors[j] = np.mean((data.x[:, j] - variables[j].values(z))[free] ** 2)
    return scored(data, replace(model, variables=tuple(variables), errors=errors), settings)


def scored(data: InterventionalData, model: Model, settings: FitSettings) -> Model:
    """The same model with the score of its errors and edges."""
    counts = (~data.is_intervened).sum(axis=0)
    fit = -(counts / 2 * np.log(model.errors + settings.floor)).sum()
    functions = (*model.factors, *model.variables)
    price = sum(settings.penalty * len(f.parents) + f.n_weights / 2 for f in functions)
    return replace(model, score=float(fit - price))


def _incidence(
    parents: Sequence[Int[np.ndarray, " ..."]], width: int
) -> Bool[np.ndarray, "rows columns"]:
    incidence = np.zeros((len(parents), width), dtype=bool)
    for row, chosen in enumerate(parents):
        incidence[row, chosen] = True
    return incidence
