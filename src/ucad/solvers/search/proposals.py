"""Candidate factors: what a variable is a function of, and how to better the factors at hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from ucad._types import BooleanMatrix, FactorSamples, VariableSamples
from ucad.data import InterventionalData
from ucad.graph import boolean_product
from ucad.solvers.search.assembly import Assembly, Order
from ucad.solvers.search.causes import N_CANDIDATES, Causes, parent_sets
from ucad.solvers.search.disentangle import remainder
from ucad.solvers.search.functions import Function, Regression, unit_variance
from ucad.solvers.search.moments import N_FUNCTIONS, additive_features, explained_nats
from ucad.solvers.search.reading import Reader
from ucad.solvers.search.refinement import pseudo_target
from ucad.solvers.search.regression import Problems, Selection, grow_shrink
from ucad.solvers.search.settings import FitSettings
from ucad.solvers.search.sparse import fit_sparse_function

__all__ = ["Proposer"]

TWIN = 0.95

Variables = Int[np.ndarray, " ..."]


@dataclass(frozen=True, eq=False)
class Proposer:
    """Makes candidate factors, all of unit variance.

    Attributes:
        data: the samples.
        causes: who may cause whom.
        settings: the model class and the score.
        tried: pairs of factors that have been disentangled already.
        pooled: factors fitted to their children already, with all factors of those children.
    """

    data: InterventionalData
    causes: Causes
    settings: FitSettings
    tried: set[tuple[Function, ...]] = field(default_factory=set)
    pooled: set[tuple[Function, frozenset[tuple[int, Function]]]] = field(default_factory=set)

    @cached_property
    def reader(self) -> Reader:
        """What reads factors off variables."""
        return Reader(self.data, self.causes, self.settings)

    def anchors(self) -> Iterator[Function]:
        """E[x_j | parents] of every variable: for an out-anchor, its factor.

        Lemma "Reading Q, R in A" for functions. Where no order is known, the parents are looked
        for again without variables that nobody clamps, since such a leaf is a proxy of its factor:
        without all of them, those that all but equal the target, or those that are no roots; and
        more freely where nothing was found.
        """
        yield from self._known_anchors()
        done: set[tuple[int, tuple[int, ...]]] = set()
        reader, first = self.reader, self.causes.may_cause
        for may_cause in self._options(done):
            sets, _ = self._parent_sets(may_cause, self.data.x)
            for j, parents in enumerate(sets):
                pair = (j, tuple(parents.tolist()))
                if len(parents) and pair not in done:
                    done.add(pair)
                    allowed, widen = np.flatnonzero(may_cause[:, j]), may_cause is first
                    yield from reader.factors_of_variable(j, parents, allowed, widen=widen)
        if self.settings.nonlinear and self.causes.position is None:
            yield from self._of_hidden_parents(done)

    def _of_hidden_parents(self, done: set[tuple[int, tuple[int, ...]]]) -> Iterator[Function]:
        """E[x_j | x_i] where no parents were found and all functions of x_i together explain x_j.

        A function that goes up and down needs several, and none of them pays alone.
        """
        gains = explained_nats(self.data.x, self.data.x, self.data.is_intervened, nonlinear=True)
        possible = self.causes.not_below.T & (gains > self.settings.penalty + N_FUNCTIONS)
        for j, parents in done:
            possible[j] = False
            possible[list(parents), j] = False
        for j in np.flatnonzero(possible.any(axis=1)).tolist():
            allowed = np.flatnonzero(possible[j])
            best = allowed[[np.argmax(gains[j, allowed])]]
            yield from self.reader.factors_of_variable(j, best, allowed, widen=False)

    def improvements(self, assembly: Assembly, order: Order) -> Iterator[Function]:
        """Better versions of the chosen factors, and factors that seem to be missing."""
        children = assembly.children(order)
        residual = self._residual(assembly, order, children)
        for k in range(len(order)):
            yield from self._pooled(assembly, order, k, children, residual)
        yield from self._disentangled(assembly, order)
        yield from self.missing(residual, len(order))

    def missing(self, residual: VariableSamples, n_proposals: int) -> Iterator[Function]:
        """What is left of those variables of which low-level parents predict most that is left."""
        sets, gains = self._parent_sets(self.causes.may_cause, residual)
        for j in np.argsort(-gains, kind="stable")[:n_proposals]:
            if len(sets[j]):
                allowed = np.flatnonzero(self.causes.may_cause[:, j])
                yield from self.reader.factors_of(residual[:, j], sets[j], allowed, int(j))

    def of_one_parent(self, residual: VariableSamples, n_proposals: int) -> Iterator[Function]:
        """What is left of a variable as a function of the one variable that explains most of it."""
        gains = explained_nats(self.data.x, residual, self.data.is_intervened, nonlinear=True)
        gains[~self.causes.not_below.T] = 0.0
        best = gains.argmax(axis=1)
        for j in np.argsort(-gains.max(axis=1), kind="stable")[:n_proposals].tolist():
            yield from self.reader.factors_of(residual[:, j], best[[j]], best[[j]], j)

    def _known_anchors(self) -> Iterator[Function]:
        """E[x_j | parents] of children the prior gives to one factor, with its required parents."""
        prior = self.causes.prior
        if prior is None or not prior.anchored.any():
            return
        open_to = self.causes.may_cause & boolean_product(prior.parent, prior.anchored.T)
        sets, _ = self._parent_sets(open_to, self.data.x)
        for j, k in np.argwhere(prior.anchored):
            parents = np.union1d(sets[j], np.flatnonzero(prior.required[:, k]))
            if len(parents):
                allowed = np.union1d(np.flatnonzero(open_to[:, j]), parents)
                yield from self.reader.factors_of_variable(int(j), parents, allowed, widen=False)

    def _options(self, done: set[tuple[int, tuple[int, ...]]]) -> Iterator[BooleanMatrix]:
        """Who may cause whom, in ever other ways; `done` fills up on the way."""
        may_cause = self.causes.may_cause
        yield may_cause
        if self.causes.position is None:
            clamped = ~self.causes.never_clamped[:, None]
            is_root = np.ones((len(may_cause), 1), dtype=bool)
            is_root[[j for j, _ in done]] = False
            twin = np.abs(np.corrcoef(self.data.x.T)) > TWIN
            yield may_cause & (clamped | ~twin)
            yield may_cause & (clamped | is_root)
            yield may_cause & clamped
            without = np.ones(len(may_cause), dtype=bool)
            without[[j for j, _ in done]] = False
            yield self.causes.not_below & clamped & without

    def _parent_sets(
        self, may_cause: BooleanMatrix, targets: VariableSamples
    ) -> tuple[list[Variables], Float[np.ndarray, " variables"]]:
        return parent_sets(self.data, may_cause, self.settings, targets)

    def _residual(self, assembly: Assembly, order: Order, children: Selection) -> VariableSamples:
        """What the chosen factors leave of every variable; 0 where it is clamped."""
        left = self.data.x - _additive(assembly.values, order, children, assembly.n_functions)
        free = ~self.data.is_intervened
        mean = (left * free).sum(axis=0) / np.maximum(free.sum(axis=0), 1)
        return np.where(free, left - mean, 0.0)

    def _pooled(
        self,
        assembly: Assembly,
        order: Order,
        k: int,
        children: Selection,
        residual: VariableSamples,
    ) -> Iterator[Function]:
        """Factor k fitted to what all its children say of it, parents chosen anew."""
        made = children.selected.reshape(len(residual.T), -1, assembly.n_functions)
        made = np.any(made, axis=2)
        its = np.flatnonzero(made[:, order[k]])
        allowed = self._possible_parents(made, order, k)
        current = assembly.functions[order[k]]
        theirs = {(int(j), assembly.functions[c]) for j in its for c in np.flatnonzero(made[j])}
        if not len(its) or not len(allowed) or (current, frozenset(theirs)) in self.pooled:
            return
        self.pooled.add((current, frozenset(theirs)))
        z = assembly.values[:, order[k]]
        slope = _slope(assembly, order[k], children, its) * ~self.data.is_intervened[:, its]
        precision = 1.0 / children.residual[its]
        regression = pseudo_target(z, slope, residual[:, its], precision)
        allowed = self._promising(regression, allowed, current.parents)
        parents = self._select(regression, allowed)
        if self.settings.factor_fit.hidden:
            parents = np.union1d(parents, np.intersect1d(current.parents, allowed))
        if len(parents):
            fitted = fit_sparse_function(
                self.data, parents, regression, allowed, self.settings.factor_fit, start=current
            )
            yield unit_variance(fitted, self.data.x)

    def _possible_parents(self, made: BooleanMatrix, order: Order, k: int) -> Variables:
        """Variables that no factor from k on makes, and that no child of k precedes."""
        is_child = made[:, order[k]]
        if self.causes.position is not None:
            first = self.causes.position[is_child].min(initial=np.iinfo(np.int64).max)
            possible = self.causes.position < first
        else:
            made_later = made[:, list(order[k:])].any(axis=1)
            possible = ~(made_later | self.causes.ancestors[is_child].any(axis=0))
            if self.settings.nonlinear:
                possible &= self.causes.may_cause[:, is_child].any(axis=1)
        if self.causes.prior is not None:
            possible &= self.causes.prior.pairs[:, is_child].all(axis=1)
        return np.flatnonzero(possible)

    def _promising(
        self, regression: Regression, allowed: Variables, current: Variables
    ) -> Variables:
        """At most k of very many possible parents: the current ones and the most correlated."""
        if len(allowed) <= N_CANDIDATES:
            return allowed
        x = self.data.x[:, allowed]
        weighted = regression.weights * (regression.target - regression.target.mean())
        strength = np.abs(weighted @ (x - x.mean(axis=0))) / x.std(axis=0)
        strength[np.isin(allowed, current)] = np.inf
        return np.sort(allowed[np.argsort(-strength, kind="stable")[:N_CANDIDATES]])

    def _select(self, regression: Regression, allowed: Variables) -> Variables:
        """Weighted grow–shrink of additive features of the allowed variables."""
        target, weights = regression
        features = additive_features(self.data.x[:, allowed], self.settings.factor_fit.hidden > 0)
        width = features.shape[2]
        both = np.concatenate([features.reshape(len(target), -1), target[:, None]], axis=1)
        share = weights / weights.sum()
        both = ((both - share @ both) * np.sqrt(share)[:, None]).astype(np.float32)
        gram = (both.T @ both).astype(np.float64)
        gram[np.diag_indices_from(gram)] += self.settings.floor
        count = np.array([float((weights > 0).sum())])
        everything = np.ones((1, gram.shape[0] - 1), dtype=bool)
        one = Problems(gram[None], count, np.array([0]), everything)
        found = grow_shrink(one, self.settings.penalty)
        return allowed[np.unique(np.flatnonzero(found.selected[0]) // width)]

    def _disentangled(self, assembly: Assembly, order: Order) -> Iterator[Function]:
        """h(x) = z_k − c z_l without the parents that z_k and z_l share.

        An anchor with two factors gives z_k + c z_l in place of z_k.
        """
        for k in order:
            for other in order:
                shared = assembly.parents[:, k] & assembly.parents[:, other]
                own = np.flatnonzero(assembly.parents[:, k] & ~shared)
                pair = (assembly.functions[k], assembly.functions[other])
                if shared.any() and len(own) and pair not in self.tried:
                    self.tried.add(pair)
                    z, taken = assembly.values[:, k], assembly.values[:, other]
                    yield remainder(self.data, z, taken, own, self.settings)


def _additive(
    values: FactorSamples, order: Order, children: Selection, n_functions: int
) -> VariableSamples:
    """What the additive regressions on the chosen factors predict of every variable."""
    width = n_functions
    chosen = [c * width + f for c in order for f in range(width)]
    features = additive_features(values[:, order], width > 1).reshape(len(values), -1)
    predicted: VariableSamples = features @ children.coefficients[:, chosen].T
    return predicted


def _slope(
    assembly: Assembly, candidate: int, children: Selection, its: Variables
) -> Float[np.ndarray, "samples children"]:
    """The derivative of the predictions of some variables in one factor."""
    width, step = assembly.n_functions, 1e-4
    coefficients = children.coefficients[its, candidate * width : (candidate + 1) * width]
    z = assembly.values[:, [candidate]]
    ahead, behind = (additive_features(z + h, width > 1)[:, 0] for h in (step, -step))
    slope: Float[np.ndarray, "samples children"] = (ahead - behind) @ coefficients.T / (2 * step)
    return slope
