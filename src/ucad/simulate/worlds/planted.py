"""Planted worlds: a random f-SCM of the paper's kind, and one thing or another wrong with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from ucad.errors import InvalidInputError
from ucad.graph import FactorGraph
from ucad.simulate.random_models import GraphRecipe, random_factor_graph, random_targets
from ucad.simulate.worlds.experiment import SOFT_ACTIONS, Experiment, check_action, side_effects
from ucad.simulate.worlds.flaws import FLAWS, Draft
from ucad.simulate.worlds.linear import linear_model
from ucad.simulate.worlds.measurements import MEASUREMENTS
from ucad.simulate.worlds.problem import Source, Truth, Violation, WorldProblem, make_problem
from ucad.simulate.worlds.settings import check_choice, start
from ucad.simulate.worlds.shaped import Form, shaped_system

__all__ = ["Planted", "planted_problem"]


@dataclass(frozen=True, kw_only=True)
class Planted(Form):
    """A random f-SCM with every variable at variance 1, acted on and measured.

    The form of its equations is that of `Form`.

    Attributes:
        n_variables: the paper's n.
        n_factors: the paper's m.
        edge_probability: of each edge that the causal order allows; 0.3 gives a factor six
            neighbours among 20 variables.
        min_parents: of a factor.
        n_unanchored: how many factors lack an in-anchor or an out-anchor.
        n_samples: for training and validation together, the same number in every regime.
        n_regimes: how many regimes act on something, 1 to 3 variables each; n if None.
        signal: the range of R², the share of a child's variance that comes from its factors.
        action: what is done to a target, one of `ACTIONS`.
        value: of the action, in standard deviations of the target from its mean.
        jitter: noise on what an action sets, in the same units.
        failure: the share of samples of a regime in which nothing happens to its targets.
        off_target: the share of regimes that act on one more variable, which the data do not say.
        mislabelled: the share of samples in which the targets of another regime were acted on.
        flaw: one of `FLAWS`, or nothing.
        strength: of the flaw, in standard deviations of a variable.
        measurement: one of `MEASUREMENTS`.
        level: of the measurement.
        copies: how many variables are measured twice, in two identical columns.
        spare_factors: how many factors more than there are a solver is asked for; may be negative.
    """

    n_variables: int = 20
    n_factors: int = 3
    edge_probability: float = 0.3
    min_parents: int = 2
    n_unanchored: int = 0
    n_samples: int = 8_000
    n_regimes: int | None = None
    signal: tuple[float, float] = (0.5, 0.9)
    action: str = "random"
    value: float = -3.0
    jitter: float = 0.0
    failure: float = 0.0
    off_target: float = 0.0
    mislabelled: float = 0.0
    flaw: str = ""
    strength: float = 0.5
    measurement: str = "exact"
    level: float = 0.5
    copies: int = 0
    spare_factors: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_action(self.action)
        check_choice("flaw", self.flaw, ["", *FLAWS])
        check_choice("measurement", self.measurement, MEASUREMENTS)
        for name in ("failure", "off_target", "mislabelled"):
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidInputError(
                    f"The '{name}' setting must be from 0 to 1. Got {getattr(self, name)} instead."
                )
        if self.n_factors + self.spare_factors < 1:
            raise InvalidInputError(
                "At least one factor must be asked for. Got a 'spare_factors' of "
                f"{self.spare_factors} for {self.n_factors} factors."
            )

    @property
    def violates(self) -> tuple[Violation, ...]:
        """What the settings break, apart from the flaw."""
        broken = {
            Violation.MISSING_FACTOR: self.spare_factors < 0,
            Violation.SPARE_FACTOR: self.spare_factors > 0,
            Violation.MECHANISM_CLASS: not (
                self.factor_function == self.variable_function == "linear"
            ),
            Violation.NOISE_FAMILY: self.noise not in ("gaussian", "time-series")
            or self.emission == "uneven",
            Violation.DEPENDENT_SAMPLES: self.noise == "time-series",
            Violation.BINARY: self.emission == "binary",
            Violation.COUNTS: self.emission in ("counts", "sparse-counts"),
            Violation.TRANSFORMED: self.emission == "cut-off",
            Violation.NOT_A_CLAMP: self.action in SOFT_ACTIONS,
            Violation.MISLABELLED: self.failure > 0 or self.mislabelled > 0,
            Violation.OFF_TARGET: self.off_target > 0,
            Violation.DUPLICATES: self.copies > 0,
        }
        named = tuple(name for name, is_broken in broken.items() if is_broken)
        return (*named, *MEASUREMENTS[self.measurement][1])


def planted_problem(
    seed: int, settings: Planted | None = None, /, *, name: str = "planted", **changes: object
) -> WorldProblem:
    """Makes a planted world: graph, equations, data and truth, from one seed.

    >>> problem = planted_problem(0, noise="laplace", n_samples=2100)
    >>> problem.train, problem.n_factors, problem.violates[0].value
    (InterventionalData(1680 samples × 20 variables, 21 regimes), 3, 'noise family')

    Args:
        seed: what makes it.
        settings: the world; the plain f-SCM if None.
        name: of the world, for the result.
        changes: settings of `Planted` by name.
    """
    chosen, rng = start(settings or Planted(), changes, seed, name)
    model = linear_model(_graph(chosen, rng), chosen.signal, rng)
    draft = Draft(shaped_system(model, chosen, rng), model.graph, model.graph.variable_adjacency)
    if chosen.flaw:
        draft = FLAWS[chosen.flaw](draft, chosen.strength, rng)
    make_measure, _ = MEASUREMENTS[chosen.measurement]
    source = Source(
        draft.system,
        _experiment(chosen, rng),
        make_measure(chosen.level, chosen.n_variables, rng),
        columns=_columns(chosen, rng),
    )
    is_exact = chosen.measurement == "exact" and source.columns is None
    truth = Truth(
        graph=draft.graph,
        adjacency=draft.adjacency,
        scm=model.scm if chosen.is_linear and draft.is_scm and is_exact else None,
        asked_factors=chosen.n_factors + chosen.spare_factors,
        violates=(*chosen.violates, *draft.violates),
    )
    return make_problem(name, seed, source, truth, rng)


def _graph(settings: Planted, rng: np.random.Generator) -> FactorGraph:
    recipe = GraphRecipe(
        n_variables=settings.n_variables,
        n_factors=settings.n_factors,
        edge_probability=settings.edge_probability,
        min_parents=settings.min_parents,
        n_unanchored=settings.n_unanchored,
    )
    return random_factor_graph(recipe, rng)


def _experiment(settings: Planted, rng: np.random.Generator) -> Experiment:
    n_regimes = settings.n_variables if settings.n_regimes is None else settings.n_regimes
    targets = random_targets(n_regimes, settings.n_variables, rng)
    return Experiment(
        targets=targets,
        regime=np.sort(np.arange(settings.n_samples) % (n_regimes + 1)),
        action=settings.action,
        value=settings.value,
        jitter=settings.jitter,
        failure=settings.failure,
        unlabelled=side_effects(targets, settings.off_target, rng),
        mislabelled=settings.mislabelled,
    )


def _columns(settings: Planted, rng: np.random.Generator) -> Int[np.ndarray, " columns"] | None:
    """Which variables are measured, copies last; None for all of them, once each."""
    if settings.copies == 0:
        return None
    order = rng.permutation(settings.n_variables)
    return np.concatenate([np.arange(settings.n_variables), order[: settings.copies]])
