"""The relaxed graph G(Φ): logits over parent, child and no edge, and how graphs are drawn from it.

Logits have the axes (configurations, kinds of edge, variables, factors). The paper writes
W(Φ) ∈ ℝ^{n × m × 3}; the axis of three comes before n and m here because a softmax along a short
last axis is five times slower.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ucad._types import LayerOf
from ucad.errors import InvalidInputError
from ucad.solvers.prior import PriorKnowledge

__all__ = [
    "Edge",
    "EdgeLogits",
    "PossibleEdges",
    "RelaxedGraph",
    "Sampling",
    "TemperatureSchedule",
    "edge_probabilities",
    "gumbel_noise",
    "possible_edges",
    "sample_graph",
    "without_impossible",
]

EdgeLogits: TypeAlias = Float[Tensor, "configurations kinds variables factors"]
"""W(Φ), one logit for each kind of edge of every pair of a variable and a factor."""

PossibleEdges: TypeAlias = Bool[Tensor, "kinds variables factors"]
"""Which kinds of edge are not ruled out."""


UNIFORM_MARGIN = 2**-24
"""Distance that uniform numbers keep from 0 and 1: the spacing of single precision below 1."""


class Edge(IntEnum):
    """What a variable is to a factor; the index of its logit."""

    PARENT = 0
    CHILD = 1
    NONE = 2


class Sampling(Enum):
    """How a graph is drawn: relaxed, relaxed without self-loops, or hard with a soft gradient."""

    SOFT = "soft"
    EXCLUSIVE = "exclusive"
    STRAIGHT_THROUGH = "straight_through"


class RelaxedGraph(NamedTuple):
    """Q and R with entries in [0, 1], one pair per configuration."""

    Q: Float[Tensor, "*batch variables factors"]
    R: Float[Tensor, "*batch variables factors"]


@dataclass(frozen=True, kw_only=True)
class TemperatureSchedule:
    """The temperature of the Gumbel-softmax, going geometrically from `start` to `end`.

    >>> TemperatureSchedule(start=1.0, end=0.25, epochs=100).at(50)
    0.5
    """

    start: float = 1.0
    end: float = 1.0
    epochs: int = 1

    def __post_init__(self) -> None:
        for name in ("start", "end", "epochs"):
            if getattr(self, name) <= 0:
                raise InvalidInputError(
                    f"The '{name}' setting of TemperatureSchedule must be above 0. "
                    f"Got {getattr(self, name)} instead."
                )

    def at(self, epoch: int) -> float:
        """Returns the temperature of an epoch."""
        progress = min(epoch / self.epochs, 1.0)
        return float(self.start ** (1 - progress) * self.end**progress)


def possible_edges(
    n_variables: int,
    n_factors: int,
    prior: PriorKnowledge | None = None,
    layer_of: LayerOf | None = None,
) -> PossibleEdges:
    """Says which kinds of edge are possible for each pair, kinds × variables × factors.

    Of a required edge the other kinds are ruled out, "no edge" among them. With layers, the first
    one has no parents and the last one no children.

    >>> required = np.array([[True], [False]])
    >>> possible = possible_edges(2, 1, PriorKnowledge(required_parent=required))
    >>> possible[:, :, 0].T.tolist()
    [[True, False, False], [True, True, True]]
    """
    possible = np.ones((len(Edge), n_variables, n_factors), dtype=bool)
    if layer_of is not None:
        possible[Edge.CHILD, layer_of == layer_of.min()] = False
        possible[Edge.PARENT, layer_of == layer_of.max()] = False
    if prior is not None:
        for edge, required, forbidden in [
            (Edge.PARENT, prior.required_parent, prior.forbidden_parent),
            (Edge.CHILD, prior.required_child, prior.forbidden_child),
        ]:
            if forbidden is not None:
                possible[edge] &= ~forbidden
            if required is not None:
                for other in set(Edge) - {edge}:
                    possible[other] &= ~required
    impossible = np.argwhere(~possible.any(axis=0))
    if len(impossible):
        i, k = impossible[0].tolist()
        raise InvalidInputError(
            f"The prior knowledge must leave variable {i} something to be to factor {k}. It rules "
            "out parent, child and no edge, perhaps together with the layers. Drop one of the "
            "statements about them."
        )
    return torch.from_numpy(possible)


def without_impossible(logits: EdgeLogits, possible: PossibleEdges) -> EdgeLogits:
    """Returns the logits with −∞ where an edge is ruled out."""
    return logits.masked_fill(~possible, -torch.inf)


def edge_probabilities(logits: EdgeLogits) -> EdgeLogits:
    """Returns softmax(W): the probability of each kind of edge. O(n m)."""
    return logits.softmax(dim=1)


def sample_graph(
    logits: EdgeLogits, noise: EdgeLogits, temperature: float, sampling: Sampling
) -> RelaxedGraph:
    """Draws a graph by the Gumbel-softmax: softmax((W + g) / temperature), g standard Gumbel.

    Straight-through samples are one-hot and pass the gradient of the soft ones (the paper).
    Exclusive samples keep, for each pair, only the larger of parent and child: a soft sample that
    is a bit of both lets a variable explain itself through the factor.

    Cost: O(n m). Source: the paper's "Causal graph sampling".
    """
    soft = ((logits + noise) / temperature).softmax(dim=1)
    if sampling is Sampling.STRAIGHT_THROUGH:
        apply: Callable[[Tensor], Tensor] = _Hardened.apply
        soft = apply(soft)
    Q, R = soft[:, Edge.PARENT], soft[:, Edge.CHILD]
    if sampling is Sampling.EXCLUSIVE:
        is_parent = (Q > R).to(Q)
        return RelaxedGraph(Q * is_parent, R * (1 - is_parent))
    return RelaxedGraph(Q, R)


def gumbel_noise(
    shape: tuple[int, ...], generator: torch.Generator, dtype: torch.dtype
) -> Float[Tensor, ...]:
    """Draws standard Gumbel noise, −log(−log u). Uniform floats: exponential ones cost five times.

    u keeps away from 0 and 1, where the noise would be infinite, by `UNIFORM_MARGIN`.
    """
    u = torch.rand(shape, generator=generator, device=generator.device)
    return u.clamp_(UNIFORM_MARGIN, 1 - UNIFORM_MARGIN).log_().neg_().log_().neg_().to(dtype)


class _Hardened(torch.autograd.Function):
    """One-hot at the largest entry of axis 1; the gradient passes as it is."""

    @staticmethod
    def forward(ctx: Any, soft: Tensor) -> Tensor:
        del ctx
        # A comparison with the largest takes a tenth of the time of `argmax` along a short axis.
        return (soft == soft.amax(dim=1, keepdim=True)).to(soft)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> Tensor:
        del ctx
        return upstream
