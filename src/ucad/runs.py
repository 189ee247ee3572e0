"""Run folders: everything needed to use a fitted model again and to repeat how it was made."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from ucad import __version__
from ucad.claims import Certificate
from ucad.data import InterventionalData
from ucad.data.formats import read, write
from ucad.errors import FormatError, InvalidInputError
from ucad.scm import FactorSCM, load_scm, save_scm
from ucad.solvers import FitStatus

__all__ = ["Run", "check_free", "load_run", "save_run", "versions"]

SCHEMA_VERSION = 2
"""Of run folders; those of version 1 are read, without their certificate."""

RUN, HISTORY, CERTIFICATE, SAMPLE = "run.json", "history.json", "certificate.json", "sample.npz"
REPORT, METRICS = "report.html", "metrics.json"
_PACKAGES = ("torch", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a run folder holds.

    Attributes:
        scm: the fitted model, in the units of the data.
        status: how the fit ended.
        certificate: what may be claimed.
        sample: some of the data, for the report and for predictions.
        settings: the estimator's parameters.
        history: what happened on the way.
        data: where the data came from, their fingerprint and shape.
        seconds: how long the fit took.
        created: when, in UTC.
        versions: of ucad, Python and what it stands on.
    """

    scm: FactorSCM
    status: FitStatus
    certificate: Certificate | None = None
    sample: InterventionalData | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[Mapping[str, Any], ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    created: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


def versions() -> dict[str, str]:
    """The versions of what a result depends on."""
    installed = {name: metadata.version(name) for name in _PACKAGES}
    return {"ucad": __version__, "python": platform.python_version(), **installed}


def check_free(folder: Path, *, force: bool) -> None:
    """Refuses a folder that exists, before any work is done."""
    if folder.exists() and not force:
        raise InvalidInputError(
            f"'{folder}' exists and is not overwritten. Choose another folder, or add --force."
        )
    if folder.exists() and not (folder / RUN).exists() and any(folder.iterdir()):
        raise InvalidInputError(
            f"'{folder}' exists and is not a run folder: it is not overwritten even with --force."
        )
    parent = next(p for p in (folder.parent, *folder.parent.parents) if p.exists())
    if not os.access(parent, os.W_OK):
        raise InvalidInputError(f"'{folder}' cannot be written: '{parent}' is read-only.")


def save_run(run: Run, folder: str | Path, *, force: bool = False) -> None:
    """Writes a run folder beside and moves it into place; nothing half-written is ever seen."""
    folder = Path(folder)
    check_free(folder, force=force)
    with _beside(folder) as part:
        save_scm(run.scm, part)
        about = {
            "format": "ucad run",
            "schema_version": SCHEMA_VERSION,
            "created": run.created or datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": dict(run.versions) or versions(),
            "settings": dict(run.settings),
            "data": dict(run.data),
            "status": run.status.to_json(),
            "seconds": run.seconds,
        }
        _write_json(part / RUN, about)
        _write_json(part / HISTORY, [dict(row) for row in run.history])
        if run.certificate is not None:
            (part / CERTIFICATE).write_text(run.certificate.to_json(), encoding="utf-8")
        if run.sample is not None:
            write(run.sample, part / SAMPLE)


def load_run(folder: str | Path) -> Run:
    """Reads a run folder; runs no code from it.

    A certificate of schema 1 is left out: it claimed what nobody had tested.

    Raises:
        FormatError: the folder is no run, is damaged, or was written by a newer ucad.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FormatError(f"There is no run folder '{folder}'.")
    about = _read_json(folder / RUN, dict)
    version = about.get("schema_version")
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise FormatError(
            f"'{folder}' has run schema {version}; this ucad reads up to {SCHEMA_VERSION}."
        )
    try:
        sample = folder / SAMPLE
        return Run(
            scm=load_scm(folder),
            status=FitStatus.from_json(about["status"]),
            certificate=_certificate(folder / CERTIFICATE, version),
            sample=read(sample) if sample.exists() else None,
            settings=about["settings"],
            history=tuple(_read_json(folder / HISTORY, list)),
            data=about["data"],
            seconds=float(about["seconds"]),
            created=about["created"],
            versions=about["versions"],
        )
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"'{folder}' is not a complete run folder: {error!r}.") from error


def _certificate(path: Path, version: int) -> Certificate | None:
    if version < SCHEMA_VERSION or not path.exists():
        return None
    return Certificate.from_json(path.read_text(encoding="utf-8"))


@contextlib.contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """A new folder next to the wanted one, which takes its place if nothing goes wrong."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield part
        part.chmod(0o755)
        if folder.exists():
            old = part.with_name(part.name + ".old")
            folder.rename(old)
            part.rename(folder)
            shutil.rmtree(old)
        else:
            part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, default=str), encoding="utf-8")


def _read_json(path: Path, kind: type) -> Any:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FormatError(f"'{path.parent}' is no run folder: it has no {path.name}.") from error
    except ValueError as error:
        raise FormatError(f"'{path}' is damaged: {error}.") from error
    if not isinstance(value, kind):
        raise FormatError(f"'{path}' must hold a JSON {kind.__name__}.")
    return value
