"""The page holds what it should, needs nothing from outside, and no name can break it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from tests.report.models import HOSTILE, METRICS, paper_content, random_content
from ucad.consensus.without_factors import independent_scm
from ucad.effects import predict_regimes
from ucad.errors import InvalidInputError
from ucad.report import ReportContent, render, write_report
from ucad.report.scatter import MAX_POINTS, prediction_scatter
from ucad.report.words import _few

LOADING = {"src", "srcset", "data", "poster", "action", "formaction", "background", "cite"}


class Reader(HTMLParser):
    """Collects elements, attributes and the text of scripts and of everything else."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.scripts, self.text = [], [], [], []
        self._open = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag in ("script", "style"):
            self._open.append(tag)
            self.scripts.append("")

    def handle_endtag(self, tag):
        if self._open and tag == self._open[-1]:
            self._open.pop()

    def handle_data(self, data):
        if self._open:
            self.scripts[-1] += data
        else:
            self.text.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


def payload(page):
    found = re.search(r'<script type="application/json" id="payload">(.*?)</script>', page, re.S)
    return json.loads(found[1])


@pytest.fixture(scope="module")
def content():
    return paper_content()


@pytest.fixture(scope="module")
def page(content):
    return render(content)


def test_the_page_loads_nothing_from_anywhere(page):
    reader = Reader(page)
    for tag, name, value in reader.attributes:
        if name in LOADING:
            pytest.fail(f"<{tag} {name}={value!r}> would load something")
        if name == "href":
            assert value.startswith(("#", "data:")), value
        assert name not in ("integrity", "crossorigin")
        assert not name.startswith("on"), f"<{tag} {name}>"
    assert not {"iframe", "img", "object", "embed", "base"} & set(reader.tags)
    css = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in css
    assert "@import" not in css


def test_addresses_occur_only_in_the_licence_text_of_the_library(page):
    addresses = set(re.findall(r"https?://[^\s\"'()<>]+", page))
    assert addresses <= {
        "http://en.wikipedia.org/wiki/MIT_License",
        "http://engelschall.com",
        "http://opensource.org/licenses/MIT",
    }


def test_every_factor_is_described_in_a_sentence(content, page):
    words = Reader(page).words
    for factor in content.scm.graph.factor_names:
        assert f"{factor} is made from" in words


def test_the_summary_gives_the_sizes_and_the_verdict(content, page):
    words = Reader(page).words
    assert "64 variables" in words
    assert "6 factors" in words
    assert content.certificate.verdict in words


def test_every_claim_of_the_certificate_stands_with_its_statement(content, page):
    words = Reader(page).words
    for claim in content.certificate.claims:
        assert claim.question in words
        assert " ".join(claim.text.split()) in words
        assert claim.statement in words


def test_metrics_stand_beside_chance(page):
    words = Reader(page).words
    assert "0.981" in words
    assert "0.052" in words
    assert "0.97 to 0.99" in words
    assert "Note: one factor is constant" in words


@pytest.mark.parametrize("metrics", [METRICS, METRICS["scores"]])
def test_metrics_may_come_as_a_table_or_as_rows(content, metrics):
    page = render(paper_content("e", "16-3", 0, metrics=metrics))
    assert "structural Hamming distance" in page


def test_a_count_gets_no_bar_from_0_to_1():
    rows = [{"metric": "structure_shd", "value": 0, "chance": 12.1}]
    page = render(paper_content("e", "16-3", 0, metrics=rows))
    assert '<span class="gauge">' not in page
    assert '<span class="gauge">' in render(paper_content("e", "16-3", 0))


def test_sections_without_content_are_left_out():
    page = render(random_content(8, 2))
    for section in ("fit", "metrics"):
        assert f'id="{section}"' not in page
        assert f'href="#{section}"' not in page
    for section in ("summary", "graph-section", "matrices", "effects", "provenance"):
        assert f'id="{section}"' in page


def test_the_graph_holds_exactly_the_edges_of_the_model(content, page):
    graph, low = content.scm.graph, payload(page)["low"]
    n = graph.n_variables
    into = {(a, b - n) for a, b, *_ in low["edges"] if b >= n}
    out_of = {(b, a - n) for a, b, *_ in low["edges"] if a >= n}
    assert into == set(map(tuple, np.argwhere(graph.Q).tolist()))
    assert out_of == set(map(tuple, np.argwhere(graph.R).tolist()))
    high = {(a, b) for a, b, *_ in payload(page)["high"]["edges"]}
    assert high == set(map(tuple, np.argwhere(graph.factor_adjacency).tolist()))


def test_only_variables_with_edges_are_drawn(content, page):
    graph = content.scm.graph
    drawn = {name for _, name, is_factor, *_ in payload(page)["low"]["nodes"] if not is_factor}
    used = graph.Q.any(axis=1) | graph.R.any(axis=1)
    assert drawn == {graph.variable_names[i] for i in np.flatnonzero(used)}


def test_cards_name_parents_children_and_anchors(content, page):
    graph = content.scm.graph
    for card in payload(page)["factors"]:
        k = graph.factor_index(card["name"])
        assert {row[0] for row in card["parents"]} == set(graph.parents(card["name"]))
        assert {row[0] for row in card["children"]} == set(graph.children(card["name"]))
        ins = {row[0] for row in card["parents"] if row[3]}
        assert ins == {graph.variable_names[i] for i in np.flatnonzero(graph.in_anchors[:, k])}


def test_hostile_names_stay_text():
    page = render(random_content(8, 1, hostile=True))
    reader = Reader(page)
    assert HOSTILE not in page
    assert reader.tags.count("script") == 3
    assert HOSTILE in reader.words
    names = [name for _, name, *_ in payload(page)["low"]["nodes"]]
    assert any(HOSTILE in name for name in names)


def test_a_thousand_variables_make_a_page_of_at_most_two_megabytes():
    content = random_content(1000, 12, probability=0.05)
    page = render(content)
    assert len(page.encode()) < 2_000_000
    assert len(payload(page)["effects"]) == 200


def test_a_model_without_any_edge_still_has_a_page():
    content = random_content(6, 1)
    empty = np.zeros_like(content.scm.graph.Q)
    scm = type(content.scm)(
        type(content.scm.graph)(empty, empty),
        type(content.scm.factor_mechanism)(
            0 * content.scm.factor_mechanism.weight, content.scm.factor_mechanism.bias
        ),
        type(content.scm.variable_mechanism)(
            0 * content.scm.variable_mechanism.weight, content.scm.variable_mechanism.bias
        ),
        content.scm.noise_scale,
    )
    page = render(ReportContent(title="empty", scm=scm, data=content.data))
    assert (
        "Z1 is made from nothing; it drives nothing; "
        "no variable feeds or is driven by this factor alone." in page
    )
    assert "clamping one changes nothing" in page


def test_the_same_content_gives_the_same_page(content, page):
    assert render(content) == page


def test_the_file_is_moved_into_place_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("an older report")
    content = random_content(8, 2)
    assert write_report(content, path) == path
    assert path.read_text(encoding="utf-8") == render(content)
    assert list(tmp_path.iterdir()) == [path]


def test_data_of_other_variables_are_refused(content):
    with pytest.raises(InvalidInputError, match="must have the variables of its 'scm'"):
        ReportContent(title="", scm=content.scm, data=random_content(8, 2).data)


def test_above_forty_variables_the_graph_begins_with_the_factors(content, page):
    assert payload(page)["many"]
    assert "open it to see its variables" in page
    assert not payload(render(random_content(8, 2)))["many"]


def test_every_variable_can_be_found_with_or_without_an_edge(content, page):
    data = payload(page)
    drawn = {name for _, name, is_factor, *_ in data["low"]["nodes"] if not is_factor}
    assert drawn | set(data["unused"]) == set(content.scm.graph.variable_names)
    assert not drawn & set(data["unused"])


def test_what_may_not_be_claimed_comes_first_and_a_yes_is_folded(content, page):
    certificate = content.certificate
    order = ["no", "partly", "not known", "yes"]
    start, end = page.index('<ul class="permissions">'), page.index("Why: every question")
    shown = re.findall(r'class="badge ([\w-]+)"', page[start:end])
    assert [order.index(answer.replace("-", " ")) for answer in shown] == sorted(
        order.index(one.answer.value) for one in certificate.permissions
    )
    n_yes = sum(claim.answer.value == "yes" for claim in certificate.claims)
    assert f"<summary>{n_yes} questions answered with yes</summary>" in page


def test_stages_of_a_search_are_a_table_and_training_is_curves():
    search = [
        {"stage": "choice of factors", "score": -10.0, "n_edges": 4, "seconds": 1.0},
        {"stage": "joint fit", "score": 5.0, "n_edges": 4, "seconds": 4.0},
    ]
    stages = render(paper_content("e", "16-3", 0, history=search))
    assert "Stages of the search" in stages
    assert '<svg class="chart" viewBox="0 0 320 180"' not in stages
    assert "15" in Reader(stages[stages.index("Stages of the search") :]).words
    training = render(paper_content("e", "16-3", 0))
    assert "Stages of the search" not in training
    assert '<svg class="chart" viewBox="0 0 320 180"' in training


def test_sections_come_in_the_order_of_what_matters(page):
    order = ["summary", "graph-section", "certificate", "factors", "effects", "metrics", "matrices"]
    places = [page.index(f'<section id="{name}"') for name in order]
    assert places == sorted(places)


def test_a_fit_that_did_not_converge_says_so_at_the_top():
    status = {"converged": False, "feasible": True, "reason": "Out of time.", "advice": []}
    page = render(paper_content("e", "16-3", 0, status=status))
    top = page[: page.index('id="graph-section"')]
    assert "Out of time." in top
    assert "did not end well" in top


def test_predictions_are_drawn_with_names_that_stay_text():
    content = random_content(8, 2, hostile=True)
    found = predict_regimes(content.scm, content.data)
    page = render(replace(content, regimes=found))
    assert page.count("<circle") == int((~found.changes.targets).sum())
    assert HOSTILE not in page
    assert "predicted" in page[page.index("<circle") :]


def test_of_many_predictions_some_are_drawn_and_the_page_says_how_many_are_not():
    content = random_content(300, 3, probability=0.05)
    found = predict_regimes(content.scm, content.data)
    scatter = prediction_scatter(found)
    assert scatter.svg.count("<circle") == MAX_POINTS
    assert scatter.left_out == int((~found.changes.targets).sum()) - MAX_POINTS


def test_a_model_without_factors_has_a_page_without_empty_figures():
    data = random_content(8, 2).data
    page = render(ReportContent(title="none", scm=independent_scm(data), data=data))
    assert "no factor was found" in page
    for name in ("graph-section", "effects", "matrices"):
        assert f'id="{name}"' not in page
        assert f'href="#{name}"' not in page


def test_groups_of_the_provenance_are_folded_and_empty_ones_left_out(content):
    provenance = {"created": "today", "settings": {"solver": "search"}, "data": {}}
    page = render(replace(content, provenance=provenance))
    section = page[page.index('id="provenance"') :]
    assert "<dt>created</dt>" in section[: section.index("<details>")]
    assert "<details><summary>Settings</summary>" in section
    assert "<summary>Data</summary>" not in section


def test_a_missed_condition_is_not_called_a_fit_that_ended_badly(content):
    status = {"converged": True, "feasible": False, "violations": {"in-anchor of Z1": 1.0}}
    page = render(replace(content, status=status))
    assert "Missing: a variable that feeds only Z1." in page
    assert "did not end well" not in page
    stopped = render(replace(content, status={"converged": False, "reason": "Time is over."}))
    assert "did not end well.</strong> Time is over." in stopped


def test_long_names_in_a_sentence_leave_room_for_the_next_factor(content):
    graph = content.scm.graph
    names = [f"ENSG{i:011d}_GENE" for i in range(graph.n_variables)]
    assert _few(names).endswith(f"{names[2]} and {len(names) - 3} more")
    assert _few(["A", "B"]) == "A, B"


def test_the_scores_that_matter_are_shown_and_the_others_folded():
    scores = [{"metric": name, "value": 0.5} for name in ("dci_completeness", "mcc_pearson")]
    page = render(paper_content(metrics={"scores": scores}))
    section = page.partition('id="metrics-title"')[2].partition("</section>")[0]
    shown, _, folded = section.partition("<summary>1 more score</summary>")
    assert "MCC, Pearson" in shown
    assert "DCI completeness" in folded
    assert "DCI completeness" not in shown


def test_a_table_without_the_main_scores_is_shown_whole():
    page = render(paper_content(metrics={"scores": [{"metric": "mcc_rdc", "value": 0.5}]}))
    assert "more score" not in page
