"""Links between the pages of the documentation."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def targets(text):
    """The relative targets of a page's links and pictures, without their anchors."""
    found = re.findall(r"\]\(([^)#\s]+)", text)
    return [target for target in found if "://" not in target and not target.startswith("mailto:")]


def missing(page):
    return [t for t in targets(page.read_text("utf-8")) if not (page.parent / t).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_links_to_is_there(page):
    assert missing(page) == []


def test_a_link_to_nothing_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("[here](page.md) [gone](gone.md#part) [far](https://example.org)", "utf-8")
    assert missing(page) == ["gone.md"]
