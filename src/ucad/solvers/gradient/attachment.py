"""Which factors explain which variables, all at once, given the factors of a linear F_X."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ucad.graph import FactorGraph
from ucad.scm import VARIANCE_FLOOR
from ucad.solvers.gradient.candidates import Learner, relaxed
from ucad.solvers.gradient.discretise import discretise
from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.objective import FactorMoments
from ucad.solvers.gradient.relaxed_graph import RelaxedGraph
from ucad.solvers.gradient.sparse_regression import sparse_regressions
from ucad.solvers.gradient.warm_start import graph_logits

__all__ = [
    "as_batch",
    "best_anchors",
    "helpful_factors",
    "moments_of",
    "possible_children",
    "reattached",
]


def reattached(learner: Learner, offers: Parameters, min_gain: float) -> Parameters:
    """Returns models in which badly explained variables are children of all factors that help.

    A proposal gives a new factor one group of children; others need it beside the factors they
    have. Of the out-anchors of every factor the best explained one stays as it is.
    """
    logits = learner.problem.logits(offers)
    layer_of = learner.problem.constraints.layer_of
    layers = None if layer_of is None else layer_of.cpu()
    graphs = discretise(logits, learner.training.confidence, layer_of)
    graph = relaxed(graphs, like=logits)
    objective = learner.problem.objective
    with torch.no_grad():
        variance = objective.residual_variance(offers, graph).cpu()
        moments = objective.factor_moments(offers, graph)
    Q, R = (part.bool().cpu() for part in graph)
    legal = [
        own_R | possible_children(own_Q, own_R, layers) for own_Q, own_R in zip(Q, R, strict=True)
    ]
    helps = helpful_factors(learner, moments, torch.stack(legal), min_gain)
    anchors = torch.stack([best_anchors(*pair) for pair in zip(R, variance, strict=True)])
    loose = (variance > 2 * VARIANCE_FLOOR) & ~anchors
    R = torch.where(loose[:, :, None], helps, R)
    fresh = torch.stack([graph_logits(*pair) for pair in zip(Q, R, strict=True)])
    return {**offers, "logits": fresh.to(offers["logits"])}


def possible_children(
    Q: Bool[Tensor, "variables factors"],
    R: Bool[Tensor, "variables factors"],
    layer_of: Int[Tensor, " variables"] | None,
) -> Bool[Tensor, "variables factors"]:
    """Which variables may become children of which factors: all that keep the order of factors."""
    graph = FactorGraph(Q.numpy(), R.numpy())
    place = torch.empty(graph.n_factors, dtype=torch.long)
    place[torch.from_numpy(graph.factor_order)] = torch.arange(graph.n_factors)
    first_fed = torch.where(Q, place, graph.n_factors).min(dim=1).values
    legal = (place < first_fed[:, None]) & ~Q
    if layer_of is None:
        return legal
    last_parent = torch.where(Q, layer_of[:, None], -1).max(dim=0).values
    return legal & (last_parent < layer_of[:, None])


def helpful_factors(
    learner: Learner,
    moments: FactorMoments,
    allowed: Bool[Tensor, "configurations variables factors"],
    min_gain: float,
) -> Bool[Tensor, "configurations variables factors"]:
    """Which of the allowed factors a sparse regression of each variable takes."""
    K, n, m = allowed.shape
    # Moments of (z, x_j, 1): x_j goes between the factors and the constant.
    order = [*range(m), m + 1, m]
    own = moments_of(learner)[:, :-1, :-1].diagonal(dim1=1, dim2=2).diagonal()
    bordered = torch.nn.functional.pad(moments.inputs, (0, 1, 0, 1))
    bordered[..., m + 1, : m + 1] = bordered[..., : m + 1, m + 1] = moments.targets
    bordered[..., m + 1, m + 1] = own.to(bordered)
    bordered = bordered[..., order, :][..., order].flatten(0, 1).double()
    features = torch.nn.functional.pad(allowed, (0, 1)).flatten(0, 1).to(bordered.device)
    target = torch.full((K * n,), m, device=bordered.device)
    found = sparse_regressions(bordered, target, features, m, min_gain)
    return (found.coefficients[:, :m] != 0).reshape(K, n, m).cpu()


def best_anchors(
    R: Bool[Tensor, "variables factors"], residual_variance: Float[Tensor, " variables"]
) -> Bool[Tensor, " variables"]:
    """Marks one variable a factor: of those it alone explains, the one it explains best."""
    exclusive = R & (R.sum(dim=1, keepdim=True) == 1)
    first = torch.where(exclusive, residual_variance[:, None], torch.inf).argmin(dim=0)
    marked = torch.zeros(len(R), dtype=torch.bool)
    marked[first[exclusive.any(dim=0)]] = True
    return marked


def as_batch(
    Q: Bool[Tensor, "configurations variables factors"],
    R: Bool[Tensor, "configurations variables factors"],
    like: Tensor,
) -> RelaxedGraph:
    """Returns discrete edges as a relaxed graph, in the precision of a tensor."""
    return RelaxedGraph(Q.to(like), R.to(like))


def moments_of(learner: Learner) -> Float[Tensor, "variables features features"]:
    """The moments, of which a caller of restarts has seen that there are any."""
    assert learner.moments is not None, "restarts need moments"
    return learner.moments
