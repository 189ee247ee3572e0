"""The page on networks shows what its rows say."""

import json
from pathlib import Path

import pytest

from experiments.networks.behaviour_page import table_lines as behaviour_lines
from experiments.networks.table_rows import table_lines as control_lines

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ("5000/behaviour.jsonl", behaviour_lines),
        ("7000/behaviour.jsonl", behaviour_lines),
        ("5000/network_controls.jsonl", control_lines),
        ("7000/network_controls.jsonl", control_lines),
    ],
)
def test_the_tables_are_made_of_the_tracked_rows(rows, lines):
    found = [json.loads(row) for row in (DOCS / "results" / rows).read_text().splitlines()]
    if rows.startswith("5000/network"):  # the round of 7000 has the others
        found = [row for row in found if row["study"] == "digits"]
    page = (DOCS / "networks.md").read_text().splitlines()
    assert found
    assert not [line for line in lines(found) if line not in page]


def test_a_function_without_concepts_counts_as_right_where_none_is_found():
    rows = [
        {"study": "boolean", "seed": 0, "function": "parity", "concept": "none", "found": found}
        for found in ("none", "input[0] input[1]")
    ]
    assert "| none in 1 of 2 |" in behaviour_lines(rows)[-1]
