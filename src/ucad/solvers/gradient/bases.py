"""A finished model without each of its factors in turn: what a restart starts from."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ucad.graph import FactorGraph
from ucad.scm import VARIANCE_FLOOR
from ucad.solvers.gradient.candidates import Candidates, Learner
from ucad.solvers.gradient.discretise import refit
from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.objective import FactorMoments, profile_nll
from ucad.solvers.gradient.relaxed_graph import RelaxedGraph
from ucad.solvers.gradient.sparse_regression import sparse_regressions

__all__ = ["Base", "moments_of", "possible_children", "without_each"]


class Base(NamedTuple):
    """The best model without one factor (or with all), its children given to the others."""

    factor: int
    Q: Bool[Tensor, "variables factors"]
    R: Bool[Tensor, "variables factors"]
    parameters: Parameters
    residual_variance: Float[Tensor, " variables"]
    nll: float


def without_each(learner: Learner, best: Candidates, min_gain: float, seed: int) -> list[Base]:
    """The model without each factor in turn, and last the whole model, refitted.

    Its children, and variables that are badly explained anyway, attach to those other factors
    that help and that the order of factors allows: so a duplicate costs nothing.
    """
    Q, R = (torch.from_numpy(part.copy()) for part in best.graphs[0][:2])
    n_factors = Q.shape[1]
    repeated = {
        name: value.expand(n_factors + 1, *value.shape[1:]).clone()
        for name, value in best.parameters.items()
    }
    objective, logits = learner.problem.objective, repeated["logits"]
    present = ~torch.eye(n_factors + 1, n_factors, dtype=torch.bool)[:, None]
    Q_each = Q & present
    moments = objective.factor_moments(repeated, _batch(Q_each, R & present, like=logits))
    layer_of = learner.problem.constraints.layer_of
    legal = R | possible_children(Q, R, None if layer_of is None else layer_of.cpu())
    helps = _helpful_factors(learner, moments, legal & present, min_gain)
    loose = best.residual_variance[0].cpu() > 2 * VARIANCE_FLOOR
    affected = torch.cat([R.T | loose, loose[None]])
    R_each = torch.where(affected[:, :, None], helps, R & present)
    graph = _batch(Q_each, R_each, like=logits)
    generator = torch.Generator(device=logits.device).manual_seed(seed)
    brief = replace(learner.refit, steps=max(1, learner.refit.steps // 4))
    fitted = refit(repeated, graph, objective, brief, generator)
    with torch.no_grad():
        variance = objective.residual_variance(fitted, graph)
    nll = profile_nll(variance, objective.free_share, objective.variance_floor).tolist()
    rows = [{name: value[k : k + 1] for name, value in fitted.items()} for k in range(len(nll))]
    each = zip(range(len(nll)), Q_each, R_each, rows, variance, nll, strict=True)
    return [Base(*one) for one in each]


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


def _helpful_factors(
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


def _batch(
    Q: Bool[Tensor, "configurations variables factors"],
    R: Bool[Tensor, "configurations variables factors"],
    like: Tensor,
) -> RelaxedGraph:
    return RelaxedGraph(Q.to(like), R.to(like))


def moments_of(learner: Learner) -> Float[Tensor, "variables features features"]:
    """The moments, of which a caller of restarts has seen that there are any."""
    assert learner.moments is not None, "restarts need moments"
    return learner.moments
