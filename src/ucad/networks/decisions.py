"""Decisions: from a network's output to what it decides, one whole number per row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from ucad.errors import InvalidInputError

__all__ = [
    "AllLabels",
    "Decide",
    "OneLabel",
    "Trainable",
    "code_of",
    "decide_by",
    "decision",
    "decision_loss",
]

Decide: TypeAlias = Callable[[Tensor], Tensor]
"""From the network's output to what it decides, one whole number per row."""

MAX_LABELS = 62
"""Labels that fit into one whole number of 64 bits, with a sign and one bit to spare."""


@runtime_checkable
class Trainable(Protocol):
    """A decision that says how far a network's output is from a wanted one."""

    def __call__(self, output: Tensor) -> Tensor:
        """The decisions."""
        ...

    def loss(self, output: Tensor, wanted: Tensor) -> Tensor:
        """A cross-entropy, with gradients."""
        ...


def decision(output: Tensor) -> Int[Tensor, " rows"]:
    """Whether the one logit is positive, or which of several is the largest.

    >>> decision(torch.tensor([[0.3], [-1.0]])), decision(torch.tensor([[0.1, 0.9]]))
    (tensor([1, 0]), tensor([1]))
    """
    flat = output.reshape(len(output), -1)
    return (flat[:, 0] > 0).long() if flat.shape[1] == 1 else flat.argmax(dim=1)


@dataclass(frozen=True)
class OneLabel:
    """Whether one logit of several independent ones is positive.

    >>> OneLabel(1)(torch.tensor([[0.3, -2.0], [-1.0, 0.5]]))
    tensor([0, 1])

    Attributes:
        label: which, counted from 0.
    """

    label: int

    def __call__(self, output: Tensor) -> Int[Tensor, " rows"]:
        """1 where the label is given."""
        return (self._logit(output) > 0).long()

    def loss(self, output: Tensor, wanted: Tensor) -> Tensor:
        """The binary cross-entropy."""
        logit = self._logit(output)
        return nn.functional.binary_cross_entropy_with_logits(logit, wanted.to(logit))

    def _logit(self, output: Tensor) -> Tensor:
        flat = output.reshape(len(output), -1)
        if not 0 <= self.label < flat.shape[1]:
            raise InvalidInputError(
                f"The network gives {flat.shape[1]} labels, 0 to {flat.shape[1] - 1}. "
                f"Got label {self.label} instead."
            )
        return flat[:, self.label]


@dataclass(frozen=True)
class AllLabels:
    """Which of several independent labels are given, as the number Σ_k 2^k [logit k > 0].

    A decision is right only if all labels are.

    >>> AllLabels()(torch.tensor([[0.3, -2.0], [1.0, 0.5]]))
    tensor([1, 3])
    """

    def __call__(self, output: Tensor) -> Int[Tensor, " rows"]:
        """The set of labels, as a number."""
        flat = output.reshape(len(output), -1)
        _check_few(flat.shape[1])
        return ((flat > 0).long() * 2 ** torch.arange(flat.shape[1], device=flat.device)).sum(dim=1)

    def loss(self, output: Tensor, wanted: Tensor) -> Tensor:
        """The binary cross-entropy, mean over labels."""
        flat = output.reshape(len(output), -1)
        bits = (wanted[:, None] >> torch.arange(flat.shape[1], device=flat.device)) & 1
        return nn.functional.binary_cross_entropy_with_logits(flat, bits.to(flat))


def decide_by(text: str) -> Decide:
    """The decision that a text stands for: `largest`, `labels`, or `label:3`.

    >>> decide_by("label:3")
    OneLabel(label=3)
    """
    kind, _, number = text.partition(":")
    if text == "largest":
        return decision
    if text == "labels":
        return AllLabels()
    if kind == "label" and number.isdigit():
        return OneLabel(int(number))
    raise InvalidInputError(
        "A decision must be 'largest' (the largest logit, or the sign of the only one), 'labels' "
        f"(all labels of a multi-label network) or 'label:3' (one of them). Got '{text}' instead."
    )


def decision_loss(decide: Decide, output: Tensor, wanted: Tensor) -> Tensor:
    """The cross-entropy of the output against wanted decisions, with gradients."""
    if isinstance(decide, Trainable):
        return decide.loss(output, wanted)
    flat = output.reshape(len(output), -1)
    if flat.shape[1] == 1:
        return nn.functional.binary_cross_entropy_with_logits(flat[:, 0], wanted.to(flat))
    return nn.functional.cross_entropy(flat, wanted)


def code_of(outcome: np.ndarray) -> Int[np.ndarray, " rows"]:
    """Outcomes as whole numbers: a matrix of labels, rows × labels, as `AllLabels` writes them.

    >>> code_of(np.array([[1, 0], [1, 1]])), code_of(np.array([True, False]))
    (array([1, 3]), array([1, 0]))
    """
    if outcome.ndim == 1:
        return outcome.astype(np.int64)
    _check_few(outcome.shape[1])
    return (outcome != 0).astype(np.int64) @ (2 ** np.arange(outcome.shape[1], dtype=np.int64))


def _check_few(n_labels: int) -> None:
    if n_labels > MAX_LABELS:
        raise InvalidInputError(
            f"At most {MAX_LABELS} labels can be decided together. Got {n_labels}: take one of "
            "them, 'label:3' (OneLabel(3) in Python)."
        )
