"""The page on consensus is made of rows."""

import pytest

from experiments.consensus_page import cost_table, with_section

PAGE = "before\n<!-- cost -->\nold\n<!-- end of cost -->\nafter\n"


def test_a_section_is_replaced_and_the_rest_of_the_page_stays():
    once = with_section(PAGE, "cost", "| new |")
    assert once == "before\n<!-- cost -->\n| new |\n<!-- end of cost -->\nafter\n"
    assert with_section(once, "cost", "| new |") == once


def test_a_page_without_the_section_is_refused():
    with pytest.raises(ValueError, match="unpack"):
        with_section("nothing", "cost", "")


def test_the_cost_of_a_fit_is_that_of_all_fits_by_their_number():
    row = {"cell": "b 64-6", "fits": 50, "jobs": 2, "wall": 90.2, "wanted": 180.0, "cpu": 160.0}
    text = cost_table([{**row, "same": True, "commit": "abc"}])
    assert "| b 64-6 | 50 | 2 | 90 (180) | 160 | 3.20 | yes | abc |" in text
