"""Candidate factors: what a variable is a function of, and how to better the factors at hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad._types import BooleanMatrix
from ucad.data import InterventionalData
from ucad.solvers.search.assembly import Assembly, Order
from ucad.solvers.search.causes import Causes, parent_sets
from ucad.solvers.search.functions import (
    Function,
    FunctionConfig,
    Regression,
    fit_function,
    fit_sparse_function,
    unit_variance,
)
from ucad.solvers.search.moments import additive_features
from ucad.solvers.search.regression import Problems, Selection, grow_shrink

__all__ = ["Proposer"]

INDEX_SHARE = 0.02
N_BACKFITS = 3
TWIN = 0.95


@dataclass(frozen=True, eq=False)
class Proposer:
    """Makes candidate factors, all of unit variance.

    Attributes:
        data: the samples.
        causes: who may cause whom.
        penalty: the price of an edge.
        floor: s₀, the blur.
        factor_fit: how a factor is fitted; `hidden=0` if F_Z is linear.
        variable_fit: how a variable is fitted; `hidden=0` if F_X is linear.
        seed: of the random starts.
    """

    data: InterventionalData
    causes: Causes
    penalty: float
    floor: float
    factor_fit: FunctionConfig
    variable_fit: FunctionConfig
    seed: int = 0
    tried: set[tuple[int, int]] = field(default_factory=set)

    @property
    def nonlinear(self) -> bool:
        """Whether a variable may be a nonlinear function of its low-level parents."""
        return bool(self.factor_fit.hidden or self.variable_fit.hidden)

    def anchors(self) -> Iterator[Function]:
        """E[x_j | parents] of every variable: for an out-anchor, its factor.

        Lemma "Reading Q, R in A" for functions. Where no order is known, the parents are looked
        for again without variables that nobody clamps and without those of them that all but
        equal the target, since such a leaf is a perfect proxy of its factor; and more freely where
        nothing was found.
        """
        done = set()
        for may_cause in self._options():
            sets, _ = parent_sets(
                self.data, may_cause, self.penalty, self.floor, nonlinear=self.nonlinear
            )
            for j, parents in enumerate(sets):
                if len(parents) and (j, tuple(parents)) not in done:
                    done.add((j, tuple(parents)))
                    allowed = np.flatnonzero(may_cause[:, j])
                    yield from self._factors_of(self.data.x[:, j], parents, allowed, j)

    def _options(self) -> Iterator[BooleanMatrix]:
        may_cause = self.causes.may_cause
        yield may_cause
        if self.causes.position is None:
            clamped = ~self.causes.never_clamped[:, None]
            twin = np.abs(np.corrcoef(self.data.x.T)) > TWIN
            yield may_cause & (clamped | ~twin)
            yield may_cause & clamped
            not_below = ~self.causes.ancestors.T & ~np.eye(len(may_cause), dtype=bool)
            yield not_below & clamped & ~may_cause.any(axis=0)

    def _factors_of(
        self,
        target: Float[np.ndarray, " samples"],
        parents: Int[np.ndarray, " ..."],
        allowed: Int[np.ndarray, " ..."],
        j: int,
    ) -> Iterator[Function]:
        weights = (~self.data.is_intervened[:, j]).astype(np.float64)
        regression = Regression(target, weights)
        if self.variable_fit.hidden and not self.factor_fit.hidden:
            yield from self._indices_of(regression, parents)
        else:
            yield self._fit(regression, parents, allowed)

    def _fit(
        self,
        regression: Regression,
        parents: Int[np.ndarray, " ..."],
        allowed: Int[np.ndarray, " ..."],
        start: Function | None = None,
    ) -> Function:
        fitted = fit_sparse_function(
            self.data.x,
            regression,
            parents,
            allowed,
            self.penalty,
            self.factor_fit,
            start=start,
            seed=self.seed,
        )
        return unit_variance(fitted, self.data.x)

    def _indices_of(
        self, regression: Regression, parents: Int[np.ndarray, " ..."]
    ) -> Iterator[Function]:
        """Directions along which a smooth function of `parents` changes, for linear factors.

        If x_j = g(a·x), every gradient is a multiple of a; with several factors the gradients span
        their weights. E[∇f ∇fᵀ] has those directions as leading eigenvectors, and sparse vectors
        of their span are the factors themselves.
        """
        smooth = fit_function(self.data.x, parents, regression, self.variable_fit, seed=self.seed)
        gradient = smooth.gradient(self.data.x)
        values, vectors = np.linalg.eigh(gradient.T @ gradient / len(gradient))
        leading = vectors[:, values > INDEX_SHARE * values[-1]][:, ::-1]
        for direction in _sparse_directions(leading[:, :2]):
            keep = np.abs(direction) > 0.05 * np.abs(direction).max()
            linear = Function(parents[keep], None, None, direction[keep], 0.0)
            yield unit_variance(linear, self.data.x)

    def improvements(self, assembly: Assembly, order: Order) -> Iterator[Function]:
        """Better versions of the chosen factors, and factors that seem to be missing."""
        children = assembly.children(order)
        z = assembly.values[:, order]
        predicted, slope = _predictions(assembly, order, children)
        residual = self.data.x - predicted
        free = ~self.data.is_intervened
        count = np.maximum(free.sum(axis=0), 1)
        residual = np.where(free, residual - (residual * free).sum(axis=0) / count, 0.0)
        precision = 1.0 / children.residual
        for k in range(len(order)):
            yield from self._pooled(assembly, order, k, z, residual, slope, precision)
        yield from self._disentangled(assembly, order)
        yield from self._missing(residual, len(order))

    def _pooled(
        self,
        assembly: Assembly,
        order: Order,
        k: int,
        z: Float[np.ndarray, "samples factors"],
        residual: Float[np.ndarray, "samples variables"],
        slope: Float[np.ndarray, "factors samples variables"],
        precision: Float[np.ndarray, " variables"],
    ) -> Iterator[Function]:
        """Factor k fitted to what all its children say of it, one Gauss–Newton step."""
        g = np.where(self.data.is_intervened, 0.0, slope[k])
        weights = (g**2 * precision).sum(axis=1)
        if not weights.any():
            return
        safe = np.maximum(weights, 1e-6 * weights.max())
        target = z[:, k] + (g * precision * residual).sum(axis=1) / safe
        allowed = self._possible_parents(assembly, order, k, np.abs(slope[k]).any(axis=0))
        regression = Regression(target, weights)
        parents = self._select(regression, allowed, nonlinear=self.factor_fit.hidden > 0)
        if len(parents) and not self.factor_fit.hidden:
            yield self._fit(regression, parents, allowed)
        elif len(parents):
            current = assembly.functions[order[k]]
            parents = np.union1d(parents, np.intersect1d(current.parents, allowed))
            yield self._fit(regression, parents, allowed, start=current)

    def _possible_parents(
        self, assembly: Assembly, order: Order, k: int, is_child: Bool[np.ndarray, " variables"]
    ) -> Int[np.ndarray, " ..."]:
        """Variables that no factor from k on makes, and that no child of k precedes."""
        if self.causes.position is not None:
            first = self.causes.position[is_child].min(initial=np.iinfo(np.int64).max)
            return np.flatnonzero(self.causes.position < first)
        later = self.causes.ancestors[is_child].any(axis=0) | is_child
        made = assembly.children(order).selected.reshape(len(is_child), -1, assembly.n_functions)
        later |= made[:, list(order[k:])].any(axis=(1, 2))
        return np.flatnonzero(~later)

    def _select(
        self, regression: Regression, allowed: Int[np.ndarray, " ..."], *, nonlinear: bool
    ) -> Int[np.ndarray, " ..."]:
        """Weighted grow–shrink of additive features of the allowed variables."""
        target, weights = regression
        features = additive_features(self.data.x[:, allowed], nonlinear)
        width = features.shape[2]
        both = np.concatenate([features.reshape(len(target), -1), target[:, None]], axis=1)
        share = weights / weights.sum()
        both = both - share @ both
        gram = (both * share[:, None]).T @ both
        gram[np.diag_indices_from(gram)] += self.floor
        count = np.array([float((weights > 0).sum())])
        everything = np.ones((1, gram.shape[0] - 1), dtype=bool)
        one = Problems(gram[None], count, np.array([0]), everything)
        found = grow_shrink(one, self.penalty)
        return allowed[np.unique(np.flatnonzero(found.selected[0]) // width)]

    def _disentangled(self, assembly: Assembly, order: Order) -> Iterator[Function]:
        """h(x) = z_k − c z_l without the parents that z_k and z_l share.

        An anchor with two factors gives z_k + c z_l in place of z_k, and its children make up for
        it. Here h and c are fitted in turn.
        """
        for k in order:
            for other in order:
                shared = assembly.parents[:, k] & assembly.parents[:, other]
                own = np.flatnonzero(assembly.parents[:, k] & ~shared)
                pair = (id(assembly.functions[k]), id(assembly.functions[other]))
                if shared.any() and len(own) and pair not in self.tried:
                    self.tried.add(pair)
                    yield self._remainder(assembly.values[:, k], assembly.values[:, other], own)

    def _remainder(
        self,
        mixed: Float[np.ndarray, " samples"],
        other: Float[np.ndarray, " samples"],
        own: Int[np.ndarray, " ..."],
    ) -> Function:
        """The function h of some variables that best makes h + c · other."""
        fitted: Function | None = None
        rest = mixed
        for _ in range(N_BACKFITS):
            share = float(rest @ other / (other @ other))
            regression = Regression(mixed - share * other, np.ones(len(mixed)))
            fitted = fit_function(
                self.data.x, own, regression, self.factor_fit, start=fitted, seed=self.seed
            )
            rest = mixed - fitted.values(self.data.x)
        assert fitted is not None
        return unit_variance(fitted, self.data.x)

    def _missing(
        self, residual: Float[np.ndarray, "samples variables"], n_proposals: int
    ) -> Iterator[Function]:
        """What is left of those variables of which low-level parents predict most that is left."""
        sets, gains = parent_sets(
            self.data,
            self.causes.may_cause,
            self.penalty,
            self.floor,
            nonlinear=self.nonlinear,
            targets=residual,
        )
        for j in np.argsort(-gains, kind="stable")[:n_proposals]:
            if len(sets[j]):
                allowed = np.flatnonzero(self.causes.may_cause[:, j])
                yield from self._factors_of(residual[:, j], sets[j], allowed, int(j))


def _sparse_directions(
    span: Float[np.ndarray, "inputs dimensions"],
) -> Iterator[Float[np.ndarray, " inputs"]]:
    """The leading direction and, in a plane, those vectors that vanish on several inputs."""
    yield span[:, 0]
    if span.shape[1] < 2:
        return
    for row in span:
        direction = span @ np.array([row[1], -row[0]])
        size = np.abs(direction).max()
        if size > 0 and (np.abs(direction) < 0.05 * size).sum() >= 1:
            yield direction


def _predictions(
    assembly: Assembly, order: Order, children: Selection
) -> tuple[Float[np.ndarray, "samples variables"], Float[np.ndarray, "factors samples variables"]]:
    """What the additive regressions predict of every variable, and their slopes in each factor."""
    z = assembly.values[:, order]
    step = 1e-4
    nonlinear = assembly.n_functions > 1
    width = assembly.n_functions
    coefficients = children.coefficients.reshape(len(children.residual), -1, width)
    here, ahead = (additive_features(at, nonlinear) for at in (z, z + step))
    predicted = np.zeros((len(z), len(coefficients)))
    slope = np.zeros((len(order), *predicted.shape))
    for k, c in enumerate(order):
        at = here[:, k] @ coefficients[:, c].T
        predicted += at
        slope[k] = (ahead[:, k] @ coefficients[:, c].T - at) / step
    return predicted, slope
