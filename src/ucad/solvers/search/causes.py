"""Who may cause whom: what binds (`Admissible`) and what is only proposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad._types import BooleanMatrix, VariableSamples
from ucad.data import InterventionalData
from ucad.solvers.problem import Problem
from ucad.solvers.regression.moments import LocalMoments, local_moments
from ucad.solvers.regression.score_book import ScoreBook
from ucad.solvers.regression.stepwise import Problems, select_features
from ucad.solvers.regression.weighted_moments import weighted_moments
from ucad.solvers.search.blankets import has_noise, peel
from ucad.solvers.search.evidence import Evidence, interventional_evidence
from ucad.solvers.search.order import search_order
from ucad.solvers.search.own_regimes import unseen_in_own_regime

__all__ = ["MAX_CANDIDATES", "Causes", "find_causes", "parent_sets"]

MAX_CANDIDATES = 64
"""Possible parents of a variable that are looked at: those of the largest correlations."""

MAX_UNTESTED = 0.5
"""Share of a variable's possible causes that interventions could not test, above which linear
Markov blankets propose causes of a nonlinear variable as well: siblings may be among them."""

TARGETS_AT_ONCE = 64
"""Targets whose moments are held at a time: 64 × 400² numbers are 80 MB."""


@dataclass(frozen=True, eq=False)
class Causes:
    """What is known and what is guessed of causal directions before any factor is looked for.

    Attributes:
        proposals: readings of who may cause whom, [i, j] for i a low-level parent of j; each gives
            candidates for factors, and none binds the choice between them.
        never_acted_on: variables that no regime targets.
        evidence: what the interventions show, None where layers are known or nothing was acted on.
        is_noisy: whether variables have noise of their own, so that backward selection is safe.
    """

    proposals: tuple[BooleanMatrix, ...]
    never_acted_on: Bool[np.ndarray, " variables"]
    evidence: Evidence | None
    is_noisy: bool

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
    noisy = has_noise(problem)
    if data.layer_of is not None:
        likely = _likely(data, problem.admissible.may_precede, problem.floor)
        return problem, Causes((likely,), never, None, noisy)
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
    by_interventions = _likely(data, open_pairs, problem.floor)
    if not problem.is_linear and not noisy:
        return problem, Causes((by_interventions,), never, evidence, noisy)
    by_order, position = _by_order(problem, noisy)
    if evidence is None and not noisy:
        problem = replace(problem, admissible=replace(problem.admissible, order=position))
    proposals = [by_order]
    if evidence is not None:
        proposals.insert(1 if problem.is_linear else 0, by_interventions)
    if evidence is not None and not problem.is_linear:
        untested = (by_interventions & ~evidence.is_tested).sum(axis=0)
        proposals[1] &= untested > MAX_UNTESTED * by_interventions.sum(axis=0)
    return problem, Causes(tuple(proposals), never, evidence, noisy)


def _by_order(problem: Problem, noisy: bool) -> tuple[BooleanMatrix, Int[np.ndarray, " variables"]]:
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
        possible = _likely(data, possible, problem.floor)
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
    problem: Problem, may_cause: BooleanMatrix, targets: VariableSamples, *, backward: bool
) -> tuple[list[Int[np.ndarray, " ..."]], Float[np.ndarray, " variables"]]:
    """For every variable the parents that predict it, among those allowed, and what they gain.

    What is predicted is the variable itself, or what `targets` has in its place.
    """
    data, family = problem.data, problem.reading_family
    shared = problem.moments_of(family)
    width = shared.features.shape[1] // data.n_variables
    sets: list[Int[np.ndarray, " ..."]] = []
    gains = []
    for some in np.array_split(
        np.arange(data.n_variables), -(-data.n_variables // TARGETS_AT_ONCE)
    ):
        problem.budget.check()
        columns = _columns([np.flatnonzero(may_cause[:, j]) for j in some], width)
        y = None if targets is data.x and family.is_affine else targets[:, some]
        if problem.weights is not None:
            moments = weighted_moments(
                shared.features, targets[:, some], problem.weights[:, some], columns, problem.floor
            )
        else:
            moments = local_moments(
                shared, some, columns, problem.floor, y=y, noise=problem.reading_noise
            )
        every = np.arange(len(some))
        problems = Problems(moments.gram, moments.n_samples, every, moments.exists)
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


def _likely(data: InterventionalData, possible: BooleanMatrix, floor: float) -> BooleanMatrix:
    """At most so many possible causes per variable: those of the largest (partial) correlation."""
    if data.n_variables - 1 <= MAX_CANDIDATES:
        return possible
    covariance = data.moments.covariance + floor * np.eye(data.n_variables)
    promise = np.zeros(possible.shape)
    for matrix in (covariance, np.linalg.inv(covariance)):
        scale = np.sqrt(np.diag(matrix))
        promise = np.maximum(promise, np.abs(matrix) / np.outer(scale, scale))
    promise = np.where(possible, promise, -1.0)
    least = -np.partition(-promise, MAX_CANDIDATES - 1, axis=0)[MAX_CANDIDATES - 1]
    return possible & (promise >= least)
