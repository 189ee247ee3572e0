"""Which class of mechanisms: linear first, others only where something is left, by paired tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from ucad.claims.adequacy import leftover
from ucad.claims.mechanism_class import kept_classes, simplest_classes
from ucad.claims.ridge import curves, fitted
from ucad.data import InterventionalData
from ucad.graph import transitive_closure
from ucad.scm import FactorSCM
from ucad.scm.families import NETWORK, Family
from ucad.solvers.problem import Problem
from ucad.solvers.regression.explained_nats import explained_nats
from ucad.solvers.regression.fitting import Regression, unit_variance
from ucad.solvers.regression.pairs import best_pairs
from ucad.solvers.search.single_index import fit_along, leading_direction
from ucad.solvers.status import FitResult

__all__ = ["Class", "Searches", "has_straight_factors", "is_bent", "simplest_fit"]

N_STRONGEST = 3
"""Variables beside its parents whose curves are tried for each variable: a linear fit can overlook
a parent altogether."""

N_LOOKED_AT = 6
"""Variables by which it is guessed which side is nonlinear: those with the most parents."""


Class = tuple[Family, Family]
"""The families of F_Z and F_X."""


@runtime_checkable
class Searches(Protocol):
    """Searches of one problem in any class of mechanisms, and what is asked of their fits."""

    def find(self, one: Class) -> FitResult:
        """A search in one class, without moves."""
        ...

    def finish(self, one: Class, found: FitResult) -> FitResult:
        """What that search finds with moves."""
        ...

    def express(self, one: Class, fit: FitResult) -> FitResult:
        """The graph of a fit, fitted in another class."""
        ...

    def is_straight(self, fit: FitResult) -> bool:
        """Whether the factors behind a fit seem to be linear."""
        ...

    def has_bends(self, fit: FitResult) -> bool:
        """Whether residuals of a fit are predictable by curves."""
        ...


def simplest_fit(
    classes: Sequence[Class], searches: Searches, validation: InterventionalData
) -> FitResult:
    """The simplest class whose held-out likelihood is within two standard errors of the best.

    The first class is fitted; others only if its residuals are predictable by curves. Then the
    likelier of the two half-linear classes is searched, and what it found is expressed in the
    others, the richest first, at a fraction of a search: a class that does better that way is
    searched, too. If the richest does no better on this graph, none of those it contains does; but
    the graph may be wrong, so where curves still predict what the best fit leaves, the classes that
    were not searched are searched after all. A half-linear fit with a factor that has no anchor may
    be a mixture that its class needs: then the other half-linear class is searched as well.

    A search is finished only if what it chose is likelier than all before by more than two standard
    errors, or is what is kept in the end: where no class is right, moves find ever more to mend.

    Args:
        classes: simple ones first.
        searches: of the problem.
        validation: held-out samples.
    """
    first = searches.finish(classes[0], searches.find(classes[0]))
    is_done = not searches.has_bends(first) and not _may_be_mixed(classes[0], first)
    if len(classes) == 1 or _is_cut_short(first) or is_done:
        return first
    found, unfinished = {classes[0]: first}, set[Class]()
    following: Class | None = _following(classes, straight=searches.is_straight(first))
    while following is not None:
        found[following] = searches.find(following)
        its_class = max(found, key=lambda one: float(_likelihood(found[one], validation).mean()))
        if list(_kept(found, validation)) == [following]:
            found[following] = searches.finish(following, found[following])
        else:
            unfinished.add(following)
        if _is_cut_short(found[following]):
            break
        best, fits, following = found[its_class], dict(found), None
        for one in (one for one in reversed(classes) if one not in found):
            fits[one] = searches.express(one, best)
            following = _better_class(fits, found, validation)
            if following is None:
                break
        left = [one for one in classes if one not in found]
        if following is None and left and searches.has_bends(best):
            following = left[0]
        elif following is None and _may_be_mixed(its_class, best):
            following = next((one for one in left if _is_half_linear(one)), None)
    kept = next(_simplest(found, validation))
    if kept in unfinished:
        found[kept] = searches.finish(kept, found[kept])
    return _chosen(found, kept)


def is_bent(scm: FactorSCM, train: InterventionalData, validation: InterventionalData) -> bool:
    """Whether curves of a variable's parents, or of what it depends on most, predict its residual.

    What it depends on most are single variables and the pair with the most telling product. Curves
    are fitted to training residuals and tested on held-out ones, as claims are.
    """
    n = train.n_variables
    residuals = [
        data.x - scm.expected_variables(scm.state_map(data.x)).numpy()
        for data in (train, validation)
    ]
    nats = explained_nats(train.x, residuals[0], train.is_left_out, NETWORK)
    below = transitive_closure(np.asarray(scm.graph.variable_adjacency))
    barred = below | np.eye(n, dtype=bool)
    nats[barred] = 0.0
    paired = best_pairs(train.x, residuals[0], train.is_left_out, ~barred.T)
    A = np.asarray(scm.graph.variable_adjacency)
    strength = np.maximum(nats.max(axis=1), paired.nats)
    for j in np.argsort(-strength, kind="stable").tolist():
        strongest = np.argsort(-nats[j], kind="stable")[:N_STRONGEST]
        inputs = np.union1d(np.flatnonzero(A[:, j]), strongest[nats[j, strongest] > 0])
        if paired.nats[j] > 0:
            inputs = np.union1d(inputs, paired.pairs[j])
        if len(inputs) and _is_curved(j, inputs, residuals, (train, validation)):
            return True
    return False


def _is_curved(
    j: int,
    inputs: Int[np.ndarray, " some"],
    residuals: Sequence[Float[np.ndarray, "_ variables"]],
    parts: tuple[InterventionalData, InterventionalData],
) -> bool:
    rows = [np.flatnonzero(~part.is_left_out[:, j]) for part in parts]
    u = [part.x[np.ix_(some, inputs)] for part, some in zip(parts, rows, strict=True)]
    e = [residual[some, j] for residual, some in zip(residuals, rows, strict=True)]
    if min(len(e[0]), len(e[1])) < 2 * len(inputs) + 10:
        return False
    h = fitted(curves(u[0]), e[0], curves(u[1]))[1]
    straight = fitted(u[0], e[0], u[1])[1]
    return bool(leftover(e[1] - straight, h - straight, parts[0].n_variables).is_found)


def has_straight_factors(problem: Problem, scm: FactorSCM) -> bool:
    """Whether most variables of one factor are functions of one direction, x_j = g(a·x).

    Then F_Z may be linear. Asked of a few variables, by `_bends_beyond_one_direction`.
    """
    A, R = np.asarray(scm.graph.variable_adjacency), np.asarray(scm.graph.R)
    n_parents = np.where(R.sum(axis=1) == 1, A.sum(axis=0), 0)
    looked_at = np.argsort(-n_parents, kind="stable")[:N_LOOKED_AT]
    nats = [
        _bends_beyond_one_direction(problem, int(j), np.flatnonzero(A[:, j]))
        for j in looked_at[n_parents[looked_at] > 1]
    ]
    return bool(nats) and float(np.median(nats)) < problem.penalty


def _bends_beyond_one_direction(
    problem: Problem, j: int, parents: Int[np.ndarray, " some"]
) -> float:
    """Nats by which x_j = f(x), a network, beats x_j = g(a·x), ½ per further weight taken off."""
    data, fitter = problem.data, problem.fitter(NETWORK)
    regression = Regression(data.x[:, j], problem.free(j))
    free = fitter.fit(data.x, parents, regression)
    start = unit_variance(leading_direction(free.gradient(data.x), parents), data.x)
    one = fit_along(data, j, start, regression, fitter)
    n_more = len(free.weights) - len(one.function.weights) - len(parents)
    return fitter.nats(regression, one.error, regression.error(free, data.x)) - n_more / 2


def _following(classes: Sequence[Class], *, straight: bool) -> Class:
    """The class to search after the first: one side nonlinear, the likelier one."""

    def rank(one: Class) -> tuple[int, bool]:
        curved = [not family.is_affine for family in one]
        return sum(curved), curved[0] if straight else curved[1]

    return min(classes[1:], key=rank)


def _is_half_linear(one: Class) -> bool:
    return one[0].is_affine != one[1].is_affine


def _may_be_mixed(one: Class, fit: FitResult) -> bool:
    """Whether a half-linear fit has a factor without an in-anchor or without an out-anchor."""
    graph = fit.scm.graph
    used = graph.Q.any(axis=0) & graph.R.any(axis=0)
    anchored = graph.in_anchors.any(axis=0) & graph.out_anchors.any(axis=0)
    return _is_half_linear(one) and bool((used & ~anchored).any())


def _likelihood(result: FitResult, validation: InterventionalData) -> Float[np.ndarray, " samples"]:
    values = result.scm.log_likelihood(validation.x, validation.is_left_out)
    return np.asarray(values.cpu().numpy())


def _kind(one: Class) -> tuple[bool, bool]:
    return not one[0].is_affine, not one[1].is_affine


def _simplest(fits: Mapping[Class, FitResult], validation: InterventionalData) -> Iterator[Class]:
    """The simplest classes that are kept; of two, the one that needs fewer edges first."""
    kept = {_kind(one): one for one in _kept(fits, validation)}
    simple = [kept[kind] for kind in simplest_classes(kept)]

    def rank(one: Class) -> tuple[int, float]:
        graph = fits[one].scm.graph
        return int(graph.Q.sum() + graph.R.sum()), -float(_likelihood(fits[one], validation).mean())

    return iter(sorted(simple, key=rank))


def _kept(fits: Mapping[Class, FitResult], validation: InterventionalData) -> list[Class]:
    """The classes whose held-out samples are not significantly less likely than under the best."""
    likelihood = {_kind(one): _likelihood(fit, validation) for one, fit in fits.items()}
    kept = kept_classes(likelihood)
    return [one for one in fits if _kind(one) in kept]


def _better_class(
    fits: Mapping[Class, FitResult],
    searched: Mapping[Class, FitResult],
    validation: InterventionalData,
) -> Class | None:
    """The class to search next: the simplest that is kept, unless one of those was searched."""
    simple = list(_simplest(fits, validation))
    return None if any(one in searched for one in simple) else simple[0]


def _chosen(found: Mapping[Class, FitResult], one: Class) -> FitResult:
    """The fit of the class that is kept, with all histories and why it was taken."""
    best = found[one]
    tried = ", ".join(f"{F_Z.name}/{F_X.name}" for F_Z, F_X in found)
    note = (
        f"Mechanisms F_Z {one[0].name} and F_X {one[1].name}: the simplest class within two "
        f"standard errors of the best on held-out samples, of those tried ({tried})."
    )
    status = replace(best.status, notes=(*best.status.notes, note))
    for cut in (fit.status for fit in found.values() if _is_cut_short(fit)):
        status = replace(
            status,
            converged=False,
            interrupted=cut.interrupted,
            reason=cut.reason,
            advice=cut.advice,
        )
    return FitResult(
        best.scm,
        status,
        best.validation_nll,
        tuple(row for fit in found.values() for row in fit.history),
        sum(fit.seconds for fit in found.values()),
    )


def _is_cut_short(result: FitResult) -> bool:
    return not result.status.converged
