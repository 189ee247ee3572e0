"""Finished models of many configurations: discrete, refitted and judged on validation data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ucad.graph import FactorGraph
from ucad.scm import FactorSCM, LinearMechanism, MLPMechanism
from ucad.solvers.budget import Budget
from ucad.solvers.gradient.discretise import DiscreteGraph, batched, discretise, refit
from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.objective import PerConfiguration, profile_nll
from ucad.solvers.gradient.problem import Learner
from ucad.solvers.gradient.relaxed_graph import Edge
from ucad.solvers.selection import Candidate, best_candidate

__all__ = ["Finished", "best_of", "settle"]


@dataclass(frozen=True, eq=False)
class Finished:
    """A model that could be handed out.

    Attributes:
        parameters: the refitted parameters, without an axis of configurations.
        graph: its DAG.
        residual_variance: mean squared residual of each variable on the training data.
        figures: what it is compared by.
    """

    parameters: Parameters
    graph: DiscreteGraph
    residual_variance: Float[Tensor, " variables"]
    figures: Candidate

    def scm(self, variable_names: tuple[str, ...]) -> FactorSCM:
        """The model class of the library, in double precision and on the CPU."""
        own = {name: value.detach().double().cpu() for name, value in self.parameters.items()}
        Q, R = torch.from_numpy(self.graph.Q), torch.from_numpy(self.graph.R)
        no_bias = torch.zeros(Q.shape[1], dtype=torch.float64)
        return FactorSCM(
            FactorGraph(self.graph.Q, self.graph.R, variable_names),
            _mechanism(own, "F_Z", Q.T, no_bias),
            _mechanism(own, "F_X", R, own["F_X.bias"]),
            self.residual_variance.detach().double().cpu().clamp_min(0).sqrt(),
        )

    def removed_edges(
        self,
        variable_names: tuple[str, ...],
        among: Bool[Tensor, "variables factors"] | None = None,
    ) -> tuple[str, ...]:
        """The edges (of some) that had to go to make a DAG, as `cause -> effect`."""
        texts = []
        for i, k, is_parent in self.graph.removed:
            if among is None or bool(among[i, k]):
                ends = (variable_names[i], f"Z{k + 1}")
                texts.append(" -> ".join(ends if is_parent else ends[::-1]))
        return tuple(texts)


def best_of(models: Sequence[Finished], tie: float) -> int:
    """The feasible model with the lowest NLL, or the least infeasible one.

    Models whose NLL per entry differs by less than `tie` are equally likely; the sparser one is
    taken, and of equally sparse ones the one more likely on all data.
    """
    return best_candidate([model.figures for model in models], tie=tie)


def settle(
    learner: Learner, parameters: Parameters, seed: int, budget: Budget | None = None
) -> list[Finished]:
    """Makes finished models of relaxed ones: discretise, refit, judge."""
    problem, config = learner.problem, learner.config
    logits = problem.logits(parameters)
    required = ~problem.possible[Edge.NONE]
    layer_of = problem.constraints.layer_of
    graphs = discretise(logits, config.training.confidence, layer_of, required)
    graph = batched(graphs, like=logits)
    generator = torch.Generator(device=logits.device).manual_seed(seed)
    fitted = refit(parameters, graph, problem.objective, config.refit_steps, generator, budget)
    with torch.no_grad():
        variance = problem.objective.residual_variance(fitted, graph)
        held_out = learner.validation.residual_variance(fitted, graph)
        missed = problem.constraints.violations(graph).tolist()
    nll, own_nll = (
        profile_nll(residuals, objective.free_share, objective.variance_floor)
        for residuals, objective in ((held_out, learner.validation), (variance, problem.objective))
    )
    pooled = torch.lerp(own_nll, nll, learner.validation_share)
    names = problem.constraints.names(learner.n_factors)
    violations = [
        {name: value for name, value in zip(names, row, strict=True) if value > 0} for row in missed
    ]
    n_edges = [int(one.Q.sum() + one.R.sum()) for one in graphs]
    figures = zip(_finite(nll), violations, n_edges, _finite(pooled), strict=True)
    return [
        Finished(
            {name: value[at] for name, value in fitted.items()}, graphs[at], own, Candidate(*f)
        )
        for at, (own, f) in enumerate(zip(variance, figures, strict=True))
    ]


def _finite(nll: PerConfiguration) -> list[float]:
    return [float(value) for value in nll.nan_to_num(nan=torch.inf)]


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
