"""Factor SCMs on disk: tensors as safetensors, the rest as JSON; loading runs no code."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from ucad.errors import FormatError, InvalidInputError, UcadError
from ucad.graph import FactorGraph
from ucad.scm.factor_scm import FactorSCM
from ucad.scm.families import FAMILIES, StackedMechanism

__all__ = ["SCHEMA_VERSION", "load_scm", "save_scm"]

SCHEMA_VERSION = 1
JSON_NAME, TENSORS_NAME = "model.json", "model.safetensors"
_KINDS = {family.name: family.mechanism_type for family in FAMILIES}
_ROLES = ("factor_mechanism", "variable_mechanism")


def save_scm(scm: FactorSCM, folder: str | Path) -> None:
    """Writes `model.json` and `model.safetensors` into a folder, each beside and moved into place.

    Raises:
        InvalidInputError: the model is under an intervention, or has arbitrary bijections in it.
    """
    if scm.intervention:
        raise InvalidInputError("Save the model itself, and apply interventions after loading.")
    tensors = {
        "Q": torch.tensor(scm.graph.Q, dtype=torch.uint8),
        "R": torch.tensor(scm.graph.R, dtype=torch.uint8),
        "noise_scale": scm.noise_scale,
    }
    description: dict[str, Any] = {
        "format": "ucad factor SCM",
        "schema_version": SCHEMA_VERSION,
        "variable_names": scm.graph.variable_names,
        "factor_names": scm.graph.factor_names,
    }
    for role in _ROLES:
        mechanism = getattr(scm, role)
        kinds = [name for name, kind in _KINDS.items() if isinstance(mechanism, kind)]
        if not kinds:
            raise InvalidInputError(f"A {type(mechanism).__name__} '{role}' cannot be saved.")
        description[role] = kinds[0]
        for field in fields(mechanism):
            tensors[f"{role}.{field.name}"] = getattr(mechanism, field.name)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    contiguous = {name: t.detach().cpu().contiguous() for name, t in tensors.items()}
    with tempfile.TemporaryDirectory(dir=folder) as beside:
        Path(beside, TENSORS_NAME).write_bytes(save(contiguous))
        Path(beside, JSON_NAME).write_text(json.dumps(description, indent=1), encoding="utf-8")
        for name in (TENSORS_NAME, JSON_NAME):
            os.replace(Path(beside, name), folder / name)


def load_scm(folder: str | Path) -> FactorSCM:
    """Reads a model that `save_scm` wrote.

    Raises:
        FormatError: the files are missing, truncated, from a newer version, or not consistent.
    """
    description = _read_description(Path(folder, JSON_NAME))
    tensors = _read_tensors(Path(folder, TENSORS_NAME))
    try:
        graph = FactorGraph(
            _boolean(_take(tensors, "Q")),
            _boolean(_take(tensors, "R")),
            tuple(description["variable_names"]),
            tuple(description["factor_names"]),
        )
        F_Z, F_X = (_mechanism(role, description[role], tensors) for role in _ROLES)
        return FactorSCM(graph, F_Z, F_X, _take(tensors, "noise_scale"))
    except FormatError:
        raise
    except (UcadError, KeyError, TypeError, RuntimeError, IndexError) as error:
        raise FormatError(f"'{folder}' holds no consistent model: {error}") from error


def _read_description(path: Path) -> dict[str, Any]:
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FormatError(
            f"'{path.parent}' holds no model: {error.strerror} ({path.name})."
        ) from error
    except ValueError as error:
        raise FormatError(f"'{path}' is not valid JSON: {error}.") from error
    version = description.get("schema_version") if isinstance(description, dict) else None
    if not isinstance(version, int):
        raise FormatError(f"'{path}' does not describe a factor SCM: it has no schema version.")
    if version > SCHEMA_VERSION:
        raise FormatError(
            f"'{path}' was written by a newer ucad (schema {version}; this one reads up to "
            f"{SCHEMA_VERSION}). Update ucad to read it."
        )
    return dict(description)


def _read_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except OSError as error:
        raise FormatError(
            f"'{path.parent}' holds no weights: {error.strerror} ({path.name})."
        ) from error
    except SafetensorError as error:
        raise FormatError(f"'{path}' is truncated or not a safetensors file: {error}.") from error


def _take(tensors: Mapping[str, Tensor], name: str) -> Tensor:
    if name not in tensors:
        raise FormatError(f"The weights lack the tensor '{name}': the file is incomplete.")
    return tensors[name]


def _boolean(tensor: Tensor) -> np.ndarray:
    return np.asarray(tensor.numpy(), dtype=bool)


def _mechanism(role: str, kind: str, tensors: Mapping[str, Tensor]) -> StackedMechanism:
    if kind not in _KINDS:
        raise FormatError(f"The '{role}' must be one of {', '.join(_KINDS)}. Got '{kind}' instead.")
    made = _KINDS[kind]
    return made(*(_take(tensors, f"{role}.{field.name}") for field in fields(cast(Any, made))))
