"""Each case that was once certified wrongly gets the answer it must get, and right models a yes."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.claims.models import (
    GRAPH,
    SCM,
    System,
    answers,
    certificate,
    direct_edge,
    linear_scm,
    refitted,
)
from ucad.claims import WIDTH, Answer, Certificate, SolverNotes, certify
from ucad.data import InterventionalData
from ucad.errors import FormatError, InvalidInputError
from ucad.scm import Bijection, FactorSCM, LinearMechanism
from ucad.simulate import paper_problem, random_targets, simulate

RIGHT = certificate(SCM, System())


def kinds(found):
    return [one.kind for one in found.suggestions]


def without_first_factor():
    return linear_scm(SCM.graph.Q[:, 1:], SCM.graph.R[:, 1:])


def test_a_true_model_may_be_claimed_in_full():
    assert answers(RIGHT) == dict.fromkeys(answers(RIGHT), "yes")
    assert "May be claimed" in RIGHT.verdict
    assert not RIGHT.suggestions


@pytest.mark.parametrize("setting", ["b", "e", "f"])
def test_true_models_of_the_paper_may_be_claimed(setting):
    problem = paper_problem(setting, "16-3", seed=1, n_samples=8000)
    found = certify(problem.scm, problem.train, held_out=problem.validation)
    for what in ("graph", "directions", "factors"):
        assert found.may_claim(what), found.may_claim(what)


def test_constant_clamps_serve_as_well_as_random_ones():
    assert certificate(SCM, System(action="constant")).may_claim("graph")


def test_one_factor_too_few_is_refused():
    system = System()
    found = certificate(refitted(without_first_factor(), system.draw()), system)
    assert found.may_claim("graph").answer is Answer.NO
    assert "factor" in kinds(found)[:2]
    assert "may not be claimed" in found.verdict
    assert "factor is missing" in found.verdict


def test_a_dag_without_factors_is_refused():
    direct = direct_edge(0, 4) + direct_edge(1, 5) + direct_edge(2, 6) + direct_edge(4, 6)
    nothing = replace(
        SCM,
        variable_mechanism=LinearMechanism(
            0 * torch.tensor(GRAPH.R).double(), torch.zeros(8).double()
        ),
    )
    system = System(scm=nothing, direct=direct)
    found = certificate(refitted(SCM, system.draw()), system)
    assert found.may_claim("graph").answer is Answer.NO


def test_a_direct_edge_is_refused_and_named():
    system = System(direct=direct_edge(5, 7))
    found = certificate(refitted(SCM, system.draw()), system)
    assert found.may_claim("graph").answer is Answer.NO
    finding = found["left"].details["findings"][0]
    assert (finding["variable"], finding["sources"][0]["name"]) == ("X8", "X6")
    assert "edge" in kinds(found)[:2]


def test_a_hidden_common_cause_is_refused():
    system = System(loading=0.7 * np.isin(np.arange(8), [1, 5, 7]))
    found = certificate(refitted(SCM, system.draw()), system)
    assert found.may_claim("graph").answer is Answer.NO
    assert "cause" in kinds(found)[:2]


def test_a_shift_that_is_labelled_as_a_clamp_is_refused():
    found = certificate(SCM, System(action="shift"))
    assert found.may_claim("graph").answer is Answer.NO
    assert found["clamps"].details["not_clamped"] == ["X5", "X6", "X7", "X8"]
    assert kinds(found)[0] == "clamp"
    assert "not a clamp" in found.verdict


def test_the_wrong_class_of_mechanisms_is_refused_without_blaming_the_graph():
    system = System(shape=lambda made: np.tanh(2 * made) + 0.3 * made**2)
    found = certificate(refitted(SCM, system.draw()), system)
    assert found.may_claim("graph").answer is Answer.PARTLY
    assert not any(row["level"] == 1 for row in found["left"].details["findings"])
    assert not found.may_claim("values")
    assert kinds(found) == ["class"]


def test_a_reversed_edge_is_refused():
    truth = System(scm=linear_scm([[1], [1], [0]], [[0], [0], [1]]), targets=((0,), (2,)))
    wrong = linear_scm([[0], [0], [1]], [[1], [0], [0]])  # X3 → Z1 → X1
    found = certificate(refitted(wrong, truth.draw()), truth)
    assert found.may_claim("graph").answer is Answer.NO
    assert found.may_claim("directions").answer is Answer.NO


def test_a_spurious_edge_is_named_and_not_claimed():
    more = SCM.graph.Q.copy()
    more[5, 1] = True
    spurious = linear_scm(more, SCM.graph.R)
    weight = spurious.factor_mechanism.weight.clone()
    weight[1, 5] = 0.02
    spurious = replace(
        spurious, factor_mechanism=LinearMechanism(weight, spurious.factor_mechanism.bias)
    )
    found = certificate(spurious, System())
    assert found["edges"].details["unsupported"] == ["X6 → Z2"]
    assert found.may_claim("graph").answer is Answer.PARTLY
    assert "It may be claimed only without the edge X6 → Z2." in found.may_claim("graph").conditions


def test_few_samples_are_not_known_rather_than_yes():
    found = certificate(SCM, System(), n_samples=300)
    assert found.may_claim("graph").answer is Answer.UNKNOWN
    assert found["left"].details["n_folds"] == 5
    assert "so few samples" in found.verdict


def test_few_samples_still_refuse_what_is_badly_wrong():
    system = System()
    found = certificate(refitted(without_first_factor(), system.draw()), system, n_samples=400)
    assert found.may_claim("graph").answer is Answer.NO


def test_factors_that_explain_less_than_the_test_sees_are_not_claimed():
    weak = linear_scm(SCM.graph.Q, SCM.graph.R, weight=0.28, noise=1.0)
    found = certificate(weak, System(scm=weak))
    assert found["left"].answer is Answer.UNKNOWN
    assert not found.may_claim("graph")


def test_factors_that_predict_nothing_may_not_be_claimed():
    nothing = replace(
        SCM,
        variable_mechanism=LinearMechanism(
            0 * torch.tensor(GRAPH.R).double(), torch.zeros(8).double()
        ),
    )
    found = certificate(SCM, System(scm=nothing))
    assert found["fit"].answer is Answer.NO
    assert found.may_claim("graph").answer is Answer.NO


def test_without_held_out_samples_nothing_is_claimed_in_full():
    found = certify(SCM, System().draw())
    assert found.may_claim("graph").answer is Answer.PARTLY
    assert "No samples were held back" in " ".join(found.may_claim("graph").conditions)


def test_what_the_solver_could_not_decide_is_not_claimed_in_full():
    found = certificate(SCM, System(), notes=SolverNotes(guesses=("the place of X5",)))
    assert found.may_claim("graph").answer is Answer.PARTLY
    assert "the place of X5" in " ".join(found.may_claim("graph").conditions)


def test_regimes_that_proved_to_be_no_clamps_are_the_first_thing_suggested():
    found = certificate(SCM, System(), notes=SolverNotes(soft_regimes=("X1",)))
    assert found.suggestions[0].kind == "clamp"
    assert "X1" in found.suggestions[0].text
    assert not certificate(SCM, System()).suggestions


def test_a_regime_without_samples_is_no_obstacle():
    data = System().draw()
    named = replace(data, regime_names=(*data.regime_names, "never done"))
    parts = named.split(0.75, 0.25)
    assert certify(SCM, parts.train, held_out=parts.validation).may_claim("graph")


def test_a_graph_against_the_layers_may_not_be_claimed():
    layers = np.array([0, 0, 0, 0, 0, 1, 2, 2])  # X5, a child of Z1, in the layer of its parents
    found = certificate(SCM, System(layer_of=layers))
    assert found["acyclic"].details["factors_against_layers"] == ["Z1"]
    assert found.may_claim("graph").answer is Answer.NO


def test_heavy_tails_raise_no_alarm():
    class HeavyTails(System):
        def draw(self, n_samples=6000, seed=0):
            data = super().draw(n_samples, seed)
            rng = np.random.default_rng(seed)
            leaves = data.x.copy()
            free = ~data.is_intervened[:, 7]
            leaves[free, 7] += 0.4 * rng.standard_t(3, free.sum())
            return replace(data, x=leaves)

    assert certificate(SCM, HeavyTails()).may_claim("graph")


def test_an_unknown_claim_is_refused_with_a_suggestion():
    with pytest.raises(InvalidInputError, match="Did you mean 'anchors'"):
        RIGHT["anchor"]
    with pytest.raises(InvalidInputError, match="Did you mean 'graph'"):
        RIGHT.may_claim("graphs")


def test_every_question_names_a_statement_and_answers_in_words():
    for claim in RIGHT.claims:
        assert claim.question.endswith("?")
        assert claim.text.endswith(".")
        assert claim.statement


def test_json_brings_the_whole_certificate_back():
    found = certificate(SCM, System(action="shift"), notes=("2 edges removed",))
    assert Certificate.from_json(found.to_json()) == found
    assert json.loads(found.to_json())["notes"] == ["2 edges removed"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema_version": 2, "verdict": "", "claims": [{}]}']
)
def test_text_that_is_no_certificate_is_refused(text):
    with pytest.raises(FormatError, match="not a certificate"):
        Certificate.from_json(text)


def test_a_certificate_of_an_earlier_form_is_refused_with_advice():
    with pytest.raises(FormatError, match="fit the model again"):
        Certificate.from_json('{"verdict": "All is well.", "claims": [], "notes": []}')


def test_it_prints_within_the_terminal_and_passes_the_notes_on():
    printed = str(certificate(SCM, System(action="shift"), notes=("2 edges removed",)))
    assert max(len(line) for line in printed.splitlines()) <= WIDTH
    assert "Note from the solver: 2 edges removed" in printed
    assert "What this suggests" in printed


def test_data_of_other_variables_are_refused():
    other = InterventionalData.from_arrays(np.random.default_rng(0).standard_normal((50, 2)))
    with pytest.raises(InvalidInputError, match="'held_out' must have the variables"):
        certify(SCM, System().draw(), held_out=other)


def test_the_same_seed_gives_the_same_certificate():
    first, second = (certificate(SCM, System(), n_samples=1200, seed=3) for _ in range(2))
    assert first == second


def test_unknown_lipschitz_constants_are_no_obstacle():
    cube = Bijection(lambda z: z**3, lambda z: z.sign() * z.abs() ** (1 / 3))
    found = certificate(SCM.reparametrised([cube, cube]), System(), n_samples=1500)
    assert found["error"].details["bound"] is None


@given(seed=st.integers(0, 2**16), n_factors=st.integers(1, 3))
@settings(max_examples=8, deadline=None)
def test_any_graph_gets_a_certificate_that_survives_json(seed, n_factors):
    rng = np.random.default_rng(seed)
    n = 6
    before = rng.permutation(n + n_factors)
    first = before[:n, None] < before[None, n:]
    drawn = rng.random((n, n_factors)) < 0.4
    scm: FactorSCM = linear_scm(drawn & first, drawn & ~first)
    targets = random_targets(3, n, rng)
    data = simulate(scm, targets, np.sort(np.arange(60) % 4), seed)
    found = certify(scm, data)
    assert Certificate.from_json(found.to_json()) == found
    assert found["exact"].answer is Answer.YES
    assert not found.may_claim("graph")
