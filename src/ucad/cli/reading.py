"""From the settings of a command to data and an estimator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ucad.cli.settings import FitSettings
    from ucad.data import InterventionalData
    from ucad.learner import Learner

__all__ = ["estimator_for", "read_data"]

_LAYER_DIGITS = 9
"""Of the number of a layer: what is longer is no layer, and would not fit the type."""


def read_data(path: Path, settings: FitSettings) -> InterventionalData:
    """Reads the file as the settings say, with the layers."""
    from dataclasses import replace

    import numpy as np

    import ucad
    from ucad.errors import InvalidInputError

    data = ucad.read(
        path,
        target=settings.target,
        control=settings.control,
        indicators=settings.indicators,
        ignore=settings.ignore,
        drop_constant=settings.drop_constant,
        min_mean=settings.min_mean,
        log_counts=settings.log_counts,
        counts=settings.counts,
        matrix=settings.matrix,
        context=settings.context,
        intervention=settings.intervention,
        missing=settings.missing,
        **({} if settings.memory is None else {"memory": settings.memory}),
    )
    if settings.layers is None:
        return data
    layer_of = _read_layers(Path(settings.layers))
    missing = [name for name in data.variable_names if name not in layer_of]
    if missing:
        raise InvalidInputError(
            f"'{settings.layers}' must have a line 'name,layer' for every variable. "
            f"There is none for '{missing[0]}'."
        )
    return replace(data, layer_of=np.array([layer_of[name] for name in data.variable_names]))


def estimator_for(settings: FitSettings, variable_names: tuple[str, ...]) -> Learner:
    """The estimator that the settings describe."""
    from ucad.learner import Learner
    from ucad.solvers.prior import read_prior

    n_factors = settings.factors if isinstance(settings.factors, int) else None
    known = None
    if settings.prior is not None:
        known = read_prior(Path(settings.prior), variable_names, n_factors)
    return Learner(
        n_factors=settings.factors,
        solver=settings.solver,
        factor_mechanism=settings.factor_mechanism,
        variable_mechanism=settings.variable_mechanism,
        prior=known,
        context_acts_on=settings.context_acts_on,
        unmeasured=settings.unmeasured,
        standardise=settings.standardise,
        validation_share=settings.validation_share,
        max_seconds=settings.budget,
        measurement=settings.measurement,
        measurement_noise=settings.measurement_noise,
        noise=settings.noise,
        reads=settings.transform,
        random_state=settings.seed,
        device=settings.device,
        n_runs=settings.runs,
    )


def _read_layers(path: Path) -> dict[str, int]:
    """The lines name,layer of a file; others, such as a heading, say nothing."""
    import csv
    import io

    from ucad.errors import FormatError
    from ucad.files import read_text

    try:
        rows = list(csv.reader(io.StringIO(read_text(path), newline="")))
    except csv.Error as error:
        raise FormatError(f"'{path}' is no table of layers: {error}.") from error
    found: dict[str, int] = {}
    for row in rows:
        name, layer = ",".join(row[:-1]), "".join(row[-1:]).strip()
        if not layer.isdecimal() or len(layer) > _LAYER_DIGITS:
            continue
        if found.setdefault(name, int(layer)) != int(layer):
            raise FormatError(f"'{path}' has two layers for '{name}': {found[name]} and {layer}.")
    return found
