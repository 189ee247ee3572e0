"""From what a user hands to `fit` to what a solver gets: data in parts, a scaling, settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ucad.claims.parts import Parts, parts_of
from ucad.data import InterventionalData, Scaling
from ucad.data.checks import check_fittable
from ucad.data.duplicates import Columns, merge_duplicates
from ucad.data.far_values import say_far_values
from ucad.data.readings import reading_noise
from ucad.data.repeated_samples import counted_once
from ucad.data.transforms import Reads
from ucad.errors import InvalidInputError
from ucad.parameters import as_flag, as_text, as_whole_number, check_device, seed_of
from ucad.solvers.prior import PriorKnowledge
from ucad.solvers.registry import AUTO, SolveSettings
from ucad.transform_choice import choose_reads

__all__ = ["Prepared", "prepare"]


@dataclass(frozen=True)
class Prepared:
    """What a fit starts from.

    Attributes:
        data: all samples, identical columns merged, in the units that factors read.
        parts: the samples to learn from, to choose by, and to test claims on.
        scaling: what takes the samples to learn from to mean 0 and variance 1.
        columns: which columns of the user's table are which variables.
        reads: what factors read of each variable.
        settings: what the solver is told.
    """

    data: InterventionalData
    parts: Parts
    scaling: Scaling
    columns: Columns
    reads: Reads
    settings: SolveSettings

    @property
    def standardised(self) -> tuple[InterventionalData, InterventionalData]:
        """The samples to learn from and to choose by, as a solver gets them."""
        train, validation, _ = self.parts
        return train.standardised(self.scaling), validation.standardised(self.scaling)


def prepare(estimator: Any, given: InterventionalData) -> Prepared:
    """The data and settings of an estimator's fit, checked before any work is done."""
    _check_kinds(estimator)
    check_fittable(given.x, given.variable_names)
    merged, columns = merge_duplicates(given)
    seed = seed_of(estimator.random_state)
    reads = _reads(estimator, merged, seed)
    data = counted_once(reads.of(merged))
    say_far_values(data)
    # With measurement noise there is one class of mechanisms, and nothing to choose by.
    noise = reading_noise(data, estimator.measurement, estimator.measurement_noise)
    chooses = noise is None or isinstance(estimator.n_factors, str)
    parts = parts_of(data, estimator.validation_share, seed, chooses=chooses)
    scaling = _scaling(estimator, parts[0])
    settings = _settings(estimator, data, columns)
    return Prepared(data, parts, scaling, columns, reads, settings)


_TEXTS = {
    "solver": AUTO,
    "factor_mechanism": AUTO,
    "variable_mechanism": AUTO,
    "context_acts_on": AUTO,
    "unmeasured": "keep",
    "measurement": "none",
    "noise": AUTO,
    "reads": AUTO,
    "device": "cpu",
}
"""Parameters of an estimator that are names, with one that each can have."""


def _check_kinds(estimator: Any) -> None:
    """Refuses names that are no texts, and knowledge that is none, before anything asks them."""
    for name, example in _TEXTS.items():
        as_text(getattr(estimator, name), name, example)
    if estimator.prior is not None and not isinstance(estimator.prior, PriorKnowledge):
        raise InvalidInputError(
            f"The 'prior' parameter must be a PriorKnowledge, or None. Got "
            f"{type(estimator.prior).__name__} instead."
        )


def _reads(estimator: Any, data: InterventionalData, seed: int) -> Reads:
    """What factors read of the values; with noisy readings, only what was asked for."""
    noisy = estimator.reads == AUTO and estimator.measurement != "none"
    return choose_reads(data, "none" if noisy else estimator.reads, estimator.n_factors, seed)


def _scaling(estimator: Any, train: InterventionalData) -> Scaling:
    if as_flag(estimator.standardise, "standardise"):
        return Scaling.of(train.x)
    return Scaling(np.zeros(train.n_variables), np.ones(train.n_variables))


def _settings(estimator: Any, data: InterventionalData, columns: Columns) -> SolveSettings:
    n_factors = _number_of_factors(estimator.n_factors, data.n_variables)
    check_device(estimator.device)
    noise = reading_noise(data, estimator.measurement, estimator.measurement_noise)
    unit = 1.0 if data.scaling is None else data.scaling.scale
    prior = estimator.prior
    return SolveSettings(
        n_factors=n_factors,
        solver=estimator.solver,
        factor_mechanism=estimator.factor_mechanism,
        variable_mechanism=estimator.variable_mechanism,
        prior=None if prior is None else prior.merged(columns.variable),
        context_acts_on=estimator.context_acts_on,
        unmeasured=estimator.unmeasured,
        seed=seed_of(estimator.random_state),
        device=estimator.device,
        max_seconds=estimator.max_seconds,
        noise=None if noise is None else (noise * unit**2).tolist(),
        noise_family=estimator.noise,
        readouts=estimator.readouts,
    )


def _number_of_factors(asked: Any, n_variables: int) -> int:
    """The number that was asked for; 1 stands for `auto`, which replaces it as it goes."""
    if isinstance(asked, str) and asked == AUTO:
        return 1
    n_factors = as_whole_number(asked, "n_factors", low=1, other=AUTO)
    if n_factors > n_variables:
        raise InvalidInputError(
            f"The 'n_factors' parameter of UCAD must be at most the number of variables, "
            f"{n_variables}. Got {asked} instead."
        )
    return int(n_factors)
