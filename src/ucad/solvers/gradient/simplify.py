"""Simplification of a finished linear model: edges it can do without, factors inside others.

Without noise, a model with superfluous edges can be exactly as likely as the truth, and then its
factors are mixtures. Each move is refitted and judged by validation NLL plus a price for each edge.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from ucad.errors import InvalidInputError
from ucad.solvers.gradient.attachment import possible_children
from ucad.solvers.gradient.candidates import Candidates, Learner, settle
from ucad.solvers.gradient.warm_start import graph_logits

__all__ = ["SimplifySettings", "simplify"]

PREFIXES = (2, 3, 5, 8, 13)


@dataclass(frozen=True, kw_only=True)
class SimplifySettings:
    """How a finished model is simplified.

    Attributes:
        rounds: at most so many; 0 switches it off.
        edge_worth: NLL per entry that an edge must save to stay.
        refit_steps: Adam steps for each simpler model.
    """

    rounds: int = 6
    edge_worth: float = 1e-4
    refit_steps: int = 100

    def __post_init__(self) -> None:
        for name, least in (("rounds", 0), ("edge_worth", 0), ("refit_steps", 1)):
            if getattr(self, name) < least:
                raise InvalidInputError(
                    f"The '{name}' setting of SimplifySettings must be at least {least}. "
                    f"Got {getattr(self, name)} instead."
                )


def simplify(
    learner: Learner, best: Candidates, settings: SimplifySettings, seed: int
) -> Candidates:
    """Returns the best of a model and what it becomes by leaving out edges, round by round."""
    brief = replace(learner, refit=replace(learner.refit, steps=settings.refit_steps))
    for _ in range(settings.rounds):
        whole = _Graph(*(torch.from_numpy(part.copy()) for part in best.graphs[0][:2]))
        singles = [_without(whole, [edge]) for edge in _edges(whole)]
        judged = _settled(brief, best, singles, seed)
        cheapest = sorted(range(len(singles)), key=judged.nll.__getitem__)
        edges = [_edges(whole)[at] for at in cheapest]
        several = [_without(whole, edges[:size]) for size in PREFIXES if size < len(edges)]
        layer_of = learner.problem.constraints.layer_of
        taken_out = list(_disentangled(whole, None if layer_of is None else layer_of.cpu()))
        judged = judged.joined(_settled(brief, best, [*several, *taken_out], seed))
        joined = best.joined(judged)
        at = _best(joined, settings.edge_worth)
        if at == 0:
            break
        best = joined.row(at)
    return best


class _Graph(NamedTuple):
    Q: Bool[Tensor, "variables factors"]
    R: Bool[Tensor, "variables factors"]


def _edges(graph: _Graph) -> list[tuple[int, int]]:
    return [(int(i), int(k)) for i, k in (graph.Q | graph.R).nonzero()]


def _without(graph: _Graph, edges: list[tuple[int, int]]) -> _Graph:
    Q, R = graph.Q.clone(), graph.R.clone()
    for edge in edges:
        Q[edge] = R[edge] = False
    return _Graph(Q, R)


def _disentangled(graph: _Graph, layer_of: Tensor | None) -> Iterable[_Graph]:
    """Takes one factor out of another, k: it may be z_k + c z_l if it has parents of l too.

    The children of k then become children of l too, where the order of factors allows it.
    """
    n_factors = graph.Q.shape[1]
    for k in range(n_factors):
        for other in set(range(n_factors)) - {k}:
            rest = graph.Q[:, k] & ~graph.Q[:, other]
            if torch.equal(rest, graph.Q[:, k]) or not bool(rest.any()):
                continue
            Q, R = graph.Q.clone(), graph.R.clone()
            Q[:, k] = rest
            legal = possible_children(Q, R, layer_of)[:, other]
            R[:, other] |= R[:, k] & legal
            yield _Graph(Q, R)


def _settled(learner: Learner, best: Candidates, graphs: list[_Graph], seed: int) -> Candidates:
    parameters = {
        name: value.expand(len(graphs), *value.shape[1:]).clone()
        for name, value in best.parameters.items()
    }
    logits = torch.stack([graph_logits(*graph) for graph in graphs])
    return settle(learner, {**parameters, "logits": logits.to(parameters["logits"])}, seed)


def _best(candidates: Candidates, edge_worth: float) -> int:
    """The least infeasible, then the lowest NLL with the price of all edges."""
    n_edges = [int(graph.Q.sum() + graph.R.sum()) for graph in candidates.graphs]
    scores = [
        (sum(missed.values()), nll + edge_worth * edges)
        for missed, nll, edges in zip(candidates.violations, candidates.nll, n_edges, strict=True)
    ]
    return min(range(len(scores)), key=scores.__getitem__)
