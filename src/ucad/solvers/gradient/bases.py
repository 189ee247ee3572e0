"""A finished model without each of its factors in turn: what a restart starts from."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ucad.scm import VARIANCE_FLOOR
from ucad.solvers.gradient.attachment import (
    as_batch,
    best_anchors,
    helpful_factors,
    possible_children,
)
from ucad.solvers.gradient.candidates import Candidates, Learner
from ucad.solvers.gradient.discretise import refit
from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.objective import profile_nll

__all__ = ["Base", "without_each"]


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
    that help and that the order of factors allows: so a duplicate costs nothing. Of the out-anchors
    of every factor the best explained one stays as it is.
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
    moments = objective.factor_moments(repeated, as_batch(Q_each, R & present, like=logits))
    layer_of = learner.problem.constraints.layer_of
    legal = R | possible_children(Q, R, None if layer_of is None else layer_of.cpu())
    helps = helpful_factors(learner, moments, legal & present, min_gain)
    loose = best.residual_variance[0].cpu() > 2 * VARIANCE_FLOOR
    loose &= ~best_anchors(R, best.residual_variance[0].cpu())
    affected = torch.cat([R.T | loose, loose[None]])
    R_each = torch.where(affected[:, :, None], helps, R & present)
    graph = as_batch(Q_each, R_each, like=logits)
    generator = torch.Generator(device=logits.device).manual_seed(seed)
    brief = replace(learner.refit, steps=max(1, learner.refit.steps // 4))
    fitted = refit(repeated, graph, objective, brief, generator)
    with torch.no_grad():
        variance = objective.residual_variance(fitted, graph)
    nll = profile_nll(variance, objective.free_share, objective.variance_floor).tolist()
    rows = [{name: value[k : k + 1] for name, value in fitted.items()} for k in range(len(nll))]
    each = zip(range(len(nll)), Q_each, R_each, rows, variance, nll, strict=True)
    return [Base(*one) for one in each]
