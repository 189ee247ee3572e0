"""The constrained problem: objective and constraints of K relaxed models in one evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ucad.constraints import (
    acyclicity_violation,
    anchor_violation,
    layer_violation,
    sparsity_violation,
)
from ucad.data import InterventionalData
from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.minibatch_objective import MinibatchObjective
from ucad.solvers.gradient.moment_objective import MomentObjective, moments_fit_in_memory
from ucad.solvers.gradient.objective import Objective
from ucad.solvers.gradient.relaxed_graph import (
    EdgeLogits,
    PossibleEdges,
    RelaxedGraph,
    expected_graph,
    possible_edges,
    sample_graph,
)
from ucad.solvers.gradient.settings import ConstraintSettings, GradientConfig

__all__ = ["Constraints", "Evaluation", "RelaxedProblem", "make_objective"]


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

    def violations(self, graph: RelaxedGraph) -> Float[Tensor, "configurations constraints"]:
        """Returns v. The spectral forms of C_DAG take two iterations more than there are factors.

        A path through all factors has as many steps; two more settle the eigenvector.
        """
        settings = self.settings
        if self.layer_of is None:
            n_iterations = graph.Q.shape[-1] + 2
            cyclic = acyclicity_violation(*graph, settings.acyclicity, n_iterations)[:, None]
        else:
            cyclic = layer_violation(*graph, self.layer_of, normalised=True)
        anchors = anchor_violation(*graph, settings.min_anchors)
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
        objective: the NLL of the training data.
        validation: that of the validation data.
        constraints: the conditions on the graph.
        possible: which kinds of edge are left by what is known beforehand.
        config: all settings.
        variable_names: one per variable.
    """

    objective: Objective
    validation: Objective
    constraints: Constraints
    possible: PossibleEdges
    config: GradientConfig
    variable_names: tuple[str, ...]

    @classmethod
    def of(
        cls,
        data: InterventionalData,
        validation: InterventionalData,
        n_factors: int,
        config: GradientConfig,
        device: torch.device | str = "cpu",
    ) -> RelaxedProblem:
        """Puts data and settings together."""
        possible = possible_edges(data.n_variables, n_factors, config.prior, data.layer_of)
        layer_of = None if data.layer_of is None else torch.tensor(data.layer_of, device=device)
        return cls(
            make_objective(data, config, device),
            make_objective(validation, config, device),
            Constraints(config.constraints, layer_of),
            possible.to(device),
            config,
            data.variable_names,
        )

    def evaluate(self, parameters: Parameters, noise: EdgeLogits, batch: Tensor) -> Evaluation:
        """One graph sample for every configuration, its NLL, and the constraints."""
        logits = self.logits(parameters)
        graph = sample_graph(logits, noise, self.config.training.sampling)
        nll = self.objective.nll(parameters, graph, batch)
        return Evaluation(nll, self.constraints.violations(expected_graph(logits)))

    def logits(self, parameters: Parameters) -> EdgeLogits:
        """The logits, −∞ where an edge is ruled out."""
        return parameters["logits"].masked_fill(~self.possible, -torch.inf)


def make_objective(
    data: InterventionalData, config: GradientConfig, device: torch.device | str = "cpu"
) -> Objective:
    """Chooses moments where both mechanisms are linear and they fit, and minibatches otherwise."""
    floor = config.model.variance_floor
    if config.model.is_linear and moments_fit_in_memory(data.n_variables):
        return MomentObjective.from_data(data, floor, device)
    return MinibatchObjective.from_data(data, floor, config.training.batch_size, device)
