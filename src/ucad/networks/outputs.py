"""What counts of a model's output: a tensor, wherever it lies in what the model gives."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from torch import Tensor

from ucad.errors import InvalidInputError
from ucad.networks.places import elements

__all__ = ["ReadOutput", "output_reader", "tensor_output"]

ReadOutput: TypeAlias = Callable[[Any], Tensor] | str
"""A function from what the model gives to a tensor, or what `output_reader` takes."""

LOGITS = "logits"
"""The element that is read of an output with several, where it has one of this name."""

_READER = re.compile(r"([^@]*)(?:@(-?\d+))?")


def tensor_output(output: Any) -> Tensor:
    """The model's output itself, its `logits`, or the only tensor of floating-point numbers in it.

    >>> import torch
    >>> tensor_output({"logits": torch.ones(2, 1), "hidden": torch.zeros(2, 3)}).shape
    torch.Size([2, 1])

    Raises:
        InvalidInputError: there is none, or there are several.
    """
    if isinstance(output, Tensor):
        return output
    parts = elements(output) or {}
    found = {
        key: part
        for key, part in parts.items()
        if isinstance(part, Tensor) and part.is_floating_point()
    }
    if isinstance(found.get(LOGITS), Tensor):
        return found[LOGITS]
    if len(found) == 1:
        return next(iter(found.values()))
    what = f"tensors {', '.join(map(str, found))}" if found else f"a {type(output).__name__}"
    example = next(iter(found), LOGITS)
    raise InvalidInputError(
        "The model must give one tensor, or 'read_output' (--read-output) must say which one "
        f"counts, e.g. '{example}', or '{example}@-1' for its last token. Got {what}."
    )


def output_reader(read_output: ReadOutput) -> Callable[[Any], Tensor]:
    """The function that a text stands for: keys or numbers with / between, then @token.

    >>> import torch
    >>> output_reader("0/logits@-1")(({"logits": torch.ones(2, 5, 3)},)).shape
    torch.Size([2, 3])
    """
    if not isinstance(read_output, str):
        return read_output
    found = _READER.fullmatch(read_output)
    if found is None:
        raise InvalidInputError(
            "'read_output' must be keys or numbers with / between, then @token, as 'logits@-1'. "
            f"Got '{read_output}' instead."
        )
    keys = [key for key in found.group(1).split("/") if key]
    token = None if found.group(2) is None else int(found.group(2))

    def read(output: Any) -> Tensor:
        for key in keys:
            output = _part(output, key, read_output)
        tensor = tensor_output(output)
        if token is None:
            return tensor
        if tensor.ndim < 3 or not -tensor.shape[1] <= token < tensor.shape[1]:
            raise InvalidInputError(
                f"'{read_output}' must be read from a tensor of shape (rows, tokens, …) with a "
                f"token {token}. Got {tuple(tensor.shape)} instead."
            )
        return tensor[:, token]

    return read


def _part(output: Any, key: str, text: str) -> Any:
    parts = elements(output)
    if parts is None:
        raise InvalidInputError(
            f"'{text}' cannot be read: the output has no element '{key}', it is a "
            f"{type(output).__name__}."
        )
    named: dict[str, Any] = {str(name): part for name, part in parts.items()}
    if key not in named:
        raise InvalidInputError(
            f"'{text}' cannot be read: the output has no element '{key}', it has "
            f"{', '.join(named)}."
        )
    return named[key]
