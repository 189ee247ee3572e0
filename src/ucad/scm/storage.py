"""Factor SCMs on disk: tensors as safetensors, the rest as JSON; loading runs no code."""

from __future__ import annotations

import json
import re
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
from ucad.files import check_regular, read_json, replacing, write_text
from ucad.graph import FactorGraph
from ucad.schema import Optional, check_shape
from ucad.scm.context import ActsOn, ContextEffect
from ucad.scm.factor_scm import FactorSCM
from ucad.scm.families import FAMILIES, StackedMechanism

__all__ = ["SCHEMA_VERSION", "load_scm", "save_scm"]

SCHEMA_VERSION = 1
"""Of the files of a model; a change that old readers would misread raises it."""

JSON_NAME, TENSORS_NAME = "model.json", "model.safetensors"
READING_NOISE = "reading_noise"
"""The tensor of the noise of readings; models without such noise lack it."""

_KINDS = {family.name: family.mechanism_type for family in FAMILIES}
_ROLES = ("factor_mechanism", "variable_mechanism")
_JOINT = "context.joint"
_DESCRIPTION = {
    "schema_version": int,
    "variable_names": [str],
    "factor_names": [str],
    **dict.fromkeys(_ROLES, str),
    "context": Optional({"names": [str], "acts_on": str, "joint": Optional(str)}),
}
"""The axes of a mechanism's tensors: targets, hidden units, inputs."""


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
    if scm.reading_noise is not None:
        tensors[READING_NOISE] = scm.reading_noise
    description: dict[str, Any] = {
        "format": "ucad factor SCM",
        "schema_version": SCHEMA_VERSION,
        "variable_names": scm.graph.variable_names,
        "factor_names": scm.graph.factor_names,
    }
    for role in _ROLES:
        description[role] = _put(tensors, role, getattr(scm, role))
    if scm.context is not None:
        effect = scm.context
        description["context"] = {"names": effect.names, "acts_on": str(effect.acts_on)}
        tensors["context.mean"] = effect.mean.to(scm.noise_scale)
        tensors["context.weight"] = effect.weight.to(scm.noise_scale)
        if effect.joint is not None:
            description["context"]["joint"] = _put(tensors, _JOINT, effect.joint)
    contiguous = {name: t.detach().cpu().contiguous() for name, t in tensors.items()}
    for name, tensor in contiguous.items():
        if not bool(torch.isfinite(tensor).all()):
            raise InvalidInputError(f"A model with a '{name}' that is not finite cannot be saved.")
    with replacing(Path(folder, TENSORS_NAME)) as beside:
        beside.write_bytes(save(contiguous))
    write_text(Path(folder, JSON_NAME), json.dumps(description, indent=1))


def load_scm(folder: str | Path) -> FactorSCM:
    """Reads a model that `save_scm` wrote.

    Raises:
        FormatError: the files are missing, truncated, from a newer version, or not consistent.
    """
    description = _read_description(Path(folder, JSON_NAME))
    tensors = _read_tensors(Path(folder, TENSORS_NAME))
    names = [tuple(description[f"{kind}_names"]) for kind in ("variable", "factor")]
    n_variables, n_factors = map(len, names)
    try:
        Q, R = (_flags(tensors, name, (n_variables, n_factors)) for name in ("Q", "R"))
        sizes = ((n_factors, n_variables), (n_variables, n_factors))
        F_Z, F_X = (
            _mechanism(role, description[role], tensors, size)
            for role, size in zip(_ROLES, sizes, strict=True)
        )
        noise_scale = _numbers(tensors, "noise_scale", (n_variables,))
        if len({tensor.dtype for tensor in tensors.values() if tensor.is_floating_point()}) > 1:
            raise FormatError("The tensors must all have the same precision.")
        is_noisy = READING_NOISE in tensors
        noise = _numbers(tensors, READING_NOISE, (n_variables,)) if is_noisy else None
        context = _context(description.get("context"), tensors, sizes[1])
        graph = FactorGraph(Q, R, *names)
        return FactorSCM(graph, F_Z, F_X, noise_scale, context=context, reading_noise=noise)
    except UcadError as error:
        raise FormatError(f"'{folder}' holds no consistent model: {error}") from error


def _put(tensors: dict[str, Tensor], role: str, mechanism: Any) -> str:
    """Puts the tensors of a mechanism among the others, and returns its kind."""
    kinds = [name for name, kind in _KINDS.items() if isinstance(mechanism, kind)]
    if not kinds:
        raise InvalidInputError(f"A {type(mechanism).__name__} '{role}' cannot be saved.")
    for field in fields(mechanism):
        tensors[f"{role}.{field.name}"] = getattr(mechanism, field.name)
    return kinds[0]


def _context(
    described: Mapping[str, Any] | None, tensors: Mapping[str, Tensor], sizes: tuple[int, int]
) -> ContextEffect | None:
    if described is None:
        return None
    names, acts_on = tuple(described["names"]), described["acts_on"]
    if acts_on not in list(ActsOn):
        raise FormatError(f"A context must act on {' or '.join(ActsOn)}. Got '{acts_on}' instead.")
    mean = _numbers(tensors, "context.mean", (len(names),))
    weight = _numbers(tensors, "context.weight", (sizes[0], len(names)))
    joint = None
    if described.get("joint") is not None:
        joint = _mechanism(_JOINT, described["joint"], tensors, (sizes[0], sizes[1] + len(names)))
    return ContextEffect(names, mean, weight, ActsOn(acts_on), joint)


def _read_description(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise FormatError(f"'{path.parent}' holds no model: it has no {path.name}.")
    description: dict[str, Any] = read_json(path)
    version = description.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise FormatError(
            f"'{path}' was written by a newer ucad (schema {version}; this one reads up to "
            f"{SCHEMA_VERSION}). Update ucad to read it."
        )
    check_shape(description, _DESCRIPTION, f"'{path}' does not describe a factor SCM")
    return description


def _read_tensors(path: Path) -> dict[str, Tensor]:
    check_regular(path)
    try:
        return load_file(path)
    except (SafetensorError, OSError, ValueError, KeyError, RuntimeError) as error:
        raise FormatError(f"'{path}' is truncated or not a safetensors file: {error}.") from error


def _take(tensors: Mapping[str, Tensor], name: str) -> Tensor:
    if name not in tensors:
        raise FormatError(f"The weights lack the tensor '{name}': the file is incomplete.")
    return tensors[name]


def _flags(tensors: Mapping[str, Tensor], name: str, shape: tuple[int, ...]) -> np.ndarray:
    tensor = _shaped(tensors, name, shape)
    if tensor.dtype not in (torch.uint8, torch.bool) or bool((tensor > 1).any()):
        raise FormatError(f"The tensor '{name}' must hold zeros and ones. Got {tensor.dtype}.")
    return np.asarray(tensor.numpy(), dtype=bool)


def _numbers(tensors: Mapping[str, Tensor], name: str, shape: tuple[int, ...]) -> Tensor:
    tensor = _shaped(tensors, name, shape)
    if tensor.dtype not in (torch.float32, torch.float64):
        raise FormatError(f"The tensor '{name}' must hold floats. Got {tensor.dtype} instead.")
    if not bool(torch.isfinite(tensor).all()):
        raise FormatError(f"The tensor '{name}' must be finite. It holds NaN or infinity.")
    return tensor


def _shaped(tensors: Mapping[str, Tensor], name: str, shape: tuple[int, ...]) -> Tensor:
    tensor = _take(tensors, name)
    if tuple(tensor.shape) != shape:
        raise FormatError(
            f"The tensor '{name}' must have the shape {shape}. Got {tuple(tensor.shape)} instead."
        )
    return tensor


def _mechanism(
    role: str, kind: str, tensors: Mapping[str, Tensor], sizes: tuple[int, int]
) -> StackedMechanism:
    """A mechanism whose tensors have the axes that its fields are annotated with."""
    if kind not in _KINDS:
        raise FormatError(f"The '{role}' must be one of {', '.join(_KINDS)}. Got '{kind}' instead.")
    made, known = _KINDS[kind], dict(zip(("targets", "inputs"), sizes, strict=True))
    parts = []
    for field in fields(cast(Any, made)):
        name = f"{role}.{field.name}"
        axes = re.split("['\"]", str(field.type))[1].split()
        for axis, size in zip(axes, _take(tensors, name).shape, strict=False):
            known.setdefault(axis, size)
        parts.append(_numbers(tensors, name, tuple(known.get(axis, -1) for axis in axes)))
    return made(*parts)
