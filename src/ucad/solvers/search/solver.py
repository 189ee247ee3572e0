"""`fit_search`, and the search as one of the solvers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ucad._types import Progress
from ucad.data import InterventionalData
from ucad.scm.families import AFFINE, NETWORK
from ucad.solvers.budget import Budget, BudgetEndedError
from ucad.solvers.prior import PriorKnowledge
from ucad.solvers.problem import Problem
from ucad.solvers.registry import Classes, Help, families_asked_for
from ucad.solvers.regression.fitting import ROUGH
from ucad.solvers.search.auto import Class, has_straight_factors, is_bent, simplest_fit
from ucad.solvers.search.export import as_scm
from ucad.solvers.search.given_graph import N_ROUNDS, model_of_graph
from ucad.solvers.search.model import polish
from ucad.solvers.search.noise_choice import fit_by_noise
from ucad.solvers.search.notes import fit_status
from ucad.solvers.search.search import Preparation, Search
from ucad.solvers.status import FitResult

__all__ = ["SEARCH", "SearchSolver", "as_result", "expressed", "fit_search"]


def fit_search(  # noqa: PLR0913  (the entry point: everything a user may say about one fit)
    data: InterventionalData,
    n_factors: int,
    *,
    families: Class = (AFFINE, AFFINE),
    validation: InterventionalData | None = None,
    prior: PriorKnowledge | None = None,
    seed: int = 0,
    max_seconds: float | None = None,
    progress: Progress | None = None,
) -> FitResult:
    """Finds a factor SCM of given families of mechanisms.

    Who can cause whom → candidate factors → a choice of m of them under an order → better
    candidates, chosen again, until none is → joint fit, pruning and moves. Every step is accepted
    on the penalised likelihood of the whole model.

    Args:
        data: what was measured, standardised (`data.standardised()`).
        n_factors: how many factors to look for.
        families: of F_Z and F_X.
        validation: held-out data for the reported NLL; the data themselves if not given.
        prior: edges known to be there or not.
        seed: random seed.
        max_seconds: the budget.
        progress: told how far the search is.

    Returns:
        The model with its status and a trace of every stage. Ctrl-C and the end of the budget end
        the search with the best model so far.
    """
    budget = Budget(max_seconds)
    problem = Problem.of(data, n_factors, families, prior=prior, seed=seed, budget=budget)
    return _fitted(problem, Help(data if validation is None else validation, progress))


@dataclass(frozen=True)
class SearchSolver:
    """The search, in the class asked for, or in the simplest that held-out samples allow."""

    def classes(self, factor: str, variable: str) -> Classes:
        """Linear mechanisms first, then networks on one side, then on both."""
        both = (AFFINE, NETWORK)
        return families_asked_for(factor, variable, (both, both))

    def fit(self, problem: Problem, classes: Classes, aid: Help) -> FitResult:
        """Searches in one class after the other, as far as something is left."""

        def gaussian(problem: Problem) -> FitResult:
            prepared: list[Preparation] = []
            return simplest_fit(
                classes,
                lambda one: _fitted(_in_class(problem, one), aid, prepared),
                lambda one, fit: expressed(_in_class(problem, one), fit, aid),
                aid.validation,
                lambda fit: has_straight_factors(problem, fit.scm),
                lambda fit: is_bent(fit.scm, problem.data, aid.validation),
            )

        return fit_by_noise(_in_class(problem, classes[0]), aid, gaussian, None)


SEARCH = SearchSolver()


def _in_class(problem: Problem, one: Class) -> Problem:
    return replace(problem, factor_family=one[0], variable_family=one[1])


def _fitted(problem: Problem, aid: Help, prepared: list[Preparation] | None = None) -> FitResult:
    """One search, as a result; classes that read variables in the same way share candidates."""
    started = problem.budget.seconds
    prepared = [] if prepared is None else prepared
    before = next((one.in_class(problem) for one in prepared if one.serves(problem)), None)
    known = problem if before is None else before.problem
    run = Search(known, aid.progress, prepared=before).run()
    if run.prepared is not None:
        prepared.append(run.prepared)
    return as_result(run, aid, started)


def as_result(run: Search, aid: Help, started: float = 0.0) -> FitResult:
    """What a search found, as a result."""
    scm = as_scm(run.problem, run.model)
    status = fit_status(run.problem, run.model, run.causes, interrupted=run.interrupted)
    nll = scm.nll(aid.validation.x, aid.validation.is_left_out)
    seconds = run.problem.budget.seconds - started
    return FitResult(scm, status, nll, tuple(run.trace), seconds)


def expressed(problem: Problem, fit: FitResult, aid: Help) -> FitResult:
    """The graph of a fit, fitted in the class of the problem; the fit itself if time runs out."""
    try:
        model = model_of_graph(problem, fit.scm.graph.Q, fit.scm.graph.R)
        model = polish(problem, model, ROUGH, N_ROUNDS // 2)
    except BudgetEndedError:
        return fit
    scm = as_scm(problem, model)
    nll = scm.nll(aid.validation.x, aid.validation.is_left_out)
    return FitResult(scm, fit.status, nll)
