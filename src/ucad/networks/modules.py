"""Modules by name, also when something has been put around the model or taken off it."""

from __future__ import annotations

from torch import nn

from ucad.errors import InvalidInputError, did_you_mean

__all__ = ["find_module"]

MAX_LISTED = 12
"""Names of modules that a message lists: about what a line of a terminal holds."""


def find_module(model: nn.Module, name: str) -> nn.Module:
    """The module of a name, or the only one that is called so inside (or outside) a wrapper.

    >>> encoder = nn.ModuleDict({"encoder": nn.ModuleDict({"layer": nn.Identity()})})
    >>> wrapped = nn.Sequential(encoder, nn.Linear(3, 2))
    >>> find_module(wrapped, "encoder.layer") is encoder["encoder"]["layer"]
    True

    Raises:
        InvalidInputError: there is none, or there are several.
    """
    try:
        return model.get_submodule(name)
    except AttributeError:
        pass
    named = {n: module for n, module in model.named_modules(remove_duplicate=False) if n}
    inside = {n: module for n, module in named.items() if n.endswith(f".{name}")}
    found = inside or _without_wrapper(named, name)
    if len({id(module) for module in found.values()}) == 1:
        return next(iter(found.values()))
    if found:
        raise InvalidInputError(
            f"The model has several modules that end in '{name}': {', '.join(found)}. "
            "Write out the one that is meant."
        )
    names = list(named)
    raise InvalidInputError(
        f"The model has no module '{name}'.{did_you_mean(name, names)} "
        f"Its modules are {', '.join(names[:MAX_LISTED])}{', …' * (len(names) > MAX_LISTED)}."
    )


def _without_wrapper(named: dict[str, nn.Module], name: str) -> dict[str, nn.Module]:
    """The module that has the longest end of a name for its own name, which is no number alone.

    A number says too little: every list of layers has a 1.
    """
    parts = name.split(".")
    for start in range(1, len(parts)):
        rest = ".".join(parts[start:])
        if rest in named and not rest.isdigit():
            return {rest: named[rest]}
    return {}
