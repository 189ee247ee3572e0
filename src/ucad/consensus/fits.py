"""One full fit on some of the samples, as a task of a sweep: everything goes in and out as JSON."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ucad.consensus.resampling import Draw, Kind, rows_of
from ucad.data import InterventionalData, Scaling
from ucad.data.context import Context
from ucad.data.kinds import RegimeKind
from ucad.errors import FormatError
from ucad.files import replacing
from ucad.scm import FactorSCM, at_average_context, load_scm, save_scm
from ucad.scm.storage import JSON_NAME, TENSORS_NAME
from ucad.solvers import FitResult
from ucad.solvers.prior import PriorKnowledge
from ucad.solvers.registry import AUTO, SolveSettings, solve

__all__ = ["FIT_PART", "fit_part", "fit_scaled", "store", "task_of", "unpacked"]

FIT_PART = "ucad.consensus.fits:fit_part"
"""What does a task."""

DATA = "data.npz"
_ARRAYS = ("x", "is_intervened", "regime", "layer_of", "is_missing")

VALIDATION_SHARE = 0.2
"""The part of the samples of a fit that chooses between classes of mechanisms, where more than one
may be taken: that of `UCAD`."""

MIN_VALIDATION_SAMPLES = 20
"""Below so many all samples serve as both parts."""


def store(data: InterventionalData, folder: Path) -> None:
    """Puts the data where workers find them."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {
        name: getattr(data, name) for name in _ARRAYS if getattr(data, name) is not None
    }
    names = {
        "variable_names": data.variable_names,
        "regime_names": data.regime_names,
        "kinds": [str(kind) for kind in data.kinds],
    }
    if data.scaling is not None:
        arrays["scaling"] = np.stack(data.scaling)
    if data.context is not None:
        arrays["context"], names["context"] = data.context.values, data.context.names
    text = np.frombuffer(json.dumps(names).encode(), dtype=np.uint8)
    with replacing(folder / DATA) as beside, beside.open("wb") as file:
        np.savez(file, names=text, **arrays)


def task_of(
    folder: Path,
    data: InterventionalData,
    settings: SolveSettings,
    draw: Draw,
    *,
    standardise: bool,
) -> dict[str, Any]:
    """A fit as a task: all that it depends on, so that another one is never taken for it."""
    plain = asdict(replace(settings, prior=None, seed=draw.fit_seed))
    del plain["prior"]
    said = [] if settings.prior is None else [list(one) for one in settings.prior.statements()]
    return {
        "folder": str(folder.resolve()),
        "fingerprint": data.fingerprint,
        "draw": {**asdict(draw), "kind": draw.kind.value},
        "settings": plain,
        "prior": said,
        "standardise": standardise,
    }


def fit_part(task: Mapping[str, Any]) -> dict[str, Any]:
    """Fits a model to the samples of one draw, from scratch.

    Raises:
        KeyboardInterrupt: somebody stopped the fit; half of a search is not a fit.
    """
    data = _stored(task["folder"], task["fingerprint"])
    draw = Draw(**{**task["draw"], "kind": Kind(task["draw"]["kind"])})
    part = data.select(rows_of(draw, data.regime))
    shape = (data.n_variables, int(task["settings"]["n_factors"]))
    settings = SolveSettings(**task["settings"], prior=_prior(task["prior"], shape))
    result, scm = fit_scaled(part, settings, standardise=bool(task["standardise"]))
    if result.status.interrupted:
        raise KeyboardInterrupt
    return {
        "model": _packed(scm),
        "converged": result.status.converged,
        "reason": result.status.reason,
    }


def fit_scaled(
    part: InterventionalData, settings: SolveSettings, *, standardise: bool = True
) -> tuple[FitResult, FactorSCM]:
    """A search in standardised units, and its model in those of the data."""
    train, validation = part, part
    several = AUTO in (settings.factor_mechanism, settings.variable_mechanism)
    if several and part.n_samples * VALIDATION_SHARE >= MIN_VALIDATION_SAMPLES:
        split = part.split(1 - VALIDATION_SHARE, VALIDATION_SHARE, seed=settings.seed)
        train, validation = split.train, split.validation
    scaling = Scaling.of(train.x)
    if not standardise:
        scaling = Scaling(np.zeros_like(scaling.mean), np.ones_like(scaling.scale))
    result = solve(
        train.standardised(scaling), settings, validation=validation.standardised(scaling)
    )
    scm = result.scm.in_original_units(scaling)
    return result, scm.canonical(at_average_context(scm, train).x)


def unpacked(model: Mapping[str, str]) -> FactorSCM:
    """The model in a row of the table, checked as a stored model is."""
    with TemporaryDirectory() as folder:
        for name in (JSON_NAME, TENSORS_NAME):
            try:
                content = zlib.decompress(base64.b64decode(model[name], validate=True))
            except (KeyError, ValueError, zlib.error) as error:
                raise FormatError(f"A row of a consensus holds no model: {error!r}.") from error
            Path(folder, name).write_bytes(content)
        return load_scm(folder)


def _packed(scm: FactorSCM) -> dict[str, str]:
    with TemporaryDirectory() as folder:
        save_scm(scm, folder)
        return {
            name: base64.b64encode(zlib.compress(Path(folder, name).read_bytes())).decode()
            for name in (JSON_NAME, TENSORS_NAME)
        }


@lru_cache(maxsize=1)
def _stored(folder: str, fingerprint: str) -> InterventionalData:
    with np.load(Path(folder, DATA), allow_pickle=False) as found:
        arrays: dict[str, Any] = {name: found[name] for name in found.files}
    names = json.loads(arrays.pop("names").tobytes())
    if "context" in arrays:
        arrays["context"] = Context(tuple(names["context"]), arrays["context"])
    if "scaling" in arrays:
        arrays["scaling"] = Scaling(*arrays["scaling"])
    data = InterventionalData(
        **arrays,
        variable_names=tuple(names["variable_names"]),
        regime_names=tuple(names["regime_names"]),
        kinds=tuple(RegimeKind(kind) for kind in names["kinds"]),
        is_part=True,
    )
    if data.fingerprint != fingerprint:
        raise FormatError(f"'{folder}' holds other data than those that are to be fitted.")
    return data


def _prior(said: list[list[Any]], shape: tuple[int, int]) -> PriorKnowledge | None:
    if not said:
        return None
    parts: dict[str, np.ndarray] = {}
    for kind, variable, factor in said:
        parts.setdefault(kind, np.zeros(shape, dtype=bool))[variable, factor] = True
    return PriorKnowledge(**parts)
