"""`fit_network`: from a network, inputs and sites to a factor SCM that steers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from torch import nn

from ucad._types import Progress
from ucad.data import InterventionalData
from ucad.data.context import Context
from ucad.errors import InvalidInputError
from ucad.networks.behaviour.fit import BehaviourFit, BehaviourSettings, fit_behaviour
from ucad.networks.behaviour.reports import CERTIFIED, MIN_UNSEEN, GapReport
from ucad.networks.cost import rows_per_pass
from ucad.networks.decisions import Decide, decision
from ucad.networks.diagnosis import Diagnosis, DiagnosisSettings, diagnose_subject
from ucad.networks.features import covariates_of
from ucad.networks.narrow import fit_narrow
from ucad.networks.outputs import ReadOutput, tensor_output
from ucad.networks.passes import Inputs
from ucad.networks.recording import Recording
from ucad.networks.sites import Site, layers_of, variable_names
from ucad.networks.steering import Steering
from ucad.networks.subject import Subject
from ucad.parameters import one_of
from ucad.scm import FactorSCM
from ucad.solvers.budget import Budget, BudgetEndedError
from ucad.solvers.status import FitResult, FitStatus

__all__ = ["NETWORK_SOLVERS", "NetworkFit", "NetworkSettings", "fit_network"]

AUTO, BEHAVIOUR, BOTTLENECK = "auto", "behaviour", "bottleneck"
NETWORK_SOLVERS = (AUTO, BEHAVIOUR, BOTTLENECK)
"""Solvers that run the network itself; `auto` is behaviour where it finds something."""

MAX_ROWS = 10_000
"""Inputs on which units are read for a bottleneck and for the sample that a run folder keeps."""

MIN_SECONDS = 0.1
"""Of a part of the fit whose time is over before it starts."""


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """How a network is fitted.

    Attributes:
        solver: `auto`, `behaviour` or `bottleneck`.
        n_factors: in all; None to let the network's decisions choose.
        decide: from its output to its decision.
        read_output: from what it gives to the tensor that counts.
        recombine: whether inputs may be recombined; None to judge by their correlations.
        parts: what may be exchanged between inputs, by names of your own, such as
            {"left": ["input[:,:8]"], "right": ["input[:,8:]"]}; None for single entries.
        seed: of all draws.
        max_seconds: about how long it may take; None for no limit. Half of it at most goes into
            behaviour. The best model found until then is returned, and its status says so.
    """

    solver: str = AUTO
    n_factors: int | None = None
    decide: Decide = decision
    read_output: ReadOutput = tensor_output
    recombine: bool | None = None
    parts: Mapping[str, Sequence[str]] | None = None
    seed: int = 0
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        Budget(self.max_seconds)  # refuses what is no limit
        one_of(self.solver, "solver", list(NETWORK_SOLVERS))


@dataclass(frozen=True, eq=False)
class NetworkFit:
    """A factor SCM of a network's units, and what speaks for it.

    Attributes:
        scm: in the network's own units.
        status: how the fit ended; its notes say what each factor is.
        solver: which one made it.
        diagnosis: of the sites, made before.
        gaps: one report per pair of sites, if behaviour was asked.
        replaces: whether steering should replace children (`Steering.replaces`).
        data: the samples behind it.
        seconds: it took.
        history: figures of a bottleneck's training.
    """

    scm: FactorSCM
    status: FitStatus
    solver: str
    diagnosis: Diagnosis
    gaps: tuple[GapReport, ...]
    replaces: bool
    data: InterventionalData
    seconds: float
    history: tuple[dict[str, float | int | str], ...] = field(default=(), repr=False)

    def steering(self, model: nn.Module, **options: Any) -> Steering:
        """The network together with the model, ready to swap factors."""
        return Steering(model, self.scm, **{"replaces": self.replaces, **options})

    def __str__(self) -> str:
        return "\n".join([str(self.status), *self.status.notes])


def fit_network(
    model: Any,
    inputs: Inputs,
    sites: Sequence[Site | str] | Recording,
    settings: NetworkSettings | None = None,
    progress: Progress | None = None,
) -> NetworkFit:
    """Finds factors between consecutive sites of a network, without labels.

    1. *Diagnose* (`diagnose`): which sites can change decisions, and which later inputs are the
       context of the next site.
    2. *Behaviour* (`fit_behaviour`): states, or blocks of inputs, after which the network decides
       alike; read out of the site, decoded by the simplest map that keeps the decisions, certified
       by the network's own answers. For blocks, inputs must be recombinable.
    3. Where that finds nothing, a *bottleneck* with as few factors as keep the decisions, chosen
       by stability over starts, with axes by independence: nothing certifies these.

    Args:
        model: the network; it is left as it was.
        inputs: what it is called with, inputs on the first axis.
        sites: in the order in which they are computed, at least two; or a recording of them.
        settings: how it is fitted.
        progress: called after every gap.

    Raises:
        InvalidInputError: there are fewer than two sites, or none of them can change a decision.
    """
    settings = NetworkSettings() if settings is None else settings
    budget = Budget(settings.max_seconds)
    chosen = sites.sites if isinstance(sites, Recording) else tuple(sites)
    if len(chosen) < 2:
        raise InvalidInputError(
            f"Factors lie between consecutive sites: at least two are needed. Got {len(chosen)}."
        )
    subject = Subject.of(
        model, inputs, chosen, decide=settings.decide, read_output=settings.read_output
    )
    subject = replace(subject, batch_size=rows_per_pass(subject))
    diagnosis = diagnose_subject(subject, _diagnosis_settings(settings.max_seconds))
    if not any(line.can_steer for line in diagnosis.sites[:-1]):
        diagnosis.check_can_steer(diagnosis.sites[0].site)
    data = _observed(subject, diagnosis, settings.seed)
    behaviour = _behaviour(subject, diagnosis, settings, budget, progress)
    if behaviour is not None and behaviour.scm is not None and _suits(behaviour, settings):
        return NetworkFit(
            behaviour.scm,
            _status(behaviour),
            BEHAVIOUR,
            diagnosis,
            behaviour.gaps,
            behaviour.replaces,
            data,
            budget.seconds,
        )
    return _narrow(subject, diagnosis, data, settings, behaviour, budget, progress)


def _diagnosis_settings(max_seconds: float | None) -> DiagnosisSettings:
    """Features are tried for a minute, or a tenth of the whole time if that is less."""
    usual = DiagnosisSettings()
    if max_seconds is None:
        return usual
    return replace(usual, max_seconds=min(usual.max_seconds, max_seconds / 10))


def _behaviour(
    subject: Subject,
    diagnosis: Diagnosis,
    settings: NetworkSettings,
    budget: Budget,
    progress: Progress | None,
) -> BehaviourFit | None:
    """Factors by behaviour; None if they are not asked for, or take more than half of the time."""
    if settings.solver == BOTTLENECK:
        return None
    options = BehaviourSettings(
        recombine=settings.recombine, parts=settings.parts, seed=settings.seed
    )
    limit = budget.max_seconds
    if limit is not None:
        share = limit if settings.solver == BEHAVIOUR else limit / 2
        subject = replace(subject, budget=Budget(max(share - budget.seconds, MIN_SECONDS)))
    try:
        return fit_behaviour(subject, diagnosis, options, progress)
    except BudgetEndedError:
        budget.cut_short = True
        return None


def _suits(behaviour: BehaviourFit, settings: NetworkSettings) -> bool:
    assert behaviour.scm is not None
    wanted = settings.n_factors
    return wanted is None or wanted == behaviour.scm.graph.n_factors


def _narrow(  # noqa: PLR0913 - one place calls it
    subject: Subject,
    diagnosis: Diagnosis,
    data: InterventionalData,
    settings: NetworkSettings,
    behaviour: BehaviourFit | None,
    budget: Budget,
    progress: Progress | None,
) -> NetworkFit:
    """The bottleneck, with a note on why behaviour did not do."""
    reports = () if behaviour is None else behaviour.gaps
    notes = tuple(str(gap) for gap in reports)
    if budget.cut_short:
        notes = ("Behaviour was not asked to the end: the time for it was over.",)
    if settings.solver == BEHAVIOUR:
        many = behaviour is not None and behaviour.scm is not None
        found = f"another number of concepts than {settings.n_factors}" if many else "no concepts"
        raise InvalidInputError(
            f"Behaviour finds {found} here. {' '.join(notes)} "
            "The solver 'bottleneck' finds factors that nothing certifies."
        )
    if behaviour is not None:
        many = behaviour.scm is not None
        what = "another number of concepts than was asked for" if many else "no concepts"
        own = "these factors are a bottleneck's, and nothing certifies them."
        notes = (f"Behaviour finds {what}; {own}", *notes)
    narrow = fit_narrow(subject, data, settings.n_factors, settings.seed, progress, budget)
    result: FitResult = narrow.result
    status = FitStatus(
        converged=result.status.converged,
        feasible=True,
        interrupted=result.status.interrupted,
        reason=result.status.reason,
        advice=result.status.advice,
        notes=(*notes, *narrow.notes, *result.status.notes),
    )
    return NetworkFit(
        result.scm,
        status,
        BOTTLENECK,
        diagnosis,
        reports,
        narrow.replaces,
        data,
        budget.seconds,
        result.history,
    )


def _observed(subject: Subject, diagnosis: Diagnosis, seed: int) -> InterventionalData:
    """The units of all sites on some inputs, with the context."""
    rows = subject.draw(min(MAX_ROWS, subject.n_inputs), np.random.default_rng(seed))
    inputs = subject.rows(rows)
    names = diagnosis.covariates
    context = Context(names, covariates_of(inputs, names)) if names else None
    x = np.concatenate(subject.units(inputs), axis=1)
    return InterventionalData(
        x,
        np.zeros(x.shape, dtype=bool),
        np.zeros(len(x), dtype=np.int64),
        variable_names(subject.sites),
        layer_of=layers_of(subject.sites),
        context=context,
        is_part=True,
    )


def _status(found: BehaviourFit) -> FitStatus:
    lines = [line for gap in found.gaps for line in gap.factors]
    weak = [line.factor for line in lines if not line.is_certified]
    many = f"{len(lines)} factor{'s' if len(lines) > 1 else ''}"
    if len(weak) == len(lines):
        reason = (
            f"Behaviour suggests {many}, of which none is certified: swaps must end as the network "
            f"itself decides in {CERTIFIED:.0%} of unseen pairs, of at least {MIN_UNSEEN} inputs."
        )
    else:
        reason = (
            f"{many} found by behaviour; swaps of {len(lines) - len(weak)} of them end "
            f"as the network itself decides in at least {CERTIFIED:.0%} of unseen pairs."
        )
    advice: tuple[str, ...] = ()
    if weak:
        advice = (f"Do not rely on {', '.join(weak)}: see the notes.",)
    return FitStatus(
        converged=True,
        feasible=True,
        reason=reason,
        advice=advice,
        notes=(*(str(gap) for gap in found.gaps), *found.notes),
    )
