"""The solvers by name, and `solve`, the one way into all of them; each is imported when used."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import torch

from ucad._types import Progress
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.parameters import one_of
from ucad.scm.families import AFFINE, FAMILIES, Family, family_named, family_of
from ucad.scm.noise import NOISES
from ucad.solvers.budget import Budget
from ucad.solvers.context import CONTEXT_CHOICES, fit_in_context
from ucad.solvers.kinds import fit_by_kind
from ucad.solvers.noise_settings import noise_in_units_of
from ucad.solvers.prior import PriorKnowledge
from ucad.solvers.problem import Problem
from ucad.solvers.status import Fit, FitResult
from ucad.solvers.threads import one_thread
from ucad.solvers.unmeasured import UNMEASURED_CHOICES, fit_with_unmeasured

__all__ = [
    "AUTO",
    "SOLVERS",
    "Help",
    "Readout",
    "SolveSettings",
    "Solver",
    "SolverEntry",
    "one_thread",
    "solve",
    "solver_named",
]

AUTO = "auto"
"""As the name of a solver or of a family: let the data decide."""

BEHAVIOUR = "behaviour"
"""The solver that needs a network rather than data; it is `ucad.networks.fit_network`."""

Classes = tuple[tuple[Family, Family], ...]
"""Families of F_Z and F_X that are to be tried, simple ones first."""


Readout: TypeAlias = Callable[[torch.Tensor], torch.Tensor]
"""From the units of a layer to a network's output (logits), with gradients."""


class Help(NamedTuple):
    """What a solver may use besides its problem.

    Attributes:
        validation: held-out samples in the same units.
        progress: told how far the fit is.
        checkpoint: a file for the state of a long fit, which is resumed from there if it exists.
        device: where to compute.
        readouts: of a network, from the units of every layer but the first to its logits.
    """

    validation: InterventionalData
    progress: Progress | None = None
    checkpoint: Path | None = None
    device: str = "cpu"
    readouts: tuple[Readout, ...] | None = None


@runtime_checkable
class Solver(Protocol):
    """From a problem to a fitted model."""

    def classes(self, factor: str, variable: str) -> Classes:
        """The families to try if the user asked for these, `auto` or by name."""
        ...

    def fit(self, problem: Problem, classes: Classes, aid: Help) -> FitResult:
        """Fits a model; whichever class explains held-out samples best, if there are several."""
        ...


class SolverEntry(NamedTuple):
    """Where a solver lives and what it can do.

    Attributes:
        where: its module and its name there.
        description: in a few words.
        takes_prior: whether it uses prior knowledge.
        needs_layers: whether variables must have layers.
        uses_device: whether it computes on the device asked for; others compute on the CPU.
        takes_context: whether it takes a context itself, F_X(z, w); others get samples at the
            average context.
        takes_readouts: whether it uses the rest of a network after each layer.
        takes_noise: whether it fits measurement noise, and noise that is not normal.
    """

    where: str
    description: str
    takes_prior: bool = True
    needs_layers: bool = False
    uses_device: bool = False
    takes_context: bool = False
    takes_readouts: bool = False
    takes_noise: bool = False


LAYERED = partial(SolverEntry, takes_prior=False, needs_layers=True, takes_context=True)
"""What the solvers for layered variables have in common."""

SOLVERS = {
    AUTO: SolverEntry("ucad.solvers.search.solver:SEARCH", "the search", takes_noise=True),
    "search": SolverEntry(
        "ucad.solvers.search.solver:SEARCH", "anchors, found by regressions", takes_noise=True
    ),
    "gradient": SolverEntry(
        "ucad.solvers.gradient.solver:FAST", "the paper's objective, tuned", uses_device=True
    ),
    "gradient-paper": SolverEntry(
        "ucad.solvers.gradient.solver:PAPER", "the paper's learner", uses_device=True
    ),
    "bottleneck": LAYERED(
        "ucad.solvers.layered.solver:BOTTLENECK", "for dense layers", takes_readouts=True
    ),
    "switch": LAYERED(
        "ucad.solvers.layered.solver:SWITCH",
        "for dense layers with a two-valued factor",
        takes_readouts=True,
    ),
    "rectified": LAYERED("ucad.solvers.layered.solver:RECTIFIED", "for layers of rectified units"),
}
"""All solvers; a new one is a module that holds it and an entry here."""


@dataclass(frozen=True, kw_only=True)
class SolveSettings:
    """What every solver must be told.

    Attributes:
        n_factors: how many factors to find.
        solver: a name in `SOLVERS`.
        factor_mechanism: the family of F_Z by name, or `auto`.
        variable_mechanism: the family of F_X by name, or `auto`.
        prior: edges known to be there, or not to be.
        seed: random seed.
        device: where to compute.
        max_seconds: the budget; None for no limit.
        context_acts_on: where a context of the data acts: `mechanisms`, `readings`, or `auto`.
        unmeasured: what is done about regimes with unmeasured targets: `keep`, `infer` or `drop`.
        noise: the variance of the noise with which every variable is read, in the units in which
            it was measured, before data were standardised; None for none.
        noise_family: the law of a variable given its factors: `gaussian`, `student`, `counts`, or
            `auto` for the one that held-out samples prefer.
        readouts: of a network, for every layer but the first, from `ucad.networks.readouts`: errors
            then count by what they do to its decisions.
    """

    n_factors: int
    solver: str = AUTO
    factor_mechanism: str = AUTO
    variable_mechanism: str = AUTO
    prior: PriorKnowledge | None = None
    seed: int = 0
    device: str = "cpu"
    max_seconds: float | None = None
    context_acts_on: str = AUTO
    unmeasured: str = "keep"
    noise: Sequence[float] | None = None
    noise_family: str = "gaussian"
    readouts: Sequence[Readout] | None = None

    def __post_init__(self) -> None:
        if self.solver == BEHAVIOUR:
            raise InvalidInputError(
                f"The solver '{BEHAVIOUR}' runs a network itself, and data do not hold it. Use "
                "ucad.networks.fit_network(model, inputs, sites), or ucad fit recording/ "
                "--model script.py:name --inputs FILE."
            )
        families = [AUTO, *(family.name for family in FAMILIES)]
        for name, choices in [
            ("solver", list(SOLVERS)),
            ("factor_mechanism", families),
            ("variable_mechanism", families),
            ("context_acts_on", CONTEXT_CHOICES),
            ("unmeasured", UNMEASURED_CHOICES),
        ]:
            one_of(getattr(self, name), name, choices)
        one_of(self.noise_family, "noise", [AUTO, *(family.name for family in NOISES)])
        Budget(self.max_seconds)  # refuses what is no limit
        if not isinstance(self.prior, PriorKnowledge | None):
            raise InvalidInputError(
                f"The 'prior' parameter must be a PriorKnowledge, which "
                f"`ucad.solvers.prior.read_prior` reads from a file. Got {self.prior!r} instead."
            )
        self._check_abilities()
        for side in (self.factor_mechanism, self.variable_mechanism):
            if self.noise is not None and side not in (AUTO, AFFINE.name):
                raise InvalidInputError(
                    f"With measurement noise, mechanisms must be linear. Got {side!r} instead."
                )

    def _check_abilities(self) -> None:
        """Refuses what the solver cannot do, and names those that can."""
        is_normal = self.noise_family in (AUTO, NOISES[0].name)
        on_cpu = _kind_of(self.device) == "cpu"
        for is_asked, ability, what in [
            (self.prior is not None, "takes_prior", "prior knowledge"),
            (self.readouts is not None, "takes_readouts", "readouts of a network"),
            (self.noise is not None, "takes_noise", "measurement noise"),
            (not is_normal, "takes_noise", f"noise {self.noise_family!r}, only normal noise"),
            (not on_cpu, "uses_device", f"device {self.device!r}, only the CPU"),
        ]:
            if is_asked and not getattr(SOLVERS[self.solver], ability):
                able = " or ".join(f"'{n}'" for n, one in SOLVERS.items() if getattr(one, ability))
                raise InvalidInputError(
                    f"The solver '{self.solver}' takes no {what}. Use {able} for that."
                )


def solver_named(name: str) -> Solver:
    """Imports a solver."""
    module, _, attribute = SOLVERS[name].where.partition(":")
    solver: Solver = getattr(importlib.import_module(module), attribute)
    return solver


def solve(
    data: InterventionalData,
    settings: SolveSettings,
    *,
    validation: InterventionalData,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> FitResult:
    """Fits a factor SCM to standardised data.

    Args:
        data: what to learn from, standardised.
        settings: which solver, and what all of them must know.
        validation: held-out samples in the same units.
        progress: told how far the fit is.
        checkpoint: a file for the state of gradient training, which is resumed if it exists.
    """
    if SOLVERS[settings.solver].needs_layers and data.layer_of is None:
        raise InvalidInputError(
            f"The solver '{settings.solver}' needs the layer of every variable. Give 'layers'."
        )
    solver = solver_named(settings.solver)
    classes = solver.classes(settings.factor_mechanism, settings.variable_mechanism)
    if settings.noise is not None:
        classes = ((AFFINE, AFFINE),)
    budget = Budget(settings.max_seconds)

    before: list[FitResult] = []  # rounds: other kinds of interventions, context, hidden targets

    def fit(train: InterventionalData, held_out: InterventionalData) -> FitResult:
        problem = Problem.of(
            train,
            settings.n_factors,
            classes[0],
            prior=settings.prior,
            seed=settings.seed,
            budget=budget,
        )
        noise = noise_in_units_of(train, settings.noise)
        problem = replace(problem, noise=noise, noise_family=settings.noise_family)
        rest = None if settings.readouts is None else tuple(settings.readouts)
        aid = Help(held_out, progress, checkpoint, settings.device, rest)
        before.append(solver.fit(problem, _classes_after(before, classes), aid))
        return before[-1]

    def fit_any(train: InterventionalData, held_out: InterventionalData) -> FitResult:
        by_kind: Fit = partial(fit_by_kind, fit=fit)
        return fit_with_unmeasured(train, held_out, settings.unmeasured, by_kind)

    with one_thread():
        if data.context is None or SOLVERS[settings.solver].takes_context:
            return fit_any(data, validation)
        return fit_in_context(data, validation, settings.context_acts_on, fit_any)


def _classes_after(rounds: Sequence[FitResult], classes: Classes) -> Classes:
    """The simplest class and that of the round before; all, if the simplest was enough for it."""
    if not rounds or len(classes) == 1:
        return classes
    scm = rounds[-1].scm
    last = family_of(scm.factor_mechanism), family_of(scm.variable_mechanism)
    return (classes[0], last) if last in classes[1:] else classes


def families_asked_for(
    factor: str,
    variable: str,
    choices: tuple[tuple[Family, ...], tuple[Family, ...]],
    by_name: tuple[tuple[Family, ...], tuple[Family, ...]] | None = None,
) -> Classes:
    """All pairs of families that were asked for, simple ones first.

    Args:
        factor: the family of F_Z by name, or `auto`.
        variable: the family of F_X by name, or `auto`.
        choices: what `auto` stands for, for F_Z and for F_X.
        by_name: what may be asked for by name; anything if not given.

    Raises:
        InvalidInputError: if the solver does not make what was asked for.
    """
    each = []
    for side, name, auto, known in zip(
        ("factor_mechanism", "variable_mechanism"),
        (factor, variable),
        choices,
        by_name or (FAMILIES, FAMILIES),
        strict=True,
    ):
        asked = auto if name == AUTO else (family_named(name),)
        if any(family not in known for family in asked):
            made = " or ".join(family.name for family in known)
            raise InvalidInputError(
                f"The '{side}' parameter must be {made} for this solver. Got {name!r} instead."
            )
        each.append(asked)
    return tuple(itertools.product(each[0], each[1]))


def _kind_of(device: str) -> str:
    try:
        return torch.device(device).type
    except (RuntimeError, TypeError) as error:
        raise InvalidInputError(
            f"The 'device' parameter must name a device of torch, like 'cpu' or 'cuda'. "
            f"Got {device!r} instead."
        ) from error
