"""Which variable may cause which, from layers, interventions or an order search."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad._types import BooleanMatrix, VariableSamples, VariablesByFactors
from ucad.data import InterventionalData
from ucad.solvers.search.knowledge import Possibilities
from ucad.solvers.search.moments import additive_features, local_moments
from ucad.solvers.search.order import OrderConfig, search_order
from ucad.solvers.search.regression import ScoreBook
from ucad.solvers.search.screening import ScreeningConfig, screen, transitive_closure
from ucad.solvers.search.settings import FitSettings

__all__ = ["N_CANDIDATES", "Causes", "find_causes", "parent_sets"]

N_CANDIDATES = 64
WEAK_EVIDENCE = 3.0
FEW = 50
FEW_VARIABLES = 128
CHUNK = 64


@dataclass(frozen=True, eq=False)
class Causes:
    """What is known of causal directions before any factor is looked for.

    Attributes:
        may_cause: entry [i, j] says whether i may be a low-level parent of j.
        ancestors: entry [i, j] says that i is known to be an ancestor of j.
        position: a causal order of the variables (ties allowed), or None.
        never_clamped: variables that no regime clamps.
        prior: what prior knowledge leaves open, or None.
    """

    may_cause: BooleanMatrix
    ancestors: BooleanMatrix
    position: Int[np.ndarray, " variables"] | None
    never_clamped: Bool[np.ndarray, " variables"]
    prior: Possibilities | None = None

    @cached_property
    def not_below(self) -> BooleanMatrix:
        """Entry [i, j] says that i may cause j for all that is known: i is no known effect of j."""
        possible = ~self.ancestors.T & ~np.eye(len(self.ancestors), dtype=bool)
        return possible if self.prior is None else possible & self.prior.pairs

    def no_children(
        self, parents: Bool[np.ndarray, "variables factors"]
    ) -> Bool[np.ndarray, "variables factors"]:
        """Variables that cannot be children of a factor with these parents.

        Those parents, their known ancestors, what does not come after them in a known order, and
        what prior knowledge forbids.
        """
        wide = self.ancestors.astype(np.float32) @ parents.astype(np.float32)
        barred: Bool[np.ndarray, "variables factors"] = parents | (wide > 0)
        if self.position is not None:
            barred |= self.position[:, None] <= self.rank(parents)[None, :]
        return barred if self.prior is None else barred | ~self.prior.children(parents)

    def allow(self, Q: VariablesByFactors, R: VariablesByFactors) -> bool:
        """Whether every child comes after the parents of its factors in the known order, if any."""
        if self.position is None:
            return True
        early = self.position[:, None] <= self.rank(Q)[None, :]
        return not bool((R & early).any())

    def rank(self, parents: Bool[np.ndarray, "variables factors"]) -> Int[np.ndarray, " factors"]:
        """How late a factor with these parents comes in the known order."""
        assert self.position is not None
        rank: Int[np.ndarray, " factors"] = np.where(parents, self.position[:, None], -1).max(
            axis=0
        )
        return rank


def find_causes(
    data: InterventionalData,
    settings: FitSettings,
    screening: ScreeningConfig,
    ordering: OrderConfig,
    seed: int,
    prior: Possibilities | None = None,
) -> list[Causes]:
    """Uses the layers if there are any; else the interventions; else an order of the variables.

    Where mechanisms are linear both an order and the interventions alone may do better, so there
    are two answers to try, the order first: it alone gives deterministic relations a price. With
    very many variables the second is too dear.
    """
    nonlinear, floor = settings.nonlinear, settings.floor
    never = ~np.any(data.is_intervened, axis=0)
    nobody = np.zeros((data.n_variables, data.n_variables), dtype=bool)
    pairs = ~nobody if prior is None else prior.pairs
    if data.layer_of is not None:
        position = np.asarray(data.layer_of)
        may_cause = _promising(data, pairs & (position[:, None] < position[None, :]), floor)
        return [Causes(may_cause, nobody, position, never, prior)]
    evidence, ancestors = np.zeros(nobody.shape), nobody
    if not never.all():
        evidence, ancestors = screen(data.x, data.is_intervened, screening, nonlinear=nonlinear)
    if prior is not None and prior.known.any():
        ancestors = _with_known(ancestors, prior.known)
    possible = pairs & ~ancestors.T & ~np.eye(data.n_variables, dtype=bool)
    by_interventions = []
    if not never.all() and (nonlinear or data.n_variables <= FEW_VARIABLES):
        seen = (evidence > WEAK_EVIDENCE) | _untested(data)
        seen |= nobody if prior is None else prior.known
        may_cause = _promising(data, seen & possible, floor)
        by_interventions = [Causes(may_cause, ancestors, None, never, prior)]
        if nonlinear:
            return by_interventions
    may_cause = _promising(data, possible, floor)
    candidates = [np.flatnonzero(column) for column in may_cause.T]
    moments = local_moments(data.x, data.x, data.is_intervened, candidates, floor)
    position = search_order(
        ScoreBook(moments, settings.penalty, blur=floor), ancestors, ordering, seed
    )
    may_cause &= position[:, None] < position[None, :]
    return [Causes(may_cause, ancestors, position, never, prior), *by_interventions]


def _with_known(ancestors: BooleanMatrix, known: BooleanMatrix) -> BooleanMatrix:
    """Ancestors that interventions show and those the prior names, unless the two contradict."""
    both = transitive_closure(ancestors | known)
    return ancestors if (both & both.T).any() else both


def _untested(data: InterventionalData) -> BooleanMatrix:
    """Pairs (i, j) with too few samples in which i is clamped and j is not."""
    clamped = data.is_intervened.astype(np.float32)
    untested: BooleanMatrix = clamped.T @ (1 - clamped) < FEW
    return untested


def parent_sets(
    data: InterventionalData,
    may_cause: BooleanMatrix,
    settings: FitSettings,
    targets: VariableSamples,
) -> tuple[list[Int[np.ndarray, " ..."]], Float[np.ndarray, " variables"]]:
    """For every variable the parents that predict it, among those allowed, and what they gain.

    What is predicted is the variable itself, or what `targets` has in its place.
    """
    features = additive_features(data.x, settings.nonlinear)
    width = features.shape[2]
    flat = features.reshape(data.n_samples, -1)
    sets: list[Int[np.ndarray, " ..."]] = []
    gains = []
    for some in np.array_split(np.arange(data.n_variables), -(-data.n_variables // CHUNK)):
        allowed = [np.flatnonzero(may_cause[:, j]) for j in some]
        columns = [(a[:, None] * width + np.arange(width)).reshape(-1) for a in allowed]
        moments = local_moments(
            flat, targets[:, some], data.is_intervened[:, some], columns, settings.floor
        )
        found = ScoreBook(moments, settings.penalty).select(np.arange(len(some)), moments.exists)
        alone = np.log(moments.gram[:, -1, -1]) * moments.n_samples / 2
        gains.append(found.score + alone)
        sets.extend(
            np.unique(moments.candidates[j][chosen] // width)
            for j, chosen in enumerate(found.selected)
        )
    return sets, np.concatenate(gains)


def _promising(data: InterventionalData, possible: BooleanMatrix, floor: float) -> BooleanMatrix:
    """At most k possible causes a variable: those of the largest (partial) correlation."""
    if data.n_variables - 1 <= N_CANDIDATES:
        return possible
    covariance = np.cov(data.x.T) + floor * np.eye(data.n_variables)
    promise = np.zeros(possible.shape)
    for matrix in (covariance, np.linalg.inv(covariance)):
        scale = np.sqrt(np.diag(matrix))
        promise = np.maximum(promise, np.abs(matrix) / np.outer(scale, scale))
    promise = np.where(possible, promise, -1.0)
    least = -np.partition(-promise, N_CANDIDATES - 1, axis=0)[N_CANDIDATES - 1]
    return possible & (promise >= least)
