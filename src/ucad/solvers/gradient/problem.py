"""The constrained problem: objective and constraints of K relaxed models in one evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ucad.constraints import (
    Acyclicity,
    acyclicity_violation,
    anchor_violation,
    carried,
    layer_violation,
    sparsity_violation,
)
from ucad.errors import InvalidInputError
from ucad.solvers.gradient.mechanisms import Parameters, edge_effects
from ucad.solvers.gradient.objective import Objective
from ucad.solvers.gradient.relaxed_graph import (
    Edge,
    EdgeLogits,
    PossibleEdges,
    RelaxedGraph,
    Sampling,
    edge_probabilities,
    sample_graph,
    without_impossible,
)

__all__ = ["ConstraintSettings", "Constraints", "Evaluation", "RelaxedProblem"]


@dataclass(frozen=True, kw_only=True)
class ConstraintSettings:
    """Which conditions the graph must meet, and how closely.

    Attributes:
        acyclicity: the form of C_DAG where variables have no layers.
        power_iterations: T of the spectral forms; two more than there are factors if None.
        acyclicity_tolerance: upper bound on C_DAG (the paper's ε).
        normalise_layers: whether the layered constraint is divided by its total mass.
        min_anchors: anchors that every factor must have (the paper's τ).
        weigh_anchors: whether an anchor counts by what its edge carries.
        sparsity_tolerance: upper bound on the share of edges (the paper's tol_s).
    """

    acyclicity: Acyclicity = Acyclicity.BIPARTITE_SPECTRAL_RADIUS
    power_iterations: int | None = None
    acyclicity_tolerance: float = 1e-6
    normalise_layers: bool = True
    min_anchors: float = 0.99
    weigh_anchors: bool = False
    sparsity_tolerance: float = 0.2

    def __post_init__(self) -> None:
        limits = {
            "acyclicity_tolerance": (0.0, 1.0),
            "min_anchors": (0.0, 1.0),
            "sparsity_tolerance": (0.0, 1.0),
        }
        for name, (low, high) in limits.items():
            if not low < getattr(self, name) <= high:
                raise InvalidInputError(
                    f"The '{name}' setting of ConstraintSettings must be above {low:g} and at most "
                    f"{high:g}. Got {getattr(self, name)} instead."
                )
        if self.power_iterations is not None and self.power_iterations < 1:
            raise InvalidInputError(
                "The 'power_iterations' setting of ConstraintSettings must be at least 1. "
                f"Got {self.power_iterations} instead."
            )


@dataclass(frozen=True, eq=False)
class Constraints:
    """All constraints v(Q, R) ≤ 0 of a problem, one column each.

    They are evaluated on the probabilities of the edges, not on samples: then they are
    deterministic, and reaching them means that the distribution of graphs has settled.

    Attributes:
        settings: which, and how closely.
        layer_of: the layer of every variable, if they have layers.
    """

    settings: ConstraintSettings
    layer_of: Int[Tensor, " variables"] | None = None

    def names(self, n_factors: int) -> tuple[str, ...]:
        """What each column is about."""
        factors = [f"Z{k}" for k in range(1, n_factors + 1)]
        layers = [f"layer order of {name}" for name in factors]
        in_anchors = [f"in-anchor of {name}" for name in factors]
        out_anchors = [f"out-anchor of {name}" for name in factors]
        acyclicity = ["acyclicity"] if self.layer_of is None else layers
        return (*acyclicity, *in_anchors, *out_anchors, "sparsity")

    def violations(
        self, graph: RelaxedGraph, parameters: Parameters | None = None
    ) -> Float[Tensor, "configurations constraints"]:
        """Returns v; parameters are needed only to weigh anchors by what their edges carry."""
        settings = self.settings
        if self.layer_of is None:
            iterations = settings.power_iterations or graph.Q.shape[-1] + 2
            cyclic = acyclicity_violation(*graph, settings.acyclicity, iterations)[:, None]
        else:
            cyclic = layer_violation(*graph, self.layer_of, normalised=settings.normalise_layers)
        weights: tuple[Tensor | None, Tensor | None] = (None, None)
        if settings.weigh_anchors and parameters is not None:
            effects = edge_effects(parameters, graph)
            weights = (carried(effects.parents), carried(effects.children))
        anchors = anchor_violation(*graph, settings.min_anchors, *weights)
        sparsity = sparsity_violation(*graph, settings.sparsity_tolerance)[:, None]
        parts = [cyclic - settings.acyclicity_tolerance, anchors.flatten(1), sparsity]
        return torch.cat(parts, dim=1)


class Evaluation(NamedTuple):
    """The objective and the constraints of every configuration."""

    nll: Float[Tensor, " configurations"]
    violations: Float[Tensor, "configurations constraints"]


@dataclass(frozen=True, eq=False)
class RelaxedProblem:
    """min_{Φ,Θ} NLL(Φ, Θ) such that v(Φ) ≤ 0, the paper's "Learning objective".

    Attributes:
        objective: the data.
        constraints: the conditions on the graph.
        possible: which kinds of edge are left by what is known beforehand.
        sampling: how graphs are drawn.
    """

    objective: Objective
    constraints: Constraints
    possible: PossibleEdges
    sampling: Sampling

    def evaluate(
        self, parameters: Parameters, noise: EdgeLogits, temperature: float, batch: Tensor
    ) -> Evaluation:
        """One graph sample for every configuration, its NLL, and the constraints."""
        logits = self.logits(parameters)
        graph = sample_graph(logits, noise, temperature, self.sampling)
        nll = self.objective.nll(parameters, graph, batch)
        return Evaluation(nll, self.constraints.violations(expected_graph(logits), parameters))

    def logits(self, parameters: Parameters) -> EdgeLogits:
        """The logits, −∞ where an edge is ruled out."""
        return without_impossible(parameters["logits"], self.possible)

    def expected_graph(self, parameters: Parameters) -> RelaxedGraph:
        """Q and R as probabilities."""
        return expected_graph(self.logits(parameters))

    def discrete_graph(self, parameters: Parameters, confidence: float) -> RelaxedGraph:
        """Q and R as 0 and 1: the likelier direction where an edge is likely enough."""
        logits = self.logits(parameters)
        is_parent, is_child = discrete_edges(logits, confidence)
        return RelaxedGraph(is_parent.to(logits), is_child.to(logits))


def expected_graph(logits: EdgeLogits) -> RelaxedGraph:
    """Returns the probabilities of parent and child edges as Q and R."""
    probabilities = edge_probabilities(logits)
    return RelaxedGraph(probabilities[:, Edge.PARENT], probabilities[:, Edge.CHILD])


def discrete_edges(
    logits: EdgeLogits, confidence: float
) -> tuple[
    Bool[Tensor, "configurations variables factors"],
    Bool[Tensor, "configurations variables factors"],
]:
    """Returns which pairs are parent and child edges: P(edge) > confidence, then the likelier one.

    The paper's "Post-processing".
    """
    Q, R = expected_graph(logits)
    exists = confidence < Q + R
    return exists & (Q >= R), exists & (Q < R)
