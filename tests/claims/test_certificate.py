"""A certificate answers by name, prints, and comes back from JSON as it was."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ucad.claims.answers import Answer, Claim
from ucad.claims.certificate import ASSUMED, CLAIMABLE, WIDTH, Certificate, Permission
from ucad.claims.suggestions import Suggestion
from ucad.errors import FormatError, InvalidInputError

CERTIFICATE = Certificate(
    "May be claimed: the graph.",
    tuple(Permission(what, Answer.YES, (f"If {what}.",)) for what in CLAIMABLE),
    (
        Claim("left", "Is nothing left?", Answer.YES, "Nothing — über 5 %.", "A test", {"T": [1]}),
        Claim("edges", "Is every edge worth something?", Answer.PARTLY, "Not X1 → Z1.", "Another"),
    ),
    (Suggestion("factor", 0.6, "A factor is missing."),),
    ("3 edges removed",),
)


@pytest.mark.parametrize("answer", list(Answer))
def test_only_yes_is_true(answer):
    assert bool(Permission("graph", answer)) is (answer is Answer.YES)


def test_claims_and_permissions_are_found_by_name():
    assert CERTIFICATE["edges"].answer is Answer.PARTLY
    assert CERTIFICATE.may_claim("values").what == "values"


def test_a_name_that_is_not_there_is_refused_with_what_is():
    with pytest.raises(InvalidInputError, match="left, edges.*Got 'edge'.*Did you mean 'edges'"):
        CERTIFICATE["edge"]
    with pytest.raises(InvalidInputError, match="Did you mean 'values'"):
        CERTIFICATE.may_claim("value")


def test_json_brings_every_part_back():
    assert Certificate.from_json(CERTIFICATE.to_json()) == CERTIFICATE


def test_json_holds_no_infinity():
    claim = replace(CERTIFICATE.claims[0], details={"T": float("inf")})
    with pytest.raises(ValueError, match="not JSON compliant"):
        replace(CERTIFICATE, claims=(claim,)).to_json()


@pytest.mark.parametrize("part", ["permissions", "claims", "suggestions", "notes"])
def test_json_without_a_part_is_refused(part):
    plain = json.loads(CERTIFICATE.to_json())
    del plain[part]
    with pytest.raises(FormatError, match=f"not a certificate.*{part}"):
        Certificate.from_json(json.dumps(plain))


def test_an_answer_that_does_not_exist_is_refused():
    text = CERTIFICATE.to_json().replace('"partly"', '"perhaps"')
    with pytest.raises(FormatError, match="perhaps"):
        Certificate.from_json(text)


def test_an_earlier_form_is_refused_with_advice():
    plain = json.loads(CERTIFICATE.to_json())
    with pytest.raises(FormatError, match="fit the model again"):
        Certificate.from_json(json.dumps({**plain, "schema_version": 1}))


def test_it_prints_every_part_within_the_terminal():
    long = replace(CERTIFICATE, notes=("word " * 60,))
    lines = str(long).splitlines()
    printed = " ".join(" ".join(lines).split())
    assert max(map(len, lines)) <= WIDTH
    for text in (
        "If graph.",
        "1. A factor is missing.",
        "Not X1 → Z1.",
        "— Another",
        "Note from the solver: word",
        ASSUMED,
        *CLAIMABLE.values(),
    ):
        assert text in printed


def test_without_suggestions_none_are_announced():
    assert "What this suggests" not in str(replace(CERTIFICATE, suggestions=()))
