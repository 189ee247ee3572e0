"""Odd files beside a table, odd clamps, exports, comparisons and recordings: refused, or sound."""

import json

import networkx as nx
import numpy as np
import pytest

import ucad
from tests.hostile.beside import (
    attribution_graph,
    odd_file,
    prior_beside,
    spoil_one,
    spoilt_json,
    text_beside,
)
from tests.hostile.commands import cases, contents, copied, only_full, run, run_soundly
from tests.hostile.frames import NAMES
from tests.hostile.names import odd_names
from ucad.claims import certify
from ucad.data import InterventionalData
from ucad.graph import FactorGraph
from ucad.runs import Run, load_run, save_run
from ucad.simulate.random_models import MechanismRecipe, random_factor_scm
from ucad.solvers import FitStatus

CLAMPS = [
    "X1=1", "X1=-0", "X1=1e308", "X1=1e99", "X1=5e-324", "X1=nan", "X1=", "=1", "X1", "Z1=2",
    "Z1=1e9", "Z1=1e308", "Z2=-1", "Z3=0", "z1=1", "Z4=1", "X99=1", "x1=1", "X1=1,5", "X1==2",
    "X1=１", "X1=1_0", "X1=0x1", "X1 = 1", " X1=1", "X2=3", "X3=1", "X4=1", "", "-1", "X1=\x00",
    "X1=1e-320", "Z1=inf", "Z1=", "[/b]=1", "X1=+1", "X1=1e+5", "X16=2", "X15=0",
]  # fmt: skip
PREDICT = [
    ["--top", "1"], ["--top", "0"], ["--top", "-1"], ["--min-shift", "nan"], ["--min-shift", "-1"],
    ["--min-shift", "1e308"], ["--sort", "rise"], ["--sort", "zz"], ["--at", "batch=1"],
    ["--at", ""], ["--samples", "2"], ["--samples", "1"], ["--regimes"], ["--regimes", "--json"],
    ["--data", "nowhere.csv"], ["--regimes", "--data", "run/run.json"], ["--json"],
    ["--target", "x"], ["--samples", "1000000000"],
]  # fmt: skip


WRITERS = ["fit", "simulate", "export", "supernodes", "factors"]
UNWRITABLE = ["file/x", "/sys/x", "a" * 300]
KEPT = ["run", "mine.txt", "fifo", "."]


def named_run(names, folder):
    """A run of a small linear model whose variables have these names."""
    n = len(names)
    R = np.zeros((n, 1), dtype=bool)
    Q = np.zeros((n, 1), dtype=bool)
    Q[0], R[1:] = True, True
    recipe = MechanismRecipe(linear_factors=True, linear_variables=True, noise_scale=0.3)
    graph = FactorGraph(Q, R, variable_names=names)
    scm = random_factor_scm(graph, recipe, np.random.default_rng(0))
    data = InterventionalData.from_arrays(scm.sample(40, seed=1).x.numpy(), variable_names=names)
    status = FitStatus(converged=True, feasible=True, reason="Done.")
    save_run(Run(scm=scm, status=status, certificate=certify(scm, data), sample=data), folder)
    return scm


@pytest.mark.parametrize("seed", cases(6, 200))
def test_odd_clamps_are_refused_or_give_finite_numbers(tmp_path, monkeypatch, run_folder, seed):
    rng = np.random.default_rng(seed)
    copied(run_folder, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    words = rng.choice(CLAMPS, size=int(rng.integers(0, 4))).tolist()
    for at in rng.permutation(len(PREDICT))[: int(rng.integers(0, 3))]:
        words += PREDICT[at]
    before = contents(tmp_path)
    run_soundly("predict", "run", *words)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("seed", cases(3, 150))
def test_an_odd_file_beside_the_table_is_refused_before_any_work(
    tmp_path, monkeypatch, run_folder, seed
):
    rng = np.random.default_rng(seed)
    monkeypatch.chdir(tmp_path)
    copied(run_folder, tmp_path / "run")
    ucad.write(load_run(run_folder).sample, tmp_path / "t.csv")
    table = str(rng.choice(["gmt", "tsv", "csv"]))
    kinds = [("--gene-sets", table), ("--prior", "toml"), ("--layers", "csv")]
    option, ending = kinds[seed % 3]
    path = tmp_path / f"beside.{ending}"
    odd_file(rng, path, prior_beside(rng) if option == "--prior" else text_beside(rng))
    before = contents(tmp_path)
    said = run_soundly("fit", "t.csv", "--factors", "1", option, path.name)
    assert said.code == 2
    if option == "--gene-sets":
        said = run_soundly("report", "run", option, path.name)
        before |= (
            {"run/report.html": contents(tmp_path)["run/report.html"]} if not said.code else {}
        )
    elif option == "--prior" and "Say where to write" in said.err:
        said = run_soundly("factors", "t.csv", option, path.name, "--to", "1", "--quiet")
    assert contents(tmp_path) == before


@pytest.mark.parametrize("seed", cases(6, 200))
def test_an_odd_attribution_graph_is_refused_or_grouped(tmp_path, monkeypatch, seed):
    rng = np.random.default_rng(seed)
    monkeypatch.chdir(tmp_path)
    document = attribution_graph(rng)
    text = json.dumps(document) if seed % 3 == 0 else spoilt_json(rng, document)
    odd_file(rng, tmp_path / "g.json", text.encode("utf-8", "replace"))
    (tmp_path / "mine.json").write_text("mine")
    output = str(rng.choice(["new.json", "mine.json", "g.json", ".", "/dev/null", "a/b.json"]))
    options = [["--similarity", str(rng.choice(["0.5", "nan", "2", "-1", "1"]))]]
    options += [
        ["--nodes", "0", "9"],
        ["--max-nodes", str(rng.choice(["0", "1", "2"]))],
        ["--force"],
    ]
    words = options[int(rng.integers(len(options)))] if rng.random() < 0.4 else []
    before = contents(tmp_path)
    said = run_soundly("supernodes", "g.json", "-o", output, *words)
    if said.code == 2:
        assert contents(tmp_path) == before
    else:
        written = json.loads((tmp_path / output).read_text(), parse_constant=pytest.fail)
        assert written["nodes"] == json.loads(before["g.json"])["nodes"]


@pytest.mark.parametrize("to", ["graphml", "csv", "json", "dowhy"])
@pytest.mark.parametrize("seed", cases(1, 30))
def test_a_run_with_odd_names_is_exported_with_these_names_or_says_so(
    tmp_path, monkeypatch, to, seed
):
    import pandas as pd

    monkeypatch.chdir(tmp_path)
    names = odd_names(seed, 6)
    named_run(names, tmp_path / "run")
    said = run_soundly("export", "run", "--to", to, "-o", "out")
    assert said.code == 0, said.err
    nodes = {*names, *load_run(tmp_path / "run").scm.graph.factor_names}
    if to == "graphml":
        found = set(nx.read_graphml(tmp_path / "out"))
        assert len(found) == 7
        assert found == nodes or "GraphML cannot" in said.err
    elif to == "dowhy":
        assert set(nx.read_gml(tmp_path / "out" / "graph.gml")) == nodes
        head = pd.read_csv(tmp_path / "out" / "samples.csv", keep_default_na=False)
        assert set(head.columns) == nodes
    elif to == "csv":
        table = pd.read_csv(tmp_path / "out", keep_default_na=False)
        assert {*table.cause, *table.effect} == nodes
    else:
        assert json.loads((tmp_path / "out").read_text())["variables"] == list(names)


@pytest.mark.parametrize("to", ["csv", *map(only_full, ["graphml", "json", "dowhy"])])
@pytest.mark.parametrize("target", ["run/run.json", "mine", "loop", *map(only_full, KEPT)])
@pytest.mark.parametrize("force", [["--force"], only_full([])])
def test_an_export_keeps_what_is_not_its_own(tmp_path, monkeypatch, run_folder, to, target, force):
    import os

    monkeypatch.chdir(tmp_path)
    copied(run_folder, tmp_path / "run")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "load.py").write_text("my work")
    (tmp_path / "mine.txt").write_text("my work")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo("fifo")
    before = contents(tmp_path)
    said = run_soundly("export", "run", "--to", to, "-o", target, *force)
    if target == "mine.txt" and force and to != "dowhy":
        assert said.code == 0
        before["mine.txt"] = contents(tmp_path)["mine.txt"]
    else:
        assert said.code == 2
    assert contents(tmp_path) == before


@pytest.mark.parametrize("seed", cases(2, 60))
def test_odd_names_reach_the_page_and_every_command_as_they_are(tmp_path, monkeypatch, seed):
    monkeypatch.chdir(tmp_path)
    marks = [
        "[/b]",
        "[bold]",
        ":bug:",
        "\u202eabc",
        "א\u200f",
        "a\x1b[2Jb",
        "]]>",
        "<!--",
        "</script>",
    ]
    pool = list(dict.fromkeys([*marks, *NAMES]))
    names = tuple(np.random.default_rng(seed).permutation(pool)[:5].tolist())
    named_run(names, tmp_path / "run")
    for words in (["certify"], ["report"], ["predict", "--", f"{names[0]}=1"], ["predict", "Z1=1"]):
        claimed = load_run(tmp_path / "run").certificate.may_claim("graph")
        wanted = 1 if words[0] == "certify" and not claimed else 0
        assert run_soundly(words[0], "run", *words[1:]).code == wanted, (words, names)
    said = run_soundly("predict", "run", "--json", "--", f"{names[0]}=1")
    assert json.loads(said.out)["clamped"] == {names[0]: 1.0}
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.count("<script") == page.count("</script>")
    assert run_soundly("compare", "run", "run", "--json").code == 0


@pytest.mark.parametrize("seed", cases(2, 40))
def test_runs_that_have_little_in_common_are_compared_or_refused(tmp_path, monkeypatch, seed):
    rng = np.random.default_rng(seed)
    monkeypatch.chdir(tmp_path)
    names = [f"X{i}" for i in range(1, 12)]
    first = tuple(rng.permutation(names)[: int(rng.integers(2, 7))].tolist())
    second = tuple(rng.permutation(names)[: int(rng.integers(2, 7))].tolist())
    named_run(first, tmp_path / "first")
    named_run(second, tmp_path / "second")
    (tmp_path / "t.csv").write_text("X1,X2\n1,2\n3,4\n")
    words = [["--json"], ["--data", "t.csv"], ["--data", "nowhere"], ["--seed", "-1"], []][seed % 5]
    run_soundly("compare", "first", str(rng.choice(["second", "first", "t.csv", "none"])), *words)


NUMBERS = ["-1", "0", "1", "2", "3", "99", "10000000000", "x", "1.5", ""]


@pytest.mark.parametrize("seed", cases(1, 40))
def test_numbers_of_factors_that_cannot_be_are_refused(tmp_path, monkeypatch, seed):
    rng = np.random.default_rng(seed)
    monkeypatch.chdir(tmp_path)
    x = rng.normal(size=(40, 3))
    x[:, 1:] += x[:, :1]
    ucad.write(InterventionalData.from_arrays(x), tmp_path / "t.csv")
    words = ["factors", "t.csv", "--from", rng.choice(NUMBERS), "--to", rng.choice(NUMBERS)]
    words += ["-o", rng.choice(["p.json", "p.csv", "p.txt", "t.csv", "/dev/null", "d/p.json"])]
    before = contents(tmp_path)
    said = run_soundly(*words, "--quiet", *(["--force"] if rng.random() < 0.2 else []))
    if said.code == 2:
        assert contents(tmp_path) == before, words


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A network, its inputs, a recording of it and a run that was fitted on it."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "model.py").write_text(
        "import torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
        "net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2), nn.Tanh())\n"
    )
    np.save(folder / "inputs.npy", np.random.default_rng(0).normal(size=(40, 3)).astype("f4"))
    record = ["record", f"{folder / 'model.py'}:net", "--inputs", folder / "inputs.npy"]
    said = run(*record, "--sites", "1", "3", "--per-clamp", 10, "--quiet", "-o", folder / "rec")
    assert said.code == 0, said.err
    words = ["fit", folder / "rec", "--factors", 1, "--solver", "bottleneck", "--quiet"]
    code = run(*words, "-o", folder / "run").code
    status = load_run(folder / "run").status
    assert code == (0 if status.converged and status.feasible else 1)
    return folder


@pytest.mark.parametrize("seed", cases(0, 80))
def test_a_damaged_recording_is_refused_or_gives_finite_numbers(
    tmp_path, monkeypatch, recorded, seed
):
    rng, folder = np.random.default_rng(seed), copied(recorded, tmp_path / "all")
    monkeypatch.chdir(folder)
    what = spoil_one(rng, folder / "rec")
    before = contents(folder)
    network = ["--model", "model.py:net", "--inputs", "inputs.npy"]
    words = [
        ["fit", "rec", "--factors", "1", "--solver", "bottleneck", "--quiet", "-o", "new"],
        ["fit", "rec", *network, "--quiet", "-o", "new"],
        ["steer", "run", *network, "--recording", "rec", "--pairs", "20", "--draws", "2"],
        ["record", "model.py:net", "--inputs", "inputs.npy", "--sites", "1", "3", "-o", "rec"],
    ][seed % 4]
    said = run_soundly(*words)
    if said.code == 2:
        assert contents(folder) == before, what
    elif words[0] == "fit":
        run_soundly("report", "new")
        assert np.isfinite(load_run(folder / "new").sample.x).all()


@pytest.mark.parametrize("command", ["report", *map(only_full, WRITERS)])
@pytest.mark.parametrize("target", ["loop/x", "/proc/x", *map(only_full, UNWRITABLE)])
def test_what_cannot_be_written_is_said_and_nothing_is_left(
    tmp_path, monkeypatch, run_folder, command, target
):
    monkeypatch.chdir(tmp_path)
    copied(run_folder, tmp_path / "run")
    ucad.write(load_run(run_folder).sample, tmp_path / "t.csv")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("mine")
    nodes = [{"node_id": str(i), "feature_type": "feature"} for i in range(3)]
    (tmp_path / "g.json").write_text(json.dumps({"nodes": nodes, "links": []}))
    words = {
        "fit": ["fit", "t.csv", "--factors", "1", "--solver", "search", "--quiet"],
        "report": ["report", "run"],
        "simulate": ["simulate", "a", "16-3", "--samples", "20"],
        "export": ["export", "run", "--to", "csv"],
        "supernodes": ["supernodes", "g.json", "--similarity", "-1"],
        "factors": ["factors", "t.csv", "--from", "0", "--to", "0", "--quiet"],
    }[command]
    before = contents(tmp_path)
    ending = ".json" if command == "factors" else ""
    said = run_soundly(*words, "-o", target + ending)
    assert said.code == 2, said
    assert contents(tmp_path) == before


@pytest.fixture(scope="module")
def truths(tmp_path_factory, run_folder):
    """Two simulated problems, one of them a world, with a run that was fitted on neither."""
    folder = tmp_path_factory.mktemp("truths")
    assert run("simulate", "b", "16-3", "-o", folder / "b", "--samples", 60).code == 0
    assert run("simulate", "planted", "-o", folder / "world", "--samples", 60).code == 0
    copied(run_folder, folder / "run")
    return folder


@pytest.mark.parametrize("seed", cases(1, 60))
def test_a_damaged_truth_is_refused_or_gives_finite_numbers(tmp_path, monkeypatch, truths, seed):
    rng, folder = np.random.default_rng(seed), copied(truths, tmp_path / "all")
    monkeypatch.chdir(folder)
    truth = ["b", "b/truth", "world"][seed % 3]
    what = spoil_one(rng, folder / truth)
    before = contents(folder)
    words = ["--truth", truth.partition("/")[0], "--metrics", "mcc_pearson", "--json"]
    run_soundly("evaluate", "run", *words)
    assert contents(folder) == before, what
