"""`ucad predict` and `ucad export`, on the command line."""

from __future__ import annotations

import json

import pytest

import ucad
from tests.hostile.commands import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    problem = ucad.paper_problem("b", "16-3", seed=3, n_samples=600)
    linear = {"factor_mechanism": "linear", "variable_mechanism": "linear"}
    path = tmp_path_factory.mktemp("predict") / "run"
    ucad.UCAD(n_factors=3, solver="search", **linear).fit(problem.train).save(path)
    return path


def rows_of(folder, *words):
    said = run("predict", folder, *words, "--json")
    assert said.code == 0, said
    return json.loads(said.out)


def test_a_factor_is_set_to_its_value_through_its_parents(folder):
    found = rows_of(folder, "Z1=2")
    graph = ucad.load(folder).graph_
    assert set(found["clamped"]) == set(graph.parents("Z1"))
    assert "Z1" in found["reaches"]
    row = next(row for row in found["rows"] if row["name"] == "Z1")
    assert row["mean_after"] == pytest.approx(2.0, abs=1e-5)
    said = run("predict", folder, "Z1=2")
    assert "Z1 = 2 is set by clamping" in said.out


def test_rows_are_cut_off_sorted_and_limited(folder):
    graph = ucad.load(folder).graph_
    clamp = f"{max(graph.factor_names, key=lambda name: len(graph.parents(name)))}=2"
    every = rows_of(folder, clamp)["rows"]
    sizes = sorted(abs(row["shift_in_sd"]) for row in every)
    cut = (sizes[0] + sizes[-1]) / 2
    large = rows_of(folder, clamp, "--min-shift", cut)["rows"]
    assert large == [row for row in every if abs(row["shift_in_sd"]) >= cut]
    assert 0 < len(large) < len(every)
    rising = rows_of(folder, clamp, "--sort", "rise")["rows"]
    shifts = [row["shift_in_sd"] for row in rising if row["kind"] == "variable"]
    assert shifts == sorted(shifts, reverse=True)
    few = rows_of(folder, clamp, "--top", "1")["rows"]
    assert [row["kind"] for row in few] == ["factor", "variable"]


def test_the_mean_shift_lies_within_the_range_over_samples(folder):
    for row in rows_of(folder, "Z1=2")["rows"]:
        assert row["sample_low"] <= row["shift_in_sd"] <= row["sample_high"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["z1=1"], "Did you mean 'Z1'"),
        (["X1O=1"], "Did you mean 'X1"),
        (["Z1=2", "--min-shift", "-1"], "min-shift"),
        (["Z1=2", "--target", "gene"], "--regimes"),
        (["Z1=2", "--sort", "shft"], 'Did you mean "shift"'),
    ],
)
def test_wrong_use_is_one_line_that_says_what_to_do(folder, words, message):
    said = run("predict", folder, *words)
    assert said.code == 2
    assert message in said.err
    assert len(said.err.strip().splitlines()) == 1


def test_export_names_what_it_wrote_and_overwrites_nothing(folder, tmp_path):
    said = run("export", folder, "--to", "csv", "-o", tmp_path / "edges.csv")
    assert said.code == 0, said
    assert str(tmp_path / "edges.csv") in said.out.replace("\n", "")
    again = run("export", folder, "--to", "csv", "-o", tmp_path / "edges.csv")
    assert again.code == 2
    assert "--force" in again.err
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    kept = run("export", folder, "--to", "dowhy", "-o", tmp_path / "mine", "--force")
    assert kept.code == 2
    assert (tmp_path / "mine" / "notes.txt").exists()


def test_completion_prints_a_script_that_knows_the_commands():
    said = run("completion", "bash")
    assert said.code == 0, said
    for word in ("predict", "export", "--min-shift"):
        assert word in said.out
