import numpy as np
import pytest
import torch

from ucad.errors import InvalidInputError
from ucad.solvers.gradient.relaxed_graph import (
    Edge,
    expected_graph,
    gumbel_noise,
    possible_edges,
    sample_graph,
)
from ucad.solvers.gradient.settings import Sampling
from ucad.solvers.prior import PriorKnowledge

SHAPE = (4, 3, 6, 2)


def logits_and_noise(seed: int = 0):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(SHAPE, generator=generator, dtype=torch.float64)
    return logits, gumbel_noise(SHAPE, generator, torch.float64)


def test_parent_and_child_share_what_no_edge_leaves():
    logits, _ = logits_and_noise()
    Q, R = expected_graph(logits)
    torch.testing.assert_close(Q + R, 1 - logits.softmax(dim=1)[:, Edge.NONE])


def test_straight_through_samples_are_hard_and_pass_the_soft_gradient():
    logits, noise = logits_and_noise()
    hard_logits, soft_logits = (logits.clone().requires_grad_() for _ in range(2))
    hard = sample_graph(hard_logits, noise, Sampling.STRAIGHT_THROUGH)
    soft = sample_graph(soft_logits, noise, Sampling.SOFT)
    assert ((hard.Q == 0) | ((hard.Q - 1).abs() < 1e-12)).all()
    assert (hard.Q * hard.R).abs().max() < 1e-12
    (hard.Q.sum() - hard.R[:, 0].sum()).backward()
    (soft.Q.sum() - soft.R[:, 0].sum()).backward()
    torch.testing.assert_close(hard_logits.grad, soft_logits.grad)


def test_samples_are_drawn_with_the_probabilities_of_the_edges():
    logits = torch.log(torch.tensor([0.5, 0.2, 0.3])).reshape(1, 3, 1, 1)
    noise = gumbel_noise((20_000, 3, 1, 1), torch.Generator().manual_seed(0), torch.float32)
    graph = sample_graph(logits.expand(20_000, -1, -1, -1), noise, Sampling.STRAIGHT_THROUGH)
    assert abs(graph.Q.mean().item() - 0.5) < 0.015
    assert abs(graph.R.mean().item() - 0.2) < 0.015


def test_noise_is_finite_and_has_the_mean_of_a_gumbel():
    noise = gumbel_noise((100_000,), torch.Generator().manual_seed(0), torch.float64)
    assert noise.isfinite().all()
    assert abs(noise.mean().item() - 0.5772) < 0.02


NAMES = tuple("ABCDEF")


def test_prior_knowledge_fixes_probabilities_for_good():
    prior = PriorKnowledge.from_edges(
        NAMES, 2, required=["A -> Z1"], forbidden=["Z2 -> B"], anchors=["Z2 -> C"]
    )
    possible = possible_edges(6, 2, prior)
    logits, noise = logits_and_noise()
    logits.requires_grad_()
    left = logits.masked_fill(~possible, -torch.inf)
    Q, R = expected_graph(left)
    assert (Q[:, 0, 0] == 1).all()
    assert (R[:, 1, 1] == 0).all()
    assert (R[:, 2, 1] == 1).all()
    assert (R[:, 2, 0] == 0).all()
    sample_graph(left, noise, Sampling.SOFT).Q.sum().backward()
    assert logits.grad.isfinite().all()
    assert (logits.grad[:, :, 0, 0] == 0).all()


def test_layers_bar_parents_of_the_first_and_children_of_the_last():
    possible = possible_edges(3, 2, layer_of=np.array([0, 1, 2]))
    assert not possible[Edge.CHILD, 0].any()
    assert not possible[Edge.PARENT, 2].any()
    assert possible[:, 1].all()


def test_knowledge_that_contradicts_the_layers_is_refused():
    prior = PriorKnowledge.from_edges(NAMES[:3], 2, required=["Z2 -> A"])
    possible_edges(3, 2, prior)
    with pytest.raises(InvalidInputError, match="variable 0 something to be to factor 1"):
        possible_edges(3, 2, prior, np.array([0, 1, 2]))
