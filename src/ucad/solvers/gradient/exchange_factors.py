"""Exchanging stuck factors for factors that other starting points have found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from ucad.solvers.gradient.candidates import Finished, best_of, settle
from ucad.solvers.gradient.discretise import batched, discretise, refit
from ucad.solvers.gradient.mechanisms import Parameters, child_effects
from ucad.solvers.gradient.objective import profile_nll
from ucad.solvers.gradient.problem import Learner
from ucad.solvers.gradient.relaxed_graph import Edge, RelaxedGraph, graph_logits
from ucad.solvers.gradient.settings import Configuration
from ucad.solvers.gradient.training import Run, train

__all__ = ["exchange_factors"]

PROPOSALS = 16
"""Exchanges that are refitted in a round, as many as preset `fast` has starting points: a refit of
so many takes little longer than one of a few."""

OFFERED_LOGIT = 2.0
"""Logit of a child edge that is only offered: the first to go where there is a cycle."""

MIN_EFFECT = 0.05
"""Child edges that carry less are taken out of a proposal, in standard deviations of the child per
one of the factor. An edge that carries nothing comes to 0.01 in 10,000 samples."""

SCREENING_STEPS = 30
"""Adam steps that refit each proposal before all are ranked, a twentieth of a whole refit; one step
where F_X is linear, since its least squares are exact before."""

TENTATIVE_LOGIT = 3.0
"""Largest logit of an edge while exchanges are trained: 0.9, so that it can still change."""

EPOCHS, PENALTY_GROWTH = 120, 1.05
"""How long exchanges are trained, and the factor per epoch on the penalty of a violated constraint:
as far as the 1.025 of preset `fast` gets in 240 epochs. A refit alone, without training, suffices
at 16 variables; at 64 it lost one factor of six (b, development graph 0: MCC 0.80 instead of 1)."""


def exchange_factors(
    learner: Learner, models: Sequence[Finished], at: int, run: Run
) -> tuple[Finished, str, bool]:
    """Exchanges factors of one model for factors of the others, as long as that helps.

    A start often ends with a factor that explains nothing, and another start has found what is
    missing. Every factor is exchanged for every factor of every model; the most likely of these
    exchanges are refitted, or trained if none is better then, and the best of them is kept.

    Returns:
        The best model, a note for the status, and whether the user stopped it.
    """
    best, donors, n_kept, interrupted = models[at], _discrete(models), 0, False
    try:
        for number in range(learner.config.exchange_rounds):
            if run.budget.is_over:
                break
            this = Run(run.seed + number, run.progress, budget=run.budget)
            offers = _proposals(learner, _discrete([best]), donors)
            better = _better(learner, best, offers, this)
            if better is best:
                better = _better(learner, best, _trained(learner, offers, this), this)
            if better is best:
                break
            best, n_kept = better, n_kept + 1
    except KeyboardInterrupt:
        interrupted = True
    return best, f"{n_kept} exchanges of factors between starts were kept.", interrupted


def _better(learner: Learner, best: Finished, offers: Parameters, run: Run) -> Finished:
    """Returns the best of what is offered if it is better than what there was, else that."""
    pool = [best, *settle(learner, offers, run.seed, run.budget)]
    return pool[best_of(pool, learner.config.tie)]


def _trained(learner: Learner, offers: Parameters, run: Run) -> Parameters:
    """Trains exchanges with tentative edges."""
    brief = replace(learner.config.training, epochs=EPOCHS, patience=EPOCHS)
    learner = replace(learner, config=replace(learner.config, training=brief))
    one = Configuration(brief.learning_rates[0], PENALTY_GROWTH, 0, run.seed)
    start = {**offers, "logits": offers["logits"].clamp_max(TENTATIVE_LOGIT)}
    trained = train(learner, start, (one,) * len(start["logits"]), run)
    if trained.interrupted:
        raise KeyboardInterrupt
    return trained.parameters


def _discrete(models: Sequence[Finished]) -> Parameters:
    """Stacks the parameters of finished models, with logits that say what their edges are."""
    stacked = {
        name: torch.stack([model.parameters[name] for model in models])
        for name in models[0].parameters
    }
    graph = batched([model.graph for model in models], like=stacked["logits"])
    return {**stacked, "logits": graph_logits(graph)}


def _proposals(learner: Learner, own: Parameters, donors: Parameters) -> Parameters:
    """Returns the exchanges of one factor of a model that have the lowest NLL."""
    each = [_screened(learner, _exchanged(own, donors, k)) for k in range(learner.n_factors)]
    order = torch.cat([nll for nll, _ in each]).argsort()[:PROPOSALS]
    return {name: torch.cat([models[name] for _, models in each])[order] for name in own}


def _exchanged(own: Parameters, donors: Parameters, factor: int) -> Parameters:
    """Returns one model with a factor taken from the donors, once for each factor of each donor.

    The children of the factor that goes are offered to all others.
    """
    n_donors, n_factors = len(donors["logits"]), donors["logits"].shape[-1]
    models = {
        name: value.expand(n_donors * n_factors, *value.shape[1:]).clone()
        for name, value in own.items()
    }
    orphans = own["logits"][0, Edge.CHILD, :, factor] > 0
    is_free = orphans[:, None] & (own["logits"][0, Edge.PARENT] == 0)
    models["logits"][:, Edge.CHILD, is_free] = OFFERED_LOGIT
    models["logits"][:, Edge.NONE, is_free] = 0.0
    for name, value in models.items():
        if name.startswith("F_Z."):
            value[:, factor] = donors[name].flatten(0, 1)
        elif name in ("logits", "F_X.weight", "F_X.w1"):
            value[..., factor] = donors[name].movedim(-1, 1).flatten(0, 1)
    return models


def _screened(learner: Learner, models: Parameters) -> tuple[Float[Tensor, " models"], Parameters]:
    """Fits models briefly on their discrete graphs, and takes out child edges that carry nothing.

    Returns the NLL on the training data and the models.
    """
    problem, confidence = learner.problem, learner.config.training.confidence
    objective, logits = problem.objective, problem.logits(models)
    graph = batched(discretise(logits, confidence, problem.constraints.layer_of), like=logits)
    generator = torch.Generator(device=logits.device).manual_seed(0)
    steps = 1 if "F_X.weight" in models else SCREENING_STEPS
    fitted = refit(models, graph, objective, steps, generator)
    with torch.no_grad():
        variance = objective.residual_variance(fitted, graph)
    nll = profile_nll(variance, objective.free_share, objective.variance_floor)
    R = graph.R * (child_effects(fitted, graph) > MIN_EFFECT)
    return nll.nan_to_num(torch.inf), {**fitted, "logits": graph_logits(RelaxedGraph(graph.Q, R))}
