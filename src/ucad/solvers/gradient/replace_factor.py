"""Replacing stuck factors by factors that other starting points have found."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from ucad.errors import InvalidInputError
from ucad.solvers.gradient.candidates import Candidates, Learner, relaxed, settle
from ucad.solvers.gradient.discretise import discretise, refit
from ucad.solvers.gradient.epoch import Configuration
from ucad.solvers.gradient.mechanisms import Parameters, edge_effects
from ucad.solvers.gradient.objective import profile_nll
from ucad.solvers.gradient.relaxed_graph import Edge
from ucad.solvers.gradient.run import Run
from ucad.solvers.gradient.training import train
from ucad.solvers.gradient.warm_start import graph_logits

__all__ = ["ReplaceSettings", "replace_factors"]

OFFERED_LOGIT = 2.0
"""Logit of a child edge that is only offered: the first to go where there is a cycle."""

MIN_EFFECT = 0.05
"""Child edges that carry less are taken out of a proposal, in standard deviations of the child per
one of the factor. An edge that carries nothing comes to 0.01 in 10,000 samples."""

SCREENING_STEPS = 30
"""Adam steps that refit each proposal before all are ranked, a twentieth of a whole refit; one step
where F_X is linear, since its least squares are exact before."""

TENTATIVE_LOGIT = 3.0
"""Largest logit of an edge while proposals are trained: 0.9, so that it can still change."""

PENALTY_GROWTH = 1.05
"""Factor per epoch on the penalty of a violated constraint while proposals are trained: in 120
epochs as far as the 1.025 of preset `fast` gets in 240."""


@dataclass(frozen=True, kw_only=True)
class ReplaceSettings:
    """How stuck factors are replaced.

    Attributes:
        rounds: largest number of rounds of proposals; 0 switches replacements off.
        patience: number of rounds in a row without success that end it.
        proposals: largest number of proposals in a round, refitted and trained together.
        epochs: epochs of training for proposals that do not help as they are.
    """

    rounds: int = 12
    patience: int = 2
    proposals: int = 16
    epochs: int = 120

    def __post_init__(self) -> None:
        for name, least in {"rounds": 0, "patience": 1, "proposals": 1, "epochs": 1}.items():
            if getattr(self, name) < least:
                raise InvalidInputError(
                    f"The '{name}' setting of ReplaceSettings must be at least {least}. "
                    f"Got {getattr(self, name)} instead."
                )


def replace_factors(
    learner: Learner, candidates: Candidates, at: int, settings: ReplaceSettings, run: Run
) -> tuple[Candidates, str, bool]:
    """Replaces factors of one candidate by factors of the others, as long as that helps.

    A start often ends with a factor that explains nothing, and another start has found what is
    missing. Every factor is exchanged for every factor of every candidate; the most likely of
    these models are refitted and, if none is better, trained.

    Returns:
        The best model, a note for the status, and whether the user stopped it.
    """
    best, size, interrupted = candidates.row(at), settings.proposals, False
    kept = tried = failures = 0
    try:
        in_line = _proposals(learner, candidates, best)
        for number in range(settings.rounds):
            # After a round without success, the next one takes the next proposals in line.
            first = failures * size
            offers = {name: value[first : first + size] for name, value in in_line.items()}
            if not len(offers["logits"]) or failures == settings.patience or run.budget.is_over:
                break
            this = replace(run, seed=run.seed + number, stage="replacing factors", checkpoint=None)
            tried += len(offers["logits"])
            better = _better(learner, best, offers, this)
            if better is None:
                better = _better(learner, best, _trained(learner, offers, settings, this), this)
            if better is None:
                failures += 1
                continue
            best, kept, failures = better, kept + 1, 0
            in_line = _proposals(learner, candidates, best)
    except KeyboardInterrupt:
        interrupted = True
    return best, f"{kept} of {tried} proposals to replace a factor were kept.", interrupted


def _proposals(learner: Learner, candidates: Candidates, best: Candidates) -> Parameters:
    """Returns the best model's exchanges of one factor, those with the lowest NLL first."""
    own, donors = _discrete(best), _discrete(candidates)
    n_factors = own["logits"].shape[-1]
    each = [_screened(learner, _exchanged(own, donors, k)) for k in range(n_factors)]
    order = torch.cat([nll for nll, _ in each]).argsort()
    return {name: torch.cat([models[name] for _, models in each])[order] for name in own}


def _discrete(candidates: Candidates) -> Parameters:
    """Returns the parameters of finished models, with logits that say what their edges are."""
    graphs = relaxed(candidates.graphs, like=candidates.parameters["logits"])
    return {**candidates.parameters, "logits": graph_logits(*graphs)}


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
    objective, logits = learner.problem.objective, learner.problem.logits(models)
    layer_of = learner.problem.constraints.layer_of
    graph = relaxed(discretise(logits, learner.training.confidence, layer_of), like=logits)
    generator = torch.Generator(device=logits.device).manual_seed(0)
    brief = replace(learner.refit, steps=1 if "F_X.weight" in models else SCREENING_STEPS)
    fitted = refit(models, graph, objective, brief, generator)
    with torch.no_grad():
        variance = objective.residual_variance(fitted, graph)
    nll = profile_nll(variance, objective.free_share, objective.variance_floor)
    R = graph.R * (edge_effects(fitted, graph).children > MIN_EFFECT)
    return nll.nan_to_num(torch.inf), {**fitted, "logits": graph_logits(graph.Q, R)}


def _better(learner: Learner, best: Candidates, offers: Parameters, run: Run) -> Candidates | None:
    """Returns the best of what is offered, if it is better than what there was."""
    joined = best.joined(settle(learner, offers, run.seed, run.budget))
    at = joined.best(learner.tie)
    return joined.row(at) if at else None


def _trained(
    learner: Learner, offers: Parameters, settings: ReplaceSettings, run: Run
) -> Parameters:
    training = replace(learner.training, epochs=settings.epochs, patience=settings.epochs)
    one = Configuration(training.learning_rates[0], PENALTY_GROWTH, 0, run.seed)
    start = {**offers, "logits": offers["logits"].clamp_max(TENTATIVE_LOGIT)}
    grid = (one,) * len(start["logits"])
    trained = train(learner.problem, learner.validation, start, grid, training, run)
    if trained.interrupted:
        raise KeyboardInterrupt
    return trained.parameters
