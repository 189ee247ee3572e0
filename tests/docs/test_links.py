"""Links between the pages of the documentation."""

import re
from pathlib import Path

import pytest

from ucad.cli.commands import app

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / ".github").rglob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs" / "api").glob("*.md"),
    ]
)
GENERATED = {"tutorials/index": ROOT / "tutorials"}
"""Pages that the build makes, and what it makes them of."""


def targets(text):
    """The relative targets of a page's links and pictures, without their anchors."""
    found = re.findall(r"\]\(([^)#\s]+)", text)
    return [target for target in found if "://" not in target and not target.startswith("mailto:")]


def missing(page):
    found = targets(page.read_text("utf-8"))
    return [t for t in found if not GENERATED.get(t, page.parent / t).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_page_links_to_is_there(page):
    assert missing(page) == []


def test_every_page_of_the_summary_for_machines_is_a_page():
    text = (ROOT / "docs" / "llms.txt").read_text("utf-8")
    for target in re.findall(r"\]\(([^)]+)\.html\)", text):
        page = GENERATED.get(target, ROOT / "docs" / f"{target}.md")
        assert page.exists(), target


def test_the_summary_for_machines_names_every_page_and_every_command():
    text = (ROOT / "docs" / "llms.txt").read_text("utf-8")
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    assert pages <= set(re.findall(r"\]\(([\w-]+)\.html\)", text))
    commands = {name for name in app if not name.startswith("-")}
    assert commands <= set(re.findall(r"`(\w+)`", text))


def test_every_page_is_in_the_table_of_contents():
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    listed = set(re.findall(r"^([\w/-]+)$", index, flags=re.MULTILINE))
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    assert pages <= listed


def test_a_link_to_nothing_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("[here](page.md) [gone](gone.md#part) [far](https://example.org)", "utf-8")
    assert missing(page) == ["gone.md"]
