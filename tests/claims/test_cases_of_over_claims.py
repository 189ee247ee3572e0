"""Models that were once claimed although wrong, each by data of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from tests.claims.models import (
    GRAPH,
    SCM,
    Formula,
    System,
    certificate,
    direct_edge,
    linear_scm,
    refitted,
)
from ucad.claims import SolverNotes, certify
from ucad.claims.answers import Answer
from ucad.claims.certificate import ASSUMED
from ucad.data import InterventionalData
from ucad.graph import FactorGraph
from ucad.scm import FactorSCM, LinearMechanism
from ucad.simulate import paper_problem


def test_a_reversed_graph_of_320_variables_is_refused():
    """Half of 320 variables make eight factors, which make the other half; the model says so
    the other way round."""
    rng = np.random.default_rng(0)
    side = np.eye(8, dtype=bool)[rng.integers(8, size=160)]
    side[:8] = np.eye(8, dtype=bool)
    empty = np.zeros_like(side)
    truth = linear_scm(np.vstack([side, empty]), np.vstack([empty, side]), weight=0.3)
    backwards = linear_scm(np.vstack([empty, side]), np.vstack([side, empty]), weight=0.3)
    targets = tuple((int(i),) for i in range(0, 320, 8))
    parts = System(scm=truth, targets=targets).draw(2050).split(0.75, 0.25, seed=0)
    found = certify(refitted(backwards, parts.train), parts.train, held_out=parts.validation)
    assert found.may_claim("graph").answer is Answer.NO
    assert found.may_claim("directions").answer is Answer.NO


def test_a_direct_edge_beside_curved_children_is_refused():
    system = System(shape=np.tanh, direct=direct_edge(5, 7))
    found = certificate(refitted(SCM, system.draw()), system)
    assert found.may_claim("graph").answer is Answer.NO
    assert "edge" in [one.kind for one in found.suggestions][:2]


def test_readings_with_90_percent_zeros_are_not_claimed():
    """What is below a limit reads as zero, while the factors go on reading what is there."""
    parts = System().draw(8000).split(0.75, 0.25, seed=0)
    limit = np.quantile(parts.train.x, 0.9, axis=0)
    seen = [replace(part, x=np.maximum(part.x - limit, 0.0)) for part in parts[:2]]
    found = certify(refitted(SCM, seen[0]), seen[0], held_out=seen[1])
    assert found.may_claim("graph").answer is not Answer.YES
    assert found.may_claim("values").answer is not Answer.YES


def test_two_factors_with_their_parents_exchanged_are_refused():
    exchanged = FactorGraph(GRAPH.Q[[2, 1, 0, 3, 4, 5, 6, 7]], GRAPH.R)
    wrong = linear_scm(exchanged.Q, exchanged.R)
    system = System()
    found = certificate(refitted(wrong, system.draw()), system)
    assert found.may_claim("graph").answer is Answer.NO


def test_thirty_five_guesses_are_no_unconditional_yes():
    guesses = tuple(f"the place of X{j}: it is a guess" for j in range(35))
    found = certificate(SCM, System(), notes=SolverNotes(guesses=guesses))
    assert {found.may_claim(what).answer for what in ("graph", "factors", "values")} == {
        Answer.PARTLY
    }
    assert "The solver could not decide" in found.verdict
    assert "32 more" in found.verdict


def test_a_screen_of_three_reads_per_gene_is_not_claimed():
    """Readings with noise leave traces of every cause in every effect: edges by dependence."""
    data = System().draw(8000)
    rng = np.random.default_rng(0)
    reads = rng.poisson(3 * np.exp(0.5 * np.clip(data.x, -4, 4))).astype(float)
    parts = replace(data, x=np.log1p(reads)).split(0.75, 0.25, seed=0)
    found = certify(refitted(SCM, parts.train), parts.train, held_out=parts.validation)
    assert found.may_claim("graph").answer is not Answer.YES
    assert found.may_claim("values").answer is not Answer.YES


def test_the_wrong_class_of_both_nonlinear_mechanisms_gives_no_scale():
    """Setting g: networks on both sides, and a model whose children are straight lines."""
    problem = paper_problem("g", "16-3", seed=0, n_samples=8000)
    straight = refitted(problem.scm, problem.train)
    found = certify(straight, problem.train, held_out=problem.validation)
    assert found.may_claim("values").answer is not Answer.YES
    assert "The shape of F_X is not" in " ".join(found.may_claim("graph").conditions) or (
        found.may_claim("graph").answer is Answer.NO
    )


def test_27_edges_that_vanish_where_their_cause_is_clamped_do_not_rest_on_the_data():
    """A hidden cause of three variables and nine others: r about .57 observed, chance if set."""
    Q, R = (np.zeros((12, 1), dtype=bool) for _ in range(2))
    Q[:3], R[3:] = True, True
    model = linear_scm(Q, R)
    rng = np.random.default_rng(0)
    regime = np.sort(np.arange(8000) % 4)
    acted = np.zeros((8000, 12), dtype=bool)
    for target in range(3):
        acted[regime == target + 1, target] = True
    x = 0.755 * rng.standard_normal((8000, 1)) + 0.656 * rng.standard_normal((8000, 12))
    x = np.where(acted, rng.standard_normal(x.shape), x)
    assert abs(np.corrcoef(x[regime == 0].T)[0, 5] - 0.57) < 0.04
    data = InterventionalData(x, acted, regime, model.graph.variable_names, is_part=True)
    parts = data.split(0.75, 0.25, seed=0)
    found = certify(refitted(summed(model), parts.train), parts.train, held_out=parts.validation)
    assert found["directions"].details["n_edges"] == 27
    assert found["directions"].details["contradicted"] == 27
    assert found.may_claim("directions").answer is Answer.NO


def summed(model):
    """The model with a factor that is the sum of its parents."""
    weight = torch.tensor(model.graph.Q.T).double()
    return replace(model, factor_mechanism=LinearMechanism(weight, torch.zeros(1).double()))


INPUTS = np.array([[1], [1], [1], [0], [0]], dtype=bool)


def logic(code):
    """X1 … X3, two-valued, → Z1 = code → X4 (majority) and X5 (parity)."""
    graph = FactorGraph(INPUTS, ~INPUTS)
    table = torch.tensor([[0, 0], [0, 1], [0, 1], [1, 0], [0, 1], [1, 0], [1, 0], [1, 1]]).double()
    weight = torch.tensor(code).double()
    bits = torch.tensor([[b >> 2 & 1, b >> 1 & 1, b & 1] for b in range(8)]).double()
    values = bits @ weight

    def made(column):
        return lambda z: table[(z[:, :1] - values).abs().argmin(dim=1), column]

    nothing = [lambda z: 0 * z[:, 0]] * 3
    all_weights = torch.cat([weight, torch.zeros(2)])[None].double()
    F_Z = LinearMechanism(all_weights, torch.zeros(1).double())
    F_X = Formula((*nothing, made(0), made(1)), ~INPUTS)
    return FactorSCM(graph, F_Z, F_X, torch.full((5,), 0.1).double())


def test_two_fits_of_one_logic_circuit_have_other_values_and_neither_is_claimed():
    rng = np.random.default_rng(0)
    x = np.zeros((4000, 5))
    x[:, :3] = rng.integers(2, size=(4000, 3))
    acted = np.zeros(x.shape, dtype=bool)
    regime = np.sort(np.arange(4000) % 4)
    for target in range(3):
        acted[regime == target + 1, target] = True
    one, other = logic([4.0, 2.0, 1.0]), logic([1.0, -2.0, 4.0])
    made = one.expected_variables(one.state_map(x)).numpy()
    x[:, 3:] = made[:, 3:] + 0.1 * rng.standard_normal((4000, 2))
    again = other.expected_variables(other.state_map(x)).numpy()
    np.testing.assert_allclose(made[:, 3:], again[:, 3:])
    factors = [model.state_map(x).numpy()[:, 0] for model in (one, other)]
    assert abs(np.corrcoef(*factors)[0, 1]) < 0.6
    data = InterventionalData(x, acted, regime, one.graph.variable_names, is_part=True)
    parts = data.split(0.75, 0.25, seed=0)
    for model in (one, other):
        found = certify(model, parts.train, held_out=parts.validation)
        assert found.may_claim("values").answer is not Answer.YES
        assert found["scale"].details["factors"][0]["known"] != "up to scale and shift"


class Spread(System):
    """Samples whose own noise grows with what a variable is made of."""

    def draw(self, n_samples=6000, seed=0):
        data = super().draw(n_samples, seed)
        rng = np.random.default_rng(seed + 1)
        made = SCM.expected_variables(SCM.state_map(data.x)).numpy()
        leaves = np.isin(np.arange(8), [6, 7]) & ~data.is_intervened
        noise = (0.2 + 0.4 * np.abs(made)) * rng.standard_normal(made.shape)
        return replace(data, x=np.where(leaves, made + noise, data.x))


class TwoValued(System):
    """Samples in which the last child is a coin with odds that its factor sets."""

    def draw(self, n_samples=6000, seed=0):
        data = super().draw(n_samples, seed)
        rng = np.random.default_rng(seed + 1)
        made = SCM.expected_variables(SCM.state_map(data.x)).numpy()[:, 7]
        free = ~data.is_intervened[:, 7]
        x = data.x.copy()
        x[free, 7] = (rng.random(free.sum()) < 1 / (1 + np.exp(-2 * made[free]))).astype(float)
        return replace(data, x=x)


class Counted(System):
    """Samples in which the last child is a count with a rate that its factor sets."""

    def draw(self, n_samples=6000, seed=0):
        data = super().draw(n_samples, seed)
        rng = np.random.default_rng(seed + 1)
        made = SCM.expected_variables(SCM.state_map(data.x)).numpy()[:, 7]
        free = ~data.is_intervened[:, 7]
        x = data.x.copy()
        x[free, 7] = rng.poisson(np.exp(np.clip(made[free], -4, 3)))
        return replace(data, x=x)


def test_unequal_spread_raises_no_alarm():
    assert certificate(SCM, Spread()).may_claim("graph")


def test_two_valued_and_counted_children_are_another_shape_and_no_wrong_graph():
    for system in (TwoValued(), Counted()):
        found = certificate(refitted(SCM, system.draw()), system)
        assert not any(row["level"] == 1 for row in found["left"].details["findings"])
        assert found.may_claim("graph").answer is not Answer.NO


def test_causal_sufficiency_is_said_to_be_tested_as_far_as_it_can_be():
    assert "causal sufficiency" in ASSUMED
    assert "not testable" not in ASSUMED
    assert ASSUMED.split(". ")[-1].startswith("That nothing unmeasured acts")
    assert "is tested as far as" in ASSUMED
