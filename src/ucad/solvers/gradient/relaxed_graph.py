"""The relaxed graph G(Φ): logits over parent, child and no edge, and how graphs are drawn from it.

Logits have the axes (configurations, kinds of edge, variables, factors). The paper writes
W(Φ) ∈ ℝ^{n × m × 3}; the axis of three comes before n and m here because a softmax along a short
last axis is five times slower.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ucad._types import LayerOf
from ucad.errors import InvalidInputError
from ucad.solvers.gradient.settings import Sampling
from ucad.solvers.prior import PriorKnowledge

__all__ = [
    "Edge",
    "EdgeLogits",
    "PossibleEdges",
    "RelaxedGraph",
    "discrete_graph",
    "expected_graph",
    "gumbel_noise",
    "possible_edges",
    "sample_graph",
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


class RelaxedGraph(NamedTuple):
    """Q and R with entries in [0, 1], one pair per configuration."""

    Q: Float[Tensor, "*batch variables factors"]
    R: Float[Tensor, "*batch variables factors"]


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
        possible[Edge.PARENT] &= ~(prior.forbidden_parent | prior.required_child)
        possible[Edge.CHILD] &= ~(prior.forbidden_child | prior.required_parent)
        possible[Edge.NONE] &= ~(prior.required_parent | prior.required_child)
    impossible = np.argwhere(~possible.any(axis=0))
    if len(impossible):
        i, k = impossible[0].tolist()
        raise InvalidInputError(
            f"The prior knowledge must leave variable {i} something to be to factor {k}. It rules "
            "out parent, child and no edge, perhaps together with the layers. Drop one of the "
            "statements about them."
        )
    return torch.from_numpy(possible)


def expected_graph(logits: EdgeLogits) -> RelaxedGraph:
    """Returns the probabilities of parent and child edges, softmax(W), as Q and R. O(n m)."""
    probabilities = logits.softmax(dim=1)
    return RelaxedGraph(probabilities[:, Edge.PARENT], probabilities[:, Edge.CHILD])


def discrete_graph(logits: EdgeLogits, confidence: float) -> RelaxedGraph:
    """Returns Q and R as 0 and 1: P(edge) > confidence, then the likelier direction.

    The paper's "Post-processing".
    """
    Q, R = expected_graph(logits)
    exists = confidence < Q + R
    return RelaxedGraph((exists & (Q >= R)).to(Q), (exists & (Q < R)).to(Q))


def sample_graph(logits: EdgeLogits, noise: EdgeLogits, sampling: Sampling) -> RelaxedGraph:
    """Draws a graph by the Gumbel-softmax at temperature 1: softmax(W + g), g standard Gumbel.

    Straight-through samples are one-hot and pass the gradient of the soft ones (the paper).

    Cost: O(n m). Source: the paper's "Causal graph sampling".
    """
    sample = (logits + noise).softmax(dim=1)
    if sampling is Sampling.STRAIGHT_THROUGH:
        # A comparison with the largest takes a tenth of the time of `argmax` along a short axis.
        hard = (sample == sample.amax(dim=1, keepdim=True)).to(sample)
        sample = hard + (sample - sample.detach())  # exactly one-hot: a number minus itself is 0
    return RelaxedGraph(sample[:, Edge.PARENT], sample[:, Edge.CHILD])


def gumbel_noise(
    shape: tuple[int, ...], generator: torch.Generator, dtype: torch.dtype
) -> Float[Tensor, ...]:
    """Draws standard Gumbel noise, −log(−log u). Uniform floats: exponential ones cost five times.

    u keeps away from 0 and 1, where the noise would be infinite, by `UNIFORM_MARGIN`.
    """
    u = torch.rand(shape, generator=generator, device=generator.device)
    return u.clamp_(UNIFORM_MARGIN, 1 - UNIFORM_MARGIN).log_().neg_().log_().neg_().to(dtype)
