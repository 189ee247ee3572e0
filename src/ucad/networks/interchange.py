"""Interchange scores: does the network do what the swapped concept says?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Int
from torch import Tensor

from ucad.errors import InvalidInputError, did_you_mean
from ucad.networks.decisions import Decide, code_of, decision
from ucad.networks.passes import Inputs, select_inputs
from ucad.networks.steering import Steering

__all__ = [
    "UNKNOWN",
    "Decide",
    "InterchangeScore",
    "Swap",
    "SwapPairs",
    "decision",
    "expected_by_lookup",
    "factor_swap",
    "interchange_score",
    "swap_pairs",
]

Swap: TypeAlias = Callable[[Inputs, Inputs], Tensor]
"""The network's output on base inputs, with something taken from the source inputs."""

UNKNOWN = -1
"""An expected decision that nobody knows."""

_CANDIDATES_PER_PAIR = 64
"""Random pairs of inputs drawn for each one that is wanted: enough where one in some dozens of them
differs in what is exchanged."""


@dataclass(frozen=True, eq=False)
class SwapPairs:
    """Pairs of inputs, and what the network should decide after the swap.

    Attributes:
        base: the input that is steered, by number.
        source: the input whose value of the concept is taken.
        expected: the right decision afterwards.
        changes: whether that differs from the right decision before.
    """

    base: Int[np.ndarray, " pairs"]
    source: Int[np.ndarray, " pairs"]
    expected: Int[np.ndarray, " pairs"]
    changes: Bool[np.ndarray, " pairs"]

    def __len__(self) -> int:
        return len(self.base)

    def select(self, rows: np.ndarray) -> SwapPairs:
        """Some of the pairs."""
        parts = (self.base, self.source, self.expected, self.changes)
        return SwapPairs(*(part[rows] for part in parts))

    def halves(self, seed: int = 0) -> tuple[SwapPairs, SwapPairs]:
        """Two parts without a common pair, as for fitting and scoring."""
        order = np.random.default_rng(seed).permutation(len(self))
        return self.select(order[: len(self) // 2]), self.select(order[len(self) // 2 :])


def swap_pairs(
    outcome: np.ndarray,
    expected: Callable[[np.ndarray, np.ndarray], np.ndarray],
    *,
    bases: np.ndarray | None = None,
    sources: np.ndarray | None = None,
    n_pairs: int = 2000,
    seed: int = 0,
) -> SwapPairs:
    """Draws pairs for one high-level variable: half should change the decision, half should not.

    >>> numbers = np.arange(100)
    >>> pairs = swap_pairs(                     # parity of multiples of 6
    ...     numbers % 6 == 0,
    ...     lambda base, source: (source % 2 == 0) & (base % 3 == 0),
    ...     bases=np.flatnonzero(numbers % 6 == 0), n_pairs=50,
    ... )
    >>> int(pairs.changes.sum()), set((pairs.source[pairs.changes] % 2).tolist())
    (25, {1})

    Args:
        outcome: the right decision for every input as it is; rows × labels for a set of labels.
        expected: the right decisions for base inputs that have the sources' value of the variable,
            given the numbers of both; UNKNOWN (−1) for pairs that are not to be drawn.
        bases: which inputs may be steered; all if not given. Leave out those on which the variable
            makes no difference, or on which no method can succeed.
        sources: which inputs values may be taken from; all if not given.
        n_pairs: how many in all.
        seed: of the draw.

    Raises:
        InvalidInputError: no swap ever changes the decision, or every swap does.
    """
    outcome = code_of(np.asarray(outcome))
    everything = np.arange(len(outcome))
    rng, total = np.random.default_rng(seed), n_pairs * _CANDIDATES_PER_PAIR
    base = rng.choice(everything if bases is None else np.asarray(bases), size=total)
    source = rng.choice(everything if sources is None else np.asarray(sources), size=total)
    base, source = base[base != source], source[base != source]
    wanted = np.asarray(expected(base, source)).astype(np.int64)
    known = wanted != UNKNOWN
    base, source, wanted = base[known], source[known], wanted[known]
    changes = wanted != outcome[base]
    rows = []
    for kind, should in (("changes", True), ("keeps", False)):
        found = np.flatnonzero(changes == should)
        if not len(found):
            raise InvalidInputError(
                f"Swap pairs must be of both kinds, and no swap {kind} the decision. "
                "Look at 'expected', 'bases' and 'sources'."
            )
        rows.append(found[: n_pairs // 2])
    kept = np.concatenate(rows)
    return SwapPairs(base[kept], source[kept], wanted[kept], changes[kept])


def expected_by_lookup(
    concepts: Mapping[str, np.ndarray], outcome: np.ndarray, swapped: str
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The `expected` of `swap_pairs` for an outcome that is a function of labelled concepts.

    The base's concepts with one taken from the source: what is the outcome of inputs that have
    just these? UNKNOWN where there is none; `swap_pairs` draws no such pair.

    >>> concepts = {"even": np.tile([1, 0, 1, 0], 2), "small": np.tile([1, 1, 0, 0], 2)}
    >>> expected = expected_by_lookup(concepts, np.tile([1, 0, 0, 0], 2), "even")
    >>> expected(np.array([1, 3]), np.array([2, 2])).tolist()
    [1, 0]

    Raises:
        InvalidInputError: there is no such concept, inputs with equal concepts differ in the
            outcome, or hardly any two inputs have equal concepts.
    """
    if swapped not in concepts:
        raise InvalidInputError(
            f"There is no concept '{swapped}'.{did_you_mean(swapped, concepts)}"
        )
    labels = np.stack([np.asarray(values) for values in concepts.values()], axis=1)
    outcome, column = code_of(np.asarray(outcome)), list(concepts).index(swapped)
    seen: dict[tuple[float, ...], int] = {}
    for row, result in zip(map(tuple, labels.tolist()), outcome.tolist(), strict=True):
        if seen.setdefault(row, result) != result:
            values = ", ".join(f"{n} = {v}" for n, v in zip(concepts, row, strict=True))
            raise InvalidInputError(
                f"The outcome must be a function of the concepts. Inputs with {values} have "
                f"different outcomes, {seen[row]} and {result}: name the concept that is missing."
            )

    if len(seen) > len(labels) / 2:
        raise InvalidInputError(
            f"The concepts must have few values, so that inputs share them. They have {len(seen)} "
            f"combinations on {len(labels)} inputs: any outcome would be a function of them."
        )

    def expected(base: np.ndarray, source: np.ndarray) -> np.ndarray:
        mixed = labels[base].copy()
        mixed[:, column] = labels[source, column]
        return np.array([seen.get(tuple(row), UNKNOWN) for row in mixed.tolist()])

    return expected


@dataclass(frozen=True)
class InterchangeScore:
    """Accuracy after a swap; doing nothing to a perfect network scores 0.5.

    Attributes:
        on_changes: over the pairs in which the decision should change.
        on_keeps: over those in which it should not.
        n_changes: how many pairs should change.
        n_keeps: how many should not.
    """

    on_changes: float
    on_keeps: float
    n_changes: int
    n_keeps: int

    @property
    def mean(self) -> float:
        """Of the two accuracies, with equal weight."""
        return (self.on_changes + self.on_keeps) / 2

    def __str__(self) -> str:
        return f"{self.mean:.3f} (change {self.on_changes:.3f}, keep {self.on_keeps:.3f})"


def interchange_score(
    swap: Swap, inputs: Inputs, pairs: SwapPairs, decide: Decide = decision
) -> InterchangeScore:
    """How often the decision after the swap is the expected one.

    Args:
        swap: what is done, such as `factor_swap(steering, "Z1")`.
        inputs: those that the pairs number.
        pairs: bases, sources and what to expect.
        decide: from the network's output to its decision.
    """
    output = swap(select_inputs(inputs, pairs.base), select_inputs(inputs, pairs.source))
    right = decide(output).cpu().numpy() == pairs.expected
    return InterchangeScore(
        on_changes=float(right[pairs.changes].mean()),
        on_keeps=float(right[~pairs.changes].mean()),
        n_changes=int(pairs.changes.sum()),
        n_keeps=int((~pairs.changes).sum()),
    )


def factor_swap(
    steering: Steering,
    factors: Sequence[str] | str,
    directions: Tensor | None = None,
) -> Swap:
    """The swap of factors through F_X."""
    return lambda base, source: steering.interchange(base, source, factors, directions).after.output
