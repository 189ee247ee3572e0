"""The calibration of support: rows become a table that counts right and false edges."""

import pytest

from experiments.calibration import judge, shares, table


def row(world, *, passed, edges, false=0):
    result = {"passed": passed, "edges": {"A": edges}, "false_above": false, "expected_false": 1.5}
    return {"task": {"world": world, "seed": 0}, "result": result, "error": None}


def test_stable_edges_of_models_that_passed_are_counted_apart():
    rows = [
        row("nothing wrong", passed=True, edges=[[0.5, 4, 1], [1.0, 10, 10]]),
        row("hidden cause", passed=False, edges=[[0.95, 10, 7]], false=3),
    ]
    lines = table(rows).splitlines()
    assert "1.000 (10/10" in lines[2]
    assert "0.250 (1/4" in lines[2]
    assert "| 0 | – | 0.700 (7/10" in lines[3]
    assert lines[3].endswith("| – | 3.00 (1.50) |")
    assert "| 2 | 1 | 1.000 (10/10" in lines[4]


def test_support_of_exactly_one_is_in_the_last_bin_and_in_no_other():
    results = [row("screen", passed=True, edges=[[0.9, 2, 1], [1.0, 3, 3]])["result"]]
    assert shares(results, "A", 0.9, 1.0) == (4, 5)
    assert shares(results, "A", 0.7, 0.9) == (0, 0)


@pytest.mark.slow
def test_a_consensus_of_a_world_is_judged_edge_by_edge():
    found = judge({"world": "few samples", "seed": 0, "n_runs": 4})
    assert found["n_halves"] == 4
    assert sum(n for _, n, _ in found["edges"]["A"]) > 0
    assert found["about"]["cpu_seconds"] > 0
