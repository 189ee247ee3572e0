"""The whole f-SCM in the making: scored, edited, and fitted jointly for a given graph."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad._types import FactorSamples, VariableSamples, VariablesByFactors
from ucad.graph import boolean_product
from ucad.scm.families import EMPTY, Function
from ucad.solvers.problem import Problem
from ucad.solvers.regression.affine_fits import affine_fits
from ucad.solvers.regression.fitting import Effort, Fitter, Regression, unit_variance
from ucad.solvers.regression.joint import fit_together
from ucad.solvers.regression.moments import MIN_SIGNAL

__all__ = [
    "Edit",
    "Model",
    "changed_factors",
    "edited",
    "fit_variable",
    "fit_variables",
    "polish",
    "pseudo_target",
    "refit",
    "relabelled",
    "scored",
    "target_from_children",
    "unexplained",
    "variable_fitter",
    "with_variable",
]


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
        score: the penalised log-likelihood in nats, higher is better.
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

    @property
    def is_used(self) -> Bool[np.ndarray, " factors"]:
        """Which factors have a parent and a child."""
        return np.asarray(self.Q.any(axis=0) & self.R.any(axis=0))

    def with_factor(self, k: int, function: Function, x: VariableSamples) -> Model:
        """The same with another factor k; variables and score still are those of the old one."""
        factors, state = list(self.factors), self.state.copy()
        factors[k], state[:, k] = function, function.values(x)
        return replace(self, factors=tuple(factors), state=state)


@dataclass(frozen=True, eq=False)
class Edit:
    """A change of the graph: which factors get which parents, which variables which factors.

    Attributes:
        R: who is whose child.
        factors: the functions, with new parents, of the factors that change.
        starts_anew: whether the children of those factors are fitted from nothing.
    """

    R: VariablesByFactors
    factors: Mapping[int, Function] = field(default_factory=dict)
    starts_anew: bool = False

    def Q(self, model: Model) -> VariablesByFactors:
        """The parents of the factors once the edit is made."""
        Q = model.Q.copy()
        for k, function in self.factors.items():
            Q[:, k] = np.isin(np.arange(len(Q)), function.parents)
        return Q


def edited(problem: Problem, model: Model, edit: Edit, effort: Effort) -> tuple[Model, set[int]]:
    """The model after an edit, with all variables it touches fitted again, and which those are."""
    touched = set(np.flatnonzero((edit.R != model.R).any(axis=1)).tolist())
    for k in edit.factors:
        touched |= set(np.flatnonzero(edit.R[:, k]).tolist())
    factors = [edit.factors.get(k, function) for k, function in enumerate(model.factors)]
    if edit.starts_anew:
        fresh = (EMPTY if j in touched else g for j, g in enumerate(model.variables))
        model = replace(model, variables=tuple(fresh))
    return fit_variables(problem, factors, edit.R, effort, model, touched), touched


def fit_variables(
    problem: Problem,
    factors: Sequence[Function],
    R: VariablesByFactors,
    effort: Effort,
    model: Model | None = None,
    only: Collection[int] | None = None,
) -> Model:
    """Fits every variable to its factors and scores the whole.

    Fits start from the functions of `model`, if there is one; with `only`, the other variables are
    taken from it as they are.
    """
    data = problem.data
    z = np.stack([f.values(data.x) for f in factors], axis=1)
    variables: list[Function] = [EMPTY] * data.n_variables
    if model is not None:
        variables = list(model.variables)
    errors = np.zeros(data.n_variables) if model is None else model.errors.copy()
    fitter = variable_fitter(problem, factors, effort)
    some = list(range(data.n_variables)) if only is None else sorted(only)
    for j, found in zip(some, _in_closed_form(problem, z, R, some), strict=True):
        variables[j], errors[j] = found or fit_variable(
            problem, z, np.flatnonzero(R[j]), j, fitter, variables[j]
        )
    return scored(problem, Model(tuple(factors), tuple(variables), z, errors, 0.0))


def _in_closed_form(
    problem: Problem, z: FactorSamples, R: VariablesByFactors, some: Sequence[int]
) -> Iterator[tuple[Function, float] | None]:
    """Some variables fitted all at once where they are linear; None for those that are not."""
    is_plain = problem.variable_family.is_affine and problem.response is None
    if not is_plain or problem.noise is not None:
        yield from itertools.repeat(None, len(some))
        return
    is_made = np.asarray(R.any(axis=1))
    made = [j for j in some if is_made[j]]
    parents = [np.flatnonzero(R[j]) for j in made]
    fits = affine_fits(z, problem.data.x, problem.data.moments.left_out, made, parents)
    for j in some:
        yield next(fits) if is_made[j] else None


def variable_fitter(problem: Problem, factors: Sequence[Function], effort: Effort) -> Fitter:
    """Fits functions of factors, which are read with the noise of their parents."""
    fitter = problem.fitter(problem.variable_family, effort)
    return fitter if problem.noise is None else replace(fitter, noise=problem.noise_of(factors))


def fit_variable(
    problem: Problem,
    z: FactorSamples,
    parents: Int[np.ndarray, " some"],
    j: int,
    fitter: Fitter,
    start: Function | None = None,
) -> tuple[Function, float]:
    """x_j as a function of some factors, and its mean squared error.

    The noise that F_X passes on from the readings of the parents, bᵀ N b, is no error of it.
    """
    if not len(parents) and fitter.family.is_affine and problem.response is None:
        mean, variance = problem.data.moments.free_mean_and_variance[:, j].tolist()
        return EMPTY.affine(0.0, mean), max(variance, 0.0)
    regression = problem.regression(j)
    fitted = fitter.fit(z, parents, regression, start)
    error = regression.error(fitted, z)
    if fitter.noise is None:
        return fitted, error
    b = fitted.weights[: len(parents)]
    passed_on = float(b @ fitter.noise[np.ix_(parents, parents)] @ b)
    return fitted, max(error - passed_on, MIN_SIGNAL * error)


def refit(problem: Problem, model: Model, some: Int[np.ndarray, " some"], effort: Effort) -> Model:
    """The model with some variables fitted to the factors again, and its score."""
    return fit_variables(problem, model.factors, model.R, effort, model, some.tolist())


def relabelled(model: Model, order: Int[np.ndarray, " factors"]) -> Model:
    """The same model with its factors in another order."""
    new = np.argsort(order)
    return replace(
        model,
        factors=tuple(model.factors[k] for k in order),
        variables=tuple(g.renamed(new[g.parents]) for g in model.variables),
        state=model.state[:, order],
    )


def changed_factors(before: Model | None, now: Model) -> list[int]:
    """The factors of a model that another one does not have, with the same edges."""
    if before is None:
        return list(range(len(now.factors)))
    old, new = (np.concatenate([model.Q, model.R]) for model in (before, now))
    return np.flatnonzero(~np.any((new[:, :, None] == old[:, None]).all(axis=0), axis=1)).tolist()


def unexplained(problem: Problem, model: Model) -> VariableSamples:
    """What the factors leave of every variable; 0 where it is clamped."""
    y, z = problem.targets, model.state
    left = np.stack([y - g.values(z) for y, g in zip(y.T, model.variables, strict=True)]).T
    left[problem.data.is_left_out] = 0.0
    return left


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


def target_from_children(problem: Problem, model: Model, k: int) -> Regression:
    """What all its children say factor k should be."""
    data, z = problem.data, model.state
    children = np.flatnonzero(model.R[:, k])
    free = (~data.is_left_out[:, children]).astype(np.float64, order="F")
    if problem.weights is not None:
        free = np.sqrt(problem.weights[:, children])
    residual, slope = np.zeros(free.shape, order="F"), np.zeros(free.shape, order="F")
    for at, j in enumerate(children):
        function = model.variables[j]
        residual[:, at] = (problem.targets[:, j] - function.values(z)) * free[:, at]
        column = int(np.flatnonzero(function.parents == k)[0])
        slope[:, at] = function.gradient(z)[:, column] * free[:, at]
    precision = 1.0 / (model.errors[children] + problem.floor)
    return pseudo_target(z[:, k], slope, residual, precision)


def polish(
    problem: Problem,
    model: Model,
    effort: Effort,
    n_rounds: int,
    only: Collection[int] | None = None,
) -> Model:
    """Improves factors and their children, at a fixed graph, while the score rises.

    A factor that gained less than an edge is worth waits until one that shares a child with it
    gains more. With `only`, it starts with the given factors.
    """
    waiting = set(range(len(model.factors)) if only is None else only)
    shared = boolean_product(model.R.T, model.R)
    for _ in range(n_rounds):
        for k in sorted(waiting):
            problem.budget.check()
            trial = _better_factor(problem, model, k, effort)
            gain = 0.0 if trial is None else trial.score - model.score
            if trial is not None and gain > 0:
                model = trial
            if gain < problem.penalty:
                waiting.discard(k)
            else:
                waiting.update(np.flatnonzero(shared[k]).tolist())
    return model


def _better_factor(problem: Problem, model: Model, k: int, effort: Effort) -> Model | None:
    """The model with factor k and the functions of it fitted again; None if there are none."""
    x, children = problem.data.x, np.flatnonzero(model.R[:, k])
    if not len(children) or not len(model.factors[k].parents):
        return None
    if problem.variable_family.is_affine:
        said = target_from_children(problem, model, k)
        fitter = problem.fitter(problem.factor_family, effort)
        fitted = fitter.fit(x, model.factors[k].parents, said, model.factors[k])
        return refit(problem, model.with_factor(k, unit_variance(fitted, x), x), children, effort)
    functions = [model.factors[k], *(model.variables[j] for j in children)]
    fitter = problem.fitter(problem.variable_family, effort)
    factor, others = fit_together(problem.data, model.state, k, functions, children, fitter)
    changed = model.with_factor(k, factor, x)
    variables, errors = list(model.variables), model.errors.copy()
    for j, function in zip(children, others, strict=True):
        variables[j] = function
        errors[j] = Regression(x[:, j], problem.free(int(j))).error(function, changed.state)
    return scored(problem, replace(changed, variables=tuple(variables), errors=errors))


def scored(problem: Problem, model: Model) -> Model:
    """The same model with the score of its errors and edges."""
    counts = problem.data.moments.left_out.n_free
    fit = -(counts / 2 * np.log(model.errors + problem.floor)).sum()
    functions = (*model.factors, *model.variables)
    price = sum(_price(problem, f) for f in functions)
    return replace(model, score=float(fit - price))


def with_variable(
    problem: Problem, model: Model, j: int, function: Function, error: float
) -> Model:
    """The same model with another function and error of variable j, and its score."""
    variables, errors = list(model.variables), model.errors.copy()
    variables[j], errors[j] = function, error
    odds = np.log((error + problem.floor) / (model.errors[j] + problem.floor))
    gain = -float(problem.data.moments.left_out.n_free[j] / 2 * odds)
    price = _price(problem, function) - _price(problem, model.variables[j])
    score = model.score + gain - price
    return replace(model, variables=tuple(variables), errors=errors, score=score)


def _price(problem: Problem, function: Function) -> float:
    """What a function's edges cost, and what its weights gain by fitting noise."""
    return problem.penalty * len(function.parents) + len(function.weights) / 2


def _incidence(
    parents: Sequence[Int[np.ndarray, " ..."]], width: int
) -> Bool[np.ndarray, "rows columns"]:
    incidence = np.zeros((len(parents), width), dtype=bool)
    if parents:
        rows = np.repeat(np.arange(len(parents)), [len(chosen) for chosen in parents])
        incidence[rows, np.concatenate(parents)] = True
    return incidence
