"""`WorldProblem`: data from a world, with all that is true of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Int

from ucad._types import BooleanMatrix, FactorSamples, VariableSamples
from ucad.data import OBSERVATIONAL, InterventionalData
from ucad.data.splits import rows_stratified
from ucad.graph import FactorGraph
from ucad.scm import FactorSCM
from ucad.simulate.problems import N_TEST, VALIDATION_SHARE
from ucad.simulate.worlds.experiment import Doing, Experiment
from ucad.simulate.worlds.system import Sampler

__all__ = [
    "Covariates",
    "Measured",
    "Source",
    "Truth",
    "Violation",
    "WorldProblem",
    "make_problem",
    "measure_exactly",
]

N_PILOT = 4_000
"""Observational samples from which the mean and spread of every variable are read, so that actions
can be given in standard deviations: the spread is then known to about 1 %."""

Covariates: TypeAlias = Mapping[str, np.ndarray]
"""What is known of every sample beside the variables, such as its batch, by name."""


class Violation(StrEnum):
    """An assumption of the f-SCMs that we fit, which a world breaks."""

    MISSING_FACTOR = "missing factor"
    SPARE_FACTOR = "spare factor"
    NO_FACTORS = "no factors"
    NO_ANCHORS = "no anchors"
    DIRECT_EDGE = "direct edge"
    HIDDEN_CAUSE = "hidden cause"
    FEEDBACK = "feedback"
    NOT_A_CLAMP = "not a clamp"
    UNMEASURED_TARGET = "unmeasured target"
    OFF_TARGET = "off target"
    MECHANISM_CLASS = "mechanism class"
    NOISE_FAMILY = "noise family"
    NOISY_FACTOR = "noisy factor"
    COUNTS = "counts"
    BINARY = "binary"
    MEASUREMENT_NOISE = "measurement noise"
    BATCH = "batch"
    TRANSFORMED = "transformed"
    DUPLICATES = "duplicates"
    MIXTURE = "mixture"
    CORRELATED_ROOTS = "correlated roots"
    DEPENDENT_SAMPLES = "dependent samples"
    MISLABELLED = "mislabelled samples"
    SELECTED = "selected samples"
    DYNAMICS = "dynamics"


class Measured(NamedTuple):
    """What is seen of the true values of the variables."""

    x: VariableSamples
    covariates: Covariates


@dataclass(frozen=True, kw_only=True, eq=False)
class Truth:
    """What is true of a world, in the units in which it is simulated.

    Attributes:
        graph: the true f-DAG, or None where there are no factors.
        adjacency: the true direct effects between variables; a row is a cause.
        scm: the true model, where it is a `FactorSCM` of the measured variables.
        asked_factors: the number of factors a solver is asked for; the true one if None.
        violates: what is wrong with the world for an f-SCM with that many factors.
    """

    graph: FactorGraph | None
    adjacency: BooleanMatrix
    scm: FactorSCM | None = None
    asked_factors: int | None = None
    violates: tuple[Violation, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class WorldProblem:
    """A simulated problem with its truth, in standardised units.

    Attributes:
        train: 80 % of the samples, every regime in the same share.
        validation: the other 20 %.
        test: fresh observational samples.
        factors: the true factors of the test samples; no columns where there are no factors.
        graph: the true f-DAG, or None where there are no factors.
        adjacency: the true direct effects between variables; a row is a cause.
        scm: the true model in the units of the data, where it is a `FactorSCM`; else None.
        asked_factors: the number of factors a solver is asked for.
        violates: what is wrong with the world for an f-SCM with that many factors. Where this is
            not empty, a claim that the model is right is an over-claim.
        kind_of_intervention: what really happened to the targets, one of `ACTIONS`. The data
            label all of them as clamped.
        covariates: per part (`train`, `validation`, `test`) what is known of the samples beside
            the variables.
        name: the world.
        seed: what made it.
    """

    train: InterventionalData
    validation: InterventionalData
    test: InterventionalData
    factors: FactorSamples
    graph: FactorGraph | None
    adjacency: BooleanMatrix
    scm: FactorSCM | None
    asked_factors: int
    violates: tuple[Violation, ...]
    kind_of_intervention: str
    covariates: Mapping[str, Covariates] = field(default_factory=dict)
    name: str
    seed: int

    @property
    def n_factors(self) -> int:
        """The true number of factors; 0 where there are none."""
        return self.factors.shape[1]

    def in_context(self) -> WorldProblem:
        """The same problem with all covariates as the context of its data."""
        parts: dict[str, Any] = {
            name: getattr(self, name).with_context(known) for name, known in self.covariates.items()
        }
        return replace(self, **parts)

    @property
    def is_right(self) -> bool:
        """Whether an f-SCM with the number of factors asked for can be exactly right."""
        return not self.violates


def measure_exactly(x: VariableSamples, _rng: np.random.Generator) -> Measured:
    """Measures the variables as they are."""
    return Measured(x, {})


class Source(NamedTuple):
    """Where the samples of a world come from.

    Attributes:
        system: its equations.
        experiment: what is done in the samples for training and validation.
        measure: what is seen of the true values.
        columns: which variable each measured column shows; None for all of them, once each.
        is_standard: whether all variables have mean 0 and variance 1 by construction, as long as
            nothing is done; otherwise both are estimated from a pilot sample.
    """

    system: Sampler
    experiment: Experiment
    measure: Callable[[VariableSamples, np.random.Generator], Measured] = measure_exactly
    columns: Int[np.ndarray, " columns"] | None = None
    is_standard: bool = False


class _Draw(NamedTuple):
    """Samples of one part, before they are split or standardised."""

    data: InterventionalData
    factors: FactorSamples
    covariates: Covariates


def make_problem(
    name: str, seed: int, source: Source, truth: Truth, rng: np.random.Generator
) -> WorldProblem:
    """Draws the samples of a world, splits and standardises them, and sets the truth beside."""
    centre, spread = _centre_and_spread(source, rng)
    draw = _draw(source, source.experiment, source.experiment.doing(centre, spread, rng), rng)
    idle = _idle(source.experiment)
    fresh = _draw(source, idle, idle.doing(centre, spread, rng), rng)
    fractions = (1 - VALIDATION_SHARE, VALIDATION_SHARE)
    rows = rows_stratified(draw.data.regime, fractions, rng)
    train, validation = (draw.data.select(part) for part in rows)
    train = train.standardised()
    scaling = train.scaling
    assert scaling is not None
    graph = _seen_graph(truth, source.columns)
    return WorldProblem(
        train=train,
        validation=validation.standardised(scaling),
        test=fresh.data.standardised(scaling),
        factors=fresh.factors,
        graph=graph,
        adjacency=_seen_adjacency(truth, source.columns),
        scm=None if truth.scm is None else truth.scm.in_standard_units(scaling),
        asked_factors=_asked(truth, fresh.factors.shape[1]),
        violates=_violations(truth, graph),
        kind_of_intervention=source.experiment.action,
        covariates={
            **{
                part: {key: values[chosen] for key, values in draw.covariates.items()}
                for part, chosen in zip(("train", "validation"), rows, strict=True)
            },
            "test": fresh.covariates,
        },
        name=name,
        seed=seed,
    )


def _centre_and_spread(source: Source, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The observational mean and standard deviation of every variable."""
    n_variables = source.experiment.targets.shape[1]
    if source.is_standard or not source.experiment.is_in_spreads:
        return np.zeros(n_variables), np.ones(n_variables)
    x = source.system.sample(Doing.nothing(N_PILOT, n_variables), rng).x
    return x.mean(axis=0), x.std(axis=0)


def _idle(experiment: Experiment) -> Experiment:
    """The experiment in which nothing is done, for the test samples."""
    regime = np.full(N_TEST, OBSERVATIONAL, dtype=np.int64)
    return Experiment(targets=experiment.targets, regime=regime)


def _draw(source: Source, experiment: Experiment, doing: Doing, rng: np.random.Generator) -> _Draw:
    x, z, known = source.system.sample(doing, rng)
    seen = source.measure(x, rng)
    columns = np.arange(x.shape[1]) if source.columns is None else source.columns
    data = InterventionalData(
        seen.x[:, columns],
        experiment.is_acted_on[:, columns],
        experiment.regime.astype(np.int64),
        tuple(f"X{number}" for number in range(1, len(columns) + 1)),
        regime_names=_regime_names(experiment, columns),
        is_part=True,
    )
    return _Draw(data, z, {**known, **seen.covariates})


def _regime_names(experiment: Experiment, columns: Int[np.ndarray, " columns"]) -> tuple[str, ...]:
    """One name per regime: its targets, `U1`, `U2`, … for targets that are not measured."""
    unmeasured = np.setdiff1d(np.arange(experiment.targets.shape[1]), columns)
    label = {int(v): f"U{number}" for number, v in enumerate(unmeasured, 1)}
    label |= {int(v): f"X{number}" for number, v in reversed(list(enumerate(columns, 1)))}
    joined = [";".join(label[int(v)] for v in np.flatnonzero(row)) for row in experiment.targets]
    names = ["observational"]
    for number, name in enumerate(joined[1:], 1):
        names.append(name if name not in names else f"{name} ({number})")
    return tuple(names)


def _asked(truth: Truth, n_factors: int) -> int:
    return n_factors if truth.asked_factors is None else truth.asked_factors


def _violations(truth: Truth, graph: FactorGraph | None) -> tuple[Violation, ...]:
    """What the world breaks, with the anchors that the measured variables lack."""
    unanchored = graph is not None and not graph.has_anchors
    lacking = (Violation.NO_ANCHORS,) if unanchored else ()
    return tuple(dict.fromkeys((*truth.violates, *lacking)))


def _is_copy(columns: Int[np.ndarray, " columns"]) -> np.ndarray:
    """Whether a column shows a variable that an earlier one shows already."""
    return ~np.isin(np.arange(len(columns)), np.unique(columns, return_index=True)[1])


def _seen_graph(truth: Truth, columns: Int[np.ndarray, " columns"] | None) -> FactorGraph | None:
    """The f-DAG of the measured columns: a copy has the causes of the variable, and no effects."""
    if columns is None or truth.graph is None:
        return truth.graph
    Q = truth.graph.Q[columns] & ~_is_copy(columns)[:, None]
    return FactorGraph(Q, truth.graph.R[columns])


def _seen_adjacency(truth: Truth, columns: Int[np.ndarray, " columns"] | None) -> BooleanMatrix:
    if columns is None:
        return truth.adjacency
    return truth.adjacency[np.ix_(columns, columns)] & ~_is_copy(columns)[:, None]
