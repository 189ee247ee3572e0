"""Supernodes: which nodes of an attribution graph act as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from jaxtyping import Float

from ucad.errors import InvalidInputError
from ucad.networks.attribution_graphs import AttributionGraph, AttributionNode, Supernode

__all__ = ["Grouping", "group_nodes"]

N_PLACEBOS = 20
"""Random groupings of the same sizes that a grouping is compared with."""


@dataclass(frozen=True)
class Grouping:
    """Groups of nodes, and what they are worth.

    Attributes:
        groups: of two nodes or more.
        explained: share of the squared weights of grouped nodes that one pattern per group has:
            1 if the members of every group have proportional causes and effects.
        placebo: the same for random groups of the same sizes, the largest of twenty.
        single: nodes that were looked at and are in no group.
    """

    groups: tuple[Supernode, ...]
    explained: float
    placebo: float
    single: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{group.name}: {len(group.members)} nodes" for group in self.groups]
        lines.append(
            f"{len(self.groups)} groups; one pattern each explains {self.explained:.2f} of their "
            f"weights (random groups {self.placebo:.2f} at most); {len(self.single)} nodes alone."
        )
        return "\n".join(lines)


def group_nodes(
    graph: AttributionGraph,
    *,
    min_similarity: float = 0.5,
    only: Sequence[str] = (),
    max_nodes: int = 300,
    seed: int = 0,
) -> Grouping:
    """Groups features that have the same causes and the same effects.

    Every node has a pattern: its incoming weights and its outgoing weights, each of length 1. The
    two most similar groups (mean cosine between their members) are merged as long as that is at
    least `min_similarity`, unless the groups would then be a cycle: the graph of supernodes must
    be acyclic, as the graph is. Nodes of groups that the file has already are left alone.
    O(nodes³) at worst.

    Args:
        graph: from `read_attribution_graph`.
        min_similarity: mean cosine from which on groups are merged, −1 to 1.
        only: the nodes to group; pinned ones, or all features if none are pinned, if not given.
        max_nodes: the most influential ones are taken if there are more.
        seed: random seed of the placebos.
    """
    if not -1 <= min_similarity <= 1:
        raise InvalidInputError(
            f"'min_similarity' must be a cosine, −1 to 1. Got {min_similarity} instead."
        )
    chosen = _chosen(graph, only, max_nodes)
    patterns = _patterns(graph.weights, chosen)
    clusters = _merged(graph, chosen, patterns @ patterns.T, min_similarity)
    groups = [cluster for cluster in clusters if len(cluster) > 1]
    sizes, rng = [len(group) for group in groups], np.random.default_rng(seed)
    random = [_explained(patterns, _dealt(len(chosen), sizes, rng)) for _ in range(N_PLACEBOS)]
    named = tuple(_named(graph, [chosen[i] for i in group]) for group in groups)
    single = [graph.nodes[chosen[c[0]]].node_id for c in clusters if len(c) == 1]
    return Grouping(named, _explained(patterns, groups), max(random, default=0.0), tuple(single))


def _chosen(graph: AttributionGraph, only: Sequence[str], max_nodes: int) -> list[int]:
    grouped = {member for group in graph.supernodes for member in group.members}
    if only:
        wanted = [graph.index(node_id) for node_id in only]
    else:
        pinned = [i for i, node in enumerate(graph.nodes) if node.node_id in graph.pinned]
        wanted = [i for i in pinned if graph.nodes[i].is_feature]
        if len(wanted) < 2:
            wanted = [i for i, node in enumerate(graph.nodes) if node.is_feature]
    wanted = [i for i in wanted if graph.nodes[i].node_id not in grouped]
    strength = np.abs(graph.weights).sum(axis=1)
    wanted.sort(key=lambda i: -float(graph.nodes[i].influence or strength[i]))
    if len(wanted) < 2:
        raise InvalidInputError(
            f"At least two features that are in no supernode must be there. Got {len(wanted)}."
        )
    return sorted(wanted[:max_nodes])


def _patterns(
    weights: Float[np.ndarray, "nodes nodes"], chosen: Sequence[int]
) -> Float[np.ndarray, "chosen patterns"]:
    """Incoming and outgoing weights, each of length 1 (or 0), then both together."""

    def unit(rows: np.ndarray) -> np.ndarray:
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)

    return unit(np.concatenate([unit(weights[:, chosen].T), unit(weights[chosen])], axis=1))


def _merged(
    graph: AttributionGraph,
    chosen: Sequence[int],
    similarity: Float[np.ndarray, "chosen chosen"],
    min_similarity: float,
) -> list[list[int]]:
    """Average linkage; a merge that would close a cycle is not made."""
    clusters = {i: [i] for i in range(len(chosen))}
    quotient = nx.DiGraph(list(zip(*np.nonzero(graph.weights), strict=True)))
    quotient.add_nodes_from(range(len(graph.nodes)))
    mean = similarity.copy()
    np.fill_diagonal(mean, -np.inf)
    while len(clusters) > 1:
        a, b = (int(i) for i in np.unravel_index(mean.argmax(), mean.shape))
        if mean[a, b] < min_similarity:
            break
        if _path_through_others(quotient, chosen[a], chosen[b]):
            mean[a, b] = mean[b, a] = -np.inf
            continue
        n, m = len(clusters[a]), len(clusters[b])
        joined = (n * mean[a] + m * mean[b]) / (n + m)
        mean[a], mean[:, a] = joined, joined
        mean[b], mean[:, b], mean[a, a] = -np.inf, -np.inf, -np.inf
        clusters[a] += clusters.pop(b)
        quotient = nx.contracted_nodes(quotient, chosen[a], chosen[b], self_loops=False)
    return [sorted(cluster) for cluster in clusters.values()]


def _path_through_others(quotient: nx.DiGraph, a: int, b: int) -> bool:
    """Whether one reaches the other by way of a third: merged, they would be a cycle."""
    for start, end in ((a, b), (b, a)):
        later = set(quotient.successors(start)) - {end}
        if any(nx.has_path(quotient, other, end) for other in later):
            return True
    return False


def _explained(
    patterns: Float[np.ndarray, "chosen patterns"], groups: Sequence[Sequence[int]]
) -> float:
    """The first singular value's share of every group's squared patterns, over all groups."""
    first = total = 0.0
    for group in groups:
        values = np.linalg.svd(patterns[list(group)], compute_uv=False) ** 2
        first, total = first + float(values[0]), total + float(values.sum())
    return first / total if total > 0 else 0.0


def _dealt(n: int, sizes: Sequence[int], rng: np.random.Generator) -> list[list[int]]:
    parts = np.split(rng.permutation(n), np.cumsum(sizes))[: len(sizes)]
    return [part.tolist() for part in parts]


def _named(graph: AttributionGraph, members: Sequence[int]) -> Supernode:
    """The most common label, or layers and token."""
    nodes: list[AttributionNode] = [graph.nodes[i] for i in members]
    labels = Counter(node.label for node in nodes if node.label)
    if labels:
        name = labels.most_common(1)[0][0]
    else:
        layers = sorted({int(node.layer) for node in nodes if node.layer.isdecimal()})
        token = Counter(graph.token(node) or f"token {node.position}" for node in nodes)
        span = f"layers {layers[0]}–{layers[-1]}" if layers else "layer ?"
        name = f"{token.most_common(1)[0][0].strip()} ({span})"
    return Supernode(name, tuple(node.node_id for node in nodes))
