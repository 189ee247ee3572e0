"""From relaxed to discrete: edges by argmax, a true DAG, and mechanisms refitted on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ucad._types import LayerOf, VariablesByFactors
from ucad.graph import boolean_product, transitive_closure
from ucad.solvers.budget import Budget
from ucad.solvers.gradient.lagrangian import Adam
from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.objective import Objective
from ucad.solvers.gradient.relaxed_graph import (
    EdgeLogits,
    RelaxedGraph,
    discrete_graph,
    expected_graph,
)
from ucad.solvers.gradient.state import Layout

__all__ = ["DiscreteGraph", "batched", "discretise", "refit"]

REFIT_RATE = 3e-2
"""Learning rate of a refit at its start, that of preset `fast`; it falls linearly to a hundredth,
where the steps of Adam no longer show in the NLL."""

MIN_REFIT_STEPS = 30
"""Steps of a refit even if the time of the fit is over: a tenth of the usual number, so that the
mechanisms are not left as they were on a relaxed graph."""


class DiscreteGraph(NamedTuple):
    """A DAG, and the edges that had to go to get it: (variable, factor, is parent)."""

    Q: VariablesByFactors
    R: VariablesByFactors
    removed: tuple[tuple[int, int, bool], ...]

    def removed_edges(
        self,
        variable_names: tuple[str, ...],
        among: Bool[Tensor, "variables factors"] | None = None,
    ) -> tuple[str, ...]:
        """The edges (of some) that had to go, as `cause -> effect`."""
        texts = []
        for i, k, is_parent in self.removed:
            if among is None or bool(among[i, k]):
                ends = (variable_names[i], f"Z{k + 1}")
                texts.append(" -> ".join(ends if is_parent else ends[::-1]))
        return tuple(texts)


def discretise(
    logits: EdgeLogits,
    confidence: float,
    layer_of: Int[Tensor, " variables"] | None = None,
    required: Bool[Tensor, "variables factors"] | None = None,
) -> list[DiscreteGraph]:
    """Returns a DAG for every configuration: argmax edges, minus the weakest on each cycle.

    As long as there is a cycle, the least probable edge among those between variables and factors
    on cycles is removed; with layers, among those from a layer to itself or to an earlier one.
    Required edges go last: only if no other is left on a cycle.
    O(n m) per removal, and there are rarely any.
    """
    Q, R = (part.bool().cpu().numpy() for part in discrete_graph(logits, confidence))
    probable = [part.detach().cpu().numpy() for part in expected_graph(logits)]
    layers = None if layer_of is None else layer_of.cpu().numpy()
    firm = np.zeros(Q.shape[1:]) if required is None else required.cpu().numpy().astype(float)
    return [
        _without_offenders(q, r, np.where(q, parent, child) + firm, layers)
        for q, r, parent, child in zip(Q, R, *probable, strict=True)
    ]


def batched(graphs: Sequence[DiscreteGraph], like: Tensor) -> RelaxedGraph:
    """Returns discrete graphs as one batch of Q and R with entries 0 and 1."""
    Q, R = (
        torch.from_numpy(np.stack([getattr(graph, name) for graph in graphs])).to(like)
        for name in ("Q", "R")
    )
    return RelaxedGraph(Q, R)


def refit(
    parameters: Parameters,
    graph: RelaxedGraph,
    objective: Objective,
    steps: int,
    generator: torch.Generator,
    budget: Budget | None = None,
) -> Parameters:
    """Fits the mechanisms of every configuration on its own fixed graph, all at once.

    Adam on the NLL, with `Objective.with_exact_parts` before and after it. If time is over, a few
    steps must do.
    """
    start = {name: value.detach() for name, value in parameters.items() if name != "logits"}
    start = objective.with_exact_parts(start, graph)
    layout = Layout.of(start)
    values = layout.flatten(start).clone()
    leaves, adam = layout.leaves(values), Adam.start(values)
    for step in range(steps):
        if step >= MIN_REFIT_STEPS and budget is not None and budget.is_over:
            break
        nll = objective.nll(leaves, graph, objective.draw(generator))
        gradients = torch.autograd.grad(nll.sum(), list(leaves.values()))
        gradient = torch.cat([one.flatten(1) for one in gradients], dim=1).nan_to_num()
        rate = REFIT_RATE * (1 - 0.99 * step / steps)
        adam.step_(values, gradient, values.new_full((len(values),), rate))
    fitted = objective.with_exact_parts(layout.views(values), graph)
    return {**fitted, "logits": parameters["logits"]}


def _without_offenders(
    Q: VariablesByFactors,
    R: VariablesByFactors,
    strength: Float[np.ndarray, "variables factors"],
    layer_of: LayerOf | None,
) -> DiscreteGraph:
    Q, R = Q.copy(), R.copy()
    removed: list[tuple[int, int, bool]] = []
    while True:
        offends = _on_cycles(Q, R) if layer_of is None else _against_layers(Q, R, layer_of)
        if not offends.any():
            return DiscreteGraph(Q, R, tuple(removed))
        weakest = int(np.where(offends, strength, np.inf).argmin())
        i, k = divmod(weakest, strength.shape[1])
        removed.append((i, k, bool(Q[i, k])))
        Q[i, k] = R[i, k] = False


def _against_layers(
    Q: VariablesByFactors, R: VariablesByFactors, layer_of: LayerOf
) -> VariablesByFactors:
    """Edges of pairs of a parent and a child of one factor that are not in the order of layers."""
    layer = layer_of[:, None]
    first_child = np.where(R, layer, layer_of.max() + 1).min(axis=0)
    last_parent = np.where(Q, layer, -1).max(axis=0)
    offends: VariablesByFactors = (Q & (layer >= first_child)) | (R & (layer <= last_parent))
    return offends


def _on_cycles(Q: VariablesByFactors, R: VariablesByFactors) -> VariablesByFactors:
    """Edges of factors on cycles with variables that such factors both make and use."""
    on_cycle = np.diagonal(transitive_closure(boolean_product(R.T, Q)))
    linked = (Q & on_cycle).any(axis=1) & (R & on_cycle).any(axis=1)
    offends: VariablesByFactors = (Q | R) & np.outer(linked, on_cycle)
    return offends
