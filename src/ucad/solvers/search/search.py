"""The search: who may cause whom, candidate factors, a choice of m of them, and moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from ucad._types import Progress, ProgressEvent
from ucad.scm.families import EMPTY, Function
from ucad.solvers.budget import BudgetEndedError
from ucad.solvers.prior import PriorKnowledge
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import distinct
from ucad.solvers.search.candidates import Candidates
from ucad.solvers.search.causes import Causes, find_causes
from ucad.solvers.search.choice import (
    build_choice,
    choose_factors,
    edges_of,
    escape,
    promising,
)
from ucad.solvers.search.fill_empty_factors import fill_empty_factors
from ucad.solvers.search.given_graph import model_of_graph
from ucad.solvers.search.improve import Move, improve
from ucad.solvers.search.model import Model, fit_variables, polish, relabelled, unexplained
from ucad.solvers.search.moves import moves_for
from ucad.solvers.search.ordered_choice import Choice, Order
from ucad.solvers.search.prior_graph import graph_with
from ucad.solvers.search.pruning import prune
from ucad.solvers.search.unproved_parents import without_unproved_parents

__all__ = ["Preparation", "Search"]

N_EACH = 4
"""Candidates kept per variable: those that explain most of it."""

N_IMPROVEMENTS = 8
"""Rounds of proposing better factors before the whole model is fitted; half of them where
variables are not linear, since a choice by additive functions is rough there."""

N_POLISH = 4
"""Rounds of joint fitting of what was chosen."""

N_WEAK = 16
"""Candidates made of what is left, for places that stay empty."""

LENIENCE = 3.0
"""Edges are so many times cheaper when weak candidates are looked for."""

Row: TypeAlias = dict[str, float | int | str]


@dataclass(frozen=True, eq=False)
class Preparation:
    """What a search does before it matters how many factors are looked for.

    Attributes:
        problem: the problem with the ancestors that interventions show.
        causes: who may cause whom.
        pool: the promising candidate factors.
    """

    problem: Problem
    causes: Causes
    pool: tuple[Function, ...]

    def serves(self, problem: Problem) -> bool:
        """Whether variables are read off variables in the same way in the class of a problem."""
        same = self.problem.reading_family is problem.reading_family
        return same and self.problem.has_linear_factors == problem.has_linear_factors

    def in_class(self, problem: Problem) -> Preparation:
        """The same for a problem of another class."""
        F_Z, F_X = problem.factor_family, problem.variable_family
        return replace(self, problem=replace(self.problem, factor_family=F_Z, variable_family=F_X))


@dataclass(eq=False)
class Search:
    """One search in one class of mechanisms; `model` is the best so far once `run` has ended.

    Attributes:
        problem: the problem; ancestors are added on the way.
        progress: told how far the search is.
        leave_out: names of moves that are not tried.
        prepared: what an earlier search, of another number of factors or in another class that
            reads variables off variables in the same way, has done already.
        start: factors of another model, in causal order, that the choice may start from.
        fills: whether `run` also finishes: a path over m, and a class of mechanisms that is no
            likelier than another, do without.
        pool: the candidates to choose from, once they are found.
    """

    problem: Problem
    progress: Progress | None = None
    leave_out: tuple[str, ...] = ()
    prepared: Preparation | None = None
    start: tuple[Function, ...] = ()
    fills: bool = True
    trace: list[Row] = field(default_factory=list)
    causes: Causes | None = None
    interrupted: bool = False
    pool: list[Function] = field(default_factory=list)

    def __post_init__(self) -> None:
        nothing = np.zeros((self.problem.data.n_variables, self.problem.n_factors), dtype=bool)
        empty = [EMPTY] * self.problem.n_factors
        self.model = fit_variables(self.problem, empty, nothing, self.problem.efforts()[0])

    def run(self) -> Search:
        """Runs all stages; an interruption or the end of the budget leaves the best model."""
        self._as_far_as_possible(self._find)
        if self.fills:
            self.finish()
        known = self.problem.admissible
        if known.prior is not None and not known.is_labelled:
            self._impose(known.prior)
        return self

    def finish(self) -> Search:
        """Tries moves on what was chosen and fills empty places: most of the time of a search."""
        if not self.was_cut_short:
            self._as_far_as_possible(self._finish)
        return self

    def _as_far_as_possible(self, stages: Callable[[], None]) -> None:
        try:
            stages()
        except KeyboardInterrupt:
            self.interrupted = True
        except BudgetEndedError:
            pass  # the budget knows

    @property
    def was_cut_short(self) -> bool:
        """Whether an interruption or the end of the budget left something undone."""
        return self.interrupted or self.problem.budget.cut_short

    def prepare(self) -> Preparation:
        """Who may cause whom, and candidate factors: most of the time of a search, for any m."""
        if self.prepared is not None:
            self.causes = self.prepared.causes
            return self.prepared
        self.problem, self.causes = find_causes(self.problem)
        self._tell("who can cause whom", self.model)
        pool = distinct(Candidates(self.problem, self.causes).anchors(), self.problem.data.x)
        self._tell(f"{len(pool)} candidate factors", self.model)
        self.prepared = Preparation(self.problem, self.causes, tuple(pool))
        return self.prepared

    def _find(self) -> None:
        found = self.prepare().pool
        problem = self.problem
        self.pool = distinct([*self.start, *found], problem.data.x)
        likely = promising(self.pool, problem, N_EACH) if self.pool else []
        if likely:
            assert self.causes is not None
            self._choose(Candidates(problem, self.causes), likely)
        _, thorough = problem.efforts()
        self._keep("joint fit", polish(problem, self.model, thorough, N_POLISH))
        self._keep("pruning", prune(problem, self.model, thorough))
        if problem.is_linear and problem.response is None and problem.data.layer_of is None:
            self._drop_unproved_parents()
        if problem.admissible.prior is not None:
            self._impose(problem.admissible.prior)
            self._keep("prior knowledge", polish(self.problem, self.model, thorough, N_POLISH))

    def _finish(self) -> None:
        _, thorough = self.problem.efforts()
        self._moves(self.pool)
        if not self.model.is_used.all():
            self.model = fill_empty_factors(self.problem, self.model, [*self.pool, *self._weak()])
            self._tell("filling empty places", self.model)
            self._keep("joint fit", polish(self.problem, self.model, thorough, N_POLISH))

    def _drop_unproved_parents(self) -> None:
        """The score would keep them: it takes the class of mechanisms for granted."""
        _, thorough = self.problem.efforts()
        fewer = without_unproved_parents(self.problem, self.model, thorough)
        if fewer is not self.model:
            self.model = polish(self.problem, fewer, thorough, N_POLISH)
            self._tell("parents never acted on", self.model)

    def _moves(self, pool: list[Function]) -> None:
        """Tries all moves. Linear problems do without: none helped on 40 screens, at half the time.

        Their choice is scored exactly, so that no joint fit reveals what it overlooked; with a
        working response it is not.
        """
        if self.problem.is_linear and self.problem.response is None:
            return
        moves: list[Move] = [m for m in moves_for(pool) if m.name not in self.leave_out]

        def tell(stage: str, model: Model) -> None:
            self.model = model
            self._tell(stage, model)

        self._keep("moves", improve(self.problem, self.model, moves, tell))

    def _choose(self, candidates: Candidates, pool: list[Function]) -> None:
        """Chooses m candidates, adds better versions of them to the pool and chooses again."""
        problem = self.problem
        choice = build_choice(pool, problem)
        order = escape(choice, self._first_choice(choice))
        self._keep("choice of factors", self._model(choice, order))
        score = choice.score(order)
        n_rounds = N_IMPROVEMENTS // (1 if problem.variable_family.is_affine else 2)
        for _ in range(n_rounds):
            chosen = [choice.functions[c] for c in order]
            new = candidates.improvements(choice, order)
            wider = build_choice([*chosen, *distinct([*pool, *new], problem.data.x)], problem)
            at_first = tuple(range(len(order)))
            again = choose_factors(wider, problem.n_factors, at_first)
            before, score = wider.score(at_first), wider.score(again)
            if score <= before + problem.penalty:
                return
            unchanged = edges_of(choice, order) == edges_of(wider, again)
            choice, order = wider, again
            enough = self.model.score + problem.penalty
            self._keep("better factors", self._model(choice, order))
            if unchanged or self.model.score < enough:
                return

    def _first_choice(self, choice: Choice) -> Order:
        """A choice from nothing or, if that is better, from the factors it may start from."""
        order = choose_factors(choice, self.problem.n_factors)
        given = {id(function) for function in self.start}
        start = tuple(c for c, f in enumerate(choice.functions) if id(f) in given)
        if not start or choice.rank is not None:
            return order
        other = choose_factors(choice, self.problem.n_factors, start[: self.problem.n_factors])
        return max(order, other, key=choice.score)

    def _model(self, choice: Choice, order: Order) -> Model:
        made = choice.made(choice.children(order))
        missing = self.problem.n_factors - len(order)
        factors = [choice.functions[c] for c in order] + [EMPTY] * missing
        R = np.pad(made[:, list(order)], ((0, 0), (0, missing)))
        return fit_variables(self.problem, factors, R, self.problem.efforts()[0])

    def _weak(self) -> Iterator[Function]:
        """Candidates that explain too little of what is left to be worth their edges."""
        assert self.causes is not None
        left = unexplained(self.problem, self.model)
        cheap = replace(self.problem, penalty=self.problem.penalty / LENIENCE)
        lenient = Candidates(cheap, self.causes)
        yield from lenient.missing(lambda some: left[:, some], N_WEAK)
        yield from lenient.of_one_parent(left, N_WEAK)

    def _impose(self, prior: PriorKnowledge) -> None:
        """Puts the factors in the prior's order, with the edges it requires and no others."""
        model = relabelled(self.model, prior.relabelling(self.model.Q, self.model.R))
        graph = graph_with(prior, model.Q, model.R)
        if (graph.Q != model.Q).any() or (graph.R != model.R).any():
            fresh = model_of_graph(self.problem, graph.Q, graph.R)
            same = (graph.Q == model.Q).all(axis=0)
            choices = zip(same, model.factors, fresh.factors, strict=True)
            factors = [old if keep else new for keep, old, new in choices]
            _, thorough = self.problem.efforts()
            model = fit_variables(self.problem, factors, np.asarray(graph.R), thorough)
        self.problem = replace(self.problem, admissible=self.problem.admissible.labelled())
        self.model = model

    def _keep(self, stage: str, model: Model) -> None:
        """Keeps a model that scores higher and is admissible."""
        if model.score > self.model.score and self.problem.admissible.allows(model.Q, model.R):
            self.model = model
        self._tell(stage, self.model)

    def _tell(self, stage: str, model: Model) -> None:
        self.trace.append(
            {
                "stage": stage,
                "factor_mechanism": self.problem.factor_family.name,
                "variable_mechanism": self.problem.variable_family.name,
                "score": model.score,
                "n_edges": int(model.Q.sum() + model.R.sum()),
                "seconds": self.problem.budget.seconds,
            }
        )
        if self.progress is not None:
            limit = self.problem.budget.left
            # No share of the whole: after the first stage, 1 to 72 % of the time of 11 fits of
            # 5 to 1,000 variables had passed, so an estimate would be none.
            self.progress(ProgressEvent("search, stage", len(self.trace), None, stage + limit))
