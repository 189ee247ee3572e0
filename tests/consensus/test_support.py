"""What `Support` says of a table that is known, and that nothing is lost in storing it."""

import csv
import io
import json
from dataclasses import replace

import pytest

from ucad.claims import Answer
from ucad.claims.certificate import CLAIMABLE, Certificate, Permission
from ucad.consensus.error_control import ErrorControl
from ucad.consensus.support import (
    EdgeSupport,
    FactorSupport,
    FitAccount,
    Graph,
    Support,
    adequacy_of,
    passed,
)
from ucad.errors import FormatError

SUPPORT = Support(
    factors=(
        FactorSupport("Z1", 0.9, 0.6, 0.98, 0.99, 1.0, True, True),
        FactorSupport("Z2", 0.5, 0.2, 0.8, 0.8, None, False, False),
    ),
    edges=(
        EdgeSupport(Graph.Q, "X1", "Z1", 1.0, 0.7, 1.0, 0.5, True, True),
        EdgeSupport(Graph.Q, "X2", "Z1", 0.89, 0.6, 0.97, None, True, False),
        EdgeSupport(Graph.R, "Z1", "X2", 0.9, 0.6, 0.98, None, False, True),
    ),
    control={Graph.Q: ErrorControl.of(3.0, 40, 1, 0.9, 5)},
    fits=(
        FitAccount("half", 0, 0, (0, None), (1, 1)),
        FitAccount("half", 0, 1, (1, 0), (-1, 1)),
        FitAccount("without regimes", 0, 0, (0, 1), (1, 1)),
    ),
    threshold=0.9,
    match_level=0.71,
    n_failed=1,
    adequacy=Answer.YES,
    adequacy_text="It passed.",
)


@pytest.mark.parametrize(
    ("graph", "cause", "effect", "is_stable"),
    [("Q", "X1", "Z1", True), ("Q", "X2", "Z1", False), ("R", "Z1", "X2", True)],
)
def test_an_edge_is_stable_from_the_threshold_on(graph, cause, effect, is_stable):
    assert SUPPORT.is_stable(graph, cause, effect) is is_stable
    assert SUPPORT.edge(graph, cause, effect)[1:3] == (cause, effect)


def test_an_edge_is_looked_up_in_its_own_graph_and_direction():
    assert SUPPORT.edge("R", "X1", "Z1") is None
    assert SUPPORT.edge("Q", "Z1", "X2") is None
    assert not SUPPORT.is_stable(Graph.A, "X1", "Z1")
    assert [edge.cause for edge in SUPPORT.of("Q")] == ["X1", "X2"]


def test_a_changed_copy_does_not_answer_with_the_edges_of_the_original():
    assert SUPPORT.edge("Q", "X1", "Z1")
    assert replace(SUPPORT, edges=()).edge("Q", "X1", "Z1") is None


def test_factors_are_stable_by_the_same_threshold():
    assert [SUPPORT.stable_factor(name) for name in ("Z1", "Z2", "Z9")] == [True, False, False]


def test_only_fits_to_halves_count_as_halves():
    assert SUPPORT.n_halves == 2


def test_a_line_counts_what_is_stable():
    assert repr(SUPPORT) == (
        "Support(2 half-samples; stable (≥ 90%): 1 of 2 factors, 2 of 3 edges)"
    )


@pytest.mark.parametrize(
    ("adequacy", "may"),
    [(Answer.YES, True), (Answer.PARTLY, True), (Answer.NO, False), (Answer.UNKNOWN, False)],
)
def test_what_is_stable_may_be_claimed_only_of_a_model_that_passed(adequacy, may):
    found = replace(SUPPORT, adequacy=adequacy)
    assert passed(adequacy) is found.may_be_claimed is may
    stable = [row["is_stable"] for row in found.rows()]
    assert stable == [True, False, True, False, True]
    assert [row["may_be_claimed"] for row in found.rows()] == [one and may for one in stable]


def test_without_a_certificate_nothing_is_known():
    assert adequacy_of(None)[0] is Answer.UNKNOWN


def test_the_permission_for_the_graph_decides_and_gives_its_first_reasons():
    permissions = tuple(
        Permission(what, Answer.NO if what == "graph" else Answer.YES, ("One.", "Two.", "Three."))
        for what in CLAIMABLE
    )
    assert adequacy_of(Certificate("", permissions, ())) == (Answer.NO, "One. Two.")


def test_the_csv_holds_the_table_and_quotes_what_needs_it():
    odd = replace(SUPPORT, edges=(SUPPORT.edges[0]._replace(cause='a,"b"'),))
    read = list(csv.DictReader(io.StringIO(odd.to_csv())))
    expected = [{k: "" if v is None else str(v) for k, v in row.items()} for row in odd.rows()]
    assert read == expected
    assert read[-1]["cause"] == 'a,"b"'


def test_a_support_of_nothing_still_has_a_table():
    empty = replace(SUPPORT, factors=(), edges=())
    assert empty.rows() == []
    assert empty.to_csv().splitlines() == ["kind"]


def test_a_data_frame_has_a_row_for_every_factor_and_edge():
    frame = pytest.importorskip("pandas") and SUPPORT.to_frame()
    assert frame["name"].tolist() == ["Z1", "Z2", "X1 -> Z1", "X2 -> Z1", "Z1 -> X2"]
    assert frame["support"].tolist() == [0.9, 0.5, 1.0, 0.89, 0.9]


def test_what_is_written_is_read_back():
    assert Support.from_json(SUPPORT.to_json()) == SUPPORT
    assert Support.from_json(SUPPORT.to_json().encode()) == SUPPORT


def test_no_json_is_written_that_others_cannot_read():
    with pytest.raises(ValueError, match="JSON"):
        replace(SUPPORT, match_level=float("nan")).to_json()


def damaged(change):
    plain = json.loads(SUPPORT.to_json())
    change(plain)
    return json.dumps(plain)


@pytest.mark.parametrize(
    "change",
    [
        lambda plain: plain.pop("edges"),
        lambda plain: plain.update(threshold="high"),
        lambda plain: plain.update(adequacy="perhaps"),
        lambda plain: plain.update(schema_version=99),
        lambda plain: plain["edges"][0].update(graph="C"),
        lambda plain: plain["edges"][0].pop("low"),
        lambda plain: plain["factors"][0].update(stability=None),
        lambda plain: plain["fits"][0].update(partners=["first"]),
        lambda plain: plain["control"].update(C=plain["control"]["Q"]),
    ],
)
def test_a_damaged_support_is_refused(change):
    with pytest.raises(FormatError):
        Support.from_json(damaged(change))


def test_members_of_later_versions_are_let_pass():
    found = Support.from_json(damaged(lambda plain: plain["edges"][0].update(later=1)))
    assert found == SUPPORT


def test_a_newer_form_says_to_update():
    with pytest.raises(FormatError, match="newer ucad"):
        Support.from_json(damaged(lambda plain: plain.update(schema_version=2)))
