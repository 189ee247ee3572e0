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
from ucad.graph import FactorGraph
from ucad.scm import VARIANCE_FLOOR
from ucad.solvers.gradient.candidates import Candidates, Learner, settle
from ucad.solvers.gradient.discretise import refit
from ucad.solvers.gradient.epoch import Configuration
from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.objective import FactorMoments, profile_nll
from ucad.solvers.gradient.relaxed_graph import Edge, RelaxedGraph
from ucad.solvers.gradient.sparse_regression import SparseRegressions, sparse_regressions
from ucad.solvers.gradient.state import Run
from ucad.solvers.gradient.training import train
from ucad.solvers.gradient.warm_start import EDGE_LOGIT, graph_logits

__all__ = [
    "RestartSettings",
    "Restarted",
    "possible_children",
    "restart_factors",
]

ELSEWHERE_LOGIT = 1.5
CLIP = 3.0
MIN_WORTH = 0.05


@dataclass(frozen=True, kw_only=True)
class RestartSettings:
    """How factors are restarted.

    Attributes:
        rounds: at most so many rounds of proposals; 0 switches restarts off.
        patience: so many rounds in a row without success end it.
        proposals: at most so many in a round, trained together.
        epochs: training of a proposal.
        learning_rate: of a proposal.
        penalty_growth: of a proposal.
        max_parents: of a new factor.
        min_gain: log-likelihood per sample that another parent must bring.
    """

    rounds: int = 10
    patience: int = 3
    proposals: int = 8
    epochs: int = 120
    learning_rate: float = 3e-2
    penalty_growth: float = 1.05
    max_parents: int = 8
    min_gain: float = 0.02

    def __post_init__(self) -> None:
        for name in ("rounds", "min_gain"):
            self._require(getattr(self, name) >= 0, name, "at least 0")
        self._require(self.proposals > 1, "proposals", "above 1")
        for name in ("epochs", "learning_rate", "max_parents", "patience"):
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


def restart_factors(
    learner: Learner, best: Candidates, settings: RestartSettings, run: Run
) -> Restarted:
    """Replaces bad factors as long as the validation NLL falls."""
    accepted, tried, failures = 0, 0, 0
    interrupted = False
    try:
        for round_ in range(settings.rounds):
            this = replace(run, seed=run.seed + round_)
            # After a round without success, the next one takes the next proposals in line.
            skip = failures * (settings.proposals - 1)
            offers = _proposals(learner, best, settings, skip, this.seed)
            if offers is None or failures == settings.patience:
                break
            trained = _train(learner, offers, settings, this)
            tried += len(trained["logits"])
            joined = best.joined(settle(learner, trained, this.seed))
            at = joined.best(learner.tie)
            failures = 0 if at else failures + 1
            accepted += at > 0
            best = joined.row(at)
    except KeyboardInterrupt:
        interrupted = True
    note = f"{accepted} of {tried} proposals to replace a factor were kept."
    return Restarted(best, (note,), interrupted)


class _Base(NamedTuple):
    """The best model without one factor (or with all), its children given to the others."""

    factor: int
    Q: Bool[Tensor, "variables factors"]
    R: Bool[Tensor, "variables factors"]
    parameters: Parameters
    residual_variance: Float[Tensor, " variables"]
    nll: float


def _proposals(
    learner: Learner, best: Candidates, settings: RestartSettings, skip: int, seed: int
) -> Parameters | None:
    """Parameters of the proposals in line: a factor to drop, and a group of variables to explain.

    In order of the NLL to be expected: that without the factor, minus what the group stands to
    gain.
    """
    moments, parents = learner.moments, _possible_parents(learner)
    everyone = torch.arange(len(moments), device=moments.device)
    regressions = sparse_regressions(
        moments, everyone, parents, settings.max_parents, settings.min_gain
    )
    *bases, whole = _without_each(learner, best, settings, seed)
    pairs = [
        (base.nll - gain, at, children)
        for at, base in enumerate(bases)
        for children, gain in _groups_to_explain(base, regressions, learner)
    ]
    in_line = sorted(pairs)[skip : skip + settings.proposals - 1]
    if skip and not in_line:
        return None
    offers = [_proposal(bases[at], children, regressions, seed) for _, at, children in in_line]
    offers.append({**whole.parameters, "logits": _tentative(whole.Q, whole.R, whole.parameters)})
    return {name: torch.cat([offer[name] for offer in offers]) for name in offers[0]}


def _groups_to_explain(
    base: _Base, regressions: SparseRegressions, learner: Learner
) -> list[tuple[list[int], float]]:
    """Variables that a new factor could explain, in groups with the same parents, and their gain.

    A parent costs `MIN_WORTH`: a variable with two factors needs the parents of both, and one with
    a single factor is the better start.
    """
    floor = VARIANCE_FLOOR
    share = learner.problem.objective.free_share.double()
    now = base.residual_variance.double()
    support = regressions.coefficients != 0
    rise = 0.5 * ((now + floor) / (regressions.variance + floor)).log()
    gain = share * (rise - MIN_WORTH * support.sum(dim=1))
    groups: dict[tuple[bool, ...], list[int]] = {}
    for j in gain.argsort(descending=True).tolist():
        if float(gain[j]) > 0 and bool(support[j].any()):
            groups.setdefault(tuple(support[j].tolist()), []).append(j)
    return [(group, float(gain[group].sum())) for group in groups.values()]


def _without_each(
    learner: Learner, best: Candidates, settings: RestartSettings, seed: int
) -> list[_Base]:
    """The model without each factor in turn, and last the whole model, refitted.

    Its children, and variables that are badly explained anyway, attach to those other factors
    that help and that the order of factors allows: so a duplicate costs nothing.
    """
    Q, R = (torch.from_numpy(part.copy()) for part in best.graphs[0][:2])
    n_factors = Q.shape[1]
    repeated = {
        name: value.expand(n_factors + 1, *value.shape[1:]).clone()
        for name, value in best.parameters.items()
    }
    objective, logits = learner.problem.objective, repeated["logits"]
    present = ~torch.eye(n_factors + 1, n_factors, dtype=torch.bool)[:, None]
    Q_each = Q & present
    moments = objective.factor_moments(repeated, _batch(Q_each, R & present, like=logits))
    layer_of = learner.problem.constraints.layer_of
    legal = R | possible_children(Q, R, None if layer_of is None else layer_of.cpu())
    helps = _helpful_factors(learner, moments, legal & present, settings)
    loose = best.residual_variance[0].cpu() > 2 * VARIANCE_FLOOR
    affected = torch.cat([R.T | loose, loose[None]])
    R_each = torch.where(affected[:, :, None], helps, R & present)
    graph = _batch(Q_each, R_each, like=logits)
    generator = torch.Generator(device=logits.device).manual_seed(seed)
    brief = replace(learner.refit, steps=max(1, learner.refit.steps // 4))
    fitted = refit(repeated, graph, objective, brief, generator)
    with torch.no_grad():
        variance = objective.residual_variance(fitted, graph)
    nll = profile_nll(variance, objective.free_share, objective.variance_floor).tolist()
    rows = [{name: value[k : k + 1] for name, value in fitted.items()} for k in range(len(nll))]
    each = zip(range(len(nll)), Q_each, R_each, rows, variance, nll, strict=True)
    return [_Base(*one) for one in each]


def _helpful_factors(
    learner: Learner,
    moments: FactorMoments,
    allowed: Bool[Tensor, "configurations variables factors"],
    settings: RestartSettings,
) -> Bool[Tensor, "configurations variables factors"]:
    """Which of the allowed factors a sparse regression of each variable takes."""
    K, n, m = allowed.shape
    # Moments of (z, x_j, 1): x_j goes between the factors and the constant.
    order = [*range(m), m + 1, m]
    own = learner.moments[:, :-1, :-1].diagonal(dim1=1, dim2=2).diagonal()
    bordered = torch.nn.functional.pad(moments.inputs, (0, 1, 0, 1))
    bordered[..., m + 1, : m + 1] = bordered[..., : m + 1, m + 1] = moments.targets
    bordered[..., m + 1, m + 1] = own.to(bordered)
    bordered = bordered[..., order, :][..., order].flatten(0, 1).double()
    features = torch.nn.functional.pad(allowed, (0, 1)).flatten(0, 1).to(bordered.device)
    target = torch.full((K * n,), m, device=bordered.device)
    found = sparse_regressions(bordered, target, features, m, settings.min_gain)
    return (found.coefficients[:, :m] != 0).reshape(K, n, m).cpu()


def _batch(
    Q: Bool[Tensor, "configurations variables factors"],
    R: Bool[Tensor, "configurations variables factors"],
    like: Tensor,
) -> RelaxedGraph:
    return RelaxedGraph(Q.to(like), R.to(like))


def possible_children(
    Q: Bool[Tensor, "variables factors"],
    R: Bool[Tensor, "variables factors"],
    layer_of: Int[Tensor, " variables"] | None,
) -> Bool[Tensor, "variables factors"]:
    """Which variables may become children of which factors: all that keep the order of factors."""
    graph = FactorGraph(Q.numpy(), R.numpy())
    place = torch.empty(graph.n_factors, dtype=torch.long)
    place[torch.from_numpy(graph.factor_order)] = torch.arange(graph.n_factors)
    first_fed = torch.where(Q, place, graph.n_factors).min(dim=1).values
    legal = (place < first_fed[:, None]) & ~Q
    if layer_of is None:
        return legal
    last_parent = torch.where(Q, layer_of[:, None], -1).max(dim=0).values
    return legal & (last_parent < layer_of[:, None])


def _proposal(
    base: _Base, children: list[int], regressions: SparseRegressions, seed: int
) -> Parameters:
    """A base with the missing factor grown from the regression of its first child."""
    own = {name: value.clone() for name, value in base.parameters.items()}
    anchor, factor = children[0], base.factor
    R = base.R.clone()
    R[anchor] = False  # all of it is left to the new factor, whose out-anchor it becomes
    logits = _tentative(base.Q, R, own)[0]
    coefficients = regressions.coefficients[anchor]
    logits[:, :, factor] = 0
    logits[Edge.NONE, :, factor] = ELSEWHERE_LOGIT
    for edge, members in ((Edge.PARENT, coefficients != 0), (Edge.CHILD, children)):
        logits[:, members, factor] = 0
        logits[edge, members, factor] = EDGE_LOGIT
    own["logits"] = logits[None]
    _grow_mechanism(own, factor, anchor, coefficients, seed)
    return own


def _tentative(
    Q: Bool[Tensor, "variables factors"], R: Bool[Tensor, "variables factors"], own: Parameters
) -> Float[Tensor, "1 kinds variables factors"]:
    """Logits of a graph that further training may still change."""
    return graph_logits(Q, R).clamp(-CLIP, CLIP)[None].to(own["logits"])


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
