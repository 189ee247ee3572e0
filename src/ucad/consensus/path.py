"""The path over the number of factors: one preparation, and each m starts from the one before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ucad._types import Progress, ProgressEvent
from ucad.consensus.factor_path import FactorStep, HeldOut, bend, gain, measured, returning
from ucad.consensus.mechanisms import likely_classes
from ucad.consensus.recommendation import Recommendation, WithoutFactors, recommend
from ucad.consensus.without_factors import direct_model, independent_scm
from ucad.graph import FactorGraph
from ucad.scm import FactorSCM
from ucad.scm.families import AFFINE, Function
from ucad.solvers.budget import Budget, BudgetEndedError
from ucad.solvers.noise_settings import noise_in_units_of
from ucad.solvers.problem import Problem
from ucad.solvers.registry import Classes, SolveSettings
from ucad.solvers.search.auto import Class
from ucad.solvers.search.export import as_scm
from ucad.solvers.search.model import Model
from ucad.solvers.search.search import Preparation, Search

__all__ = ["FactorPath", "PathSearch", "default_last"]

MAX_FACTORS = 12
"""The largest number of factors tried unless more are asked for."""

N_BEYOND = 2
"""Numbers tried beyond an adequate one, without a gain in likelihood, before the path ends."""

MAX_CLASSES = 2
"""Classes of mechanisms in which a path is climbed: another one where no number was adequate, or
only one beyond the bend of the likelihood."""

N_WITH_MOVES = 3
"""Numbers from the bend on that are searched with moves."""

N_EMPTY = 2
"""Empty factors at which the search has nothing more to offer."""


def default_last(n_variables: int) -> int:
    """The largest number of factors that is tried: 12, and half as many as variables.

    >>> default_last(16), default_last(64)
    (8, 12)
    """
    return max(1, min(MAX_FACTORS, n_variables // 2))


@dataclass(frozen=True, kw_only=True, eq=False)
class FactorPath:
    """What was found for every number of factors, and which to use.

    Attributes:
        steps: one per number of factors, in order.
        direct: the model without factors, if anything has a cause.
        recommendation: which number, which others are plausible, and why.
        mechanisms: the families of F_Z and F_X.
        is_held_out: whether the samples that judged did not help to fit.
        cut_short: why the path ended early, or nothing.
        seconds: how long it took.
    """

    steps: tuple[FactorStep, ...]
    direct: WithoutFactors | None
    recommendation: Recommendation
    mechanisms: tuple[str, str]
    is_held_out: bool
    cut_short: str = ""
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The path as plain dicts, lists, strings and numbers."""
        return {
            "n_factors": self.recommendation.n_factors,
            "plausible": list(self.recommendation.plausible),
            "reason": self.recommendation.reason,
            "mechanisms": {"F_Z": self.mechanisms[0], "F_X": self.mechanisms[1]},
            "is_held_out": self.is_held_out,
            "cut_short": self.cut_short,
            "seconds": round(self.seconds, 3),
            "without_factors": None if self.direct is None else self.direct.row(),
            "steps": [step.row() for step in self.steps],
        }


@dataclass(eq=False)
class PathSearch:
    """Climbs from few factors to many.

    Who may cause whom, the candidate factors and their moments are found once. The choice of
    factors and the joint fit mostly tell how many there are, so the climb does without moves. But
    a search that is stuck makes up for it by further factors. So where an adequate number lies
    beyond the bend of the likelihood, the numbers from the bend on are searched with moves. Where
    no number is adequate, another class is climbed, but not far beyond that bend: a class that is
    wrong needs more factors than the right one, not fewer.

    Attributes:
        held_out: the samples.
        settings: of the fit; its number of factors is not looked at.
        classes: families of mechanisms that may be tried, simple ones first.
        numbers: the smallest and the largest number of factors.
        progress: told of every number.
    """

    held_out: HeldOut
    settings: SolveSettings
    classes: Classes
    numbers: tuple[int, int]
    progress: Progress | None = None
    steps: list[FactorStep] = field(default_factory=list)
    runs: dict[int, Search] = field(default_factory=dict)
    whole: dict[tuple[int, Class], Search] = field(default_factory=dict)
    other: dict[tuple[int, Class], Search] = field(default_factory=dict)
    prepared: dict[Class, Preparation] = field(default_factory=dict)
    direct: WithoutFactors | None = None
    cut_short: str = ""
    interrupted: bool = False

    def __post_init__(self) -> None:
        self.budget = Budget(self.settings.max_seconds)
        if self.settings.noise is not None:  # noisy readings are understood by linear models only
            self.classes = ((AFFINE, AFFINE),)
        self.families: Class = self.classes[0]

    def run(self) -> FactorPath:
        """Goes on until more factors bring nothing; an interruption ends it with what there is."""
        try:
            self._climb()
        except KeyboardInterrupt:
            self.interrupted, self.cut_short = True, "It was interrupted."
        except BudgetEndedError:
            self.cut_short = self.budget.reason
        if not self.steps:
            self.steps.append(measured(independent_scm(self.held_out.train), self.held_out))
        return FactorPath(
            steps=tuple(self.steps),
            direct=self.direct,
            recommendation=recommend(
                self.steps, self.direct, is_held_out=self.held_out.is_held_out
            ),
            mechanisms=(self.families[0].name, self.families[1].name),
            is_held_out=self.held_out.is_held_out,
            cut_short=self.cut_short,
            seconds=self.budget.seconds,
        )

    def problem(self, n_factors: int, families: Class) -> Problem:
        """The problem of m factors in one class, with all that was found out before."""
        known = self.prepare(families).problem
        prior = self.settings.prior
        if prior is not None:
            prior = prior.for_factors(n_factors)
        admissible = replace(known.admissible, prior=prior)
        return replace(known, n_factors=n_factors, admissible=admissible)

    def prepare(self, families: Class) -> Preparation:
        """Who may cause whom and the candidates in one class, found when first needed."""
        if families not in self.prepared:
            prior = self.settings.prior
            n_factors = 1 if prior is None else prior.shape[1]
            problem = Problem.of(
                self.held_out.train,
                n_factors,
                families,
                prior=prior,
                seed=self.settings.seed,
                budget=self.budget,
            )
            noise = noise_in_units_of(self.held_out.train, self.settings.noise)
            problem = replace(problem, noise=noise)
            same = (p for p in self.prepared.values() if p.serves(problem))
            before = next(same, None)
            self.prepared[families] = (
                Search(problem, self.progress).prepare()
                if before is None
                else before.in_class(problem)
            )
        return self.prepared[families]

    def search(self, n_factors: int, families: Class, *, fills: bool) -> Search:
        """A search for m factors that starts from the factors of the nearest smaller m.

        One with moves (`fills`) is made once, and from nothing where there are moves: it shall find
        what a fit that is told m finds, not what the climb was stuck at.
        """
        if fills and (n_factors, families) in self.whole:
            return self.whole[n_factors, families]
        smaller = [m for m in self.runs if m <= n_factors]
        start: tuple[Function, ...] = ()
        anew = fills and not self.prepare(families).problem.is_linear
        if smaller and families == self.families and not anew:
            start = causal_order(self.runs[max(smaller)].model)
        problem, prepared = self.problem(n_factors, families), self.prepare(families)
        told = self.progress if fills or families != self.families else None
        run = self.other.pop((n_factors, families), None)
        if run is None:
            run = Search(problem, told, prepared=prepared, start=start, fills=fills).run()
        else:
            run.finish()
        if fills:
            self.whole[n_factors, families] = run
        elif families != self.families:
            self.other[n_factors, families] = run
        return run

    def _climb(self) -> None:
        first, last = self.numbers
        if self.settings.prior is not None:
            first = max(first, self.settings.prior.shape[1])
        if first == 0:
            self._keep(measured(independent_scm(self.held_out.train), self.held_out))
        prepared = self.prepare(self.classes[0])
        direct = self._compare_without_factors(prepared)
        likely = likely_classes(self.classes, prepared, direct, self.held_out)
        shared, climbs = tuple(self.steps), []
        try:
            for self.families in likely[:MAX_CLASSES]:
                self.steps, self.runs = list(shared), {}
                climbs.append((self.families, self.steps, self.runs))
                self._climb_in_class(max(1, first), last)
                self._search_from_bend()
                adequate, least = _smallest_adequate(self.steps), bend(self.steps).n_factors
                if adequate is not None and adequate <= least:
                    break
                last = min(last, least + N_WITH_MOVES) if adequate is None else adequate - 1
        finally:  # an interruption leaves the better one, too
            best = min(climbs, key=lambda climb: _height(climb[1]))
            self.families, self.steps, self.runs = best

    def _search_from_bend(self) -> None:
        """Looks with moves for an adequate number that is smaller than what the climb led to."""
        if self.prepare(self.families).problem.is_linear:
            return  # linear searches have no moves
        known, least = _smallest_adequate(self.steps), bend(self.steps).n_factors
        beyond = [(at, m) for at, step in enumerate(self.steps) if (m := step.n_factors) >= least]
        for at, m in beyond[:N_WITH_MOVES]:
            if m == 0 or m == known:
                return
            run = self.search(m, self.families, fills=True)
            step = measured(as_scm(run.problem, run.model), self.held_out)
            self._check(run)
            if step.is_adequate or step.nll < self.steps[at].nll:
                self.steps[at], self.runs[m] = step, run
            if step.is_adequate:
                return

    def _check(self, run: Search) -> None:
        if run.interrupted:
            raise KeyboardInterrupt
        self.budget.check()

    def _climb_in_class(self, first: int, last: int) -> None:
        for m in range(first, last + 1):
            started = self.budget.seconds
            run = self.search(m, self.families, fills=False)
            self.runs[m] = run
            scm = as_scm(run.problem, run.model)
            doubtful = dict.fromkeys(step.leftover[0] for step in self.steps[::-1] if step.leftover)
            seconds = self.budget.seconds - started
            self._keep(measured(scm, self.held_out, first=doubtful, seconds=seconds))
            self._check(run)
            if self._is_done():
                return

    def _compare_without_factors(self, prepared: Preparation) -> FactorSCM | None:
        found = direct_model(prepared)
        if found is None:
            return None
        step = measured(found.scm, self.held_out)
        self.direct = WithoutFactors(step=step, n_edges=found.n_edges, n_driven=found.n_driven)
        return found.scm

    def _keep(self, step: FactorStep) -> None:
        if self.steps:
            before = self.steps[-1]
            comes_back = returning(before.scm, step.scm, self.held_out.validation)
            self.steps[-1] = replace(before, n_returning=comes_back)
        self.steps.append(step)
        if self.progress is not None:
            left = step.leftover
            state = "nothing" if left is None else f"something, most of {left[0]},"
            message = f"factors leave {state} to explain"
            self.progress(ProgressEvent("how many factors", step.n_factors, None, message))

    def _is_done(self) -> bool:
        """Whether more factors would bring nothing, by what the last ones brought."""
        last = self.steps[-1]
        if last.n_empty >= N_EMPTY:
            return True
        adequate = [step for step in self.steps if step.is_adequate]
        if not adequate:
            return False
        if last.n_empty:
            return True
        beyond = [step for step in self.steps if step.n_factors > adequate[0].n_factors]
        base = self.steps[-1 - min(N_BEYOND, len(beyond))]
        gains = (gain(step, base) for step in beyond[-N_BEYOND:])
        return len(beyond) >= N_BEYOND and all(mean <= error for mean, error in gains)


def _height(steps: Sequence[FactorStep]) -> tuple[float, float]:
    """How far a climb led: to a small adequate number, or else to the least NLL."""
    adequate = _smallest_adequate(steps)
    nll = min((step.nll for step in steps), default=math.inf)
    return math.inf if adequate is None else float(adequate), nll


def _smallest_adequate(steps: Sequence[FactorStep]) -> int | None:
    return next((step.n_factors for step in steps if step.is_adequate and not step.n_empty), None)


def causal_order(model: Model) -> tuple[Function, ...]:
    """The factors of a model that have a parent and a child, causes first."""
    order = FactorGraph(model.Q, model.R).factor_order
    return tuple(model.factors[k] for k in order if model.is_used[k])
