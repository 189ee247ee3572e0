"""The page in a real browser: it works by mouse and keyboard, on a phone, and in the dark."""

from __future__ import annotations

import pytest

from tests.report.models import paper_content, random_content
from ucad.report import write_report

pytestmark = pytest.mark.browser

ENTER, RIGHT, LEFT, ESCAPE, TAB = "\ue007", "\ue014", "\ue012", "\ue00c", "\ue004"
MAKERS = {
    "paper": lambda: paper_content("e", "64-6", 1),
    "odd": lambda: random_content(8, 1, hostile=True),
    "large": lambda: random_content(1000, 12, probability=0.05),
}
CARD = "return document.getElementById('card').innerText"
NODE_AT = """
const cy = document.getElementById('graph').cytoscape;
const node = cy.nodes().filter((n) => n.data('name') === arguments[0])[0];
document.getElementById('graph').scrollIntoView({block: 'center', behavior: 'instant'});
const frame = document.getElementById('graph').getBoundingClientRect();
const at = node.renderedPosition();
return [frame.left + at.x, frame.top + at.y];
"""

LIT = """
const cy = document.getElementById('graph').cytoscape;
return cy.nodes().not('.faded').map((n) => n.data('name')).sort();
"""


def shown_card(browser, start):
    """The text of the card, once it starts as expected (or after a while, whatever it is)."""
    return browser.wait_for(CARD, lambda text: text.startswith(start))


@pytest.fixture(scope="module")
def contents():
    return {name: make() for name, make in MAKERS.items()}


@pytest.fixture(scope="module")
def pages(contents, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    return {name: write_report(c, folder / f"{name}.html") for name, c in contents.items()}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    ("width", "dark"), [(1280, False), (1280, True), (390, True), (320, False)]
)
def test_no_console_error_and_no_sideways_scrolling(browser, pages, name, dark, width):
    browser.open(pages[name], width=width, dark=dark)
    assert browser.console() == []
    wide, shown = browser.run("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= shown


def test_clicking_a_factor_shows_its_card_and_lights_its_neighbours(browser, pages, contents):
    graph = contents["paper"].scm.graph
    browser.open(pages["paper"])
    for factor in ("Z4", "Z1"):
        browser.click_at(*browser.run(NODE_AT, factor))
        card = shown_card(browser, factor)
        assert card.startswith(factor)
        for variable in (*graph.parents(factor), *graph.children(factor)):
            assert variable in card
        assert "anchor" in card
        neighbours = (factor, *graph.parents(factor), *graph.children(factor))
        assert browser.run(LIT) == sorted(neighbours)


def test_hovering_shows_a_card_and_leaving_brings_the_chosen_one_back(browser, pages):
    browser.open(pages["paper"])
    browser.click_at(*browser.run(NODE_AT, "Z1"))
    browser.move_to(*browser.run(NODE_AT, "Z2"))
    assert shown_card(browser, "Z2").startswith("Z2")
    x, y = browser.run(NODE_AT, "Z2")
    browser.move_to(x, y + 60)
    assert shown_card(browser, "Z1").startswith("Z1")


def test_a_factor_can_be_chosen_with_the_keyboard_alone(browser, pages):
    browser.open(pages["paper"])
    browser.run("document.querySelector('[data-factor=\"2\"]').focus()")
    browser.press(ENTER)
    assert shown_card(browser, "Z3").startswith("Z3")
    pressed = "return document.querySelector('#factor-list [aria-pressed=true]').innerText"
    assert browser.run(pressed) == "Z3"
    browser.run("document.getElementById('graph').focus()")
    browser.press(RIGHT)
    assert shown_card(browser, "Z4").startswith("Z4")
    browser.press(LEFT)
    browser.press(LEFT)
    assert shown_card(browser, "Z2").startswith("Z2")
    browser.press(ESCAPE)
    assert shown_card(browser, "No factor").startswith("No factor chosen")


def test_the_first_tab_stop_skips_to_the_report_and_is_visible(browser, pages):
    browser.open(pages["paper"])
    browser.press(TAB)
    left, text = browser.run(
        "const e = document.activeElement; return [e.getBoundingClientRect().left, e.innerText]"
    )
    assert text == "Skip to the report"
    assert left >= 0


def test_the_high_level_shows_the_factors_alone(browser, pages, contents):
    graph = contents["paper"].scm.graph
    browser.open(pages["paper"])
    browser.run("document.getElementById('show-high').click()")
    names = browser.run(
        "return document.getElementById('graph').cytoscape.nodes().map((n) => n.data('name'))"
    )
    assert sorted(names) == sorted(graph.factor_names)
    browser.click_at(*browser.run(NODE_AT, "Z1"))
    assert shown_card(browser, "Z1").startswith("Z1")


def test_choosing_a_variable_to_clamp_shows_its_effects(browser, pages):
    browser.open(pages["paper"])
    first = browser.run("return document.getElementById('effect').innerText")
    second = browser.run(
        "const s = document.getElementById('clamp'); s.selectedIndex = 3;"
        "s.dispatchEvent(new Event('change'));"
        "return document.getElementById('effect').innerText"
    )
    assert "Factors that change" in first
    assert first != second


def test_a_hostile_name_is_shown_and_not_run(browser, pages):
    browser.open(pages["odd"])
    browser.run("document.querySelector('[data-factor=\"0\"]').click()")
    assert "<script>alert(1)</script>" in browser.run(CARD)
    assert browser.run("return document.querySelectorAll('script').length") == 3


def test_dark_and_light_differ_and_follow_a_change_while_open(browser, pages):
    colour = (
        "return [getComputedStyle(document.body).backgroundColor,"
        "document.getElementById('graph').cytoscape.nodes('.factor')[0].style('background-color')]"
    )
    browser.open(pages["paper"])
    light = browser.run(colour)
    scheme = {"name": "prefers-color-scheme", "value": "dark"}
    browser.devtools("Emulation.setEmulatedMedia", features=[scheme])
    dark = browser.wait_for(colour, lambda now: now[1] != light[1])
    assert light[0] != dark[0]
    assert light[1] != dark[1]


def test_printers_get_a_picture_of_the_graph_instead_of_its_canvas(browser, pages):
    browser.open(pages["paper"], dark=True)
    source = "return document.querySelector('img.print-only').src"
    picture = browser.wait_for(source, lambda text: text.startswith("data:"))
    assert picture.startswith("data:image/png")
    browser.devtools("Emulation.setEmulatedMedia", media="print")
    shown = browser.run(
        "return ['#graph', '#card', 'img.print-only'].map((name) =>"
        "getComputedStyle(document.querySelector(name)).display)"
    )
    browser.devtools("Emulation.setEmulatedMedia", media="")
    assert shown == ["none", "none", "block"]
