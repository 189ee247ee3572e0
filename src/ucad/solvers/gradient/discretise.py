"""From relaxed to discrete: edges by argmax, a true DAG, and mechanisms refitted on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ucad._types import BooleanMatrix, LayerOf, VariablesByFactors
from ucad.errors import InvalidInputError
from ucad.graph import FactorGraph, boolean_product
from ucad.scm import FactorSCM, LinearMechanism, MLPMechanism
from ucad.solvers.budget import Budget
from ucad.solvers.gradient.lagrangian import Adam
from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.objective import Objective, best_children
from ucad.solvers.gradient.problem import discrete_edges, expected_graph
from ucad.solvers.gradient.relaxed_graph import EdgeLogits, RelaxedGraph
from ucad.solvers.gradient.state import Layout

__all__ = ["DiscreteGraph", "RefitSettings", "discretise", "make_scm", "refit"]


MIN_REFIT_STEPS = 30
"""Steps of a refit even if the time of the fit is over: a tenth of the usual number, so that the
mechanisms are not left as they were on a relaxed graph."""


class DiscreteGraph(NamedTuple):
    """A DAG, and the edges that had to go to get it: (variable, factor, is parent)."""

    Q: VariablesByFactors
    R: VariablesByFactors
    removed: tuple[tuple[int, int, bool], ...]


@dataclass(frozen=True, kw_only=True)
class RefitSettings:
    """How mechanisms are fitted on a fixed graph.

    Attributes:
        steps: number of Adam steps.
        learning_rate: learning rate at the start; it falls linearly to a hundredth.
    """

    steps: int = 300
    learning_rate: float = 3e-2

    def __post_init__(self) -> None:
        for name in ("steps", "learning_rate"):
            if getattr(self, name) <= 0:
                raise InvalidInputError(
                    f"The '{name}' setting of RefitSettings must be above 0. "
                    f"Got {getattr(self, name)} instead."
                )


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
    Q, R = (part.cpu().numpy() for part in discrete_edges(logits, confidence))
    probable = [part.cpu().numpy() for part in expected_graph(logits)]
    layers = None if layer_of is None else layer_of.cpu().numpy()
    firm = np.zeros(Q.shape[1:]) if required is None else required.cpu().numpy().astype(float)
    return [
        _without_offenders(q, r, np.where(q, parent, child) + firm, layers)
        for q, r, parent, child in zip(Q, R, *probable, strict=True)
    ]


def refit(
    parameters: Parameters,
    graph: RelaxedGraph,
    objective: Objective,
    settings: RefitSettings,
    generator: torch.Generator,
    budget: Budget | None = None,
) -> Parameters:
    """Fits the mechanisms of every configuration on its own fixed graph, all at once.

    Adam on the NLL; before and after it, a linear F_X is set to its least squares and the scale of
    every variable to that of its residuals. If time is over, a few steps must do.
    """
    start = {name: value.detach() for name, value in parameters.items() if name != "logits"}
    start = _exact_parts(start, graph, objective)
    layout = Layout.of(start)
    values = layout.flatten(start).detach().clone()
    leaves = [view.detach().requires_grad_() for view in layout.views(values).values()]
    fitted = dict(zip(start, leaves, strict=True))
    adam = Adam.start(values)
    for step in range(settings.steps):
        if step >= MIN_REFIT_STEPS and budget is not None and budget.is_over:
            break
        nll = objective.nll(fitted, graph, objective.draw(generator))
        gradients = torch.autograd.grad(nll.sum(), leaves)
        gradient = torch.cat([one.flatten(1) for one in gradients], dim=1).nan_to_num()
        rate = settings.learning_rate * (1 - 0.99 * step / settings.steps)
        adam.step_(values, gradient, values.new_full((len(values),), rate))
    fitted = {name: value.detach() for name, value in fitted.items()}
    return {**_exact_parts(fitted, graph, objective), "logits": parameters["logits"]}


def make_scm(
    parameters: Parameters, row: int, graph: FactorGraph, residual_variance: Float[Tensor, " n"]
) -> FactorSCM:
    """Builds the model of one configuration, in double precision and on the CPU."""
    own = {name: value[row].detach().double().cpu() for name, value in parameters.items()}
    Q, R = torch.from_numpy(graph.Q.copy()), torch.from_numpy(graph.R.copy())
    no_bias = torch.zeros(graph.n_factors, dtype=torch.float64)
    return FactorSCM(
        graph,
        _mechanism(own, "F_Z", Q.T, no_bias),
        _mechanism(own, "F_X", R, own["F_X.bias"]),
        residual_variance.detach().double().cpu().clamp_min(0).sqrt(),
    )


def _exact_parts(parameters: Parameters, graph: RelaxedGraph, objective: Objective) -> Parameters:
    with torch.no_grad():
        solved = best_children(parameters, graph, objective)
        variance = objective.residual_variance(solved, graph)
    return {**solved, "log_variance": variance.clamp_min(objective.variance_floor).log()}


def _mechanism(
    own: Parameters,
    name: str,
    edges: Bool[Tensor, "targets inputs"],
    bias: Float[Tensor, " targets"],
) -> LinearMechanism | MLPMechanism:
    if f"{name}.weight" in own:
        return LinearMechanism(own[f"{name}.weight"] * edges, bias)
    w1, b1, w2 = (own[f"{name}.{part}"] for part in ("w1", "b1", "w2"))
    return MLPMechanism(w1 * edges[:, None], b1, w2, bias)


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
    on_cycle = _factors_on_cycles(Q, R)
    linked = (Q & on_cycle).any(axis=1) & (R & on_cycle).any(axis=1)
    offends: VariablesByFactors = (Q | R) & np.outer(linked, on_cycle)
    return offends


def _factors_on_cycles(
    Q: VariablesByFactors, R: VariablesByFactors
) -> Bool[np.ndarray, " factors"]:
    adjacency = boolean_product(R.T, Q)
    reach: BooleanMatrix = adjacency.copy()
    for _ in range(len(adjacency)):
        reach |= boolean_product(reach, adjacency)
    return np.diagonal(reach).copy()
