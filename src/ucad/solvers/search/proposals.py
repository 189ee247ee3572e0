"""Candidate factors: what a variable is a function of, and how to better the factors at hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad.data import InterventionalData
from ucad.solvers.search.assembly import Assembly, Order
from ucad.solvers.search.causes import Causes, parent_sets
from ucad.solvers.search.functions import Function, FunctionConfig, fit_function, unit_variance
from ucad.solvers.search.moments import additive_features
from ucad.solvers.search.regression import Problems, Selection, grow_shrink

__all__ = ["Proposer"]

INDEX_SHARE = 0.02


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

    @property
    def nonlinear(self) -> bool:
        """Whether a variable may be a nonlinear function of its low-level parents."""
        return bool(self.factor_fit.hidden or self.variable_fit.hidden)

    def anchors(self) -> Iterator[Function]:
        """E[x_j | parents] of every variable: for an out-anchor, its factor.

        Lemma "Reading Q, R in A" for functions. Where no order is known, the parents are looked
        for twice, with and without variables that nobody clamps: such a leaf is a perfect proxy
        of its factor.
        """
        done = set()
        for sets in self._parent_sets():
            for j, parents in enumerate(sets):
                if len(parents) and (j, tuple(parents)) not in done:
                    done.add((j, tuple(parents)))
                    yield from self._factors_of(self.data.x[:, j], parents, j)

    def _parent_sets(self) -> Iterator[list[Int[np.ndarray, " ..."]]]:
        may_cause = self.causes.may_cause
        options = [may_cause]
        if self.causes.position is None:
            clamped = ~self.causes.never_clamped[:, None]
            not_below = ~self.causes.ancestors.T & ~np.eye(len(may_cause), dtype=bool)
            options += [may_cause & clamped, not_below & clamped]
        for option in options:
            sets, _ = parent_sets(
                self.data, option, self.penalty, self.floor, nonlinear=self.nonlinear
            )
            yield sets

    def _factors_of(
        self, target: Float[np.ndarray, " samples"], parents: Int[np.ndarray, " ..."], j: int
    ) -> Iterator[Function]:
        weights = (~self.data.is_intervened[:, j]).astype(np.float64)
        if self.variable_fit.hidden and not self.factor_fit.hidden:
            yield from self._indices_of(target, parents, weights)
            return
        fitted = fit_function(
            self.data.x, parents, target, weights, self.factor_fit, seed=self.seed
        )
        yield unit_variance(fitted, self.data.x)

    def _indices_of(
        self,
        target: Float[np.ndarray, " samples"],
        parents: Int[np.ndarray, " ..."],
        weights: Float[np.ndarray, " samples"],
    ) -> Iterator[Function]:
        """Directions along which a smooth function of `parents` changes, for linear factors.

        If x_j = g(a·x), every gradient is a multiple of a; with several factors the gradients span
        their weights. E[∇f ∇fᵀ] has those directions as leading eigenvectors, and sparse vectors
        of their span are the factors themselves.
        """
        smooth = fit_function(
            self.data.x, parents, target, weights, self.variable_fit, seed=self.seed
        )
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
        yield from self._missing(residual, children)

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
        parents = self._select(target, weights, allowed)
        if len(parents):
            current = assembly.functions[order[k]]
            same = np.array_equal(parents, current.parents)
            start = current if same else None
            fitted = fit_function(
                self.data.x, parents, target, weights, self.factor_fit, start=start, seed=self.seed
            )
            yield unit_variance(fitted, self.data.x)

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
        self,
        target: Float[np.ndarray, " samples"],
        weights: Float[np.ndarray, " samples"],
        allowed: Int[np.ndarray, " ..."],
    ) -> Int[np.ndarray, " ..."]:
        """Weighted grow–shrink of additive features of the allowed variables."""
        features = additive_features(self.data.x[:, allowed], self.nonlinear)
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
        """z_k without what it shares with z_l, where both have parents in common.

        An anchor with two factors gives z_k + c z_l in place of z_k.
        """
        everything = np.ones(self.data.n_samples)
        for k in order:
            for other in order:
                shared = assembly.parents[:, k] & assembly.parents[:, other]
                own = np.flatnonzero(assembly.parents[:, k] & ~shared)
                if shared.any() and len(own):
                    target = assembly.values[:, k]
                    fitted = fit_function(
                        self.data.x, own, target, everything, self.factor_fit, seed=self.seed
                    )
                    yield unit_variance(fitted, self.data.x)

    def _missing(
        self, residual: Float[np.ndarray, "samples variables"], children: Selection
    ) -> Iterator[Function]:
        """What is left of a variable, where low-level parents still predict it."""
        for j in np.flatnonzero(self.causes.may_cause.any(axis=0)):
            weights = (~self.data.is_intervened[:, j]).astype(np.float64)
            if children.residual[j] < 2 * self.floor or not children.selected[j].any():
                continue
            parents = self._select(
                residual[:, j], weights, np.flatnonzero(self.causes.may_cause[:, j])
            )
            if len(parents):
                yield from self._factors_of(residual[:, j], parents, j)


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
