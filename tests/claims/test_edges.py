"""True edges are worth something on unseen samples, spurious ones nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from tests.claims.models import SMALL, System, linear_scm, observed, samples_of
from ucad.claims import edges as module
from ucad.claims.answers import Answer
from ucad.claims.edges import EdgeTests, _paired_z, edge_worth
from ucad.claims.robust import log_density
from ucad.graph import FactorGraph
from ucad.scm import FactorSCM, LinearMechanism

SYSTEM = System(scm=SMALL, targets=((0,), (3,)))


def test_the_density_is_that_of_students_t_up_to_a_constant():
    u = np.linspace(-9, 9, 13)
    difference = log_density(u) - stats.t(4).logpdf(u)
    np.testing.assert_allclose(difference, difference[0])


def test_the_paired_z_is_mean_over_standard_error():
    d = np.random.default_rng(0).standard_normal(40) + 0.3
    assert _paired_z(d) == pytest.approx(d.mean() / (d.std() / np.sqrt(40)))
    assert _paired_z(np.zeros(5)) == 0.0
    assert _paired_z(np.zeros(0)) == 0.0


def test_every_edge_of_a_true_model_is_supported():
    claim = edge_worth(samples_of(SMALL, SYSTEM, n_samples=2000))
    assert claim.answer is Answer.YES
    assert set(claim.details["worth"]) == {"X1 → Z1", "X2 → Z1", "Z1 → X3", "Z1 → X4"}
    assert claim.details["threshold"] == pytest.approx(stats.norm.isf(0.05 / 4), abs=1e-3)
    assert min(claim.details["worth"].values()) > 5


def spurious():
    """X5 → Z1 with next to no weight, and Z1 → X6 although X6 is on its own."""
    Q = np.array([[1], [1], [0], [0], [1], [0]], dtype=bool)
    R = np.array([[0], [0], [1], [1], [0], [1]], dtype=bool)
    F_Z = LinearMechanism(
        torch.tensor([[0.8, 0.8, 0, 0, 0.01, 0]]).double(), torch.zeros(1).double()
    )
    F_X = LinearMechanism(
        torch.tensor([[0.0], [0], [0.8], [0.8], [0], [0.01]]).double(), torch.zeros(6).double()
    )
    scm = FactorSCM(FactorGraph(Q, R), F_Z, F_X, torch.tensor([1, 1, 0.4, 0.4, 1, 1]).double())
    x = scm.sample(3000).x.numpy()
    x[:, 5] = np.random.default_rng(0).standard_normal(3000)
    return observed(scm, x)


def test_spurious_edges_of_both_kinds_are_named_and_only_they():
    claim = edge_worth(spurious())
    assert claim.answer is Answer.PARTLY
    assert set(claim.details["unsupported"]) == {"X5 → Z1", "Z1 → X6"}


def test_a_model_of_spurious_edges_alone_is_refused():
    x = np.random.default_rng(0).standard_normal((1000, 5))
    claim = edge_worth(observed(SMALL, x))
    assert claim.answer is Answer.NO
    assert "Z1 → X3" in claim.details["unsupported"]


def test_a_graph_without_edges_is_not_known():
    none = linear_scm(np.zeros((3, 1)), np.zeros((3, 1)))
    x = np.random.default_rng(0).standard_normal((200, 3))
    assert edge_worth(observed(none, x)).answer is Answer.UNKNOWN


def test_of_too_many_edges_the_weakest_are_tested(monkeypatch):
    monkeypatch.setattr(module, "MAX_EDGES", 2)
    claim = edge_worth(spurious())
    assert set(claim.details["worth"]) == {"X5 → Z1", "Z1 → X6"}
    assert "the weakest 2 of 6" in claim.text


def test_what_a_sample_gains_counts_only_where_the_child_is_free():
    samples = samples_of(SMALL, SYSTEM, n_samples=1000)
    tests = EdgeTests(samples)
    gain = tests._gain(3, samples.z[:, []])
    acted = samples.is_intervened[tests.fold.test, 3]
    assert acted.any()
    assert (gain[acted] == 0).all()
    assert (gain[~acted] != 0).all()
