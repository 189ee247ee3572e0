"""Decisions: from a network's output to what it decides, one whole number per row."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from ucad.errors import InvalidInputError

__all__ = [
    "Above",
    "AllLabels",
    "Decide",
    "OneLabel",
    "Trainable",
    "code_of",
    "decide_by",
    "decision",
    "decision_loss",
    "said_of",
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
    if sum(size > 1 for size in output.shape[1:]) > 1:
        raise InvalidInputError(
            f"Which output is the largest needs one row of them per input. Got {_shape(output)}: "
            "say which token counts, as read_output 'logits@-1' (--read-output @-1), or decide "
            "all of them as labels."
        )
    return (flat[:, 0] > 0).long() if flat.shape[1] == 1 else flat.argmax(dim=1)


@dataclass(frozen=True)
class Above:
    """How many of some values the only output of a network exceeds, as for regression.

    >>> Above((0.5, 1.5))(torch.tensor([[0.3], [1.0], [2.0]]))
    tensor([0, 1, 2])

    Attributes:
        values: in the output's own unit, ascending.
    """

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.values or list(self.values) != sorted(set(self.values)):
            raise InvalidInputError(
                "The values of 'above' must be ascending, as 'above:0.5,1.5'. "
                f"Got {', '.join(f'{one:g}' for one in self.values) or 'none'} instead."
            )

    def __call__(self, output: Tensor) -> Int[Tensor, " rows"]:
        """A number from 0 to that of the values."""
        return (self._beyond(output) > 0).sum(dim=1)

    def loss(self, output: Tensor, wanted: Tensor) -> Tensor:
        """The binary cross-entropy, mean over the values; the output's spread is its unit."""
        beyond = self._beyond(output)
        unit = beyond[:, 0].detach().std(correction=0).clamp_min(1e-6)
        is_above = wanted[:, None] > torch.arange(len(self.values), device=output.device)
        logits = _UNIT_STEEPNESS * beyond / unit
        return nn.functional.binary_cross_entropy_with_logits(logits, is_above.to(beyond))

    def _beyond(self, output: Tensor) -> Tensor:
        flat = output.reshape(len(output), -1)
        if flat.shape[1] != 1:
            raise InvalidInputError(
                f"'above' is for a network with one output. Got {_shape(output)}: say which "
                "counts with read_output (--read-output script.py:function)."
            )
        return flat - torch.tensor(self.values, device=flat.device, dtype=flat.dtype)


_UNIT_STEEPNESS = 5.0
"""Logits per standard deviation of a regression's output: it is decided with some certainty half
a deviation away from a value."""


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
    """The decision that a text stands for: `largest`, `labels`, `label:3`, or `above:0.5,1.5`.

    >>> decide_by("label:3"), decide_by("above:0.5")
    (OneLabel(label=3), Above(values=(0.5,)))
    """
    kind, _, number = text.partition(":")
    if text == "largest":
        return decision
    if text == "labels":
        return AllLabels()
    if kind == "label" and number.isdigit():
        return OneLabel(int(number))
    if kind == "above" and all(_NUMBER.fullmatch(one) for one in number.split(",")):
        return Above(tuple(map(float, number.split(","))))
    raise InvalidInputError(
        "A decision must be 'largest' (the largest logit, or the sign of the only one), 'labels' "
        "(all labels of a multi-label network), 'label:3' (one of them) or 'above:0.5,1.5' (how "
        f"many of these values the only output exceeds, for regression). Got '{text}' instead."
    )


_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")


def said_of(decide: Decide, output: Tensor) -> str:
    """What is taken for the network's decision, in a sentence, with what there is to say instead.

    Whether one output is a logit or a measurement, and whether several are classes or labels, is
    not to be seen in them: it must be said.

    >>> said_of(decision, torch.tensor([[0.5], [2.0], [-1.0], [1.0]]))[:57]
    'Decided by the sign of the only output, which is above 0 '

    Args:
        decide: the decision.
        output: of some inputs.
    """
    flat = output.detach().reshape(len(output), -1)
    if isinstance(decide, AllLabels):
        return f"Decided by all of {flat.shape[1]} labels: which of the outputs are above 0."
    if isinstance(decide, OneLabel):
        return f"Decided by label {decide.label} of {flat.shape[1]}: whether its output is above 0."
    span = f"it lies between {float(flat.min()):.3g} and {float(flat.max()):.3g}"
    if isinstance(decide, Above):
        values = ", ".join(f"{one:g}" for one in decide.values)
        return f"Decided by how many of the values {values} the only output exceeds; {span}."
    if decide is not decision:
        return "Decided by a function of the caller."
    if flat.shape[1] == 1:
        share = float((flat > 0).double().mean())
        return (
            f"Decided by the sign of the only output, which is above 0 on {share:.0%} of the "
            f"inputs; {span}. Where it is a measurement and no logit, say which values count: "
            "--decide above:0.5,1.5."
        )
    return (
        f"Decided by which of {flat.shape[1]} outputs is the largest. Where they are independent "
        "labels, say so: --decide labels."
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


def _shape(output: Tensor) -> str:
    return f"outputs of shape {tuple(output.shape)}"


def _check_few(n_labels: int) -> None:
    if n_labels > MAX_LABELS:
        raise InvalidInputError(
            f"At most {MAX_LABELS} labels can be decided together. Got {n_labels}: take one of "
            "them, 'label:3' (OneLabel(3) in Python)."
        )
