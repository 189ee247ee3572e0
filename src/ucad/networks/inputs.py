"""What a model is called with: its tensors, their rows, and what is no argument of the model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from ucad.errors import InvalidInputError, did_you_mean
from ucad.networks.places import Rows

__all__ = [
    "ASIDE",
    "Inputs",
    "arguments_of",
    "call_with",
    "check_inputs",
    "input_rows",
    "n_inputs",
    "rows_of",
    "select_inputs",
    "tensors_of",
]

Inputs: TypeAlias = (
    Tensor | np.ndarray | tuple[Tensor | np.ndarray, ...] | Mapping[str, Tensor | np.ndarray]
)
"""What a model is called with: one tensor, several by position, or several by name."""

ASIDE = "@"
"""Arrays whose names begin so are not given to the model: positions per row, `@name`, and a mask of
tokens, `@mask`."""

MASKS = ("@mask", "attention_mask")
"""Arrays that say which tokens count (not 0), the first that is there."""


def check_inputs(inputs: Any) -> Inputs:
    """The inputs as they may be; lists of tensors become tuples.

    Raises:
        InvalidInputError: they are something else, such as texts, or there are none.
    """
    if isinstance(inputs, list) and inputs and all(_is_array(one) for one in inputs):
        inputs = tuple(inputs)
    if isinstance(inputs, Mapping):
        wrong = next((value for value in inputs.values() if not _is_array(value)), None)
    elif isinstance(inputs, tuple):
        wrong = next((value for value in inputs if not _is_array(value)), None)
    else:
        wrong = None if _is_array(inputs) else inputs
    if wrong is None and not (isinstance(inputs, tuple | Mapping) and not inputs):
        return _checked_rows(inputs)
    raise InvalidInputError(
        "The inputs must be a tensor or an array with one input per row, a tuple of them (by "
        f"position) or a mapping (by the model's argument names). Got {_described(wrong)} "
        "instead." + _what_to_do(wrong)
    )


def _checked_rows(inputs: Inputs) -> Inputs:
    if any(one.ndim == 0 or len(one) == 0 for one in tensors_of(inputs)):
        raise InvalidInputError("The inputs must have rows, one per input. Got none.")
    return inputs


def rows_of(inputs: Inputs) -> Rows:
    """Mask and positions of the rows, if the inputs have some."""
    if not isinstance(inputs, Mapping):
        return Rows()
    found = next((inputs[name] for name in MASKS if name in inputs), None)
    mask = None if found is None or found.ndim != 2 else torch.as_tensor(found) != 0
    aside = {name: value for name, value in inputs.items() if name.startswith(ASIDE)}
    return Rows(mask, {name[1:]: torch.as_tensor(value) for name, value in aside.items()})


def arguments_of(inputs: Inputs) -> Inputs:
    """The inputs without what is not given to the model."""
    if not isinstance(inputs, Mapping):
        return inputs
    return {name: value for name, value in inputs.items() if not name.startswith(ASIDE)}


def call_with(model: nn.Module, inputs: Inputs) -> Any:
    """Calls the model.

    Raises:
        InvalidInputError: it does not take arguments of these names, or not as many.
    """
    given = arguments_of(inputs)
    positional: tuple[Any, ...] = ()
    named: Mapping[str, Any] = {}
    if isinstance(given, Mapping):
        named = given
    else:
        positional = given if isinstance(given, tuple) else (given,)
    _check_signature(model, positional, named)
    return model(*positional, **named)


def n_inputs(inputs: Inputs) -> int:
    """How many inputs there are: the length of the first axis, the same for all tensors."""
    lengths = {len(tensor) for tensor in tensors_of(inputs)}
    if len(lengths) != 1:
        raise InvalidInputError(
            f"All inputs must have the same number of rows. Got {sorted(lengths)} instead."
        )
    return lengths.pop()


def input_rows(model: nn.Module, inputs: Inputs, rows: Any) -> Inputs:
    """The chosen rows of all input tensors, on the model's device and in its precision."""
    own = next(chain(model.parameters(), model.buffers(), [torch.zeros(0)]))

    def take(tensor: Tensor) -> Tensor:
        both = tensor.is_floating_point() and own.is_floating_point()
        return tensor.to(own.device, own.dtype if both else tensor.dtype)

    return _each(take, select_inputs(inputs, rows))


def select_inputs(inputs: Inputs, rows: Any) -> Inputs:
    """The inputs of the given numbers, as tensors."""
    index = np.asarray(rows)

    def take(values: Tensor | np.ndarray) -> Tensor:
        if isinstance(values, np.ndarray):
            return torch.from_numpy(values[index])
        return values[torch.from_numpy(index).to(values.device)]

    return _each(take, inputs)


def tensors_of(inputs: Inputs) -> list[Tensor | np.ndarray]:
    """All input tensors, in their order."""
    if isinstance(inputs, Mapping):
        return list(inputs.values())
    return list(inputs) if isinstance(inputs, tuple) else [inputs]


def _each(change: Callable[[Any], Tensor], inputs: Inputs) -> Inputs:
    if isinstance(inputs, Mapping):
        return {name: change(value) for name, value in inputs.items()}
    return tuple(map(change, inputs)) if isinstance(inputs, tuple) else change(inputs)


def _is_array(value: object) -> bool:
    return isinstance(value, Tensor) or (
        isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
    )


def _described(value: Any) -> str:
    if isinstance(value, list | tuple):
        kinds = sorted({type(one).__name__ for one in value})
        return f"a {type(value).__name__} of {' and '.join(kinds) or 'nothing'}"
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return "nothing" if value is None else f"a {type(value).__name__}"


def _what_to_do(value: Any) -> str:
    texts = isinstance(value, str) or (isinstance(value, np.ndarray) and value.dtype.kind in "USO")
    if texts or (isinstance(value, list | tuple) and any(isinstance(one, str) for one in value)):
        return (
            " Texts must be turned into tokens first: "
            "dict(tokenizer(texts, padding=True, return_tensors='pt'))."
        )
    return " Numbers in lists: numpy.asarray(inputs)." if isinstance(value, list) else ""


def _check_signature(
    model: nn.Module, positional: tuple[Any, ...], named: Mapping[str, Any]
) -> None:
    if "forward" in vars(model):  # nnsight and others put their own in its place
        return
    try:
        signature = inspect.signature(model.forward)
    except (TypeError, ValueError):  # compiled: only the call can tell
        return
    try:
        signature.bind(*positional, **named)
    except TypeError as error:
        names = list(signature.parameters)
        unknown = next((name for name in named if name not in names), None)
        hint = "" if unknown is None else did_you_mean(unknown, names)
        got = ", ".join(named) if named else f"{len(positional)} by position"
        raise InvalidInputError(
            f"The model's forward takes ({', '.join(names)}), and the inputs are {got}: "
            f"{error}.{hint} Arrays that are not for the model must be named with an "
            f"'{ASIDE}' in front."
        ) from error
