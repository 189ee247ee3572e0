"""The certificate says yes where an assumption holds, and no where it was broken on purpose."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ucad.data import InterventionalData
from ucad.errors import FormatError, InvalidInputError
from ucad.graph import FactorGraph
from ucad.scm import Bijection, FactorSCM, LinearMechanism
from ucad.scm.certificate import WIDTH, Answer, Certificate, certify
from ucad.simulate import paper_problem, random_targets, simulate

PROBLEM = paper_problem("b", "16-3", seed=0, n_samples=2000)
NOISY = paper_problem("g", "16-3", seed=1, n_samples=2000)


def linear_scm(Q, R, *, noise=0.3, weight=0.8):
    """A noisy linear model with equal weights on the given edges."""
    graph = FactorGraph(np.array(Q, dtype=bool), np.array(R, dtype=bool))
    n, m = graph.Q.shape
    F_Z = LinearMechanism(weight * torch.tensor(graph.Q.T).double(), torch.zeros(m).double())
    F_X = LinearMechanism(weight * torch.tensor(graph.R).double(), torch.zeros(n).double())
    roots = torch.from_numpy(~graph.R.any(axis=1)).double()
    return FactorSCM(graph, F_Z, F_X, noise + (1 - noise) * roots)


def draw(scm, targets=None, n_samples=1000, seed=0, layer_of=None):
    """Samples in equal parts of an observational regime and of one that clamps each target."""
    n = scm.graph.n_variables
    clamps = np.zeros((1 + len(targets or []), n), dtype=bool)
    for row, target in enumerate(targets or [], 1):
        clamps[row, target] = True
    regime = np.sort(np.arange(n_samples) % len(clamps))
    return simulate(scm, clamps, regime, seed, layer_of=layer_of)


CHAIN = linear_scm(Q=[[1], [0]], R=[[0], [1]])  # X1 → Z1 → X2
NO_OUT_ANCHOR = linear_scm(Q=[[1, 0], [0, 1], [0, 0], [0, 0]], R=[[0, 0], [0, 0], [1, 1], [1, 0]])
COLLIDER = linear_scm(Q=[[1], [1], [0]], R=[[0], [0], [1]])


def test_a_true_model_of_the_paper_gets_a_clean_certificate():
    found = certify(PROBLEM.scm, PROBLEM.train, held_out=PROBLEM.validation)
    for key in ("fit", "acyclic", "anchors", "unique", "scale", "exact", "error"):
        assert found[key].answer is Answer.YES, found[key].text
    assert "may be claimed" in found.verdict


def test_every_claim_names_a_statement_and_answers_in_words():
    for claim in certify(NOISY.scm, NOISY.train).claims:
        assert claim.question.endswith("?")
        assert claim.text.endswith(".")
        assert claim.statement


def test_nonlinear_mechanisms_leave_the_factors_known_up_to_a_bijection():
    claim = certify(NOISY.scm, NOISY.train)["scale"]
    assert claim.answer is Answer.PARTLY
    assert claim.details["metric"] == "MCC with RDC"
    assert "Reparameterization symmetry" in claim.statement


@pytest.mark.parametrize(
    ("setting", "theorem"), [("e", "Linear child"), ("f", "Linear parent"), ("b", "Linear parent")]
)
def test_one_affine_side_is_enough_for_scale_and_shift(setting, theorem):
    problem = paper_problem(setting, "16-3", seed=0, n_samples=500)
    claim = certify(problem.scm, problem.train)["scale"]
    assert claim.answer is Answer.YES
    assert theorem in claim.statement
    assert claim.details["metric"] == "MCC with Pearson correlation"


def test_a_chain_that_nobody_clamped_has_no_direction():
    claim = certify(CHAIN, draw(CHAIN))["directions"]
    assert claim.answer is Answer.NO
    assert claim.details["edges_not_oriented"] == [["X1", "X2"]]
    assert claim.details["factors_not_oriented"] == ["Z1"]


@pytest.mark.parametrize("target", [0, 1])
def test_clamping_either_end_of_a_chain_gives_it_a_direction(target):
    claim = certify(CHAIN, draw(CHAIN, [target]))["directions"]
    assert claim.answer is Answer.YES
    assert claim.details["by_clamping_one_end"] == 1


def test_clamping_both_ends_always_together_orients_nothing():
    claim = certify(CHAIN, draw(CHAIN, [[0, 1]]))["directions"]
    assert claim.answer is Answer.NO


def test_a_collider_is_oriented_by_observations_alone():
    claim = certify(COLLIDER, draw(COLLIDER))["directions"]
    assert claim.answer is Answer.YES
    assert claim.details["by_observations_only"] == 2


def test_one_factor_with_one_parent_does_not_spoil_the_direction_of_a_collider_elsewhere():
    scm = linear_scm(
        Q=[[1, 0], [1, 0], [0, 0], [0, 1], [0, 0]], R=[[0, 0], [0, 0], [1, 0], [0, 0], [0, 1]]
    )
    claim = certify(scm, draw(scm))["directions"]
    assert claim.answer is Answer.PARTLY
    assert claim.details["factors_not_oriented"] == ["Z2"]


def test_known_layers_orient_every_edge_that_respects_them():
    ordered = certify(CHAIN, draw(CHAIN, layer_of=np.array([0, 1])))
    assert ordered["directions"].answer is Answer.YES
    assert ordered["acyclic"].answer is Answer.YES
    against = certify(CHAIN, draw(CHAIN, layer_of=np.array([1, 0])))
    assert against["directions"].answer is Answer.NO
    assert against["acyclic"].answer is Answer.PARTLY
    assert against["acyclic"].details["factors_against_layers"] == ["Z1"]


def test_two_parents_are_counted_for_every_factor():
    assert certify(COLLIDER, draw(COLLIDER))["two_parents"].answer is Answer.YES
    claim = certify(CHAIN, draw(CHAIN))["two_parents"]
    assert claim.answer is Answer.NO
    assert claim.details["fewer_than_two"] == ["Z1"]


def test_a_factor_without_an_out_anchor_is_named():
    found = certify(NO_OUT_ANCHOR, draw(NO_OUT_ANCHOR, [0, 1]))
    assert found["anchors"].answer is Answer.NO
    assert found["anchors"].details["without_anchors"] == ["Z2"]
    assert found["scale"].answer is Answer.PARTLY
    assert "that each factor is a single one" in found.verdict


def test_an_anchor_with_a_null_weight_does_not_count():
    F_Z = CHAIN.factor_mechanism
    scm = replace(CHAIN, factor_mechanism=LinearMechanism(0 * F_Z.weight, F_Z.bias))
    found = certify(scm, draw(CHAIN))
    assert found["anchors"].answer is Answer.PARTLY
    assert found["anchors"].details["anchors_without_weight"] == ["Z1"]
    assert found["distinct"].answer is Answer.NO
    assert found["scale"].answer is Answer.NO


def test_the_share_of_an_in_anchor_is_its_part_of_a_linear_factors_variance():
    data = draw(COLLIDER, n_samples=1500)
    shares = certify(COLLIDER, data)["anchors"].details["factors"][0]["in_anchors"]
    z = 0.8 * (data.x[:, 0] + data.x[:, 1])
    for name, column in (("X1", 0), ("X2", 1)):
        expected = 0.8**2 * data.x[:, column].var() / z.var()
        assert shares[name] == pytest.approx(expected, abs=1e-4)


def test_a_factor_split_in_two_is_not_the_only_explanation():
    scm = linear_scm(  # both factors have the same parent, so one would do
        Q=[[1, 1], [0, 0], [0, 0]], R=[[0, 0], [1, 0], [0, 1]]
    )
    claim = certify(scm, draw(scm, [0]))["unique"]
    assert claim.answer is Answer.NO
    assert claim.details["other_factors"] == [{"made_from": ["X1"], "drives": ["X2", "X3"]}]


def test_where_no_theorem_applies_the_boolean_rank_still_says_something():
    claim = certify(NO_OUT_ANCHOR, draw(NO_OUT_ANCHOR))["unique"]
    assert claim.answer is Answer.UNKNOWN
    assert claim.details["boolean_rank"] == {"at_least": 2, "at_most": 2}
    assert "Fewer than 2 factors cannot explain it" in claim.text


def test_collinear_factors_are_reported():
    scm = linear_scm(Q=[[1, 1], [0, 0], [0, 0], [0, 0]], R=[[0, 0], [1, 0], [0, 1], [0, 0]])
    claim = certify(scm, draw(scm, [0]))["distinct"]
    assert claim.answer is Answer.NO
    assert [row["explained_by_other_factors"] for row in claim.details["factors"]] == [1.0, 1.0]


@pytest.mark.parametrize(("targets", "answer"), [([0], Answer.PARTLY), ([1], Answer.YES)])
def test_a_deterministic_chain_needs_its_mediator_clamped(targets, answer):
    scm = linear_scm(  # X1 → Z1 → X2 → Z2 → X3 and X4 → Z2, X2 without noise
        Q=[[1, 0], [0, 1], [0, 0], [0, 1]], R=[[0, 0], [1, 0], [0, 1], [0, 0]], noise=0.0
    )
    claim = certify(scm, draw(scm, targets))["distinct"]
    assert claim.answer is answer
    assert claim.details["never_clamped_mediators"] == (["X2"] if targets == [0] else [])


def test_factors_that_predict_nothing_may_not_be_claimed():
    noise = np.random.default_rng(0).standard_normal((1000, 2))
    data = InterventionalData.from_arrays(noise)
    found = certify(CHAIN, data, held_out=data)
    assert found["fit"].answer is Answer.NO
    assert found.verdict.startswith("Nothing may be claimed")


def test_the_fit_is_compared_on_the_same_held_out_samples():
    details = certify(PROBLEM.scm, PROBLEM.train, held_out=PROBLEM.validation)["fit"].details
    nll = details["nll_per_variable"]
    test = PROBLEM.validation
    assert nll["model"] == pytest.approx(PROBLEM.scm.nll(test.x, test.is_intervened))
    assert nll["model"] < nll["without_factors"] < nll["permuted"]
    assert details["n_samples"] == test.n_samples


def test_without_held_out_data_the_fit_is_only_partly_shown():
    found = certify(PROBLEM.scm, PROBLEM.train)
    assert found["fit"].answer is Answer.PARTLY
    assert "No data were held back" in found.verdict


def test_the_error_is_that_of_the_abstraction_and_below_its_bound():
    problem = paper_problem("e", "64-6", seed=1, n_samples=2000)
    claim = certify(problem.scm, problem.train, held_out=problem.validation)["error"]
    assert claim.details["overall"]["error"] > 0
    rows = claim.details["by_intervention"]
    assert len(rows) == len(np.unique(problem.validation.regime))
    for row in [claim.details["overall"], *rows]:
        assert row["error"] <= row["bound"] <= row["bound_by_norms"]
        assert row["relative"] == pytest.approx(row["error"] / claim.details["factor_variance"])


def test_an_error_that_is_zero_by_construction_is_called_that():
    assert "by construction" in certify(CHAIN, draw(CHAIN))["error"].text


def test_unknown_lipschitz_constants_make_the_error_unknown_and_not_a_crash():
    cube = Bijection(lambda z: z**3, lambda z: z.sign() * z.abs() ** (1 / 3))
    scm = CHAIN.reparametrised([cube])
    found = certify(scm, draw(CHAIN))
    assert found["error"].answer is Answer.UNKNOWN
    assert found["scale"].answer is Answer.PARTLY


def test_json_brings_the_whole_certificate_back():
    found = certify(NOISY.scm, NOISY.train, held_out=NOISY.validation, notes=["2 edges removed"])
    assert Certificate.from_json(found.to_json()) == found
    assert json.loads(found.to_json())["notes"] == ["2 edges removed"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"verdict": "", "claims": [{}], "notes": []}'])
def test_text_that_is_no_certificate_is_refused(text):
    with pytest.raises(FormatError, match="not a certificate"):
        Certificate.from_json(text)


def test_it_prints_within_the_terminal_and_passes_the_notes_on():
    printed = str(certify(NOISY.scm, NOISY.train, notes=["2 edges removed"]))
    assert max(len(line) for line in printed.splitlines()) <= WIDTH
    assert printed.startswith(("The factors", "Under"))
    assert "Note from the solver: 2 edges removed" in printed
    assert "not testable" in printed


def test_data_of_other_variables_are_refused():
    with pytest.raises(InvalidInputError, match="'held_out' must have the variables"):
        certify(CHAIN, draw(CHAIN), held_out=PROBLEM.train)


def test_an_unknown_claim_is_refused_with_a_suggestion():
    with pytest.raises(InvalidInputError, match="Did you mean 'anchors'"):
        certify(CHAIN, draw(CHAIN))["anchor"]


def test_the_same_seed_gives_the_same_certificate():
    first, second = (certify(NOISY.scm, NOISY.train, seed=3) for _ in range(2))
    assert first == second


@given(seed=st.integers(0, 2**16), n_factors=st.integers(1, 3))
@settings(max_examples=20, deadline=None)
def test_any_graph_gets_a_certificate_that_survives_json(seed, n_factors):
    rng = np.random.default_rng(seed)
    n = 6
    before = rng.permutation(n + n_factors)
    first = before[:n, None] < before[None, n:]
    drawn = rng.random((n, n_factors)) < 0.4
    scm = linear_scm(drawn & first, drawn & ~first)
    targets = random_targets(3, n, rng)
    data = simulate(scm, targets, np.sort(np.arange(60) % 4), seed)
    found = certify(scm, data)
    assert Certificate.from_json(found.to_json()) == found
    assert found["exact"].answer is Answer.YES
