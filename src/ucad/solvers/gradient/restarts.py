"""Restarts of dead or duplicate factors: drop the least useful one, grow another where it counts.

The paper's learner ends with factors that explain nothing in a fifth to a third of all cases. A
restart is a proposal like any other: trained, refitted, and kept only if the validation NLL falls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ucad.errors import InvalidInputError
from ucad.solvers.gradient.candidates import Candidates, Learner, relaxed, settle
from ucad.solvers.gradient.discretise import refit
from ucad.solvers.gradient.objective import Parameters, profile_nll
from ucad.solvers.gradient.relaxed_graph import Edge, RelaxedGraph
from ucad.solvers.gradient.training import Configuration, Run, train
from ucad.solvers.gradient.warm_start import EDGE_LOGIT, graph_logits

__all__ = [
    "RestartSettings",
    "Restarted",
    "SparseRegressions",
    "restart_factors",
    "sparse_regressions",
]

ELSEWHERE_LOGIT = 1.5
CLIP = 3.0


@dataclass(frozen=True, kw_only=True)
class RestartSettings:
    """How factors are restarted.

    Attributes:
        rounds: at most so many rounds of proposals; 0 switches restarts off.
        factors: how many of the least useful factors are up for replacement in a round.
        seeds: how many badly explained variables a new factor is grown from in a round.
        epochs: training of a proposal.
        learning_rate: of a proposal.
        penalty_growth: of a proposal.
        max_parents: of a new factor.
        min_gain: log-likelihood per sample that another parent must bring.
    """

    rounds: int = 6
    factors: int = 2
    seeds: int = 4
    epochs: int = 120
    learning_rate: float = 3e-2
    penalty_growth: float = 1.05
    max_parents: int = 8
    min_gain: float = 0.02

    def __post_init__(self) -> None:
        for name in ("rounds", "min_gain"):
            self._require(getattr(self, name) >= 0, name, "at least 0")
        for name in ("factors", "seeds", "epochs", "learning_rate", "max_parents"):
            self._require(getattr(self, name) > 0, name, "above 0")
        self._require(self.penalty_growth >= 1, "penalty_growth", "at least 1")

    def _require(self, holds: bool, name: str, wanted: str) -> None:
        if not holds:
            raise InvalidInputError(
                f"The '{name}' setting of RestartSettings must be {wanted}. "
                f"Got {getattr(self, name)} instead."
            )


class Restarted(NamedTuple):
    """What came of it."""

    best: Candidates
    notes: tuple[str, ...]
    interrupted: bool


class SparseRegressions(NamedTuple):
    """Every variable regressed on a few others.

    Attributes:
        coefficients: zero where a feature was not taken; a row is a target.
        variance: what is left unexplained.
    """

    coefficients: Float[Tensor, "targets features"]
    variance: Float[Tensor, " targets"]


def restart_factors(
    learner: Learner, best: Candidates, settings: RestartSettings, run: Run
) -> Restarted:
    """Replaces bad factors as long as the validation NLL falls."""
    accepted, tried = 0, 0
    proposals_from = 0
    try:
        for round_ in range(settings.rounds):
            offers = _proposals(learner, best, settings, proposals_from, run.seed + round_)
            if offers is None:
                break
            trained = _train(learner, offers, settings, replace(run, seed=run.seed + round_))
            tried += len(trained["logits"])
            found = settle(learner, trained, run.seed + round_)
            joined = best.joined(found)
            at = joined.best()
            # After a round without success, the next one grows from the next variables in line.
            proposals_from = 0 if at else proposals_from + settings.seeds
            accepted += at > 0
            best = joined.row(at)
    except KeyboardInterrupt:
        return Restarted(best, (_note(tried, accepted),), interrupted=True)
    return Restarted(best, (_note(tried, accepted),), interrupted=False)


def sparse_regressions(
    moments: Float[Tensor, "targets features features"],
    allowed: Bool[Tensor, "targets features"],
    max_features: int,
    min_gain: float,
    variance_floor: float,
) -> SparseRegressions:
    """Regresses every variable on a few others, greedily, all targets at once.

    Forward selection on the masked moments: take the feature that lowers the residual variance
    most, as long as the log-likelihood per sample rises by `min_gain`; then sweep it out of the
    moments (a step of Gauss-Jordan). O(n³) a feature for all n targets.
    """
    n = moments.shape[0]
    work = _centred(moments)
    everyone = torch.arange(n, device=moments.device)
    chosen = torch.zeros(n, n, dtype=torch.bool, device=moments.device)
    for _ in range(max_features):
        spread = work.diagonal(dim1=1, dim2=2)
        covariance = work[everyone, everyone]
        usable = allowed & ~chosen & (spread > variance_floor)
        gain = (covariance.square() / spread.clamp_min(variance_floor)).masked_fill(~usable, 0)
        most, feature = gain.max(dim=1)
        now = spread[everyone, everyone].clamp_min(0)
        rise = 0.5 * ((now + variance_floor) / (now - most).clamp_min(0).add(variance_floor)).log()
        takes = rise > min_gain
        if not bool(takes.any()):
            break
        chosen[everyone[takes], feature[takes]] = True
        column = work[everyone, :, feature]
        pivot = column[everyone, feature].masked_fill(~takes, torch.inf)
        work = work - column[:, :, None] * column[:, None, :] / pivot[:, None, None]
    coefficients = _least_squares(_centred(moments), chosen)
    return SparseRegressions(coefficients, work[everyone, everyone, everyone].clamp_min(0))


def _centred(moments: Float[Tensor, "targets ones ones"]) -> Float[Tensor, "targets n n"]:
    """The covariances: moments of (x, 1) with the constant swept out."""
    mean = moments[:, :-1, -1]
    return moments[:, :-1, :-1] - mean[:, :, None] * mean[:, None, :]


def _least_squares(
    covariance: Float[Tensor, "targets n n"], chosen: Bool[Tensor, "targets n"]
) -> Float[Tensor, "targets n"]:
    n = len(covariance)
    both = (chosen[:, :, None] & chosen[:, None, :]).to(covariance)
    identity = torch.eye(n, dtype=covariance.dtype, device=covariance.device)
    system = covariance * both + identity * (~chosen)[:, :, None] + 1e-9 * identity
    everyone = torch.arange(n, device=covariance.device)
    right = covariance[everyone, everyone] * chosen
    solved: Tensor = torch.linalg.solve(system, right)
    return solved


def _proposals(
    learner: Learner, best: Candidates, settings: RestartSettings, skip: int, seed: int
) -> Parameters | None:
    """Parameters of all proposals: (least useful factors) × (variables to grow a new one from)."""
    problem = learner.problem
    allowed = _possible_parents(learner)
    floor = learner.model.variance_floor
    regressions = sparse_regressions(
        learner.moments, allowed, settings.max_parents, settings.min_gain, floor
    )
    share = problem.objective.free_share.double()
    now = best.residual_variance[0].double()
    gain = 0.5 * share * ((now + floor) / (regressions.variance + floor)).log()
    order = gain.argsort(descending=True)
    order = order[gain[order] > 0][skip : skip + settings.seeds]
    if not len(order):
        return None
    factors = _least_useful(learner, best, seed)[: settings.factors]
    offers = [
        _proposal(best, int(k), int(j), regressions.coefficients[j], seed)
        for k in factors
        for j in order
    ]
    return {name: torch.cat([offer[name] for offer in offers]) for name in offers[0]}


def _least_useful(learner: Learner, best: Candidates, seed: int) -> Int[Tensor, " factors"]:
    """Factors in order of what their absence costs once the others are refitted."""
    graph = relaxed(best.graphs, like=best.parameters["logits"])
    n_factors = graph.Q.shape[-1]
    kept = 1 - torch.eye(n_factors, dtype=graph.R.dtype, device=graph.R.device)[:, None]
    without = RelaxedGraph(graph.Q * kept, graph.R * kept)
    repeated = {
        name: value.expand(n_factors, *value.shape[1:]).clone()
        for name, value in best.parameters.items()
    }
    generator = torch.Generator(device=graph.Q.device).manual_seed(seed)
    brief = replace(learner.refit, steps=max(1, learner.refit.steps // 4))
    fitted = refit(repeated, without, learner.problem.objective, brief, generator)
    with torch.no_grad():
        variance = learner.validation.residual_variance(fitted, without)
    nll = profile_nll(variance, learner.validation.free_share, learner.validation.variance_floor)
    return nll.argsort()


def _proposal(
    best: Candidates, factor: int, variable: int, coefficients: Tensor, seed: int
) -> Parameters:
    """The best model with one factor replaced by a regression function of one variable."""
    own = {name: value.clone() for name, value in best.parameters.items()}
    Q, R = (torch.from_numpy(part.copy()) for part in best.graphs[0][:2])
    logits = graph_logits(Q, R).to(own["logits"]).clamp(-CLIP, CLIP)
    logits[:, :, factor] = 0
    logits[Edge.NONE, :, factor] = ELSEWHERE_LOGIT
    parents = coefficients != 0
    logits[:, parents, factor] = 0
    logits[Edge.PARENT, parents, factor] = EDGE_LOGIT
    logits[:, variable, factor] = 0
    logits[Edge.CHILD, variable, factor] = EDGE_LOGIT
    own["logits"] = logits[None]
    _grow_mechanism(own, factor, variable, coefficients, seed)
    return own


def _grow_mechanism(
    own: Parameters, factor: int, variable: int, coefficients: Tensor, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed * 1_000_003 + variable)

    def normal(like: Tensor, scale: float) -> Tensor:
        return scale * torch.randn(like.shape, generator=generator).to(like)

    if "F_Z.weight" in own:
        own["F_Z.weight"][0, factor] = coefficients.to(own["F_Z.weight"])
    else:
        for name, scale in (("F_Z.w1", 0.5), ("F_Z.b1", 0.3), ("F_Z.w2", 0.25)):
            own[name][0, factor] = normal(own[name][0, factor], scale)
    if "F_X.weight" in own:
        own["F_X.weight"][0, :, factor] = normal(own["F_X.weight"][0, :, factor], 0.1)
        own["F_X.weight"][0, variable, factor] = 1.0
    else:
        own["F_X.w1"][0, :, :, factor] = normal(own["F_X.w1"][0, :, :, factor], 0.3)
    # The variable it grows from starts afresh, so that the new factor has room.
    own["log_variance"][0, variable] = 0.0


def _train(learner: Learner, offers: Parameters, settings: RestartSettings, run: Run) -> Parameters:
    training = replace(learner.training, epochs=settings.epochs, patience=settings.epochs)
    one = Configuration(settings.learning_rate, settings.penalty_growth, 0, run.seed)
    grid = (one,) * len(offers["logits"])
    quiet = replace(run, stage="restarting factors", checkpoint=None)
    trained = train(learner.problem, learner.validation, offers, grid, training, quiet)
    if trained.interrupted:
        raise KeyboardInterrupt
    return trained.parameters


def _possible_parents(learner: Learner) -> Bool[Tensor, "targets features"]:
    """Which variables may feed a factor that makes a given one: others, of earlier layers."""
    n = learner.moments.shape[0]
    allowed = ~torch.eye(n, dtype=torch.bool, device=learner.moments.device)
    layer_of = learner.problem.constraints.layer_of
    return allowed if layer_of is None else allowed & (layer_of[None, :] < layer_of[:, None])


def _note(tried: int, accepted: int) -> str:
    return f"{accepted} of {tried} proposals to replace a factor were kept."
