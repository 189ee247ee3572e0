"""`Admissible`: layers, known ancestors, prior knowledge and acyclicity, asked in one place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool

from ucad._types import BooleanMatrix, LayerOf, VariablesByFactors
from ucad.data import InterventionalData
from ucad.graph import boolean_product, topological_levels, transitive_closure
from ucad.solvers.prior import PriorKnowledge

__all__ = ["Admissible"]


@dataclass(frozen=True, eq=False)
class Admissible:
    """Who may act on whom, for all that is known.

    Attributes:
        ancestors: entry [i, j] says that variable i is known to be an ancestor of j.
        layer_of: the layer of every variable, or None; causes lie in earlier layers.
        order: a place for every variable that causes must precede, or None. Without noise and
            interventions an order found by a blurred score binds: no later score can tell.
        prior: edges known to be there or not, or None.
        barred: entry [i, j] says that variable i is not to be a low-level parent of j, or None.
        is_labelled: whether the factors asked about are those of the prior, in its order.
    """

    ancestors: BooleanMatrix
    layer_of: LayerOf | None = None
    order: LayerOf | None = None
    prior: PriorKnowledge | None = None
    barred: BooleanMatrix | None = None
    is_labelled: bool = False

    @classmethod
    def of(cls, data: InterventionalData, prior: PriorKnowledge | None = None) -> Admissible:
        """What layers and prior knowledge say, before any data are looked at."""
        n = data.n_variables
        made = cls(np.zeros((n, n), dtype=bool), data.layer_of, prior=prior)
        return made.with_ancestors(made.ancestors)

    def with_ancestors(self, ancestors: BooleanMatrix) -> Admissible:
        """The same with further known ancestors, unless they contradict what the prior requires."""
        required = self._required_pairs
        both = transitive_closure(ancestors | required)
        known = transitive_closure(required) if (both & both.T).any() else both
        return replace(self, ancestors=known)

    @property
    def position(self) -> LayerOf | None:
        """The layers, or the order, if there are any."""
        return self.order if self.layer_of is None else self.layer_of

    @cached_property
    def may_precede(self) -> BooleanMatrix:
        """Entry [i, j] says that i may be a low-level parent of j."""
        n = len(self.ancestors)
        possible: BooleanMatrix = ~self.ancestors.T & ~np.eye(n, dtype=bool)
        if self.position is not None:
            possible &= self.position[:, None] < self.position[None, :]
        if self.barred is not None:
            possible &= ~self.barred
        if self.prior is not None:
            possible &= boolean_product(self._may_be_parent, self._may_be_child.T)
        return possible

    def children_for(
        self, parents: Bool[np.ndarray, "variables factors"]
    ) -> Bool[np.ndarray, "variables factors"]:
        """The variables that may be children of a factor with these parents.

        Not those parents, not what is known to cause them, not what lies in their layer or before,
        and not what the prior forbids.
        """
        barred = boolean_product(~self.may_precede.T, parents) | parents
        if self.prior is None:
            return ~barred
        if self.is_labelled:
            return ~barred & self._may_be_child & ~(parents & ~self._may_be_parent).any(axis=0)
        fits = ~boolean_product((~self._may_be_parent).T, parents)
        return ~barred & boolean_product(self._may_be_child, fits)

    def parents_for(
        self, children: Bool[np.ndarray, "variables factors"]
    ) -> Bool[np.ndarray, "variables factors"]:
        """The variables that may be parents of a factor with these children."""
        barred = boolean_product(~self.may_precede, children) | children
        if self.prior is None:
            return ~barred
        if self.is_labelled:
            return ~barred & self._may_be_parent & ~(children & ~self._may_be_child).any(axis=0)
        fits = ~boolean_product((~self._may_be_child).T, children)
        return ~barred & boolean_product(self._may_be_parent, fits)

    def allows(self, Q: VariablesByFactors, R: VariablesByFactors) -> bool:
        """Whether a whole graph is legal: acyclic, and within all that is known."""
        used = Q.any(axis=0) & R.any(axis=0)
        if (R[:, used] & ~self.children_for(Q)[:, used]).any():
            return False
        if self.is_labelled and not self._obeys(Q, R):
            return False
        return topological_levels(boolean_product(R.T, Q)) is not None

    def labelled(self) -> Admissible:
        """The same for factors that are in the prior's order."""
        return replace(self, is_labelled=self.prior is not None)

    def _obeys(self, Q: VariablesByFactors, R: VariablesByFactors) -> bool:
        """Whether labelled factors have all edges that the prior requires and none it forbids."""
        assert self.prior is not None
        if (Q & ~self._may_be_parent).any() or (R & ~self._may_be_child).any():
            return False
        return not ((self.prior.required_parent & ~Q) | (self.prior.required_child & ~R)).any()

    @property
    def _required_pairs(self) -> BooleanMatrix:
        """Pairs of a required parent and a required child of one factor."""
        if self.prior is None:
            return np.zeros_like(self.ancestors)
        return boolean_product(self.prior.required_parent, self.prior.required_child.T)

    @property
    def _may_be_parent(self) -> VariablesByFactors:
        assert self.prior is not None
        return ~(self.prior.forbidden_parent | self.prior.required_child)

    @property
    def _may_be_child(self) -> VariablesByFactors:
        assert self.prior is not None
        return ~(self.prior.forbidden_child | self.prior.required_parent)
