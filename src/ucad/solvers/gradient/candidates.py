"""Finished models of many configurations: discrete, refitted and judged on validation data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ucad.graph import FactorGraph
from ucad.scm import FactorSCM
from ucad.solvers.budget import Budget
from ucad.solvers.gradient.discretise import (
    DiscreteGraph,
    RefitSettings,
    discretise,
    make_scm,
    refit,
)
from ucad.solvers.gradient.epoch import TrainingSettings
from ucad.solvers.gradient.mechanisms import ModelSettings, Parameters
from ucad.solvers.gradient.objective import Objective, profile_nll
from ucad.solvers.gradient.problem import RelaxedProblem
from ucad.solvers.gradient.relaxed_graph import Edge, RelaxedGraph
from ucad.solvers.selection import Candidate, best_candidate

__all__ = ["Candidates", "Learner", "relaxed", "settle"]


@dataclass(frozen=True, eq=False)
class Learner:
    """One fitting problem: the data on both sides, and how it is solved.

    Attributes:
        problem: the constrained problem on the training data.
        validation: the objective on the validation data.
        model: what the mechanisms are.
        training: how the constrained problem is solved.
        refit: how mechanisms are fitted on a fixed graph.
        tie: models whose NLL differs by less are equally likely, and the sparser one is taken.
        variable_names: one per variable.
        validation_share: share of the validation data in all data.
    """

    problem: RelaxedProblem
    validation: Objective
    model: ModelSettings
    training: TrainingSettings
    refit: RefitSettings
    tie: float
    variable_names: tuple[str, ...]
    validation_share: float


@dataclass(frozen=True, eq=False)
class Candidates:
    """Models that could be handed out.

    Attributes:
        parameters: the refitted parameters, one row per model.
        graphs: the DAG of each model.
        residual_variance: mean squared residual of each variable on the training data.
        nll: NLL per free entry on the validation data.
        pooled_nll: NLL per free entry on training and validation data together.
        violations: by how much the DAG violates each constraint that it does not meet.
        variable_names: one per variable.
    """

    parameters: Parameters
    graphs: tuple[DiscreteGraph, ...]
    residual_variance: Float[Tensor, "configurations variables"]
    nll: tuple[float, ...]
    pooled_nll: tuple[float, ...]
    violations: tuple[dict[str, float], ...]
    variable_names: tuple[str, ...]

    def best(self, tie: float) -> int:
        """The feasible model with the lowest NLL, or the least infeasible one.

        Models whose NLL per entry differs by less than `tie` are equally likely; the sparser one
        is taken, and of equally sparse ones the one more likely on all data.
        """
        n_edges = [int(graph.Q.sum() + graph.R.sum()) for graph in self.graphs]
        figures = zip(self.nll, self.violations, n_edges, self.pooled_nll, strict=True)
        return best_candidate([Candidate(*one) for one in figures], tie=tie)

    def best_trained(self, violation: Float[Tensor, " configurations"]) -> int:
        """The paper's choice: lowest NLL among the runs whose relaxed graph was feasible.

        `violation` is the sum of what each run violated in training. The argmax graph of a feasible
        run may still violate a constraint a little, such as the bound on sparsity; the status
        says so.
        """
        missed = violation.tolist()
        figures = [
            Candidate(nll, {"training": amount} if amount > 0 else {})
            for nll, amount in zip(self.nll, missed, strict=True)
        ]
        return best_candidate(figures)

    def row(self, at: int) -> Candidates:
        """One of them alone."""
        return Candidates(
            {name: value[at : at + 1] for name, value in self.parameters.items()},
            self.graphs[at : at + 1],
            self.residual_variance[at : at + 1],
            self.nll[at : at + 1],
            self.pooled_nll[at : at + 1],
            self.violations[at : at + 1],
            self.variable_names,
        )

    def joined(self, other: Candidates) -> Candidates:
        """These and the others."""
        return Candidates(
            {
                name: torch.cat([value, other.parameters[name]])
                for name, value in self.parameters.items()
            },
            (*self.graphs, *other.graphs),
            torch.cat([self.residual_variance, other.residual_variance]),
            (*self.nll, *other.nll),
            (*self.pooled_nll, *other.pooled_nll),
            (*self.violations, *other.violations),
            self.variable_names,
        )

    def scm(self, at: int) -> FactorSCM:
        """One of them as the model class of the library."""
        graph = FactorGraph(self.graphs[at].Q, self.graphs[at].R, self.variable_names)
        return make_scm(self.parameters, at, graph, self.residual_variance[at])

    def removed_edges(
        self, at: int, among: Bool[Tensor, "variables factors"] | None = None
    ) -> tuple[str, ...]:
        """The edges (of some) that had to go to make a DAG, as `cause -> effect`."""
        texts = []
        for i, k, is_parent in self.graphs[at].removed:
            if among is not None and not bool(among[i, k]):
                continue
            ends = (self.variable_names[i], f"Z{k + 1}")
            texts.append(" -> ".join(ends if is_parent else ends[::-1]))
        return tuple(texts)


def settle(
    learner: Learner, parameters: Parameters, seed: int, budget: Budget | None = None
) -> Candidates:
    """Makes finished models of relaxed ones: discretise, refit, judge."""
    problem = learner.problem
    logits = problem.logits(parameters)
    required = ~problem.possible[Edge.NONE]
    layer_of = problem.constraints.layer_of
    graphs = discretise(logits, learner.training.confidence, layer_of, required)
    graph = relaxed(graphs, like=logits)
    generator = torch.Generator(device=logits.device).manual_seed(seed)
    fitted = refit(parameters, graph, problem.objective, learner.refit, generator, budget)
    with torch.no_grad():
        variance = problem.objective.residual_variance(fitted, graph)
        held_out = learner.validation.residual_variance(fitted, graph)
        missed = problem.constraints.violations(graph, fitted)
    nll, own_nll = (
        profile_nll(residuals, objective.free_share, objective.variance_floor)
        for residuals, objective in ((held_out, learner.validation), (variance, problem.objective))
    )
    pooled = torch.lerp(own_nll, nll, learner.validation_share)
    names = problem.constraints.names(logits.shape[-1])
    return Candidates(
        fitted,
        tuple(graphs),
        variance,
        _finite(nll),
        _finite(pooled),
        tuple(_positive(names, row) for row in missed.tolist()),
        learner.variable_names,
    )


def relaxed(graphs: Sequence[DiscreteGraph], like: Tensor) -> RelaxedGraph:
    """Returns discrete graphs as one batch of Q and R with entries 0 and 1."""
    Q, R = (
        torch.from_numpy(np.stack([getattr(graph, name) for graph in graphs])).to(like)
        for name in ("Q", "R")
    )
    return RelaxedGraph(Q, R)


def _finite(nll: Float[Tensor, " configurations"]) -> tuple[float, ...]:
    return tuple(nll.nan_to_num(nan=torch.inf).tolist())


def _positive(names: tuple[str, ...], violations: list[float]) -> dict[str, float]:
    return {name: value for name, value in zip(names, violations, strict=True) if value > 0}
