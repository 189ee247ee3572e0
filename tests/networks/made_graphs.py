"""Attribution graphs with groups of features that act as one."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ucad.networks.attribution_graphs import read_attribution_graph

GROUPS = {"capital": (2, 4), "Texas": (3, 5), "say Austin": (6, 3)}


def document(seed=0, **settings):
    """Three groups of features in layers 1, 1 and 2, each reading and writing one direction."""
    rng = np.random.default_rng(seed)
    kinds = [("E_1_0", "E", 0, "embedding"), ("E_2_1", "E", 1, "embedding")]
    features = {
        name: [f"{layer}_{100 * layer + k}_{k % 2}" for k in range(n)]
        for name, (layer, n) in GROUPS.items()
    }
    nodes = [
        {"node_id": i, "layer": layer, "ctx_idx": p, "feature_type": kind, "jsNodeId": i}
        for i, layer, p, kind in kinds
    ]
    for name, ids in features.items():
        for i in ids:
            layer, _, position = i.split("_")
            entry = {"node_id": i, "layer": layer, "ctx_idx": int(position)}
            nodes.append({**entry, "feature_type": "cross layer transcoder", "clerp": name})
    nodes += [
        {"node_id": logit, "layer": "9", "ctx_idx": 1, "feature_type": "logit"}
        for logit in ("9_7_1", "9_8_1")
    ]
    links = []

    def link(sources, targets, weight):
        for source in sources:
            for target in targets:
                value = weight * rng.uniform(0.5, 1.5) * (1 + 0.05 * rng.normal())
                links.append({"source": source, "target": target, "weight": value})

    link(["E_1_0"], features["capital"], 1.0)
    link(["E_2_1"], features["Texas"], 2.0)
    link(features["capital"], features["say Austin"], 1.0)
    link(features["Texas"], features["say Austin"], 1.0)
    link(features["Texas"], ["9_8_1"], 3.0)
    link(features["say Austin"], ["9_7_1"], 1.0)
    metadata = {"slug": "made", "scan": "none", "prompt_tokens": ["capital", " Dallas"]}
    defaults = {"pinnedIds": [], "supernodes": [], "linkType": "both"}
    return {
        "metadata": metadata,
        "qParams": defaults | settings,
        "nodes": nodes,
        "links": links,
    }, features


def graph_of(made):
    """The document as it is read from a file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "graph.json"
        path.write_text(json.dumps(made))
        return read_attribution_graph(path)
