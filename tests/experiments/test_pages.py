"""The figures that the page of results says in words are counted from rows."""

from experiments import pages
from experiments.pages import claim_counts, factor_counts


def claim(case, **changes):
    row = {
        "case": case,
        "right": True,
        "can_be_full": True,
        "answers": {"graph": "yes", "directions": "yes", "factors": "yes"},
        "over_claims": [],
        "expected": [],
        "suggestions": [],
    }
    return row | changes


def test_claims_are_counted_by_what_was_right_and_what_was_said():
    refused = {"graph": "no", "directions": "no", "factors": "no"}
    flawed = {"right": False, "can_be_full": False, "answers": refused, "expected": ["edge"]}
    rows = [
        claim("screen"),
        claim("screen", answers=refused),
        claim("sine", right=False, over_claims=["graph"]),
        claim("dense-dag", **flawed, suggestions=["feedback", "edge", "factor"]),
        claim("dense-dag", **flawed, suggestions=["feedback", "factor", "edge"]),
        {"case": "genes", "error": "MemoryError"},
    ]
    found = claim_counts(rows)
    assert (found["n_claims"], found["n_over"], found["over_worlds"]) == ("5", "1", "sine")
    assert (found["n_able"], found["n_full"]) == ("2", "1")
    assert (found["n_right"], found["n_alarms"]) == ("2", "1")
    assert (found["n_flawed"], found["n_refused"], found["n_hit"]) == ("2", "2", "1")


def test_numbers_of_factors_are_right_among_two_at_most_and_none_only_if_it_is_recommended():
    def row(true, recommended, plausible):
        return {"result": {"true": true, "n_factors": recommended, "plausible": plausible}}

    rows = [
        row(3, 3, [3]),
        row(3, 2, [2, 3]),
        row(3, 2, [2, 3, 4]),
        row(0, 0, [0]),
        row(0, 7, []),
    ]
    expected = {"n_counted": "3", "n_within": "2", "n_none": "2", "n_zero": "1"}
    assert factor_counts(rows) == expected


def test_the_page_in_the_repository_is_the_one_that_its_rows_make():
    page = (pages.ROOT / "docs" / "results.md").read_text("utf-8")
    assert pages.results_page() == page
