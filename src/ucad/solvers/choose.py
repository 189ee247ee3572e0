"""`solve`: one way into all solvers, and `auto`, which lets held-out data choose between them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from threadpoolctl import threadpool_limits

from ucad._types import Progress
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError, did_you_mean
from ucad.scm import FactorSCM, LinearMechanism, MLPMechanism
from ucad.solvers.prior import PriorKnowledge
from ucad.solvers.status import FitResult

if TYPE_CHECKING:
    from ucad.solvers.gradient import GradientConfig

__all__ = ["MechanismChoice", "SolveSettings", "SolverName", "solve"]


MOST_VARIABLES_TO_TRAIN = 1_000
"""Above this `auto` leaves out the gradient objective. At 1,000 variables and 20 factors it took
19 s of CPU and 0.8 GiB from the result of the search; beyond that nobody has measured."""


class SolverName(StrEnum):
    """The solvers."""

    AUTO = "auto"
    SEARCH = "search"
    GRADIENT = "gradient"
    PAPER = "gradient-paper"
    BOTTLENECK = "bottleneck"
    SWITCH = "switch"
    RECTIFIED = "rectified"


class MechanismChoice(StrEnum):
    """What a mechanism may be; `auto` tries both, and the lower BIC wins."""

    AUTO = "auto"
    LINEAR = "linear"
    MLP = "mlp"


@dataclass(frozen=True, kw_only=True)
class SolveSettings:
    """What every solver must be told.

    Attributes:
        n_factors: how many factors to find.
        solver: one of `SolverName`.
        factor_mechanism: one of `MechanismChoice`, for F_Z.
        variable_mechanism: one of `MechanismChoice`, for F_X.
        prior: edges known to be there, or not to be.
        seed: of everything random.
        device: where to compute.
    """

    n_factors: int
    solver: str = SolverName.AUTO
    factor_mechanism: str = MechanismChoice.AUTO
    variable_mechanism: str = MechanismChoice.AUTO
    prior: PriorKnowledge | None = None
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name, kind in [
            ("solver", SolverName),
            ("factor_mechanism", MechanismChoice),
            ("variable_mechanism", MechanismChoice),
        ]:
            value, choices = getattr(self, name), [str(choice) for choice in kind]
            if value not in choices:
                raise InvalidInputError(
                    f"The '{name}' parameter must be one of {', '.join(choices)}. Got {value!r} "
                    f"instead.{did_you_mean(str(value), choices)}"
                )


def solve(
    data: InterventionalData,
    settings: SolveSettings,
    *,
    validation: InterventionalData,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> FitResult:
    """Fits a factor SCM to standardised data.

    With `auto`: the search, then (up to 1,000 variables) the gradient objective from its result,
    and the model that explains the validation data better is kept.

    Args:
        data: what to learn from, standardised.
        settings: which solver, and what all of them must know.
        validation: held-out samples in the same units.
        progress: told how far the fit is.
        checkpoint: a file for the state of gradient training; it goes on from there if it exists.
    """
    with _one_thread():
        if settings.solver in (SolverName.GRADIENT, SolverName.PAPER):
            return _gradient(data, settings, validation, progress, checkpoint, None)
        if settings.solver in (SolverName.BOTTLENECK, SolverName.SWITCH, SolverName.RECTIFIED):
            return _between_layers(data, settings, validation, progress)
        found = _search(data, settings, validation, progress)
        is_done = settings.solver == SolverName.SEARCH or found.status.interrupted
        if is_done or data.n_variables > MOST_VARIABLES_TO_TRAIN:
            return found
        trained = _gradient(data, settings, validation, progress, checkpoint, found.scm)
        return _better(found, trained)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Solvers work on many small matrices: threads that wait for each other cost ten times more."""
    before = torch.get_num_threads()
    with threadpool_limits(limits=1):
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def _search(
    data: InterventionalData,
    settings: SolveSettings,
    validation: InterventionalData,
    progress: Progress | None,
) -> FitResult:
    from ucad.solvers.search import Mechanisms, SearchConfig, fit_search

    return fit_search(
        data,
        settings.n_factors,
        config=SearchConfig(
            factor_mechanism=Mechanisms(settings.factor_mechanism),
            variable_mechanism=Mechanisms(settings.variable_mechanism),
        ),
        prior=settings.prior,
        validation=validation,
        seed=settings.seed,
        progress=progress,
    )


def _between_layers(
    data: InterventionalData,
    settings: SolveSettings,
    validation: InterventionalData,
    progress: Progress | None,
) -> FitResult:
    from ucad.solvers.layered import (
        BinaryFactorSearch,
        BottleneckConfig,
        fit_bottleneck,
        fit_rectified,
    )

    if settings.prior is not None:
        raise InvalidInputError(
            f"The solver '{settings.solver}' takes no prior knowledge. Use 'search' or 'gradient'."
        )
    asked = (settings.factor_mechanism, settings.variable_mechanism)
    with_switch = settings.solver == SolverName.SWITCH
    other = MechanismChoice.LINEAR if with_switch else MechanismChoice.MLP
    if asked[0] == other or asked[1] == MechanismChoice.LINEAR:
        made = "nonlinear F_Z and F_X" if with_switch else "linear F_Z and nonlinear F_X"
        raise InvalidInputError(
            f"The solver '{settings.solver}' makes {made}. Got "
            f"factor_mechanism={asked[0]!r}, variable_mechanism={asked[1]!r} instead."
        )
    if settings.solver == SolverName.RECTIFIED:
        return fit_rectified(data, settings.n_factors, validation=validation, progress=progress)
    return fit_bottleneck(
        data,
        settings.n_factors,
        config=BottleneckConfig(binary_factor=BinaryFactorSearch() if with_switch else None),
        validation=validation,
        seed=settings.seed,
        progress=progress,
    )


def _gradient(
    data: InterventionalData,
    settings: SolveSettings,
    validation: InterventionalData,
    progress: Progress | None,
    checkpoint: Path | None,
    initial: FactorSCM | None,
) -> FitResult:
    from ucad.solvers.gradient import MechanismKind, ModelSettings, fit_gradient, preset

    F_Z, F_X = _kinds(settings, initial)
    model = ModelSettings(
        factor_mechanism=MechanismKind(F_Z), variable_mechanism=MechanismKind(F_X)
    )
    if initial is not None:
        model = replace(model, hidden=max(model.hidden, _hidden_units(initial)))
    name = "paper" if settings.solver == SolverName.PAPER else "fast"
    config = preset(name, data.n_variables, model)
    if initial is not None:
        config = _from_a_good_start(config)
    if settings.prior is not None:
        config = replace(config, prior=settings.prior)
    return fit_gradient(
        data,
        settings.n_factors,
        config=config,
        validation=validation,
        initial=initial,
        seed=settings.seed,
        device=settings.device,
        progress=progress,
        checkpoint=checkpoint,
    )


def _from_a_good_start(config: GradientConfig) -> GradientConfig:
    """One other starting point, a short training and no restarts: the search has done that."""
    training = replace(config.training, n_seeds=1, warm_up_epochs=(0,), epochs=100, patience=50)
    none = replace(config.replace_factor, rounds=0)
    return replace(config, training=training, replace_factor=none)


def _hidden_units(scm: FactorSCM) -> int:
    """The hidden units of its widest mechanism; 0 if both are linear."""
    both = (scm.factor_mechanism, scm.variable_mechanism)
    return max((F.b1.shape[1] for F in both if isinstance(F, MLPMechanism)), default=0)


def _kinds(settings: SolveSettings, initial: FactorSCM | None) -> tuple[str, str]:
    """What F_Z and F_X are: as asked for, else as the search found, else linear."""
    asked = (settings.factor_mechanism, settings.variable_mechanism)
    found = (
        (MechanismChoice.LINEAR, MechanismChoice.LINEAR)
        if initial is None
        else tuple(
            MechanismChoice.LINEAR if isinstance(F, LinearMechanism) else MechanismChoice.MLP
            for F in (initial.factor_mechanism, initial.variable_mechanism)
        )
    )
    kinds = [str(f if a == MechanismChoice.AUTO else a) for a, f in zip(asked, found, strict=True)]
    return kinds[0], kinds[1]


def _better(found: FitResult, trained: FitResult) -> FitResult:
    """The result with the lower validation NLL, with both histories and the other's NLL."""
    best, other = sorted((found, trained), key=lambda result: result.validation_nll)
    which = "search" if best is found else "gradient"
    note = (
        f"Kept the model of the {which} solver: validation NLL {best.validation_nll:.4f} against "
        f"{other.validation_nll:.4f}."
    )
    status = replace(
        best.status,
        interrupted=trained.status.interrupted,
        notes=(*found.status.notes, *trained.status.notes, note),
    )
    return FitResult(
        best.scm,
        status,
        best.validation_nll,
        (*found.history, *trained.history),
        found.seconds + trained.seconds,
    )
