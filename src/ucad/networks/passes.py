"""Forward passes that read and replace units, and leave the model exactly as it was."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.modules.linear import NonDynamicallyQuantizableLinear

from ucad.errors import InvalidInputError
from ucad.networks.fused import is_fused, output_units, step_site, stepwise
from ucad.networks.inputs import (
    Inputs,
    call_with,
    input_rows,
    n_inputs,
    rows_of,
    select_inputs,
    tensors_of,
)
from ucad.networks.modules import find_module
from ucad.networks.places import Rows, pick, put, read, write
from ucad.networks.sites import Site, variable_names

__all__ = [
    "Clamped",
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


class Clamped(NamedTuple):
    """New values of a site's units, some of which are set rather than moved.

    Attributes:
        values: one per row and unit.
        which: where True, all that is pooled for a unit is set to the value (see `Site`).
    """

    values: Float[Tensor, "rows units"]
    which: Bool[Tensor, "rows units"]


Edit: TypeAlias = Callable[[int, Tensor], Tensor | Clamped | None]
"""Given a site's number and its units' values, rows × units: the values to go on with, or None."""

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

    What is recorded is copied, so that a later operation in place does not reach it; where an edit
    gives new values, a changed copy of the module's output (or input) goes on in its place.
    Gradients flow unless the caller turns them off.
    """
    visit = _Visit(model, sites, edit, n_inputs(inputs), rows_of(inputs))
    with visit.hooks():
        output = call_with(model, inputs)
    values = visit.values
    silent = [site for i, site in enumerate(sites) if i not in values]
    if silent:
        raise _not_called(silent[0], find_module(model, silent[0].module))
    _check_order(sites, list(values))
    return Pass(output, torch.cat([values[i] for i in range(len(sites))], dim=1))


class _Visit:
    """The hooks of one pass, and the values they saw, by the number of the site."""

    def __init__(
        self, model: nn.Module, sites: Sequence[Site], edit: Edit | None, n_rows: int, rows: Rows
    ) -> None:
        self.sites, self.edit, self.n_rows, self.rows = sites, edit, n_rows, rows
        self.modules = [find_module(model, site.module) for site in sites]
        self.values: dict[int, Tensor] = {}

    @contextlib.contextmanager
    def hooks(self) -> Iterator[None]:
        """Hooks on inputs and outputs, which are gone afterwards."""
        with contextlib.ExitStack() as stack:
            for module in {id(module): module for module in self.modules}.values():
                mine = [i for i, own in enumerate(self.modules) if own is module]
                if is_fused(module):
                    mine = self._at_steps(stack, module, mine)
                before = [i for i in mine if self.sites[i].is_input]
                after = [i for i in mine if not self.sites[i].is_input]
                if before:
                    hook = self._input_hook(before)
                    stack.callback(module.register_forward_pre_hook(hook, with_kwargs=True).remove)
                if after:
                    stack.callback(module.register_forward_hook(self._output_hook(after)).remove)
            yield

    def _at_steps(
        self, stack: contextlib.ExitStack, module: nn.RNNBase, mine: Sequence[int]
    ) -> list[int]:
        """Has a recurrent module show its steps, and gives the sites that are elsewhere."""
        sites = {i: step_site(self.sites[i], module) for i in mine}
        steps = {i: site for i, site in sites.items() if site.call is not None}

        def visit(step: int, state: Tensor) -> Tensor:
            for i, site in steps.items():
                if site.call == step:
                    own = output_units(site, module, state.shape[1])
                    part = self._noted(i, Site(site.module, units=site.units), state[:, own])
                    state = torch.cat([state[:, : own.start], part, state[:, own.stop :]], dim=1)
            return state

        if steps:
            stack.enter_context(stepwise(module, list(steps.values()), visit))
        return [i for i in mine if i not in steps]

    def _output_hook(self, mine: Sequence[int]) -> Callable[[nn.Module, Any, Any], Any]:
        calls = Counter[str]()

        def hook(_module: nn.Module, _arguments: Any, output: Any) -> Any:
            call, calls["so far"] = calls["so far"], calls["so far"] + 1
            for i in mine:
                if _is_meant(self.sites[i], call):
                    output = self._visited(i, output)
            return output

        return hook

    def _input_hook(self, mine: Sequence[int]) -> Callable[..., Any]:
        calls = Counter[str]()

        def hook(_module: nn.Module, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
            call, calls["so far"] = calls["so far"], calls["so far"] + 1
            for i in mine:
                if not _is_meant(self.sites[i], call):
                    continue
                if isinstance(self.sites[i].output, str):
                    named = self._visited(i, named)
                elif self.sites[i].output is None and positional:
                    positional = (self._visited(i, positional[0]), *positional[1:])
                elif positional:
                    positional = self._visited(i, positional)
                else:
                    named = self._visited(i, named)
            return positional, named

        return hook

    def _visited(self, i: int, value: Any) -> Any:
        """What goes on instead of a module's output or input, whose units are noted."""
        site = self.sites[i]
        tensor = pick(site, value)
        _check_axes(site, self.modules[i], tensor)
        changed = self._noted(i, site, tensor)
        return value if changed is tensor else put(site, value, changed)

    def _noted(self, i: int, site: Site, tensor: Tensor) -> Tensor:
        """The tensor that goes on, whose units are noted: the same one if nothing is replaced."""
        if len(tensor) != self.n_rows:
            raise InvalidInputError(
                f"The output of module '{site.module}' must have the inputs on its first axis, "
                f"{self.n_rows} here. Got the shape {tuple(tensor.shape)} instead."
            )
        values = read(site, tensor, self.rows).clone()
        new = None if self.edit is None else self.edit(i, values)
        if new is not None:
            new, which = new if isinstance(new, Clamped) else (new, None)
            tensor = write(site, tensor, new, self.rows, which)
            values = read(site, tensor, self.rows).clone()
        self.values[i] = values
        return tensor


def _is_meant(site: Site, call: int) -> bool:
    if site.call is None and call > 0:
        raise _called_twice(site)
    return call == (site.call or 0)


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

    Steps of fused recurrent modules are written `module#step` (`step_site`).
    """
    if not sites:
        raise InvalidInputError("At least one site must be given. Got none.")
    few = input_rows(model, inputs, np.arange(min(_PROBE_ROWS, n_inputs(inputs))))
    sites = [step_site(site, find_module(model, site.module)) for site in sites]
    resolved = []
    with undisturbed(model), torch.no_grad():
        for site in sites:
            width = forward(model, few, [site]).units.shape[1]
            resolved.append(site if site.units else replace(site, units=tuple(range(width))))
        forward(model, few, sites)
    variable_names(resolved)
    return tuple(resolved)


def _check_axes(site: Site, module: nn.Module, tensor: Tensor) -> None:
    """Refuses to take the channels of a convolution over time for tokens."""
    pooled = site.pooling is not None and site.pooling.over_tokens(tensor.ndim)
    if pooled and isinstance(module, _CHANNELS_SECOND):
        raise InvalidInputError(
            f"The module '{site.module}' gives (rows, channels, length), {tuple(tensor.shape)}, "
            f"and ':{site.pooling}' goes over the second axis of three, as over tokens. "
            f"Write ':channel-{site.pooling}' to pool every channel over its length."
        )


_CHANNELS_SECOND = (nn.Conv1d, nn.BatchNorm1d, nn.MaxPool1d, nn.AvgPool1d, nn.ConvTranspose1d)


def _called_twice(site: Site) -> InvalidInputError:
    return InvalidInputError(
        f"The module '{site.module}' is called more than once in a forward pass: say which call is "
        f"meant, e.g. Site('{site.module}', call=0)."
    )


def _not_called(site: Site, module: nn.Module) -> InvalidInputError:
    if isinstance(module, NonDynamicallyQuantizableLinear):
        return InvalidInputError(
            f"The forward pass does not call the module '{site.module}': nn.MultiheadAttention "
            "computes all heads in one step. Name the attention module itself, '/0', or a model "
            "whose heads go through a projection of their own."
        )
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
