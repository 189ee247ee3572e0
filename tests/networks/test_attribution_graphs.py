"""Attribution graphs that the test makes: groups of features that act as one are found again."""

import json

import pytest

from tests.networks.made_graphs import document
from ucad.cli import main
from ucad.errors import FormatError, InvalidInputError
from ucad.networks.attribution_graphs import (
    Supernode,
    read_attribution_graph,
    write_supernodes,
)
from ucad.networks.supernodes import group_nodes


@pytest.fixture
def file(tmp_path):
    made, _ = document()
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(made))
    return path


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
