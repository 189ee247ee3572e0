"""`fit_search`: from data to a factor SCM by the theory of anchors."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from ucad._types import Progress, ProgressEvent
from ucad.data import InterventionalData
from ucad.graph import FactorGraph
from ucad.solvers.prior import PriorKnowledge
from ucad.solvers.search.account import fit_status
from ucad.solvers.search.assembly import (
    Assembly,
    Order,
    assemble,
    build_assembly,
    edges_of,
    escape,
    promising,
)
from ucad.solvers.search.causes import Causes, find_causes
from ucad.solvers.search.disentangle import disentangle
from ucad.solvers.search.exchange import exchange
from ucad.solvers.search.export import as_scm, parameter_count
from ucad.solvers.search.fill import empty_places, fill, worth
from ucad.solvers.search.functions import NOTHING, Function, distinct
from ucad.solvers.search.knowledge import graph_with, possibilities
from ucad.solvers.search.merge import merge
from ucad.solvers.search.proposals import Proposer
from ucad.solvers.search.pruning import prune
from ucad.solvers.search.reanchor import reanchor, unexplained
from ucad.solvers.search.refinement import (
    CLOSE,
    Model,
    changed_factors,
    fit_variables,
    polish,
    relabelled,
    same_graph,
)
from ucad.solvers.search.reparent import reparent
from ucad.solvers.search.requirements import check_input
from ucad.solvers.search.restart import restart
from ucad.solvers.search.settings import SearchConfig
from ucad.solvers.search.start import model_of_graph
from ucad.solvers.search.turn import turn
from ucad.solvers.search.unfold import unfold
from ucad.solvers.status import FitResult

__all__ = ["SearchRun", "fit_search"]

N_WEAK = 16
N_EACH = 4
FEW_VARIABLES = 32

Row: TypeAlias = dict[str, float | int | str]


def fit_search(  # noqa: PLR0913  (the entry point: everything a user may say about one fit)
    data: InterventionalData,
    n_factors: int,
    *,
    config: SearchConfig | None = None,
    validation: InterventionalData | None = None,
    prior: PriorKnowledge | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> FitResult:
    """Finds a factor SCM by regressions, anchors and an order over factors.

    Who can cause whom → candidate factors → a choice of m of them under an order → better
    candidates, chosen again, until none is → joint fit and pruning. Every move is accepted on
    the penalised likelihood of the whole model.

    Args:
        data: what was measured, standardised (`data.standardised()`).
        n_factors: how many factors to look for.
        config: the settings.
        validation: held-out data for the reported NLL; the data themselves if not given.
        prior: edges known to be there or not.
        seed: of everything random.
        progress: told how far the search is.

    Returns:
        The model with its status and a trace of every stage. Ctrl-C ends the search with the best
        model so far.
    """
    started = time.monotonic()
    config = SearchConfig() if config is None else config
    check_input(data, n_factors, prior)
    runs = []
    for one in config.classes():
        run = SearchRun(data, n_factors, one, seed, prior, progress, started)
        run.go()
        runs.append(run)
        if run.interrupted:
            break
    best = min(runs, key=lambda run: run.bic())
    held_out = data if validation is None else validation
    scm = as_scm(best.model, data)
    return FitResult(
        scm,
        fit_status(data, best.model, best.causes, interrupted=runs[-1].interrupted),
        scm.nll(held_out.x, held_out.is_intervened),
        tuple(row for run in runs for row in run.trace),
        time.monotonic() - started,
    )


class SearchRun:
    """One search in one model class; `model` is the best so far once `go` has ended."""

    def __init__(  # noqa: PLR0913  (made in one place)
        self,
        data: InterventionalData,
        n_factors: int,
        config: SearchConfig,
        seed: int,
        prior: PriorKnowledge | None,
        progress: Progress | None,
        started: float,
    ) -> None:
        self.data, self.n_factors, self.config, self.seed = data, n_factors, config, seed
        self.prior, self.progress, self.started = prior, progress, started
        self.settings = config.settings(data.n_samples, seed)
        self.causes: Causes | None = None
        self.interrupted = False
        self.trace: list[Row] = []
        nothing = np.zeros((data.n_variables, n_factors), dtype=bool)
        self.empty = fit_variables(data, [NOTHING] * n_factors, nothing, self.settings)
        self.model = self.found = self.empty

    def go(self) -> None:
        """Runs all stages; an interruption leaves the best model so far."""
        try:
            for causes in self._answers():
                self._try(causes)
            if self.prior is not None:
                self._impose(self.prior)
        except KeyboardInterrupt:
            self.interrupted = True

    def bic(self) -> float:
        """−log-likelihood + ½ log N for each free parameter."""
        counts = (~self.data.is_intervened).sum(axis=0)
        fit = (counts / 2 * np.log(self.model.errors + self.settings.floor)).sum()
        return float(fit + 0.5 * np.log(self.data.n_samples) * parameter_count(self.model))

    def _answers(self) -> list[Causes]:
        """What is to be tried as an answer to who can cause whom."""
        prior = None if self.prior is None else possibilities(self.prior)
        screening, ordering = self.config.screening, self.config.ordering
        answers = find_causes(self.data, self.settings, screening, ordering, self.seed, prior)
        self._tell("who can cause whom")
        return answers

    def _try(self, causes: Causes) -> None:
        """Searches under one answer; what was found before is kept unless this gains an edge."""
        before, self.found = self.causes, self.model
        self.model, self.causes = self.empty, causes
        try:
            for stage, model in self._stages(causes):
                better = model is not None and model.score > self.model.score
                if model is not None and better and causes.allow(model.Q, model.R):
                    self.model = model
                self._tell(stage)
        finally:
            places, score = worth(self.found)
            if before is not None and (places, score + self.settings.penalty) > worth(self.model):
                self.model, self.causes = self.found, before
                self._tell("back to what was found before")

    def _stages(self, causes: Causes) -> Iterator[tuple[str, Model | None]]:
        data, settings = self.data, self.settings
        proposer = Proposer(data, causes, settings)
        pool = distinct(proposer.anchors(), data.x)
        yield f"{len(pool)} candidate factors", None
        if not pool:
            return
        if settings.nonlinear:
            pool = promising(pool, data, causes, settings, N_EACH)
        assembly = self._assembly(pool, causes)
        order = escape(assembly, assemble(assembly, self.n_factors))
        yield "choice of factors", self._model(assembly, order)
        final = self.config.final(settings)
        tried: Model | None = None
        for _ in range(self.config.n_cycles):
            for choice in self._improve(proposer, pool, assembly, order, causes):
                better = self._model(*choice)
                yield "better factors", better
                if better is not self.model:
                    break
            if settings.variable_fit.hidden:
                yield "first joint fit", polish(data, self.model, settings, self.config.n_polish)
                new = changed_factors(tried, self.model)
                yield "unfolding", unfold(data, self.model, settings, settings, only=new)
            yield "joint fit", polish(data, self.model, final, self.config.n_polish)
            new = changed_factors(tried, self.model)
            yield "other starts", restart(data, self.model, final, only=new)
            yield "pruning", prune(data, self.model, final)
            if not settings.nonlinear or (tried is not None and not self._changed(tried)):
                break
            new = changed_factors(tried, self.model)
            yield "merging", merge(data, self.model, pool, causes, settings, final, only=new)
            new = changed_factors(tried, self.model)
            yield "disentangling", disentangle(data, self.model, causes, settings, final, only=new)
            if settings.variable_fit.hidden:
                yield "re-anchoring", reanchor(data, self.model, pool, settings)
            new = changed_factors(tried, self.model)
            if settings.factor_fit.hidden:
                yield "other parents", reparent(data, self.model, causes, settings, final, only=new)
                new = changed_factors(tried, self.model)
            yield "turning round", turn(data, self.model, causes, settings, final, only=new)
            tried = self.model
            assembly, order = self._reassembled(pool, causes)
        yield from self._last_stages(pool, causes)

    def _changed(self, tried: Model) -> bool:
        """Whether the model is another than the one on which all moves have been tried."""
        gain = self.model.score - tried.score
        return not same_graph(tried, self.model) and gain > CLOSE * self.settings.penalty

    def _last_stages(
        self, pool: list[Function], causes: Causes
    ) -> Iterator[tuple[str, Model | None]]:
        data, settings, final = self.data, self.settings, self.config.final(self.settings)
        if settings.nonlinear and data.n_variables <= FEW_VARIABLES:
            yield "exchange", exchange(data, self.model, pool, causes, settings, final)
        if len(empty_places(self.model)):
            self.model = fill(data, self.model, [*pool, *self._weak(causes)], causes, settings)
            yield "filling empty places", None
        yield "joint fit", polish(data, self.model, final, self.config.n_polish)

    def _weak(self, causes: Causes) -> list[Function]:
        """Candidates that explain too little of what is left to be worth their edges."""
        left = unexplained(self.data, self.model)
        proposer = Proposer(self.data, causes, self.settings.lenient())
        weak = list(proposer.missing(left, N_WEAK))
        if self.settings.nonlinear and causes.position is None:
            weak += proposer.of_one_parent(left, N_WEAK)
        return weak

    def _reassembled(self, pool: list[Function], causes: Causes) -> tuple[Assembly, Order]:
        """The jointly fitted factors, put back into the pool in their causal order."""
        graph = FactorGraph(self.model.Q, self.model.R)
        factors = [self.model.factors[k] for k in graph.factor_order]
        fitted = [function for function in factors if len(function.parents)]
        assembly = self._assembly([*fitted, *pool], causes)
        return assembly, escape(assembly, tuple(range(len(fitted))))

    def _improve(
        self,
        proposer: Proposer,
        pool: list[Function],
        assembly: Assembly,
        order: Order,
        causes: Causes,
    ) -> Iterator[tuple[Assembly, Order]]:
        """Adds better versions of the chosen factors to the pool and chooses again."""
        score = assembly.score(order)
        for _ in range(self.config.improvements):
            chosen = [assembly.functions[c] for c in order]
            new = proposer.improvements(assembly, order)
            wider = self._assembly([*chosen, *distinct([*pool, *new], self.data.x)], causes)
            again = assemble(wider, self.n_factors, tuple(range(len(order))))
            before, score = wider.score(tuple(range(len(order)))), wider.score(again)
            if score <= before + self.settings.penalty:
                return
            unchanged = edges_of(assembly, order) == edges_of(wider, again)
            assembly, order = wider, again
            yield assembly, order
            if unchanged:
                return

    def _assembly(self, functions: list[Function], causes: Causes) -> Assembly:
        return build_assembly(functions, self.data, causes, self.settings)

    def _model(self, assembly: Assembly, order: Order) -> Model:
        children = assembly.children(order).selected
        made = np.any(children.reshape(len(children), -1, assembly.n_functions), axis=2)
        missing = self.n_factors - len(order)
        factors = [assembly.functions[c] for c in order] + [NOTHING] * missing
        R = np.pad(made[:, list(order)], ((0, 0), (0, missing)))
        return fit_variables(self.data, factors, R, self.settings)

    def _impose(self, prior: PriorKnowledge) -> None:
        """Puts the factors in the prior's order; edges it contradicts are changed and fitted."""
        model = relabelled(self.model, prior.relabelling(self.model.Q, self.model.R))
        graph = graph_with(prior, model.Q, model.R)
        if (graph.Q != model.Q).any() or (graph.R != model.R).any():
            final = self.config.final(self.settings)
            fresh = model_of_graph(self.data, graph, self.settings)
            same = (graph.Q == model.Q).all(axis=0)
            choices = zip(same, model.factors, fresh.factors, strict=True)
            factors = [old if keep else new for keep, old, new in choices]
            fitted = fit_variables(self.data, factors, np.asarray(graph.R), final)
            model = polish(self.data, fitted, final, self.config.n_polish)
        self.model = self.found = model
        self._tell("prior knowledge")

    def _tell(self, stage: str) -> None:
        best = max(self.model, self.found, key=worth)
        row: Row = {
            "stage": stage,
            "factor_mechanism": self.config.factor_mechanism.value,
            "variable_mechanism": self.config.variable_mechanism.value,
            "score": best.score,
            "n_edges": int(best.Q.sum() + best.R.sum()),
            "seconds": time.monotonic() - self.started,
        }
        self.trace.append(row)
        if self.progress is not None:
            message = f"{stage}, score {best.score:.0f}"
            self.progress(ProgressEvent("search", len(self.trace), None, message))
