"""What the network commands are given: a script with the model, files of inputs and labels."""

from __future__ import annotations

import contextlib
import errno
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ucad.errors import FormatError, InvalidInputError, UcadError, did_you_mean
from ucad.files import check_regular

if TYPE_CHECKING:
    import numpy as np
    from torch import nn

    from ucad.cli.fit_options import NetworkOptions
    from ucad.networks import Inputs
    from ucad.networks.outputs import ReadOutput

__all__ = [
    "BASES",
    "OUTCOME",
    "load_model",
    "load_reader",
    "load_readouts",
    "noted_inputs",
    "read_blocks",
    "read_inputs",
    "read_labels",
    "told_if_the_model_fails",
]

OUTCOME, BASES = "outcome", "bases"


def load_model(reference: str) -> nn.Module:
    """Runs a script and returns the model it names: a module, or what a function gives."""
    script, colon, name = reference.rpartition(":")
    if not colon or not script.endswith(".py"):
        raise InvalidInputError(
            "The model must be written script.py:name, a module or a function that gives one: "
            "weights alone do not say how they are computed with, so a script must load them. "
            f"Got '{reference}'."
        )
    found = _named(Path(script), name, called=True)

    from ucad.networks.wrapped import unwrapped

    return unwrapped(found)


def load_reader(reference: str | None) -> ReadOutput:
    """What counts of a model's output: a text, or a function of a script."""
    from ucad.networks.outputs import output_reader, tensor_output

    if reference is None:
        return tensor_output
    script, colon, name = reference.rpartition(":")
    if not colon or not script.endswith(".py"):
        return output_reader(reference)
    found = _named(Path(script), name, called=False)
    if not callable(found):
        raise InvalidInputError(
            f"'{name}' in '{script}' must be a function of the model's output. "
            f"Got {type(found).__name__} instead."
        )
    return found


def load_readouts(recording: Path, asked: NetworkOptions) -> tuple[Any, ...]:
    """The rest of a recorded network after every site but the first."""
    from ucad.networks import load_recording, readouts

    assert asked.model is not None, "readouts are of a network"
    found, inputs = load_recording(recording), read_inputs(asked.inputs or noted_inputs(recording))
    model, reader = load_model(asked.model), load_reader(asked.read_output)
    with told_if_the_model_fails():
        return readouts(model, found, inputs, read_output=reader)


def noted_inputs(recording: Path) -> Path:
    """The inputs that `ucad record` noted, looked for from here and beside the recording."""
    from ucad.files import read_json
    from ucad.networks.storage import ABOUT

    noted = Path(str(read_json(recording / ABOUT).get("inputs", "")))
    places = (noted, recording.parent / noted, recording.parent / noted.name)
    return next((place for place in places if place.is_file()), noted)


def _named(script: Path, name: str, *, called: bool) -> Any:
    """What a script calls by a name; a function that is no model is called, if wanted."""
    if not script.is_file():
        raise FormatError(f"There is no script '{script}'.")
    try:
        made = _run_script(script)
        found = made.get(name)
        if called and found is not None and callable(found) and not _is_model(found):
            found = found()
    except (Exception, SystemExit) as error:
        raise FormatError(
            f"'{script}' fails with {type(error).__name__}: {error} (--debug shows where)."
        ) from error
    if found is None:
        raise InvalidInputError(f"'{script}' gives no '{name}'.{did_you_mean(name, made)}")
    return found


def _run_script(script: Path) -> dict[str, Any]:
    """The names that a script defines; it may import what lies beside it.

    Nothing is written beside the script: Python's cache of compiled modules is off meanwhile.
    """
    import importlib.util
    import sys

    spec = importlib.util.spec_from_file_location("ucad_model_script", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(script.resolve().parent))
    writes_caches, sys.dont_write_bytecode = not sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
        sys.dont_write_bytecode = not writes_caches
    return vars(module)


def read_labels(path: Path, inputs: Inputs) -> dict[str, np.ndarray]:
    """The outcome, the concepts and perhaps the bases, one entry per input each."""
    import numpy as np

    from ucad.networks.passes import n_inputs

    if path.suffix != ".npz":
        raise FormatError(f"'{path}' must be an .npz file. Got '{path.suffix}' instead.")
    labels: dict[str, np.ndarray] = _load(path)
    if OUTCOME not in labels or not set(labels) - {OUTCOME, BASES}:
        raise InvalidInputError(
            f"'{path}' must hold '{OUTCOME}' and at least one concept. "
            f"It holds {', '.join(labels) or 'nothing'}."
        )
    for name, values in labels.items():
        fits = values.shape == (n_inputs(inputs),)
        if not fits and not (
            name == OUTCOME and values.ndim == 2 and len(values) == n_inputs(inputs)
        ):
            raise InvalidInputError(
                f"'{name}' in '{path}' must have one entry per input, {n_inputs(inputs)}. "
                f"Got the shape {values.shape} instead."
            )
        if values.dtype.kind not in "biuf" or not (values == np.round(values)).all():
            raise InvalidInputError(
                f"'{name}' in '{path}' must be whole numbers: 0, 1, … for its values. Got "
                f"{values.dtype} such as {values.reshape(-1)[0]} instead."
            )
    return labels


def read_blocks(words: Sequence[str]) -> dict[str, list[str]]:
    """Which input entries carry which concept, as written concept=entry,entry.

    >>> read_blocks(["A=input[0],input[2,1]"])
    {'A': ['input[0]', 'input[2,1]']}
    """
    found = {}
    for word in words:
        concept, equals, entries = word.partition("=")
        if not concept or not equals or not entries:
            raise InvalidInputError(
                "A block must be written concept=entry,entry, as first=input[0],input[1]. "
                f"Got '{word}' instead."
            )
        found[concept] = re.findall(r"[^,\[]+\[[^\]]*\]|[^,]+", entries)
    return found


def read_inputs(path: Path) -> Inputs:
    """One array, or the arrays that are the model's arguments."""
    from ucad.networks.inputs import check_inputs

    if path.suffix == ".npy":
        return check_inputs(_load(path))
    if path.suffix != ".npz":
        raise FormatError(f"'{path}' must be a .npy or an .npz file. Got '{path.suffix}' instead.")
    arrays: dict[str, np.ndarray] = _load(path)
    if not arrays:
        raise FormatError(f"'{path}' holds no array.")
    if set(arrays) == {f"arg_{k}" for k in range(len(arrays))}:
        return check_inputs(tuple(arrays[f"arg_{k}"] for k in range(len(arrays))))
    return check_inputs(arrays)


def _load(path: Path) -> Any:
    import numpy as np

    if not path.exists():
        raise FormatError(f"There is no file '{path}'.")
    check_regular(path)
    try:
        if path.suffix == ".npy":
            return np.load(path, mmap_mode="r", allow_pickle=False)
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return dict(archive)
    except Exception as error:
        raise FormatError(
            f"'{path}' is not a file of plain arrays; write it with numpy.save or numpy.savez."
        ) from error


_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
"""Errors that come from where values are written, not from a model."""


@contextlib.contextmanager
def told_if_the_model_fails() -> Iterator[None]:
    """Turns what a model raises on wrong inputs into one line."""
    try:
        yield
    except UcadError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
            raise
        raise InvalidInputError(
            f"The model fails on these inputs with {type(error).__name__}: {error} "
            "(--debug shows where)."
        ) from error


def _is_model(value: object) -> bool:
    made = not isinstance(value, type)  # a class is called, as a function is
    return made and (hasattr(value, "parameters") or hasattr(value, "_module"))
