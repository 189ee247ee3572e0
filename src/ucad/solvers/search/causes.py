"""Who may cause whom: what binds (`Admissible`) and what is only proposed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad._types import BooleanMatrix, VariableSamples
from ucad.solvers.problem import Problem
from ucad.solvers.regression.moments import LocalMoments, local_moments
from ucad.solvers.regression.score_book import ScoreBook
from ucad.solvers.regression.stepwise import Problems, select_features
from ucad.solvers.regression.weighted_moments import weighted_moments
from ucad.solvers.search.blankets import has_enough_samples, has_noise, peel
from ucad.solvers.search.evidence import Evidence, interventional_evidence
from ucad.solvers.search.order import search_order
from ucad.solvers.search.own_regimes import unseen_in_own_regime

__all__ = ["MAX_CANDIDATES", "Causes", "Columns", "Shortlist", "Some", "find_causes", "parent_sets"]

MAX_CANDIDATES = 64
"""Possible parents of a variable that are looked at."""

MAX_UNTESTED = 0.5
"""Share of a variable's possible causes that interventions could not test, above which linear
Markov blankets propose causes of a nonlinear variable as well: siblings may be among them."""

TARGETS_AT_ONCE = 64
"""Targets whose moments are held at a time: 64 × 400² numbers are 80 MB."""

VALUES_AT_ONCE = 2**23
"""Values of targets that are made at a time: 32 MiB in single precision."""

Some: TypeAlias = slice | Int[np.ndarray, " ..."]
"""Some variables."""

Columns: TypeAlias = Callable[[Some], VariableSamples]
"""What is predicted in place of some variables, made when it is asked for."""


@dataclass(frozen=True, eq=False)
class Shortlist:
    """At most `MAX_CANDIDATES` possible causes per variable: those of the strongest association.

    Attributes:
        strength: the larger of correlation and partial correlation given all others, by size;
            None where there are no more variables than that.
    """

    strength: Float[np.ndarray, "variables variables"] | None

    @classmethod
    def of(cls, problem: Problem) -> Shortlist:
        """Computes the associations; with too few samples for partial ones, correlations alone."""
        n = problem.data.n_variables
        if n - 1 <= MAX_CANDIDATES:
            return cls(None)
        matrix = problem.data.moments.covariance
        matrix[np.diag_indices(n)] += problem.floor
        strength = _scaled(matrix)
        if has_enough_samples(problem):
            np.maximum(strength, _scaled(np.linalg.inv(matrix)), out=strength)
        return cls(strength)

    def among(self, possible: BooleanMatrix) -> BooleanMatrix:
        """The pairs that stay of some possible ones."""
        if self.strength is None:
            return possible
        promise = np.where(possible, self.strength, -1.0)
        promise.partition(len(promise) - MAX_CANDIDATES, axis=0)
        least = promise[len(promise) - MAX_CANDIDATES]
        return possible & (self.strength >= least)


@dataclass(frozen=True, eq=False)
class Causes:
    """What is known and what is guessed of causal directions before any factor is looked for.

    Attributes:
        proposals: readings of who may cause whom, [i, j] for i a low-level parent of j; each gives
            candidates for factors, and none binds the choice between them.
        never_acted_on: variables that no regime targets.
        evidence: what the interventions show, None where layers are known or nothing was acted on.
        is_noisy: whether variables have noise of their own, so that backward selection is safe.
        shortlist: the associations by which long lists of possible causes are cut.
    """

    proposals: tuple[BooleanMatrix, ...]
    never_acted_on: Bool[np.ndarray, " variables"]
    evidence: Evidence | None
    is_noisy: bool
    shortlist: Shortlist

    @property
    def may_cause(self) -> BooleanMatrix:
        """The first proposal."""
        return self.proposals[0]


def find_causes(problem: Problem) -> tuple[Problem, Causes]:
    """Uses the layers if there are any; else interventions, Markov blankets and an order.

    Returns:
        The problem with the ancestors that the interventions show, and what is proposed.
    """
    data = problem.data
    never = np.logical_not(data.is_intervened.any(axis=0))
    noisy, shortlist = has_noise(problem), Shortlist.of(problem)
    if data.layer_of is not None:
        likely = shortlist.among(problem.admissible.may_precede)
        return problem, Causes((likely,), never, None, noisy, shortlist)
    evidence = None
    if not never.all():
        evidence = interventional_evidence(data, problem.reading_family)
        known = problem.admissible.with_ancestors(evidence.ancestors)
        problem = replace(problem, admissible=known)
        if problem.noise is not None:
            known = replace(known, barred=unseen_in_own_regime(data, evidence))
            problem = replace(problem, admissible=known)
    possible = problem.admissible.may_precede
    open_pairs = possible if evidence is None else possible & evidence.is_open
    by_interventions = shortlist.among(open_pairs)
    if not problem.is_linear and not noisy:
        return problem, Causes((by_interventions,), never, evidence, noisy, shortlist)
    by_order, position = _by_order(problem, noisy, shortlist)
    if evidence is None and not noisy:
        problem = replace(problem, admissible=replace(problem.admissible, order=position))
    proposals = [by_order]
    if evidence is not None:
        proposals.insert(1 if problem.is_linear else 0, by_interventions)
    if evidence is not None and not problem.is_linear:
        untested = (by_interventions & ~evidence.is_tested).sum(axis=0)
        proposals[1] &= untested > MAX_UNTESTED * by_interventions.sum(axis=0)
    return problem, Causes(tuple(proposals), never, evidence, noisy, shortlist)


def _by_order(
    problem: Problem, noisy: bool, shortlist: Shortlist
) -> tuple[BooleanMatrix, Int[np.ndarray, " variables"]]:
    """Who precedes whom in the order of variables with the highest score, and that order.

    With noise, leaves are peeled off and the order is bettered among the members of blankets;
    without, the score is blurred, which gives deterministic relations a direction.
    """
    data, possible = problem.data, problem.admissible.may_precede
    start = None
    if noisy:
        peeling = peel(problem)
        start, possible = peeling.position, possible & peeling.candidates
    else:
        possible = shortlist.among(possible)
    candidates = [np.flatnonzero(column) for column in possible.T]
    moments = _weighted(problem, candidates)
    if moments is None:
        everyone = np.arange(data.n_variables)
        moments = local_moments(
            data.moments, everyone, candidates, problem.floor, noise=problem.reading_noise
        )
    blur = 0.0 if noisy else problem.floor
    book = ScoreBook(moments, problem.penalty, blur=blur, backward=noisy)
    position = search_order(book, problem.admissible.ancestors, problem, start)
    return possible & (position[:, None] < position[None, :]), position


def _weighted(problem: Problem, candidates: list[Int[np.ndarray, " ..."]]) -> LocalMoments | None:
    """The moments of a response whose samples have weights; None where there is none."""
    if problem.weights is None:
        return None
    x, y = problem.data.x, problem.targets
    return weighted_moments(x, y, problem.weights, candidates, problem.floor)


def parent_sets(
    problem: Problem,
    may_cause: BooleanMatrix,
    targets: Columns | None = None,
    *,
    backward: bool,
    of: Sequence[int] | None = None,
) -> tuple[list[Int[np.ndarray, " ..."]], Float[np.ndarray, " variables"]]:
    """For every variable the parents that predict it, among those allowed, and what they gain.

    What is predicted is the variable itself, or what `targets` has in its place. With `of`, a run
    of neighbouring variables, for those only.
    """
    data, family = problem.data, problem.reading_family
    shared = problem.moments_of(family)
    width = shared.features.shape[1] // data.n_variables
    sets: list[Int[np.ndarray, " ..."]] = []
    gains = []
    is_itself = targets is None and problem.response is None
    at_once = min(TARGETS_AT_ONCE, max(VALUES_AT_ONCE // data.n_samples, 1))
    every = np.arange(data.n_variables) if of is None else np.array(of)
    for some in np.array_split(every, -(-len(every) // at_once)):
        problem.budget.check()
        here = slice(some[0], some[-1] + 1)
        columns = _columns([np.flatnonzero(may_cause[:, j]) for j in some], width)
        y = None
        if not (is_itself and family.is_affine):
            y = problem.targets[:, here] if targets is None else targets(here)
        if problem.weights is not None and y is not None:
            moments = weighted_moments(
                shared.features, y, problem.weights[:, here], columns, problem.floor
            )
        else:
            moments = local_moments(
                shared, some, columns, problem.floor, y=y, noise=problem.reading_noise
            )
        places = np.arange(len(some))
        problems = Problems(moments.gram, moments.n_samples, places, moments.exists)
        found = select_features(problems, problem.penalty, backward=backward)
        alone = np.log(moments.own) * moments.n_samples / 2
        gains.append(found.score + alone)
        sets.extend(
            np.unique(moments.candidates[j][chosen] // width)
            for j, chosen in enumerate(found.selected)
        )
    return sets, np.concatenate(gains)


def _columns(
    allowed: Sequence[Int[np.ndarray, " ..."]], width: int
) -> list[Int[np.ndarray, " ..."]]:
    """The features of some variables, those of one variable in a row."""
    return [(a[:, None] * width + np.arange(width)).reshape(-1) for a in allowed]


def _scaled(matrix: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """The sizes of the entries of a matrix at a diagonal of 1, in single precision."""
    scale = np.sqrt(np.diag(matrix))
    scaled = np.abs(matrix).astype(np.float32)
    scaled /= scale.astype(np.float32)
    scaled /= scale.astype(np.float32)[:, None]
    return scaled
