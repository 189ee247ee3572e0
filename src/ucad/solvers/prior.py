"""What is known of the graph before any data: edges that must be, and edges that cannot be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize
from jaxtyping import Int

from ucad._types import VariablesByFactors
from ucad.errors import InvalidInputError

__all__ = ["PriorKnowledge"]


@dataclass(frozen=True, kw_only=True, eq=False)
class PriorKnowledge:
    """Required and forbidden edges between variables and factors; None means nothing is known.

    An in-anchor of factor k is a required parent of k that is forbidden to all other factors; see
    `with_anchors`.

    >>> one = np.array([[True], [False]])
    >>> PriorKnowledge(required_parent=one, forbidden_child=one).shape
    (2, 1)

    Attributes:
        required_parent: entry [i, k] says that variable i is a parent of factor k.
        required_child: entry [j, k] says that variable j is a child of factor k.
        forbidden_parent: entry [i, k] says that variable i is not a parent of factor k.
        forbidden_child: entry [j, k] says that variable j is not a child of factor k.
    """

    required_parent: VariablesByFactors | None = None
    required_child: VariablesByFactors | None = None
    forbidden_parent: VariablesByFactors | None = None
    forbidden_child: VariablesByFactors | None = None

    def __post_init__(self) -> None:
        shapes = {part.shape for part in self._given()}
        if len(shapes) != 1:
            raise InvalidInputError(
                "The arrays of PriorKnowledge must have one shape, variables × factors, and at "
                f"least one must be given. Got {sorted(shapes)} instead."
            )
        clash = _both(self.required_parent, self.forbidden_parent)
        clash |= _both(self.required_child, self.forbidden_child)
        clash |= _both(self.required_parent, self.required_child)
        if clash:
            raise InvalidInputError(
                "PriorKnowledge requires an edge that it also forbids, or one variable as both "
                "parent and child of a factor. Take one of the two entries out."
            )

    @classmethod
    def with_anchors(
        cls, in_anchor: VariablesByFactors, out_anchor: VariablesByFactors
    ) -> PriorKnowledge:
        """Knowledge of anchors: each belongs to its factor and to no other."""
        return cls(
            required_parent=in_anchor,
            required_child=out_anchor,
            forbidden_parent=in_anchor.any(axis=1, keepdims=True) & ~in_anchor,
            forbidden_child=out_anchor.any(axis=1, keepdims=True) & ~out_anchor,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of variables and of factors."""
        rows, columns = self._given()[0].shape
        return int(rows), int(columns)

    def relabelling(
        self, Q: VariablesByFactors, R: VariablesByFactors
    ) -> Int[np.ndarray, " factors"]:
        """For each factor named here the column of (Q, R) that agrees with it best."""
        agreement = np.zeros((self.shape[1], Q.shape[1]))
        for sign, known, edges in [
            (1, self.required_parent, Q),
            (1, self.required_child, R),
            (-1, self.forbidden_parent, Q),
            (-1, self.forbidden_child, R),
        ]:
            if known is not None:
                agreement += sign * known.T.astype(float) @ edges.astype(float)
        _, columns = scipy.optimize.linear_sum_assignment(-agreement)
        return np.asarray(columns)

    def imposed_on(
        self, Q: VariablesByFactors, R: VariablesByFactors
    ) -> tuple[VariablesByFactors, VariablesByFactors]:
        """(Q, R) with forbidden edges taken out and required ones put in, column by column."""
        Q, R = Q.copy(), R.copy()
        for edges, back, required, forbidden in [
            (Q, R, self.required_parent, self.forbidden_parent),
            (R, Q, self.required_child, self.forbidden_child),
        ]:
            if forbidden is not None:
                edges &= ~forbidden
            if required is not None:
                edges |= required
                back &= ~required
        return Q, R

    def _given(self) -> list[VariablesByFactors]:
        parts = (
            self.required_parent,
            self.required_child,
            self.forbidden_parent,
            self.forbidden_child,
        )
        return [part for part in parts if part is not None]


def _both(one: VariablesByFactors | None, other: VariablesByFactors | None) -> bool:
    return one is not None and other is not None and bool((one & other).any())
