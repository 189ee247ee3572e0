"""Edges of Q, R and A right, missing, extra or reversed, after the best relabelling of factors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.optimize
from jaxtyping import Bool

from ucad.errors import InvalidInputError
from ucad.metrics.checks import check_structure

__all__ = ["EdgeCounts", "StructureComparison", "best_relabelling", "compare_structure"]


@dataclass(frozen=True)
class EdgeCounts:
    """How the learned edges of one kind agree with the true ones.

    Attributes:
        right: in both graphs.
        missing: true edges with no learned edge between the two nodes.
        extra: learned edges with no true edge between the two nodes.
        reversed: true edges that were learned the other way round only.
        n_true: all true edges; right + missing + reversed.
        n_learned: all learned edges of this kind.
    """

    right: int
    missing: int
    extra: int
    reversed: int
    n_true: int
    n_learned: int

    @property
    def shd(self) -> int:
        """The structural Hamming distance: missing + extra + reversed."""
        return self.missing + self.extra + self.reversed

    @property
    def precision(self) -> float:
        """The share of learned edges that are right; 1 if there are none."""
        return self.right / self.n_learned if self.n_learned else 1.0

    @property
    def recall(self) -> float:
        """The share of true edges that were learned; 1 if there are none."""
        return self.right / self.n_true if self.n_true else 1.0

    def __str__(self) -> str:
        return (
            f"{self.right} of {self.n_true} right, {self.missing} missing, {self.extra} extra, "
            f"{self.reversed} reversed (precision {self.precision:.3f}, recall {self.recall:.3f})"
        )


@dataclass(frozen=True)
class StructureComparison:
    """A learned graph beside the true one.

    Attributes:
        Q: variable → factor edges.
        R: factor → variable edges.
        A: variable → variable edges; these do not depend on how factors are labelled.
        in_anchors: variables that feed one factor only, with that factor.
        out_anchors: variables that are fed by one factor only, with that factor.
        learned_of: for each true factor its learned partner, or None.
        unmatched_learned: learned factors without a true partner; their edges are extra.
    """

    Q: EdgeCounts
    R: EdgeCounts
    A: EdgeCounts
    in_anchors: EdgeCounts
    out_anchors: EdgeCounts
    learned_of: tuple[int | None, ...]
    unmatched_learned: tuple[int, ...]

    @property
    def shd(self) -> int:
        """The structural Hamming distance of the graph over variables and factors."""
        return self.Q.shd + self.R.shd

    @property
    def is_exact(self) -> bool:
        """Whether Q and R are right, edge by edge, up to relabelling factors."""
        return self.shd == 0 and len(self.learned_of) == self.n_learned_factors

    @property
    def anchors_right(self) -> bool:
        """Whether every factor has just the in- and out-anchors it should have."""
        return self.in_anchors.shd == 0 and self.out_anchors.shd == 0

    @property
    def n_learned_factors(self) -> int:
        """How many factors the learned graph has."""
        matched = [k for k in self.learned_of if k is not None]
        return len(matched) + len(self.unmatched_learned)

    @property
    def unmatched_true(self) -> tuple[int, ...]:
        """True factors without a learned partner; their edges are missing."""
        return tuple(k for k, learned in enumerate(self.learned_of) if learned is None)

    def __str__(self) -> str:
        left_over = [f"learned factor {k}" for k in self.unmatched_learned]
        left_over += [f"true factor {k}" for k in self.unmatched_true]
        return "\n".join(
            [
                f"SHD {self.shd}; {'exactly right' if self.is_exact else 'not exact'}; "
                f"anchors {'right' if self.anchors_right else 'not right'}",
                *(f"{name}: {getattr(self, name)}" for name in ("Q", "R", "A")),
                *([f"unmatched: {', '.join(left_over)}"] if left_over else []),
            ]
        )


def compare_structure(
    learned: tuple[npt.ArrayLike, npt.ArrayLike], true: tuple[npt.ArrayLike, npt.ArrayLike]
) -> StructureComparison:
    """Compares the learned (Q, R) with the true (Q, R), all (variables, factors).

    The factors are relabelled so that the SHD over variables and factors is smallest and, among
    those labellings, most edges are right. The numbers of factors may differ: then the smaller
    graph is filled up with factors that have no edges.

    Cost: O(variables · learned · true), and O(variables² · factors) for A = Q ⋄ Rᵀ.

    >>> Q, R = np.eye(3, 2, dtype=bool), np.eye(3, 2, k=-1, dtype=bool)
    >>> print(compare_structure((Q[:, ::-1], R[:, ::-1]), (Q, R)))
    SHD 0; exactly right; anchors right
    Q: 2 of 2 right, 0 missing, 0 extra, 0 reversed (precision 1.000, recall 1.000)
    R: 2 of 2 right, 0 missing, 0 extra, 0 reversed (precision 1.000, recall 1.000)
    A: 2 of 2 right, 0 missing, 0 extra, 0 reversed (precision 1.000, recall 1.000)
    """
    learned_Q, learned_R = check_structure(*learned, "learned")
    true_Q, true_R = check_structure(*true, "true")
    if len(learned_Q) != len(true_Q):
        raise InvalidInputError(
            "The learned and the true graph must have the same variables. "
            f"Got {len(learned_Q)} and {len(true_Q)} variables instead."
        )
    n_learned, n_true = learned_Q.shape[1], true_Q.shape[1]
    learned_A, true_A = learned_Q @ learned_R.T, true_Q @ true_R.T
    labels = best_relabelling((learned_Q, learned_R), (true_Q, true_R))
    size = len(labels)
    learned_Q, learned_R = (_pad(matrix, size)[:, labels] for matrix in (learned_Q, learned_R))
    true_Q, true_R = _pad(true_Q, size), _pad(true_R, size)
    return StructureComparison(
        Q=_count(learned_Q, true_Q, learned_R, true_R),
        R=_count(learned_R, true_R, learned_Q, true_Q),
        A=_count(learned_A, true_A, learned_A.T, true_A.T),
        in_anchors=_count_anchors(learned_Q, true_Q),
        out_anchors=_count_anchors(learned_R, true_R),
        learned_of=tuple(k if k < n_learned else None for k in labels[:n_true]),
        unmatched_learned=tuple(sorted(k for k in labels[n_true:] if k < n_learned)),
    )


def best_relabelling(
    learned: tuple[Bool[np.ndarray, "variables learned"], Bool[np.ndarray, "variables learned"]],
    true: tuple[Bool[np.ndarray, "variables true"], Bool[np.ndarray, "variables true"]],
) -> list[int]:
    """Returns for each true factor the learned one in its place, both filled up to equal number.

    >>> Q, R = np.eye(3, 2, dtype=bool), np.eye(3, 2, k=-1, dtype=bool)
    >>> best_relabelling((Q[:, ::-1], R[:, ::-1]), (Q, R))
    [1, 0]
    """
    size = max(learned[0].shape[1], true[0].shape[1])
    learned_Q, learned_R = (_pad(matrix, size).astype(np.int64) for matrix in learned)
    true_Q, true_R = (_pad(matrix, size).astype(np.int64) for matrix in true)
    right = true_Q.T @ learned_Q + true_R.T @ learned_R
    reversed_ = true_Q.T @ learned_R + true_R.T @ learned_Q
    n_edges = (true_Q + true_R).sum(axis=0)[:, None] + (learned_Q + learned_R).sum(axis=0)
    # An edge of one graph alone costs 1, a pair of reversed edges 1, a pair of equal ones 0.
    shd = n_edges - 2 * right - reversed_
    n_right_at_most = int(true_Q.sum() + true_R.sum()) + 1
    _, labels = scipy.optimize.linear_sum_assignment(shd * n_right_at_most - right)
    return [int(k) for k in labels]


def _pad(
    matrix: Bool[np.ndarray, "variables _"], n_factors: int
) -> Bool[np.ndarray, "variables _"]:
    return np.pad(matrix, ((0, 0), (0, n_factors - matrix.shape[1])))


def _count(
    learned: Bool[np.ndarray, "rows columns"],
    true: Bool[np.ndarray, "rows columns"],
    learned_back: Bool[np.ndarray, "rows columns"],
    true_back: Bool[np.ndarray, "rows columns"],
) -> EdgeCounts:
    """Counts edges; `*_back` hold the edges of the same node pairs in the other direction."""
    is_reversed = true & ~learned & learned_back & ~true_back
    explained = true_back & ~learned_back & learned & ~true
    return EdgeCounts(
        right=int(np.sum(learned & true)),
        missing=int(np.sum(true & ~learned & ~is_reversed)),
        extra=int(np.sum(learned & ~true & ~explained)),
        reversed=int(np.sum(is_reversed)),
        n_true=int(true.sum()),
        n_learned=int(learned.sum()),
    )


def _count_anchors(
    learned: Bool[np.ndarray, "variables factors"], true: Bool[np.ndarray, "variables factors"]
) -> EdgeCounts:
    nothing = np.zeros_like(true)
    return _count(_anchors(learned), _anchors(true), nothing, nothing)


def _anchors(
    edges: Bool[np.ndarray, "variables factors"],
) -> Bool[np.ndarray, "variables factors"]:
    return np.asarray(edges & (edges.sum(axis=1, keepdims=True) == 1))
