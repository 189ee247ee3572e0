"""The search on counts: working responses, and a fit by the likelihood of the counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float

from ucad._types import BooleanMatrix, VariableSamples
from ucad.graph import FactorGraph
from ucad.scm import CountMechanism, FactorSCM, NegativeBinomial
from ucad.scm.families import AFFINE
from ucad.solvers.budget import BudgetEndedError
from ucad.solvers.problem import PENALTY_PER_LOG_SAMPLE, Problem
from ucad.solvers.registry import Help
from ucad.solvers.search.causes import find_causes
from ucad.solvers.search.count_moves import count_moves
from ucad.solvers.search.count_response import CountSamples, first_response
from ucad.solvers.search.model import Model, polish
from ucad.solvers.search.notes import fit_status
from ucad.solvers.search.search import Search
from ucad.solvers.status import FitResult

__all__ = ["fit_counts"]

N_SEARCHES = 2
"""Searches: around regressions on all possible causes, and around the model that they gave."""

N_REFITS = 10
"""Rounds in which a graph is fitted to the working response of its own rates, at most."""


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A model whose variables are logarithms of rates, with its log-likelihood."""

    search: Search
    model: Model
    eta: VariableSamples
    log_likelihood: float

    @property
    def score(self) -> float:
        """The penalised log-likelihood."""
        model, penalty = self.model, self.search.problem.penalty
        functions = (*model.factors, *model.variables)
        price = sum(penalty * len(f.parents) + len(f.weights) / 2 for f in functions)
        return self.log_likelihood - price


def fit_counts(problem: Problem, counts: CountSamples, aid: Help) -> FitResult:
    """Finds a factor SCM of counts, z = A x + a and c_j ~ NB(depth · exp(B z + b)_j, φ_j).

    The search is the linear one, on the working response. An edge costs 2 log E nats for a number
    E of events, the samples in which a typical variable is not zero. Then the graph is fitted by
    the likelihood itself, and that model's own rates start a second search.

    Args:
        problem: of linear mechanisms.
        counts: the counts behind its data.
        aid: held-out samples and progress.
    """
    started = problem.budget.seconds
    price = PENALTY_PER_LOG_SAMPLE * float(np.log(max(counts.n_events, 2.0)))
    problem = replace(problem, penalty=min(problem.penalty, price))
    response = first_response(problem.data, counts, _likely_causes(problem))
    best: _Fitted | None = None
    for _ in range(N_SEARCHES):
        search = Search(replace(problem, response=response), aid.progress).run()
        found = _improved(_refitted(search, search.model, counts), counts)
        if best is not None and found.score <= best.score:
            break
        best = found
        if search.was_cut_short:
            break
        response = counts.response(found.eta)
    assert best is not None
    return _result(best, counts, aid, problem.budget.seconds - started)


def _likely_causes(problem: Problem) -> BooleanMatrix:
    """Who may cause whom; nobody anybody if there is no time to find out."""
    try:
        _, causes = find_causes(problem)
    except BudgetEndedError:
        return np.zeros((problem.data.n_variables,) * 2, dtype=bool)
    likely: BooleanMatrix = np.logical_or.reduce(causes.proposals)
    return likely


def _improved(best: _Fitted, counts: CountSamples) -> _Fitted:
    """Moves that raise the score of the counts themselves, until none does.

    Around one model's rates the working response tells what to try; that it is better it cannot
    tell, since a further parent changes the rates.
    """
    waiting = list(np.flatnonzero(best.model.is_used))
    while waiting:
        k, before = int(waiting.pop(0)), best
        try:
            around = replace(best.search.problem, response=counts.response(best.eta))
            for trial in count_moves(around, best.model, k):
                around.budget.check()
                best = max(best, _refitted(best.search, trial, counts), key=_score)
        except (BudgetEndedError, KeyboardInterrupt):
            break
        if best is not before:
            waiting = list(np.flatnonzero(best.model.is_used))
    return best


def _score(fitted: _Fitted) -> float:
    return fitted.score


def _refitted(search: Search, model: Model, counts: CountSamples) -> _Fitted:
    """A graph fitted by the likelihood of counts: reweighted least squares while it rises."""
    problem = search.problem
    eta = _log_rates(model)
    best = _Fitted(search, model, eta, counts.log_likelihood(eta))
    for _ in range(N_REFITS):
        around = replace(problem, response=counts.response(best.eta))
        # Scores around other rates cannot be compared: the fit starts from its own.
        trial = replace(best.model, score=-np.inf)
        try:
            trial = polish(around, trial, around.efforts()[1], 2)
        except BudgetEndedError:
            break
        eta = _log_rates(trial)
        likelihood = counts.log_likelihood(eta)
        if likelihood <= best.log_likelihood + 0.1:
            break
        best = _Fitted(search, trial, eta, likelihood)
    return best


def _log_rates(model: Model) -> VariableSamples:
    rates: Sequence[Float[np.ndarray, " samples"]] = [
        g.values(model.state) for g in model.variables
    ]
    return np.stack(rates, axis=1)


def _result(best: _Fitted, counts: CountSamples, aid: Help, seconds: float) -> FitResult:
    search, problem = best.search, best.search.problem
    scm = _as_scm(problem, best, counts)
    status = fit_status(problem, best.model, search.causes, interrupted=search.interrupted)
    note = (
        "Noise: counts. Factors read log(1 + count / depth); counts are negative binomial, and "
        "the logarithm of their rate is linear in the factors."
    )
    status = replace(status, notes=(*status.notes, note))
    nll = scm.nll(aid.validation.x, aid.validation.is_left_out)
    return FitResult(scm, status, nll, tuple(search.trace), seconds)


def _as_scm(problem: Problem, best: _Fitted, counts: CountSamples) -> FactorSCM:
    data, model = problem.data, best.model
    rates = AFFINE.mechanism(model.variables, len(model.factors))
    mean, unit = (np.zeros(1), np.ones(1)) if data.scaling is None else data.scaling
    as_tensor = rates.bias.new_tensor
    F_X = CountMechanism(
        rates.weight,
        rates.bias,
        as_tensor(counts.dispersions(best.eta)),
        as_tensor(np.broadcast_to(1 / unit, len(rates.bias)).copy()),
        as_tensor(np.broadcast_to(-mean / unit, len(rates.bias)).copy()),
    )
    left = data.x - F_X(torch.from_numpy(model.state.astype(np.float64))).numpy()
    square = np.where(counts.free, left**2, 0.0).sum(axis=0)
    return FactorSCM(
        FactorGraph(model.Q, model.R, variable_names=data.variable_names),
        AFFINE.mechanism(model.factors, data.n_variables),
        F_X,
        as_tensor(np.sqrt(square / np.maximum(counts.free.sum(axis=0), 1))),
        noise=NegativeBinomial(),
    )
