"""Attribution graphs of circuit-tracer: read the JSON, and write groups of nodes back into it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from jaxtyping import Float

from ucad.errors import FormatError, InvalidInputError, did_you_mean
from ucad.files import parse_json, read_json, write_text
from ucad.schema import PLAIN, Optional, check_shape

__all__ = [
    "AttributionGraph",
    "AttributionNode",
    "Supernode",
    "read_attribution_graph",
    "write_supernodes",
]

NOT_FEATURES = ("embedding", "logit", "mlp reconstruction error")
"""Kinds of nodes that are no features of a transcoder."""

MAX_NODES = 20_000
"""Nodes of a graph: their weights are a matrix, which takes 3 GiB then. Pruned graphs, as viewers
show them, have some hundreds."""

MAX_WEIGHT = 1e100
"""The largest effect: squares of it are added up."""

_NODE = {
    "node_id": str,
    "ctx_idx": Optional(int),
    "feature_type": Optional(str),
    "influence": Optional((float, NoneType)),
}
_LINK = {"source": str, "target": str, "weight": Optional(float)}
_SHAPE = {
    "nodes": [_NODE],
    "links": [_LINK],
    "metadata": Optional({"prompt_tokens": Optional([PLAIN])}),
    "qParams": Optional(({str: object}, NoneType)),
}
_GROUPS = [[str]]


@dataclass(frozen=True)
class AttributionNode:
    """One node: a feature at a token, a token's embedding, an error term, or a logit.

    Attributes:
        node_id: its name in the file.
        layer: as written there: a number, or E for embeddings.
        position: the token.
        kind: its `feature_type`.
        label: what people call it, if anything.
        influence: its share of the logits' attribution, if the file says so.
    """

    node_id: str
    layer: str
    position: int
    kind: str
    label: str = ""
    influence: float | None = None

    @property
    def is_feature(self) -> bool:
        """Whether it is a feature of a transcoder."""
        return self.kind not in NOT_FEATURES


@dataclass(frozen=True)
class Supernode:
    """Nodes that are shown, and meant, as one.

    Attributes:
        name: of the group.
        members: node ids.
    """

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class AttributionGraph:
    """What circuit-tracer found about one prompt: a weighted acyclic graph of linear effects.

    Attributes:
        nodes: in the order of the file.
        weights: direct effects; row i, column j is the effect of node i on node j.
        supernodes: groups that the file has.
        pinned: nodes that somebody picked.
        document: the file, with all that is not read here.
    """

    nodes: tuple[AttributionNode, ...]
    weights: Float[np.ndarray, "nodes nodes"]
    supernodes: tuple[Supernode, ...]
    pinned: tuple[str, ...]
    document: Mapping[str, Any]

    def index(self, node_id: str) -> int:
        """Where a node is."""
        ids = [node.node_id for node in self.nodes]
        if node_id not in ids:
            raise InvalidInputError(
                f"The attribution graph has no node '{node_id}'.{did_you_mean(node_id, ids)}"
            )
        return ids.index(node_id)

    def token(self, node: AttributionNode) -> str:
        """The text of a node's token, if the file has it."""
        tokens = self.document.get("metadata", {}).get("prompt_tokens", [])
        return str(tokens[node.position]) if 0 <= node.position < len(tokens) else ""

    def with_supernodes(self, groups: Sequence[Supernode]) -> AttributionGraph:
        """The graph with other groups, all of whose members are pinned, as viewers want it."""
        for group in groups:
            for member in group.members:
                self.index(member)
        members = [member for group in groups for member in group.members]
        if len(set(members)) != len(members):
            raise InvalidInputError("A node must be in one supernode at most.")
        pinned = tuple(dict.fromkeys([*self.pinned, *members]))
        return replace(self, supernodes=tuple(groups), pinned=pinned)


def read_attribution_graph(path: str | Path) -> AttributionGraph:
    """Reads a graph file of circuit-tracer or Neuronpedia.

    Raises:
        FormatError: the file is no such graph, or contradicts itself.
    """
    file = Path(path)
    if not file.exists():
        raise FormatError(f"There is no file '{file}'.")
    document = read_json(file)
    check_shape(document, _SHAPE, f"'{file}' is no attribution graph")
    if len(document["nodes"]) > MAX_NODES:
        raise FormatError(f"'{file}' has over {MAX_NODES} nodes. Prune the graph first.")
    nodes = tuple(_node(entry) for entry in document["nodes"])
    number = {node.node_id: i for i, node in enumerate(nodes)}
    if len(number) != len(nodes):
        raise FormatError(f"'{file}' is no attribution graph: two nodes have the same id.")
    settings = document.get("qParams") or {}
    groups = _list(settings, "supernodes")
    check_shape(groups, _GROUPS, f"'{file}' is no attribution graph: qParams.supernodes")
    return AttributionGraph(
        nodes,
        _weights(document["links"], number, file),
        tuple(Supernode(group[0], tuple(group[1:])) for group in groups if group),
        tuple(map(str, _list(settings, "pinnedIds"))),
        document,
    )


def write_supernodes(graph: AttributionGraph, path: str | Path) -> None:
    """Writes the file again with the graph's groups and pinned nodes; all else stays as it was.

    Groups go to `qParams.supernodes`, [name, node id, …] each, as text where the file had text.
    """
    settings = dict(graph.document.get("qParams") or {})
    groups = [[group.name, *group.members] for group in graph.supernodes]
    was_text = isinstance(settings.get("supernodes"), str)
    settings["supernodes"] = json.dumps(groups, ensure_ascii=False) if was_text else groups
    pinned = list(graph.pinned)
    was_text = isinstance(settings.get("pinnedIds"), str)
    settings["pinnedIds"] = ",".join(pinned) if was_text else pinned
    whole = {**graph.document, "qParams": settings}
    write_text(Path(path), json.dumps(whole, indent=1, ensure_ascii=False))


def _node(entry: Mapping[str, Any]) -> AttributionNode:
    influence = entry.get("influence")
    return AttributionNode(
        str(entry["node_id"]),
        str(entry.get("layer", "")),
        int(entry.get("ctx_idx", 0)),
        str(entry.get("feature_type", "")),
        str(entry.get("clerp") or ""),
        None if influence is None else float(influence),
    )


def _weights(
    links: Sequence[Mapping[str, Any]], number: Mapping[str, int], file: Path
) -> Float[np.ndarray, "nodes nodes"]:
    weights = np.zeros((len(number), len(number)))
    for link in links:
        for end in ("source", "target"):
            if link[end] not in number:
                raise FormatError(
                    f"'{file}' is no attribution graph: a link names a node '{link[end]}' that is "
                    "not there."
                )
        value = link.get("weight", 1.0)
        if not abs(value) <= MAX_WEIGHT:
            raise FormatError(f"'{file}' has a link whose weight is beyond {MAX_WEIGHT:g}.")
        weights[number[link["source"]], number[link["target"]]] += float(value)
    return weights


def _list(settings: Mapping[str, Any], name: str) -> list[Any]:
    """A list that viewers write as such, as JSON text, or with commas."""
    value = settings.get(name) or []
    if isinstance(value, list):
        return value
    try:
        found = parse_json(str(value))
    except ValueError:
        return [part for part in str(value).split(",") if part]
    return found if isinstance(found, list) else []
