"""Forward passes that read and replace units, and leave the model exactly as it was."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from ucad.errors import InvalidInputError, did_you_mean
from ucad.networks.sites import Site, variable_names

__all__ = [
    "Edit",
    "Inputs",
    "Pass",
    "forward",
    "input_rows",
    "n_inputs",
    "resolve_sites",
    "select_inputs",
    "tensors_of",
    "undisturbed",
]

Inputs: TypeAlias = (
    Tensor | np.ndarray | tuple[Tensor | np.ndarray, ...] | Mapping[str, Tensor | np.ndarray]
)
"""What a model is called with: one tensor, several by position, or several by name."""

Edit: TypeAlias = Callable[[int, Tensor], Tensor | None]
"""Given a site's number and the tensor it lives in: the tensor to go on with, or None."""

_PROBE_ROWS = 3
"""Inputs of the pass that learns shapes: more than one, so that the axis of samples can be told."""


class Pass(NamedTuple):
    """What one forward pass gave.

    Attributes:
        output: of the model.
        units: the values of all sites' units, side by side, as they went on (after any edit).
    """

    output: Any
    units: Float[Tensor, "rows units"]


def forward(
    model: nn.Module, inputs: Inputs, sites: Sequence[Site], edit: Edit | None = None
) -> Pass:
    """One pass with forward hooks on the sites' modules, which are gone when it ends.

    What is recorded is copied, so that a later operation in place does not reach it; what an edit
    gives replaces the module's output, and the original is left alone. Gradients flow unless the
    caller turns them off.
    """
    modules = {id(module): module for module in (_module(model, site) for site in sites)}
    values: dict[int, Tensor] = {}
    rows = n_inputs(inputs)

    def hook_of(module: nn.Module) -> Callable[[nn.Module, Any, Any], Any]:
        mine = [(i, site) for i, site in enumerate(sites) if _module(model, site) is module]
        calls = Counter[str]()

        def hook(_module: nn.Module, _arguments: Any, output: Any) -> Any:
            call, calls["so far"] = calls["so far"], calls["so far"] + 1
            for i, site in mine:
                if site.call is None and call > 0:
                    raise _called_twice(site)
                if call == (site.call or 0):
                    output, values[i] = _visit(i, site, output, edit, rows)
            return output

        return hook

    with contextlib.ExitStack() as hooks:
        for module in modules.values():
            handle = module.register_forward_hook(hook_of(module))
            hooks.callback(handle.remove)
        output = _call(model, inputs)
    silent = [site for i, site in enumerate(sites) if i not in values]
    if silent:
        raise _not_called(silent[0])
    _check_order(sites, list(values))
    return Pass(output, torch.cat([values[i] for i in range(len(sites))], dim=1))


@contextlib.contextmanager
def undisturbed(model: nn.Module) -> Iterator[nn.Module]:
    """The model in evaluation mode; afterwards every submodule has its own mode again."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        yield model
    finally:
        for module, mode in modes:
            module.training = mode


def resolve_sites(model: nn.Module, inputs: Inputs, sites: Sequence[Site]) -> tuple[Site, ...]:
    """The sites with all their units, found by a pass over a few inputs.

    Raises:
        InvalidInputError: a module is not there, is not called, is called twice, gives what cannot
            be read, or the sites are not in the order in which the network computes them.
    """
    if not sites:
        raise InvalidInputError("At least one site must be given. Got none.")
    few = input_rows(model, inputs, np.arange(min(_PROBE_ROWS, n_inputs(inputs))))
    resolved = []
    with undisturbed(model), torch.no_grad():
        for site in sites:
            width = forward(model, few, [site]).units.shape[1]
            resolved.append(site if site.units else replace(site, units=tuple(range(width))))
        forward(model, few, sites)
    variable_names(resolved)
    return tuple(resolved)


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


def _visit(i: int, site: Site, output: Any, edit: Edit | None, rows: int) -> tuple[Any, Tensor]:
    tensor = site.pick(output)
    if len(tensor) != rows:
        raise InvalidInputError(
            f"The output of module '{site.module}' must have the inputs on its first axis, {rows} "
            f"here. Got the shape {tuple(tensor.shape)} instead."
        )
    edited = None if edit is None else edit(i, tensor)
    if edited is not None:
        output, tensor = site.put(output, edited), edited
    return output, site.read(tensor).clone()


def _each(change: Callable[[Any], Tensor], inputs: Inputs) -> Inputs:
    if isinstance(inputs, Mapping):
        return {name: change(value) for name, value in inputs.items()}
    return tuple(map(change, inputs)) if isinstance(inputs, tuple) else change(inputs)


def _call(model: nn.Module, inputs: Inputs) -> Any:
    if isinstance(inputs, Mapping):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, tuple) else model(inputs)


def tensors_of(inputs: Inputs) -> list[Tensor | np.ndarray]:
    """All input tensors, in their order."""
    if isinstance(inputs, Mapping):
        return list(inputs.values())
    return list(inputs) if isinstance(inputs, tuple) else [inputs]


def _module(model: nn.Module, site: Site) -> nn.Module:
    try:
        return model.get_submodule(site.module)
    except AttributeError:
        names = [name for name, _ in model.named_modules(remove_duplicate=False) if name]
        raise InvalidInputError(
            f"The model has no module '{site.module}'.{did_you_mean(site.module, names)} "
            f"Its modules are {', '.join(names[:12])}{', …' * (len(names) > 12)}."
        ) from None


def _called_twice(site: Site) -> InvalidInputError:
    return InvalidInputError(
        f"The module '{site.module}' is called more than once in a forward pass: say which call is "
        f"meant, e.g. Site('{site.module}', call=0)."
    )


def _not_called(site: Site) -> InvalidInputError:
    times = "" if site.call is None else f" often enough for call {site.call}"
    return InvalidInputError(
        f"The forward pass does not call the module '{site.module}'{times}. "
        "Containers and compiled modules may not be called: name one that is."
    )


def _check_order(sites: Sequence[Site], seen: list[int]) -> None:
    """Layers follow the sites' order, and an effect must not come before its cause."""
    if seen != sorted(seen):
        names = ", ".join(f"'{sites[i].name}'" for i in seen)
        raise InvalidInputError(
            f"Sites must be given in the order in which the network computes them: {names}."
        )
