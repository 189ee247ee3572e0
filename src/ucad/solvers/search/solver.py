"""`fit_search`, and the search as one of the solvers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

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
from ucad.solvers.search.search import Search
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
    aid = Help(data if validation is None else validation, progress)
    return as_result(Search(problem, progress).run(), aid)


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
            return simplest_fit(classes, _Searches(problem, aid), aid.validation)

        return fit_by_noise(_in_class(problem, classes[0]), aid, gaussian, None)


SEARCH = SearchSolver()


def _in_class(problem: Problem, one: Class) -> Problem:
    return replace(problem, factor_family=one[0], variable_family=one[1])


@dataclass(frozen=True, eq=False)
class _Searches:
    """Searches of one problem in several classes; those that read variables alike share candidates.

    Attributes:
        problem: the problem, in any class.
        aid: held-out samples and progress.
        runs: the searches so far.
    """

    problem: Problem
    aid: Help
    runs: dict[Class, Search] = field(default_factory=dict)

    def find(self, one: Class) -> FitResult:
        """A search in a class, without moves."""
        problem = _in_class(self.problem, one)
        started = problem.budget.seconds
        prepared = [run.prepared for run in self.runs.values() if run.prepared is not None]
        before = next((p.in_class(problem) for p in prepared if p.serves(problem)), None)
        known = problem if before is None else before.problem
        run = Search(known, self.aid.progress, prepared=before, fills=False).run()
        self.runs[one] = run
        return as_result(run, self.aid, started)

    def finish(self, one: Class, found: FitResult) -> FitResult:
        """What that search finds with moves."""
        started = self.problem.budget.seconds - found.seconds
        return as_result(self.runs[one].finish(), self.aid, started)

    def express(self, one: Class, fit: FitResult) -> FitResult:
        """The graph of a fit, fitted in another class."""
        return expressed(_in_class(self.problem, one), fit, self.aid)

    def is_straight(self, fit: FitResult) -> bool:
        """Whether the factors behind a fit seem to be linear."""
        return has_straight_factors(self.problem, fit.scm)

    def has_bends(self, fit: FitResult) -> bool:
        """Whether residuals of a fit are predictable by curves."""
        return is_bent(fit.scm, self.problem.data, self.aid.validation)


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
