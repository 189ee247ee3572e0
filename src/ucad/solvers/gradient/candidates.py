"""Finished models of all configurations, discrete and refitted, and the one that is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ucad.graph import FactorGraph
from ucad.scm import FactorSCM, LinearMechanism, MLPMechanism
from ucad.solvers.budget import Budget
from ucad.solvers.gradient.discretise import DiscreteGraph, batched, discretise, refit
from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.problem import RelaxedProblem
from ucad.solvers.gradient.relaxed_graph import Edge

__all__ = ["Finished", "best_of", "settle"]


@dataclass(frozen=True, eq=False)
class Finished:
    """A model that could be handed out.

    Attributes:
        parameters: the refitted parameters, without an axis of configurations.
        graph: its DAG.
        residual_variance: mean squared residual of each variable on the training data.
        nll: negative log-likelihood per free entry on the validation data.
        violations: by how much each constraint that does not hold is missed.
    """

    parameters: Parameters
    graph: DiscreteGraph
    residual_variance: Float[Tensor, " variables"]
    nll: float
    violations: Mapping[str, float]

    @property
    def n_edges(self) -> int:
        """How many edges the graph has."""
        return int(self.graph.Q.sum() + self.graph.R.sum())

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


def best_of(models: Sequence[Finished], violation: Sequence[float], tie: float) -> int:
    """The position of the model with the lowest NLL among the runs that violated least in training.

    Those are the feasible runs if there are any: the paper's "Model selection and evaluation". Of
    models whose NLL is within `tie` of the lowest, the one with the fewest edges is taken: without
    noise, equally likely models can differ in edges that carry nothing new. The paper has no ties.

    Args:
        models: of all runs.
        violation: the sum of what each run violated in training. The DAG of a feasible run may
            still violate a constraint a little, such as the bound on sparsity.
        tie: in nats per entry.
    """
    closest = [at for at, amount in enumerate(violation) if amount == min(violation)]
    lowest = min(models[at].nll for at in closest)
    tied = [at for at in closest if models[at].nll <= lowest + tie]
    return min(tied, key=lambda at: (models[at].n_edges, models[at].nll))


def settle(
    problem: RelaxedProblem, parameters: Parameters, seed: int, budget: Budget | None = None
) -> list[Finished]:
    """Makes finished models of relaxed ones: discretise, refit, judge on the validation data."""
    config = problem.config
    logits = problem.logits(parameters)
    required = ~problem.possible[Edge.NONE]
    layer_of = problem.constraints.layer_of
    graphs = discretise(logits, config.training.confidence, layer_of, required)
    graph = batched(graphs, like=logits)
    generator = torch.Generator(device=logits.device).manual_seed(seed)
    fitted = refit(parameters, graph, problem.objective, config.refit_steps, generator, budget)
    with torch.no_grad():
        variance = problem.objective.residual_variance(fitted, graph)
        nll = problem.validation.profile_nll(fitted, graph).nan_to_num(nan=torch.inf)
        missed = problem.constraints.violations(graph)
    names = problem.constraints.names(logits.shape[-1])
    return [
        Finished(
            parameters={name: value[at] for name, value in fitted.items()},
            graph=graphs[at],
            residual_variance=variance[at],
            nll=float(nll[at]),
            violations={
                name: value
                for name, value in zip(names, missed[at].tolist(), strict=True)
                if value > 0
            },
        )
        for at in range(len(graphs))
    ]


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
