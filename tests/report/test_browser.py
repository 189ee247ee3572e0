"""The page in a real browser: it works by mouse and keyboard, on a phone, and in the dark."""

from __future__ import annotations

import numpy as np
import pytest

from tests.report.models import LONG, paper_content, random_content
from ucad.graph import FactorGraph
from ucad.report import ReportContent, write_report
from ucad.simulate import MechanismRecipe, random_factor_scm, random_targets, simulate

pytestmark = pytest.mark.browser

ENTER, RIGHT, LEFT, ESCAPE, TAB = "\ue007", "\ue014", "\ue012", "\ue00c", "\ue004"


def chain_content(n_factors=5):
    """Factors in one row, each of which acts on all that follow."""
    pairs = [(k, other) for k in range(n_factors) for other in range(k + 1, n_factors)]
    Q, R = np.zeros((2, n_factors + len(pairs) + 1, n_factors), dtype=bool)
    Q[np.arange(n_factors), np.arange(n_factors)] = True
    for row, (k, other) in enumerate(pairs, start=n_factors):
        R[row, k] = Q[row, other] = True
    R[-1, -1] = True
    rng = np.random.default_rng(0)
    scm = random_factor_scm(FactorGraph(Q, R), MechanismRecipe(noise_scale=0.4), rng)
    data = simulate(scm, random_targets(4, len(Q), rng), np.sort(np.arange(200) % 5), 0)
    return ReportContent(title="A chain", scm=scm, data=data)


MAKERS = {
    "paper": lambda: paper_content("e", "64-6", 1),
    "odd": lambda: random_content(8, 1, hostile=True),
    "large": lambda: random_content(1000, 12, probability=0.05),
    "small": lambda: paper_content("b", "16-3", 1),
    "chain": chain_content,
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
    browser.run("document.getElementById('show-low').click()")
    for factor in ("Z4", "Z1"):
        browser.click_at(*browser.run(NODE_AT, factor))
        card = shown_card(browser, factor)
        assert card.startswith(factor)
        for variable in (*graph.parents(factor), *graph.children(factor)):
            assert variable in card
        assert "anchor" in card
        neighbours = sorted((factor, *graph.parents(factor), *graph.children(factor)))
        assert browser.wait_for(LIT, lambda lit, wanted=neighbours: lit == wanted) == neighbours


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
        "const s = document.getElementById('clamp');"
        "s.selectedIndex = (s.selectedIndex + 1) % s.options.length;"
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


NAMES = "return document.getElementById('graph').cytoscape.nodes().map((n) => n.data('name'))"
TIP = "const t = document.getElementById('tip'); return t.hidden ? '' : t.textContent"
TYPE = """
const box = document.getElementById('find');
box.value = arguments[0];
box.dispatchEvent(new Event('input'));
return [...document.querySelectorAll('#found button')].map((b) => b.title);
"""


def test_many_variables_begin_with_the_factors_and_few_with_all(browser, pages, contents):
    for name, whole in (("large", False), ("paper", False), ("small", True)):
        graph = contents[name].scm.graph
        browser.open(pages[name])
        shown = set(browser.run(NAMES))
        assert (shown == set(graph.factor_names)) is not whole


def test_opening_a_factor_shows_its_variables_and_no_others(browser, pages, contents):
    graph = contents["large"].scm.graph
    browser.open(pages["large"])
    browser.run("document.querySelector('[data-factor=\"3\"]').click()")
    browser.run("document.getElementById('open-factor').click()")
    wanted = {"Z4", *graph.parents("Z4"), *graph.children("Z4")}
    assert set(browser.run(NAMES)) == wanted
    browser.run("document.getElementById('open-factor').click()")
    assert set(browser.run(NAMES)) == set(graph.factor_names)


def test_a_factor_is_opened_and_closed_by_the_keyboard(browser, pages, contents):
    graph = contents["large"].scm.graph
    browser.open(pages["large"])
    browser.run("document.getElementById('graph').focus()")
    browser.press(RIGHT)
    browser.press(ENTER)
    opened = browser.wait_for(NAMES, lambda names: len(names) != graph.n_factors)
    assert set(opened) == {"Z1", *graph.parents("Z1"), *graph.children("Z1")}
    browser.press(ESCAPE)
    assert set(browser.run(NAMES)) == set(graph.factor_names)


def test_a_variable_is_found_by_a_part_of_its_name_and_shown_in_its_factor(
    browser, pages, contents
):
    graph = contents["large"].scm.graph
    variable = graph.parents("Z5")[0]
    browser.open(pages["large"])
    assert browser.run(TYPE, variable.lower())[0] == variable
    browser.run("document.querySelector('#found button').click()")
    assert variable in browser.run(NAMES)
    assert shown_card(browser, variable).startswith(variable)
    assert browser.run(TYPE, "no such name") == []
    said = browser.run("return document.getElementById('found').innerText")
    assert said.startswith("No variable")


def test_a_variable_without_an_edge_is_found_and_said_to_have_none(browser, pages, contents):
    graph = contents["large"].scm.graph
    used = graph.Q.any(axis=1) | graph.R.any(axis=1)
    name = graph.variable_names[int(np.flatnonzero(~used)[0])]
    browser.open(pages["large"])
    browser.run(TYPE, name)
    browser.run("document.querySelector('#found button').click()")
    assert "no edge in this model" in shown_card(browser, name)


def test_no_edge_between_factors_hides_another_or_goes_through_a_factor(browser, pages):
    browser.open(pages["chain"])
    browser.run("document.getElementById('show-high').click()")
    middles, boxes = browser.run(
        "const cy = document.getElementById('graph').cytoscape;"
        "const box = (n) => { const b = n.boundingBox({includeLabels: false});"
        "return [b.x1, b.x2, b.y1, b.y2]; };"
        "return [cy.edges().map((e) => [e.midpoint().x, e.midpoint().y]), cy.nodes().map(box)]"
    )
    points = np.array(middles)
    assert len(points) == 10
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert apart[~np.eye(len(points), dtype=bool)].min() > 8
    for x1, x2, y1, y2 in boxes:
        inside = (points[:, 0] > x1) & (points[:, 0] < x2) & (points[:, 1] > y1)
        assert not (inside & (points[:, 1] < y2)).any()


def test_long_names_are_cut_in_the_middle_and_whole_on_hover(browser, pages):
    browser.open(pages["odd"])
    short = browser.run(
        "const cy = document.getElementById('graph').cytoscape;"
        "return cy.nodes().filter((n) => n.data('name') === arguments[0])[0].data('short')",
        LONG,
    )
    assert short[0] == LONG[0]
    assert short[-1] == LONG[-1]
    assert "…" in short
    assert len(short) <= 10
    x, y = browser.run(NODE_AT, LONG)
    for above in (60, 0):
        browser.move_to(x, y - above)
    assert browser.wait_for(TIP, bool) == LONG


@pytest.mark.parametrize("figure", [".heat rect.up, .heat rect.down", "table.bars th[title]"])
def test_what_hovers_also_answers_to_a_tap(browser, pages, figure):
    browser.open(pages["small"], width=390, height=800)
    x, y = browser.run(
        "const e = document.querySelector(arguments[0]);"
        "e.scrollIntoView({block: 'center', behavior: 'instant'});"
        "const b = e.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]",
        figure,
    )
    for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
        browser.devtools("Input.dispatchTouchEvent", type=kind, touchPoints=points)
    assert browser.wait_for(TIP, bool)[0] in "XZ"


def test_a_linear_model_has_one_bar_per_effect_and_another_two(browser, pages):
    rows = "return [...document.querySelectorAll('#effect th')].map((e) => e.textContent)"
    browser.open(pages["small"])
    assert "" not in browser.run(rows)
    browser.open(pages["paper"])
    assert "" in browser.run(rows)


def test_tables_fit_a_phone_without_scrolling_sideways(browser, pages):
    browser.open(pages["paper"], width=390, height=800)
    wide = browser.run(
        "return [...document.querySelectorAll('.scroll')].filter((e) => e.querySelector('.stack')"
        "&& e.scrollWidth > e.clientWidth + 1).length"
    )
    assert wide == 0
