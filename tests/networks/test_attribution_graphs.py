"""Attribution graphs that the test makes: groups of features that act as one are found again."""

import json

import networkx as nx
import numpy as np
import pytest

from ucad.cli import main
from ucad.errors import FormatError, InvalidInputError
from ucad.networks.attribution_graphs import (
    Supernode,
    read_attribution_graph,
    write_supernodes,
)
from ucad.networks.supernodes import group_nodes

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


@pytest.fixture
def file(tmp_path):
    made, _ = document()
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(made))
    return path


def test_the_groups_that_act_as_one_are_found_and_beat_random_ones(file):
    _, features = document()
    found = group_nodes(read_attribution_graph(file))
    assert {frozenset(g.members) for g in found.groups} == {
        frozenset(ids) for ids in features.values()
    }
    assert {g.name for g in found.groups} == set(features)
    assert found.explained > 0.9 > found.placebo
    assert not found.single


@pytest.mark.parametrize("as_text", [False, True])
def test_groups_are_written_back_and_all_else_stays(tmp_path, as_text):
    made, features = document(**({"supernodes": "[]", "pinnedIds": ""} if as_text else {}))
    path, out = tmp_path / "graph.json", tmp_path / "grouped.json"
    path.write_text(json.dumps(made))
    graph = read_attribution_graph(path)
    write_supernodes(graph.with_supernodes(group_nodes(graph).groups), out)
    again = json.loads(out.read_text())
    assert isinstance(again["qParams"]["supernodes"], str) == as_text
    assert {k: v for k, v in again.items() if k != "qParams"} == {
        k: v for k, v in made.items() if k != "qParams"
    }
    assert again["qParams"]["linkType"] == "both"
    read = read_attribution_graph(out)
    assert {g.name for g in read.supernodes} == set(features)
    assert set(read.pinned) == {i for ids in features.values() for i in ids}
    with pytest.raises(InvalidInputError, match="At least two features"):
        group_nodes(read)


def test_a_group_is_never_a_cycle():
    """a → b → c with a and c alike: one group of a and c would cause b and be caused by it."""
    rng = np.random.default_rng(3)
    for seed in range(5):
        made, _ = document(seed)
        names = [n["node_id"] for n in made["nodes"] if n["layer"] in ("2", "3", "6")]
        rows = {name: k for k, name in enumerate(names)}
        for _ in range(15):
            a, b = sorted(rng.choice(names, size=2, replace=False), key=rows.__getitem__)
            made["links"].append({"source": a, "target": b, "weight": float(rng.normal())})
        graph = _graph(made)
        found = group_nodes(graph, min_similarity=-1.0)
        of = {m: g.name + g.members[0] for g in found.groups for m in g.members}
        quotient = nx.DiGraph()
        for link in made["links"]:
            source, target = (of.get(link[end], link[end]) for end in ("source", "target"))
            if source != target:
                quotient.add_edge(source, target)
        assert nx.is_directed_acyclic_graph(quotient)


def _graph(made):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.json"
        path.write_text(json.dumps(made))
        return read_attribution_graph(path)


def test_what_is_no_graph_is_refused(tmp_path, file):
    with pytest.raises(FormatError, match="no file"):
        read_attribution_graph(tmp_path / "none.json")
    for wrong, message in (
        ("not json", "not JSON"),
        ('{"nodes": []}', "no attribution graph"),
        ('{"nodes": [{"node_id": "a"}], "links": [{"source": "a", "target": "b"}]}', "'b'"),
        ('{"nodes": [{"node_id": "a"}, {"node_id": "a"}], "links": []}', "same id"),
    ):
        (tmp_path / "wrong.json").write_text(wrong)
        with pytest.raises(FormatError, match=message):
            read_attribution_graph(tmp_path / "wrong.json")
    graph = read_attribution_graph(file)
    with pytest.raises(InvalidInputError, match="no node '2_999_0'"):
        graph.with_supernodes([Supernode("x", ("2_999_0",))])
    with pytest.raises(InvalidInputError, match="cosine"):
        group_nodes(graph, min_similarity=2.0)


def test_the_command_groups_a_file(file, tmp_path, capsys):
    out = tmp_path / "out.json"
    with pytest.raises(SystemExit) as done:
        main(["supernodes", str(file), "-o", str(out)])
    assert done.value.code == 0
    assert "3 groups" in capsys.readouterr().out
    assert len(read_attribution_graph(out).supernodes) == 3
    with pytest.raises(SystemExit) as again:
        main(["supernodes", str(file), "-o", str(out)])
    assert again.value.code == 2
