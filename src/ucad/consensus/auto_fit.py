"""`factor_path` finds the number of factors, `fit_auto` also the model with so many."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ucad._types import Progress
from ucad.consensus.factor_path import FactorStep, HeldOut
from ucad.consensus.path import FactorPath, PathSearch, default_last
from ucad.consensus.without_factors import independent_scm
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.solvers.context import fit_in_context
from ucad.solvers.kinds import (
    fit_by_kind,
    is_doubtful,
    told_as_clamps,
    with_nothing_believed,
)
from ucad.solvers.registry import SOLVERS, Help, SolveSettings, one_thread, solve, solver_named
from ucad.solvers.search.auto import Class, has_straight_factors, is_bent, simplest_fit
from ucad.solvers.search.noise_choice import fit_by_noise
from ucad.solvers.search.solver import as_result, expressed
from ucad.solvers.status import FitResult, FitStatus

__all__ = ["factor_path", "fit_auto", "fit_known", "with_number"]

PATH_SOLVER = "search"
"""The solver that climbs the path, whichever fits in the end: the others share no work over m."""


def factor_path(
    data: InterventionalData,
    validation: InterventionalData,
    settings: SolveSettings,
    numbers: tuple[int, int | None] = (0, None),
    progress: Progress | None = None,
) -> FactorPath:
    """What held-out samples say of every number of factors, and which to use.

    Args:
        data: what to learn from, standardised.
        validation: held-out samples in the same units.
        settings: of the fit; its number of factors is not looked at.
        numbers: the smallest and the largest number of factors; None for as many as make sense.
        progress: told of every number.

    Raises:
        InvalidInputError: if the numbers or the solver make no sense.
    """
    found: list[FactorPath] = []

    def fit(train: InterventionalData, held_out: InterventionalData) -> FitResult:
        climb = _path_search(HeldOut(train, held_out, settings.seed), settings, numbers, progress)
        if not found:
            climb, path = _climbed(climb)
            found.append(path)
        return _no_factors(climb, found[0])

    with one_thread():
        if data.context is None:
            fit(data, validation)
        else:
            fit_in_context(data, validation, settings.context_acts_on, fit)
    return found[0]


def fit_auto(
    data: InterventionalData,
    settings: SolveSettings,
    *,
    validation: InterventionalData,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> tuple[FitResult, dict[str, Any]]:
    """Finds the number of factors and fits so many; none, if the data show none.

    Args:
        data: what to learn from, standardised.
        settings: of the fit; its number of factors is not looked at.
        validation: held-out samples in the same units, which choose the number.
        progress: told how far it is.
        checkpoint: of the fit that follows, if it is one by gradients.

    Returns:
        The fit, and what was found for every number of factors, as plain data.
    """
    if data.context is None:
        return _fit_auto(Task(data, validation, settings, progress, checkpoint))
    found: list[dict[str, Any]] = []

    def fit(train: InterventionalData, held_out: InterventionalData) -> FitResult:
        if found and found[0]["n_factors"]:  # later rounds ask for the number of the first
            known = with_number(settings, found[0]["n_factors"])
            return solve(train, known, validation=held_out, progress=progress)
        result, path = _fit_auto(Task(train, held_out, settings, progress, checkpoint))
        found[:] = found or [path]
        return result

    result = fit_in_context(data, validation, settings.context_acts_on, fit)
    return result, found[0]


class Task(NamedTuple):
    """A fit of an unknown number of factors to samples without a context."""

    data: InterventionalData
    validation: InterventionalData
    settings: SolveSettings
    progress: Progress | None
    checkpoint: Path | None


def _fit_auto(task: Task) -> tuple[FitResult, dict[str, Any]]:
    data, validation, settings, progress, checkpoint = task
    climb = _path_search(HeldOut(data, validation, settings.seed), settings, (0, None), progress)
    with one_thread():
        climb, path = _climbed(climb)
    m = path.recommendation.n_factors
    if m == 0:
        return _no_factors(climb, path), path.to_json()
    again = settings.solver not in ("auto", PATH_SOLVER) or settings.unmeasured != "keep"
    if again and not path.cut_short:
        chosen = replace(with_number(settings, m), max_seconds=_left(climb))
        result = solve(
            data, chosen, validation=validation, progress=progress, checkpoint=checkpoint
        )
    else:
        with one_thread():
            result = _asked(task, climb, path)
    note = f"The number of factors was looked for: {path.recommendation}"
    status = replace(result.status, notes=(note, *result.status.notes))
    return replace(result, status=status, seconds=climb.budget.seconds), path.to_json()


def _climbed(climb: PathSearch) -> tuple[PathSearch, FactorPath]:
    """The path; climbed again with nothing believed of untold regimes where clamps make no sense.

    They make none if targets still listen by the model of the smallest adequate number, or, where
    no number is adequate, by that of direct edges, if any were found. The climb to an adequate
    number is kept, or that to the smaller one.
    """
    path = climb.run()
    doubtful = with_nothing_believed(climb.held_out.train)
    is_told = doubtful.kinds == climb.held_out.train.kinds
    if path.cut_short or is_told or not _doubts_clamps(climb, path):
        return climb, path
    part = replace(climb.held_out, train=doubtful)
    other = replace(climb, held_out=part, steps=[], runs={}, prepared={}, direct=None)
    other.budget = climb.budget
    doubting = other.run()
    if doubting.cut_short or _height(path) <= _height(doubting):
        return climb, path
    return other, doubting


def _doubts_clamps(climb: PathSearch, path: FactorPath) -> bool:
    step = _judged(path)
    if not step.is_adequate:
        if path.direct is None:
            return True
        step = path.direct.step
    return is_doubtful(step.scm, climb.held_out.train)


def _height(path: FactorPath) -> tuple[bool, int, float]:
    """How good a path is, least being best: it is adequate, with few factors, and likely."""
    step = _judged(path)
    return not step.is_adequate, step.n_factors if step.is_adequate else 0, step.nll


def _judged(path: FactorPath) -> FactorStep:
    """The smallest adequate number that is plausible; the one to use if none is adequate."""
    steps = {step.n_factors: step for step in path.steps}
    plausible = (steps[m] for m in path.recommendation.plausible)
    adequate = (step for step in plausible if step.is_adequate)
    return next(adequate, steps[path.recommendation.n_factors])


def _asked(task: Task, climb: PathSearch, path: FactorPath) -> FitResult:
    """The fit of the path's number of factors, asked for kinds of interventions and for noise."""
    first, m = _of_path(climb, path), path.recommendation.n_factors
    if path.cut_short:
        return first
    problem = replace(climb.problem(m, climb.families), noise_family=task.settings.noise_family)
    aid = Help(task.validation, task.progress)
    first = fit_by_noise(problem, aid, lambda _: first, first)
    believes = climb.held_out.train is task.data

    def fit(train: InterventionalData, held_out: InterventionalData) -> FitResult:
        if train is task.data:
            return first
        believed = told_as_clamps(train)
        return solve(believed, with_number(task.settings, m), validation=held_out)

    return fit_by_kind(task.data, task.validation, fit, None if believes else first)


def fit_known(
    data: InterventionalData,
    settings: SolveSettings,
    *,
    validation: InterventionalData,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> tuple[FitResult, None]:
    """Fits as many factors as the settings say, in the form of `fit_auto`."""
    result = solve(data, settings, validation=validation, progress=progress, checkpoint=checkpoint)
    return result, None


def with_number(settings: SolveSettings, n_factors: int) -> SolveSettings:
    """The settings of a fit of so many factors, prior knowledge being about all of them."""
    prior = None if settings.prior is None else settings.prior.for_factors(n_factors)
    return replace(settings, n_factors=n_factors, prior=prior)


def _path_search(
    held_out: HeldOut,
    settings: SolveSettings,
    numbers: tuple[int, int | None],
    progress: Progress | None,
) -> PathSearch:
    if SOLVERS[settings.solver].needs_layers:
        raise InvalidInputError(
            f"The number of factors cannot be found for the solver '{settings.solver}', which is "
            "for dense layers. Say how many factors to find."
        )
    n, (first, last) = held_out.train.n_variables, numbers
    last = max(first, default_last(n)) if last is None else last
    if settings.prior is not None:
        last = max(last, settings.prior.shape[1])
    if not 0 <= first <= last < n:
        raise InvalidInputError(
            "The numbers of factors to try must be from 0 up to less than the number of "
            f"variables, {n}, the smaller one first. Got {first} to {last} instead."
        )
    asked = (settings.factor_mechanism, settings.variable_mechanism)
    classes = solver_named(PATH_SOLVER).classes(*asked)
    return PathSearch(held_out, settings, classes, (first, last), progress)


def _left(climb: PathSearch) -> float | None:
    limit = climb.budget.max_seconds
    return None if limit is None else max(1e-3, limit - climb.budget.seconds)


def _of_path(climb: PathSearch, path: FactorPath) -> FitResult:
    """The whole search for the number recommended, from what the path has found."""
    m, part = path.recommendation.n_factors, climb.held_out.validation
    aid = Help(part, climb.progress)
    if path.cut_short:
        run = climb.runs[m]
        run.interrupted = climb.interrupted
        return as_result(run, aid)

    others = (one for one in climb.classes if one != climb.families and one != climb.classes[0])
    return simplest_fit([climb.families, *others], _OnPath(climb, m, aid), part)


class _OnPath(NamedTuple):
    """Searches for the number of factors that a path recommends."""

    climb: PathSearch
    n_factors: int
    aid: Help

    def find(self, one: Class) -> FitResult:
        """A search in one class; the whole one in the class of the path, which has been made."""
        return self._searched(one, 0.0, fills=one == self.climb.families)

    def finish(self, one: Class, found: FitResult) -> FitResult:
        """What that search finds with moves."""
        return self._searched(one, found.seconds, fills=True)

    def express(self, one: Class, fit: FitResult) -> FitResult:
        """The graph of a fit, fitted in another class."""
        return expressed(self.climb.problem(self.n_factors, one), fit, self.aid)

    def is_straight(self, fit: FitResult) -> bool:
        """Whether the factors behind a fit seem to be linear."""
        problem = self.climb.problem(self.n_factors, self.climb.families)
        return has_straight_factors(problem, fit.scm)

    def has_bends(self, fit: FitResult) -> bool:
        """Whether residuals of a fit are predictable by curves."""
        return is_bent(fit.scm, self.climb.held_out.train, self.aid.validation)

    def _searched(self, one: Class, before: float, *, fills: bool) -> FitResult:
        started = self.climb.budget.seconds - before
        run = self.climb.search(self.n_factors, one, fills=fills)
        return as_result(run, self.aid, started)


def _no_factors(climb: PathSearch, path: FactorPath) -> FitResult:
    """The model of independent variables, with the reason in its status."""
    scm, part = independent_scm(climb.held_out.train), climb.held_out.validation
    reason = f"The number of factors is {path.recommendation}"
    if path.cut_short:
        reason = f"{path.cut_short} No factor was found until then."
    status = FitStatus(
        converged=not path.cut_short,
        feasible=True,
        interrupted=climb.interrupted,
        reason=reason,
        advice=(climb.budget.advice,) if path.cut_short and not climb.interrupted else (),
    )
    nll = scm.nll(part.x, part.is_left_out)
    return FitResult(scm, status, nll, (), climb.budget.seconds)
