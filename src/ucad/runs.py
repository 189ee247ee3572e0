"""Run folders: everything needed to use a fitted model again and to repeat how it was made."""

from __future__ import annotations

import json
import math
import os
import platform
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from ucad import __version__, run_schema
from ucad.claims import Certificate
from ucad.consensus.consensus import Consensus
from ucad.consensus.storage import CONSENSUS, SUPPORT, load_consensus, save_consensus
from ucad.data import InterventionalData
from ucad.data.checks import check_magnitude
from ucad.data.formats import read, write
from ucad.errors import FormatError, InvalidInputError, UcadError
from ucad.files import (
    finite_or_none,
    parse_json,
    read_json,
    read_text,
    recover,
    replacing_folder,
    resolved,
)
from ucad.schema import check_shape
from ucad.scm import FactorSCM, load_scm, save_scm
from ucad.solvers import FitStatus

__all__ = ["Run", "check_free", "load_metrics", "load_run", "save_run", "versions"]

SCHEMA_VERSION = 2
"""Of run folders; those of version 1 are read, without their certificate."""

RUN, HISTORY, CERTIFICATE, SAMPLE = "run.json", "history.json", "certificate.json", "sample.npz"
REPORT, METRICS, STEERING = "report.html", "metrics.json", "steering.json"
FACTORS = "factors.json"
OURS = {RUN, HISTORY, CERTIFICATE, SAMPLE, REPORT, METRICS, STEERING}
OURS |= {"model.json", "model.safetensors", SUPPORT, CONSENSUS, FACTORS}
"""What ucad writes into a run folder; anything else in it is the user's."""
FORMAT = "ucad run"
_PACKAGES = ("torch", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a run folder holds.

    Attributes:
        scm: the fitted model, in the units of the data.
        status: how the fit ended.
        certificate: what may be claimed.
        sample: some of the data, for the report and for predictions.
        consensus: what came back in fits on parts of the data.
        settings: the estimator's parameters.
        history: what happened on the way.
        data: where the data came from, their fingerprint and shape.
        seconds: how long the fit took.
        created: when, in UTC.
        versions: of ucad, Python and what it stands on.
        factors: what was found for every number of factors, if that was asked.
    """

    scm: FactorSCM
    status: FitStatus
    certificate: Certificate | None = None
    sample: InterventionalData | None = None
    consensus: Consensus | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[Mapping[str, Any], ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    created: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    factors: Mapping[str, Any] | None = None


def versions() -> dict[str, str]:
    """The versions of what a result depends on."""
    installed = {name: metadata.version(name) for name in _PACKAGES}
    return {"ucad": __version__, "python": platform.python_version(), **installed}


def check_free(folder: Path, *, force: bool) -> None:
    """Refuses a folder that exists, before any work is done; with `force`, one that is no run."""
    recover(folder)
    if folder.exists() and not force:
        raise InvalidInputError(
            f"'{folder}' exists and is not overwritten. Choose another folder, or add --force "
            "(force=True in Python)."
        )
    if folder.exists() and not _is_run(folder):
        raise InvalidInputError(
            f"'{folder}' exists and is not a run folder: it is not overwritten even with --force."
        )
    if resolved(folder) in (Path.cwd(), *Path.cwd().parents):
        raise InvalidInputError(f"'{folder}' is the current folder, or holds it. Choose another.")
    parent = next(p for p in (folder.parent, *resolved(folder).parents) if p.exists())
    if not parent.is_dir():
        raise InvalidInputError(f"'{folder}' cannot be written: '{parent}' is not a folder.")
    if not os.access(parent, os.W_OK):
        raise InvalidInputError(f"'{folder}' cannot be written: '{parent}' is read-only.")


def save_run(run: Run, folder: str | Path, *, force: bool = False) -> None:
    """Writes a run folder beside and puts it into place in one step.

    At every moment the folder is as it was or as it will be. What the user has put into a folder
    that is replaced is kept; a link stays a link.
    """
    folder = Path(folder)
    check_free(folder, force=force)
    about = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "created": run.created or datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": dict(run.versions) or versions(),
        "settings": dict(run.settings),
        "data": dict(run.data),
        "status": run.status.to_json() | {"violations": _bounded(run.status.violations)},
        "seconds": run.seconds,
    }
    with replacing_folder(folder) as part:
        save_scm(run.scm, part)
        _write_json(part / RUN, about)
        _write_json(part / HISTORY, [_known(_plain(row)) for row in run.history])
        if run.certificate is not None:
            (part / CERTIFICATE).write_text(run.certificate.to_json(), encoding="utf-8")
        if run.sample is not None:
            write(run.sample, part / SAMPLE)
        if run.factors is not None:
            _write_json(part / FACTORS, run.factors)
        if run.consensus is not None:
            save_consensus(run.consensus, part)
        _keep_foreign(folder, part)


def load_run(folder: str | Path) -> Run:
    """Reads a run folder and checks all that it holds; runs no code from it.

    A certificate of schema 1 is left out: it claimed what nobody had tested.

    Raises:
        FormatError: the folder is no run, is damaged, or was written by a newer ucad.
    """
    folder = Path(folder)
    recover(folder)
    if not folder.is_dir():
        raise FormatError(f"There is no run folder '{folder}'.")
    about = _read_about(folder)
    # Earlier versions wrote NaN into the history of a fit that went astray.
    history = read_json(folder / HISTORY, list, finite_or_none)
    check_shape(history, run_schema.HISTORY, f"'{folder / HISTORY}' is damaged")
    scm = load_scm(folder)
    return Run(
        scm=scm,
        status=FitStatus.from_json(about["status"]),
        certificate=_read_certificate(folder / CERTIFICATE, about["schema_version"]),
        sample=_read_sample(folder / SAMPLE, scm.graph.variable_names),
        consensus=load_consensus(folder, scm.graph),
        settings=about["settings"],
        history=tuple(_known(row) for row in history),
        data=about["data"],
        seconds=float(about["seconds"]),
        created=about["created"],
        versions=about["versions"],
        factors=_read_factors(folder / FACTORS),
    )


def load_metrics(folder: Path) -> dict[str, Any] | None:
    """The table of metrics that `ucad demo` put into a run folder, if there is one."""
    if not os.path.lexists(folder / METRICS):
        return None
    metrics: dict[str, Any] = read_json(folder / METRICS)
    check_shape(metrics, run_schema.METRICS, f"'{folder / METRICS}' is damaged")
    return metrics


def _read_factors(path: Path) -> dict[str, Any] | None:
    if not os.path.lexists(path):
        return None
    factors: dict[str, Any] = read_json(path)
    check_shape(factors, run_schema.FACTORS, f"'{path}' is damaged")
    return factors


def _read_about(folder: Path) -> dict[str, Any]:
    path = folder / RUN
    if not path.exists():
        raise FormatError(f"'{folder}' is no run folder: it has no {RUN}.")
    about: dict[str, Any] = read_json(path)
    version = about.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise FormatError(
            f"'{folder}' has run schema {version}; this ucad reads up to {SCHEMA_VERSION}."
        )
    check_shape(about, run_schema.RUN, f"'{folder}' is not a complete run folder")
    return about


def _read_certificate(path: Path, version: int) -> Certificate | None:
    if version < SCHEMA_VERSION or not os.path.lexists(path):
        return None
    text = read_text(path)
    try:
        parse_json(text)
        return Certificate.from_json(text)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(f"'{path}' is damaged: {error}") from error


def _read_sample(path: Path, variable_names: tuple[str, ...]) -> InterventionalData | None:
    if not os.path.lexists(path):
        return None
    try:
        sample = read(path)
        check_magnitude(sample.x, sample.variable_names)
    except UcadError as error:
        raise FormatError(f"'{path}' is damaged: {error}") from error
    if sample.variable_names != variable_names:
        raise FormatError(f"'{path}' is of other variables than the model beside it.")
    return sample


def _is_run(folder: Path) -> bool:
    """Whether a folder is empty, or one that ucad wrote."""
    if not folder.is_dir():
        return False
    try:
        return not any(folder.iterdir()) or read_json(folder / RUN).get("format") == FORMAT
    except FormatError:
        return False


def _keep_foreign(folder: Path, part: Path) -> None:
    """Copies what the user has put into a run folder to the one that takes its place."""
    for entry in sorted(folder.iterdir()) if folder.exists() else ():
        if entry.name in OURS or (part / entry.name).exists():
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.copytree(entry, part / entry.name, symlinks=True)
        else:
            shutil.copy2(entry, part / entry.name, follow_symlinks=False)


def _known(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the history without what was not finite."""
    return {name: value for name, value in row.items() if value is not None}


def _bounded(violations: Mapping[str, float]) -> dict[str, float]:
    """The same with the largest double for what is beyond measure: JSON has no infinity."""
    return {
        name: float(value) if math.isfinite(value) else sys.float_info.max
        for name, value in violations.items()
    }


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(_plain(value), indent=1, allow_nan=False), encoding="utf-8")


def _plain(value: Any) -> Any:
    """What JSON can hold: numbers of numpy as numbers, None for what is not finite."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
