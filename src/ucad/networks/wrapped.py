"""Models inside wrappers: nnsight's, where it is installed."""

from __future__ import annotations

import sys
from typing import Any

from torch import nn

from ucad.errors import InvalidInputError

__all__ = ["unwrapped"]


def unwrapped(model: Any) -> nn.Module:
    """The torch module itself, also if nnsight wraps it (`nnsight.NNsight(model)`).

    nnsight is never imported here: who passes one of its models has done so.

    >>> unwrapped(nn.Identity())
    Identity()
    """
    nnsight = sys.modules.get("nnsight")
    if nnsight is not None and isinstance(model, nnsight.NNsight):
        model = model._module
    if not isinstance(model, nn.Module):
        raise InvalidInputError(
            f"The model must be a torch.nn.Module, or one wrapped by nnsight. "
            f"Got {type(model).__name__} instead."
        )
    return model
