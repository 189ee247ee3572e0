"""One way to accept: propose an edit, fit what it touches, keep it if the whole scores higher."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Protocol, runtime_checkable

from ucad.solvers.problem import Problem
from ucad.solvers.search.model import Edit, Model, changed_factors, edited, polish
from ucad.solvers.search.pruning import prune

__all__ = ["Move", "improve", "tried"]

REACH = 20.0
"""Prices of an edge by which a roughly fitted model may lag behind and still be fitted to the end:
a thorough fit gains less than that on all but noiseless networks."""

N_CYCLES = 3
"""How often all moves are tried again on what changed."""

N_ROUGH = 2
"""Rounds of joint fitting before a trial is judged."""


@runtime_checkable
class Move(Protocol):
    """A way to change a model; moves differ in what they propose, in nothing else."""

    @property
    def name(self) -> str:
        """What it does, in a few words."""
        ...

    def propose(self, problem: Problem, model: Model, only: Collection[int]) -> Iterator[Edit]:
        """Edits of the given factors, the most promising first."""
        ...


def improve(
    problem: Problem,
    model: Model,
    moves: Sequence[Move],
    tell: Callable[[str, Model], None] | None = None,
) -> Model:
    """Tries every move on the factors that changed since it was last tried, until none helps."""
    seen: dict[str, Model] = {}
    for _ in range(N_CYCLES):
        before = model
        for move in moves:
            only = changed_factors(seen.get(move.name), model)
            seen[move.name] = model
            model = _with_move(problem, model, move, only)
            if tell is not None:
                tell(move.name, model)
        if model.score <= before.score + problem.penalty:
            break
    better = prune(problem, model, problem.efforts()[1])
    return better if problem.admissible.allows(better.Q, better.R) else model


def _with_move(problem: Problem, model: Model, move: Move, only: Collection[int]) -> Model:
    """The model after all edits of one move that help; each is made of the model at hand."""
    left = list(only)
    while left:
        k = left.pop(0)
        best = model
        for edit in move.propose(problem, model, [k]):
            problem.budget.check()
            trial = tried(problem, model, edit)
            if trial is not None and trial.score > best.score:
                best = trial
        model = best
    return model


def tried(problem: Problem, model: Model, edit: Edit) -> Model | None:
    """The model after an edit: a rough fit, then, if that is within reach, a thorough one.

    None if the edit is not admissible, or out of reach.
    """
    if not problem.admissible.allows(edit.Q(model), edit.R):
        return None
    rough, thorough = problem.efforts()
    trial, touched = edited(problem, model, edit, rough)
    trial = polish(problem, trial, rough, N_ROUGH, only=edit.factors)
    trial = prune(problem, trial, rough, only=touched)
    if trial.score < model.score - REACH * problem.penalty:
        return None
    trial = polish(problem, trial, thorough, 1, only=edit.factors)
    trial = prune(problem, trial, thorough, only=touched, factors=edit.factors)
    return trial if problem.admissible.allows(trial.Q, trial.R) else None
