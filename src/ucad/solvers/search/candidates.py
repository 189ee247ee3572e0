"""Candidate factors: what variables are functions of, and better versions of chosen factors."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations

import numpy as np
from jaxtyping import Float, Int

from ucad._types import BooleanMatrix, VariableSamples
from ucad.data import InterventionalData
from ucad.graph import boolean_product
from ucad.scm.families import Function
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import unit_variance
from ucad.solvers.regression.pairs import best_pairs
from ucad.solvers.regression.parent_selection import fit_with_selection
from ucad.solvers.regression.stepwise import Selection
from ucad.solvers.search.causes import Causes, Columns, parent_sets
from ucad.solvers.search.factor_parents import likely_parents, select_parents
from ucad.solvers.search.known_candidates import KnownCandidates
from ucad.solvers.search.model import pseudo_target
from ucad.solvers.search.ordered_choice import Choice, Order
from ucad.solvers.search.remainder import own_parents, remainder
from ucad.solvers.search.residuals import Residuals
from ucad.solvers.search.sparser_sums import equal_functions, without_another
from ucad.solvers.search.turned_relations import Reading, turned_relations
from ucad.solvers.search.variable_regressions import VariableRegressions

__all__ = ["Candidates"]

TWIN = 0.95
"""Correlation above which a variable never acted on may be a copy of the factor it hangs on."""

MAX_PROXIES = 8
"""Variables never acted on that are left out in turn, since one may stand for the factor it hangs
on while others are causes."""

STEP = 1e-4
"""Of numerical derivatives along a factor of unit variance."""

Variables = Int[np.ndarray, " ..."]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Makes candidate factors, all of unit variance.

    Attributes:
        problem: the problem.
        causes: who may cause whom.
        separated: pairs of factors of which one was taken out of the other already.
        pooled: factors fitted to their children already, with all factors of those children.
    """

    problem: Problem
    causes: Causes
    separated: set[tuple[Function, ...]] = field(default_factory=set)
    pooled: set[tuple[Function, frozenset[tuple[int, Function]]]] = field(default_factory=set)

    @cached_property
    def regressions(self) -> VariableRegressions:
        """What reads factors off variables."""
        return VariableRegressions(self.problem, self.causes)

    @property
    def data(self) -> InterventionalData:
        """The samples."""
        return self.problem.data

    @property
    def _eliminates(self) -> bool:
        """Whether parents are selected backwards as well: at several features each it is too dear.

        Proposals by blankets have left the siblings out by then.
        """
        return self.causes.is_noisy and self.problem.is_linear

    def anchors(self) -> Iterator[Function]:
        """E[x_j | parents] of every variable: for an out-anchor, its factor.

        Lemma "Reading Q, R in A" for functions. Without noise, also those that are equal to one of
        them in every sample and have no more parents.
        """
        done: set[Reading] = set()
        if self.causes.is_noisy or not self.problem.is_linear:
            yield from self._read(done)
            return
        found = list(self._read(done))
        yield from found
        yield from equal_functions(self.problem, found, done)

    def _read(self, done: set[Reading]) -> Iterator[Function]:
        """The same as they are read off variables; `done` fills up on the way.

        The parents are selected under every proposal of who may cause whom; where mechanisms are
        not linear also without variables never acted on, since such a leaf is a proxy of its
        factor. Variables of few parents come first: by the lemma, the smallest sets of parents are
        those of anchors. A network is then fitted only to a variable of which the candidates
        before it leave something.
        """
        yield from self._known_anchors()
        first = self.causes.may_cause
        known = KnownCandidates(self.problem)
        for may_cause in self._readings(done):
            (sets, _), usable = self._parent_sets(may_cause), self._usable(may_cause)
            for j in self._smallest_first(sets):
                pair = (j, tuple(sets[j].tolist()))
                if not len(sets[j]) or pair in done:
                    continue
                done.add(pair)
                if self.problem.is_linear or known.leave_something(
                    j, may_cause[:, j], usable[:, j]
                ):
                    allowed, widen = np.flatnonzero(may_cause[:, j]), may_cause is first
                    yield from known.keeping(
                        self.regressions.factors_of_variable(j, sets[j], allowed, widen=widen)
                    )
        if self.regressions.is_searched and not self.problem.is_linear:
            yield from self._of_overlooked_parents(done)
            read = np.isin(np.arange(self.data.n_variables), [j for j, _ in done])
            yield from self._of_pairs(np.where(read, 0.0, self.data.x), self.data.n_variables)
        if self.regressions.is_searched and self.problem.is_linear and not self.causes.is_noisy:
            for j, chosen in turned_relations(self.problem, done):
                parents = np.array(chosen, dtype=np.int64)
                if len(parents):
                    yield from self.regressions.factors_of_variable(
                        j, parents, parents, widen=False
                    )

    def _usable(self, may_cause: BooleanMatrix) -> BooleanMatrix:
        """Whose functions may explain whom in a reading: short lists are no bar to them."""
        possible = self.problem.admissible.may_precede & (may_cause | ~self.causes.may_cause)
        evidence = self.causes.evidence
        return may_cause | (possible if evidence is None else possible & evidence.is_open)

    def _smallest_first(self, sets: Sequence[Variables]) -> list[int]:
        """The variables by the number of their parents; as they stand where all are read."""
        everyone = range(len(sets))
        return (
            [*everyone] if self.problem.is_linear else sorted(everyone, key=lambda j: len(sets[j]))
        )

    def _of_pairs(self, targets: VariableSamples, n_proposals: int) -> Iterator[Function]:
        """E[x_j | x_i, x_k] where a product predicts x_j, or what is left of it."""
        known = self.problem.admissible.may_precede
        pairs, nats = best_pairs(self.data.x, targets, self.data.is_left_out, known)
        for j in np.argsort(-nats, kind="stable")[:n_proposals].tolist():
            if nats[j] > 2 * self.problem.penalty:
                possible = np.flatnonzero(known[:, j])
                yield from self.regressions.factors_of(targets[:, j], pairs[j], possible, j)

    def _of_overlooked_parents(self, done: set[Reading]) -> Iterator[Function]:
        """E[x_j | x_i] where no parents were found and all functions of x_i together explain x_j.

        A function that goes up and down needs several, and none of them pays alone.
        """
        gains = self._alone(self.data.x)
        width = self.problem.reading_family.features(self.data.x[:1]).shape[2]
        gains[gains <= self.problem.penalty + width] = 0.0
        for j, parents in done:
            gains[j] = 0.0
            gains[list(parents), j] = 0.0
        for j in np.flatnonzero(gains.any(axis=1)).tolist():
            best = np.array([int(np.argmax(gains[j]))])
            allowed = np.flatnonzero(gains[j])
            yield from self.regressions.factors_of_variable(j, best, allowed, widen=False)

    def improvements(self, choice: Choice, order: Order) -> Iterator[Function]:
        """Better versions of the chosen factors, and factors that seem to be missing."""
        children = choice.children(order)
        residual = Residuals(self.problem, choice, order, children)
        for k in range(len(order)):
            yield from self._pooled(choice, order, k, children, residual)
        yield from self._separated(choice, order, children)
        yield from self.missing(residual, len(order))

    def missing(self, residual: Columns, n_proposals: int) -> Iterator[Function]:
        """What is left of those variables of which low-level parents predict most that is left."""
        sets, gains = self._parent_sets(self.causes.may_cause, residual)
        for j in np.argsort(-gains, kind="stable")[:n_proposals].tolist():
            if len(sets[j]):
                allowed = np.flatnonzero(self.causes.may_cause[:, j])
                left = residual(slice(j, j + 1))[:, 0]
                yield from self.regressions.factors_of(left, sets[j], allowed, j)
        if self.regressions.is_searched and not self.problem.is_linear:
            yield from self._of_pairs(residual(slice(None)), n_proposals)

    def of_one_parent(self, residual: VariableSamples, n_proposals: int) -> Iterator[Function]:
        """What is left of a variable as a function of the one variable that explains most of it."""
        gains = self._alone(residual)
        best = gains.argmax(axis=1)
        for j in np.argsort(-gains.max(axis=1), kind="stable")[:n_proposals].tolist():
            if gains[j, best[j]] > 0:
                one = best[[j]]
                yield from self.regressions.factors_of(residual[:, j], one, one, j)

    def _alone(self, targets: VariableSamples) -> Float[np.ndarray, "variables variables"]:
        """Nats that functions of each admissible variable alone explain of each target."""
        family = self.problem.reading_family
        gains = self.problem.explained_nats(self.data.x, targets, family)
        gains[~self.problem.admissible.may_precede.T] = 0.0
        return gains

    def _known_anchors(self) -> Iterator[Function]:
        """E[x_j | parents] of children the prior gives to one factor, with its required parents."""
        prior = self.problem.admissible.prior
        if prior is None or prior.required_child is None:
            return
        child = np.asarray(prior.required_child)
        anchored = child & (child.sum(axis=1, keepdims=True) == 1)
        open_to = self.causes.may_cause & boolean_product(
            self.problem.admissible.labelled().parents_for(child), anchored.T
        )
        sets, _ = self._parent_sets(open_to)
        for j, k in np.argwhere(anchored):
            parents = sets[j]
            if prior.required_parent is not None:
                parents = np.union1d(parents, np.flatnonzero(prior.required_parent[:, k]))
            if len(parents):
                allowed = np.union1d(np.flatnonzero(open_to[:, j]), parents)
                yield from self.regressions.factors_of_variable(
                    int(j), parents, allowed, widen=False
                )

    def _readings(self, done: set[Reading]) -> Iterator[BooleanMatrix]:
        """Who may cause whom, in ever other ways; `done` fills up on the way."""
        yield from self.causes.proposals
        if not self.regressions.is_searched or self.causes.never_acted_on.all():
            return
        may_cause, acted_on = self.causes.may_cause, ~self.causes.never_acted_on[:, None]
        if not self.problem.is_linear:
            twin = np.abs(np.corrcoef(self.data.x.T)) > TWIN
            yield may_cause & (acted_on | ~twin)
            for proxy in self._proxies(done):
                yield may_cause & (np.arange(len(may_cause)) != proxy)[:, None]
        yield may_cause & acted_on
        without = np.ones(len(may_cause), dtype=bool)
        without[[j for j, _ in done]] = False
        left = self.problem.admissible.may_precede & acted_on & without
        yield self.causes.shortlist.among(left)

    def _proxies(self, done: Collection[Reading]) -> list[int]:
        """The variables never acted on that were most often selected as parents."""
        often = np.bincount([i for _, parents in done for i in parents], minlength=1)
        often = np.pad(often, (0, self.data.n_variables - len(often)))
        often[~self.causes.never_acted_on] = 0
        first = np.argsort(-often, kind="stable")[:MAX_PROXIES]
        return [int(i) for i in first if often[i]]

    def _parent_sets(
        self, may_cause: BooleanMatrix, targets: Columns | None = None
    ) -> tuple[list[Variables], Float[np.ndarray, " variables"]]:
        return parent_sets(self.problem, may_cause, targets, backward=self._eliminates)

    def _pooled(
        self,
        choice: Choice,
        order: Order,
        k: int,
        children: Selection,
        residual: Columns,
    ) -> Iterator[Function]:
        """Factor k fitted to what all its children say of it, parents chosen anew."""
        made = choice.made(children)
        its = np.flatnonzero(made[:, order[k]])
        allowed = self._possible_parents(made, order, k)
        current = choice.functions[order[k]]
        theirs = {(int(j), choice.functions[c]) for j in its for c in np.flatnonzero(made[j])}
        if not len(its) or not len(allowed) or (current, frozenset(theirs)) in self.pooled:
            return
        self.pooled.add((current, frozenset(theirs)))
        z = choice.values[:, order[k]]
        root = (~self.data.is_left_out[:, its]).astype(np.float64)
        if self.problem.weights is not None:
            root = np.sqrt(self.problem.weights[:, its])
        slope = self._slope(choice, order[k], children, its) * root
        left = residual(its) * root
        regression = pseudo_target(z, slope, left, 1.0 / children.residual[its])
        allowed = likely_parents(self.data, regression, allowed, current.parents)
        parents = select_parents(self.problem, regression, allowed, backward=self._eliminates)
        if not self.problem.factor_family.is_affine:
            parents = np.union1d(parents, np.intersect1d(current.parents, allowed))
        if len(parents):
            fitter = self.problem.fitter(self.problem.factor_family)
            fitted = fit_with_selection(self.data, parents, regression, allowed, fitter, current)
            yield unit_variance(fitted, self.data.x)

    def _possible_parents(self, made: BooleanMatrix, order: Order, k: int) -> Variables:
        """Variables that no factor from k on makes, and that may cause every child of k."""
        is_child = made[:, order[k]]
        possible = self.problem.admissible.parents_for(is_child[:, None])[:, 0]
        if self.problem.admissible.position is None:
            possible &= ~made[:, list(order[k:])].any(axis=1)
            if not self.problem.is_linear:
                proposed = np.logical_or.reduce(self.causes.proposals)
                possible &= proposed[:, is_child].any(axis=1)
        return np.flatnonzero(possible)

    def _separated(self, choice: Choice, order: Order, children: Selection) -> Iterator[Function]:
        """h(x) = z_k − c z_l without the parents of z_k that z_l has too, or that show z_l.

        An anchor with two factors gives z_k + c z_l in place of z_k, with the parents of l or with
        a child of l that stands for them. A child of l may also be a parent that k really has.
        """
        made = choice.made(children)
        for k, other in permutations(order, 2):
            pair = (choice.functions[k], choice.functions[other])
            parents, theirs = choice.parents[:, k], choice.parents[:, other]
            ways = own_parents(parents, theirs, made[:, other])
            if not ways or pair in self.separated:
                continue
            self.separated.add(pair)
            yield from without_another(self.problem, *pair)
            for own in ways:
                yield remainder(self.problem, choice.values[:, k], choice.values[:, other], own)

    def _slope(
        self, choice: Choice, candidate: int, children: Selection, its: Variables
    ) -> Float[np.ndarray, "samples children"]:
        """The derivative of the predictions of some variables in one factor."""
        width, features = choice.n_functions, self.problem.variable_family.features
        coefficients = children.coefficients[its, candidate * width : (candidate + 1) * width]
        z = choice.values[:, [candidate]]
        ahead, behind = (features(z + h)[:, 0] for h in (STEP, -STEP))
        slope: Float[np.ndarray, "samples children"] = (
            (ahead - behind) @ coefficients.T / (2 * STEP)
        )
        return slope
