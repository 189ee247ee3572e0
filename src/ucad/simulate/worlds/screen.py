"""Worlds shaped like a screen: independent inputs, each acted on alone, and noisy read-outs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from ucad._types import VariablesByFactors
from ucad.errors import InvalidInputError
from ucad.graph import FactorGraph
from ucad.simulate.worlds.experiment import (
    SOFT_ACTIONS,
    Experiment,
    check_action,
    one_by_one,
    side_effects,
)
from ucad.simulate.worlds.linear import linear_model
from ucad.simulate.worlds.problem import Source, Truth, Violation, WorldProblem, make_problem
from ucad.simulate.worlds.settings import check_choice, start

__all__ = ["SHAPES", "Screen", "screen_problem"]

SHAPES = {
    "independent": "no variable belongs to two factors",
    "chain": "some children of each factor are parents of the next",
    "overlap": "some parents and some children belong to two factors",
}
"""How the factors of a screen hang together."""


@dataclass(frozen=True, kw_only=True)
class Screen:
    """A linear screen: p inputs per factor, c noisy children, each target acted on alone.

    Attributes:
        n_factors: the paper's m.
        parents: p, the number of parents of a factor.
        children: c, the number of children of a factor.
        clamp: what is done to a target, one of `ACTIONS`.
        value: of the action, in standard deviations of the target from its mean; no effect on a
            random clamp.
        share_targeted: the share of all variables that is ever acted on; None for all variables
            that are parents of a factor and no others.
        samples_per_regime: per target, for training and validation together.
        n_control: samples in which nothing is acted on.
        n_samples: if given, the number of all samples; control samples are what the regimes leave.
        shape: one of `SHAPES`.
        overlap: the share of parents (and in an overlap of children) that is shared with another
            factor, rounded: at least one in a chain, and never all of them in an overlap.
        signal: the range of R², the share of a child's variance that comes from its factors.
        jitter: noise on what an action sets, in standard deviations of the target.
        failure: the share of samples of a regime in which nothing happens to its target.
        off_target: the share of regimes that act on one more variable, which the data do not say.
        unmeasured: the share of the inputs, beyond one anchor per factor, that is acted on but not
            measured.
    """

    n_factors: int = 2
    parents: int = 5
    children: int = 10
    clamp: str = "constant"
    value: float = -3.0
    share_targeted: float | None = None
    samples_per_regime: int = 70
    n_control: int = 2_000
    n_samples: int | None = None
    shape: str = "independent"
    overlap: float = 0.3
    signal: tuple[float, float] = (0.2, 0.98)
    jitter: float = 0.0
    failure: float = 0.0
    off_target: float = 0.0
    unmeasured: float = 0.0

    def __post_init__(self) -> None:
        check_action(self.clamp)
        check_choice("shape", self.shape, SHAPES)
        for name in ("n_factors", "parents", "children", "samples_per_regime"):
            self._require(getattr(self, name) >= 1, name, "at least 1")
        self._require(self.n_control >= 0, "n_control", "at least 0")
        share = self.share_targeted
        self._require(share is None or 0 <= share <= 1, "share_targeted", "from 0 to 1")
        for name in ("overlap", "failure", "off_target", "unmeasured"):
            self._require(0 <= getattr(self, name) <= 1, name, "from 0 to 1")
        low, high = self.signal
        self._require(0 < low <= high < 1, "signal", "two increasing numbers between 0 and 1")
        apart = self.shape == "independent" or self.n_factors > 1
        self._require(apart, "n_factors", f"at least 2 for the shape '{self.shape}'")

    def _require(self, condition: bool, name: str, rule: str) -> None:
        if not condition:
            raise InvalidInputError(
                f"The '{name}' setting of Screen must be {rule}. Got {getattr(self, name)} instead."
            )

    @property
    def violates(self) -> tuple[Violation, ...]:
        """What the settings break."""
        broken = {
            Violation.NOT_A_CLAMP: self.clamp in SOFT_ACTIONS,
            Violation.MISLABELLED: self.failure > 0,
            Violation.OFF_TARGET: self.off_target > 0,
            Violation.UNMEASURED_TARGET: self.unmeasured > 0,
            Violation.NOISY_FACTOR: self.unmeasured > 0,
        }
        return tuple(name for name, is_broken in broken.items() if is_broken)


def screen_problem(
    seed: int, settings: Screen | None = None, /, *, name: str = "screen", **changes: object
) -> WorldProblem:
    """Makes a screen: graph, weights, data and truth, from one seed.

    >>> problem = screen_problem(0, n_factors=2, parents=3, children=4)
    >>> problem.train, problem.n_factors, problem.kind_of_intervention
    (InterventionalData(1936 samples × 14 variables, 7 regimes), 2, 'constant')

    Args:
        seed: what makes it.
        settings: the screen; the default one if None.
        name: of the world, for the result.
        changes: settings of `Screen` by name.
    """
    chosen, rng = start(settings or Screen(), changes, seed, name)
    graph = _graph(chosen, rng)
    model = linear_model(graph, chosen.signal, rng)
    columns = _measured(chosen, graph, rng)
    experiment = _experiment(chosen, graph, rng)
    source = Source(model.system(), experiment, columns=columns, is_standard=True)
    truth = Truth(
        graph=graph,
        adjacency=graph.variable_adjacency,
        scm=model.scm if columns is None else None,
        violates=chosen.violates,
    )
    return make_problem(name, seed, source, truth, rng)


def _graph(settings: Screen, rng: np.random.Generator) -> FactorGraph:
    """The f-DAG of the shape asked for, its variables in random order."""
    build = {"independent": _side_by_side, "chain": _chain, "overlap": _overlap}[settings.shape]
    Q, R = build(settings, rng)
    order = rng.permutation(len(Q))
    return FactorGraph(Q[order], R[order])


def _side_by_side(
    settings: Screen, _rng: np.random.Generator
) -> tuple[VariablesByFactors, VariablesByFactors]:
    one = np.eye(settings.n_factors, dtype=bool)
    inputs, outputs = (
        np.repeat(one, size, axis=0) for size in (settings.parents, settings.children)
    )
    return np.vstack([inputs, np.zeros_like(outputs)]), np.vstack([np.zeros_like(inputs), outputs])


def _chain(
    settings: Screen, rng: np.random.Generator
) -> tuple[VariablesByFactors, VariablesByFactors]:
    """Some inputs of each factor but the first are left out, and children of the last put in."""
    Q, R = _side_by_side(settings, rng)
    most = min(settings.parents, settings.children)
    links = min(max(1, round(settings.overlap * settings.parents)), most)
    dropped: list[int] = []
    for k in range(1, settings.n_factors):
        replaced = np.flatnonzero(Q[:, k])[:links]
        Q[np.flatnonzero(R[:, k - 1])[:links], k] = True
        dropped.extend(replaced.tolist())
    return np.delete(Q, dropped, axis=0), np.delete(R, dropped, axis=0)


def _overlap(
    settings: Screen, rng: np.random.Generator
) -> tuple[VariablesByFactors, VariablesByFactors]:
    """Some members of each factor belong to another factor too; one at least stays an anchor."""
    Q, R = _side_by_side(settings, rng)
    for edges, size in ((Q, settings.parents), (R, settings.children)):
        n_shared = min(round(settings.overlap * size), size - 1)
        own = [np.flatnonzero(edges[:, k])[:n_shared] for k in range(settings.n_factors)]
        for k, members in enumerate(own):
            others = np.delete(np.arange(settings.n_factors), k)
            edges[members, rng.choice(others, len(members))] = True
    return Q, R


def _experiment(settings: Screen, graph: FactorGraph, rng: np.random.Generator) -> Experiment:
    targeted = _targeted(settings, graph, rng)
    n_control = settings.n_control
    if settings.n_samples is not None:
        n_control = settings.n_samples - len(targeted) * settings.samples_per_regime
    if n_control < 0:
        raise InvalidInputError(
            f"The 'n_samples' setting of Screen must be at least {settings.samples_per_regime} for "
            f"each of {len(targeted)} targets. Got {settings.n_samples} instead."
        )
    targets, regime = one_by_one(
        targeted, graph.n_variables, settings.samples_per_regime, n_control
    )
    return Experiment(
        targets=targets,
        regime=regime,
        action=settings.clamp,
        value=settings.value,
        jitter=settings.jitter,
        failure=settings.failure,
        unlabelled=side_effects(targets, settings.off_target, rng),
    )


def _targeted(
    settings: Screen, graph: FactorGraph, rng: np.random.Generator
) -> Int[np.ndarray, " targets"]:
    if settings.share_targeted is None:
        return np.flatnonzero(graph.Q.any(axis=1))
    size = round(settings.share_targeted * graph.n_variables)
    return np.sort(rng.choice(graph.n_variables, size, replace=False))


def _measured(
    settings: Screen, graph: FactorGraph, rng: np.random.Generator
) -> Int[np.ndarray, " columns"] | None:
    """Which variables are measured: all but some inputs; None for all of them."""
    if settings.unmeasured == 0:
        return None
    anchors = graph.in_anchors.argmax(axis=0)
    inputs = np.setdiff1d(graph.roots[graph.Q[graph.roots].any(axis=1)], anchors)
    hidden = rng.permutation(inputs)[: round(settings.unmeasured * len(inputs))]
    return np.setdiff1d(np.arange(graph.n_variables), hidden)
