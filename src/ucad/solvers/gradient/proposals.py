"""Proposals to restart a factor: which one to drop, and what a new one is to explain."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ucad.errors import InvalidInputError
from ucad.scm import VARIANCE_FLOOR
from ucad.solvers.gradient.attachment import moments_of
from ucad.solvers.gradient.bases import Base, without_each
from ucad.solvers.gradient.candidates import Candidates, Learner
from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.relaxed_graph import Edge
from ucad.solvers.gradient.sparse_regression import SparseRegressions, sparse_regressions
from ucad.solvers.gradient.warm_start import EDGE_LOGIT, graph_logits

__all__ = ["RestartSettings", "propose"]

ELSEWHERE_LOGIT = 1.5
CLIP = 3.0
PARENT_WORTH = 2.5


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
        min_gain: log-likelihood per sample that another parent, or polynomial of one, must bring.
    """

    rounds: int = 12
    patience: int = 4
    proposals: int = 16
    epochs: int = 120
    learning_rate: float = 3e-2
    penalty_growth: float = 1.05
    max_parents: int = 12
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


def propose(
    learner: Learner, best: Candidates, settings: RestartSettings, skip: int, seed: int
) -> Parameters | None:
    """Parameters of the proposals in line: a factor to drop, and a group of variables to explain.

    In order of the NLL to be expected: that without the factor, minus what the group stands to
    gain.
    """
    moments, parents = moments_of(learner), _possible_parents(learner)
    everyone = torch.arange(len(moments), device=moments.device)
    regressions = sparse_regressions(
        moments, everyone, parents, settings.max_parents, settings.min_gain
    )
    *bases, whole = without_each(learner, best, settings.min_gain, seed)
    pairs = [
        (base.nll - gain, at, children)
        for at, base in enumerate(bases)
        for children, gain in _groups_to_explain(base, regressions, learner, settings.min_gain)
    ]
    in_line = sorted(pairs)[skip : skip + settings.proposals - 1]
    if skip and not in_line:
        return None
    offers = [_proposal(bases[at], children, regressions, seed) for _, at, children in in_line]
    offers.append({**whole.parameters, "logits": _tentative(whole.Q, whole.R, whole.parameters)})
    return {name: torch.cat([offer[name] for offer in offers]) for name in offers[0]}


def _groups_to_explain(
    base: Base, regressions: SparseRegressions, learner: Learner, min_gain: float
) -> list[tuple[list[int], float]]:
    """Variables that a new factor could explain, in groups with the same parents, and their gain.

    A parent costs `PARENT_WORTH` times the least gain: a variable with two factors needs the
    parents of both, and one with a single factor is the better start.
    """
    floor = VARIANCE_FLOOR
    share = learner.problem.objective.free_share.double()
    now = base.residual_variance.double()
    support = _parents(regressions)
    rise = 0.5 * ((now + floor) / (regressions.variance + floor)).log()
    gain = share * (rise - PARENT_WORTH * min_gain * support.sum(dim=1))
    groups: dict[tuple[bool, ...], list[int]] = {}
    for j in gain.argsort(descending=True).tolist():
        if bool(support[j].any()):
            groups.setdefault(tuple(support[j].tolist()), []).append(j)
    return [(group, float(gain[group].sum())) for group in groups.values()]


def _proposal(
    base: Base, children: list[int], regressions: SparseRegressions, seed: int
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
    parents = _parents(regressions)[anchor]
    for edge, members in ((Edge.PARENT, parents), (Edge.CHILD, children)):
        logits[:, members, factor] = 0
        logits[edge, members, factor] = EDGE_LOGIT
    own["logits"] = logits[None]
    _grow_mechanism(own, factor, anchor, coefficients, seed)
    return own


def _parents(regressions: SparseRegressions) -> Bool[Tensor, "targets variables"]:
    """Which variables a regression takes, be it as they are or by a polynomial of theirs."""
    taken = regressions.coefficients != 0
    n = len(taken)
    return taken.reshape(n, -1, n).any(dim=1)


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


def _possible_parents(learner: Learner) -> Bool[Tensor, "targets features"]:
    """Which variables, and polynomials of them, may feed a factor that makes a given one."""
    n_features = moments_of(learner).shape[1] - 1
    may_cause = learner.may_cause
    assert may_cause is not None, "restarts need to know who may cause whom"
    return may_cause.T.repeat(1, n_features // len(may_cause))
