"""`Rest`: the part of a network that comes after a site, run without what comes before it."""

from __future__ import annotations

import contextlib
import copy
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ucad.errors import UcadError
from ucad.networks.activation import Activation
from ucad.networks.fused import is_fused
from ucad.networks.inputs import Inputs, input_rows, n_inputs
from ucad.networks.modules import find_module
from ucad.networks.passes import forward, undisturbed
from ucad.networks.sites import Site
from ucad.networks.subject import Subject

__all__ = ["Rest", "SiteReadout"]

CHECKED_ROWS = 4
"""Inputs on which the rest must give what the whole network gives, units replaced at random."""

TOLERANCE = 1e-5
"""How far the two may be apart, relative to the largest output: they run the same arithmetic."""

MAX_BYTES = 500_000_000
"""Of kept outputs, for one set of inputs: what a computer with 4 GiB has to spare. Beyond that the
whole network is run."""

MAX_ROWS = 256
"""Rows in one pass of a readout: enough for a pass to be fast, few enough to be kept."""

Run = Callable[[Float[Tensor, "rows units"]], Tensor]
"""From the units of the site, for fixed inputs, to what counts of the network's output."""


class Rest:
    """What a network computes after one of its sites.

    With the inputs fixed, only the units of the site change from one call to the next. So modules
    that are done before the site is reached are run once, and give the same output from then on: of
    an encoder with a head, only the head is left. A network that keeps state outside its modules,
    or draws at random, is found out by comparing a few inputs, and is run as a whole.

    Attributes:
        is_apart: whether the part after the site can be run alone.
    """

    def __init__(self, subject: Subject, site: int) -> None:
        self.subject, self.site = subject, site
        self._bytes_per_row = 0.0
        rows = np.arange(min(CHECKED_ROWS, subject.n_inputs))
        self.is_apart = self._agrees(input_rows(subject.model, subject.inputs, rows))

    def on(self, inputs: Inputs) -> Run:
        """The rest for these inputs, as `input_rows` gives them; what comes before is run now."""
        subject, site = self.subject, self.site
        if not self.is_apart or self._bytes_per_row * n_inputs(inputs) > MAX_BYTES:
            return self._whole(inputs)
        done, _ = _done_before(subject.model, inputs, subject.sites[site])
        return self._replayed(inputs, done)

    def decisions(self, inputs: Inputs) -> Callable[[Tensor], Int[np.ndarray, " rows"]]:
        """What the network decides on these inputs, by the units of the site."""
        model, numbers = self.subject.model, np.arange(n_inputs(inputs))
        starts = range(0, len(numbers), MAX_ROWS)
        batches = [input_rows(model, inputs, numbers[s : s + MAX_ROWS]) for s in starts]
        fits = self._bytes_per_row * len(numbers) <= MAX_BYTES
        runs = [self.on(one) if fits else self._whole(one) for one in batches]

        def decide(values: Tensor) -> Int[np.ndarray, " rows"]:
            with torch.no_grad():
                parts = torch.split(values, MAX_ROWS)
                outputs = [run(part) for run, part in zip(runs, parts, strict=True)]
            return np.concatenate([self.subject.decide(one).cpu().numpy() for one in outputs])

        return decide

    def _whole(self, inputs: Inputs) -> Run:
        return lambda values: self.subject.output(inputs, self.site, values)

    def _replayed(self, inputs: Inputs, done: list[_Done]) -> Run:
        def run(values: Tensor) -> Tensor:
            with _answered(done):
                return self.subject.output(inputs, self.site, values)

        return run

    def _agrees(self, inputs: Inputs) -> bool:
        subject, site = self.subject, self.site
        try:
            done, units = _done_before(subject.model, inputs, subject.sites[site])
            self._bytes_per_row = sum(_bytes(one.output) for one in done) / n_inputs(inputs)
            noise = torch.randn(units.shape, generator=torch.Generator().manual_seed(0)).to(units)
            changed = units + noise * units.square().mean().sqrt()
            with torch.no_grad():
                alone = self._replayed(inputs, done)(changed)
                whole = subject.output(inputs, site, changed)
        except (UcadError, RuntimeError, TypeError, ValueError, AttributeError, LookupError):
            return False  # such as outputs that cannot be copied: the whole network still runs
        off = float((alone - whole).abs().max()) if alone.shape == whole.shape else float("inf")
        return off <= TOLERANCE * float(whole.abs().max())


class SiteReadout:
    """The map from a site's units to the network's output, for units that determine it.

    The rest of the network is run on the first input, in the place of which any other would do.
    Gradients flow.
    """

    def __init__(self, rest: Rest, act: Activation) -> None:
        self.rest, self.act = rest, act
        self._runs: dict[int, Run] = {}

    def __call__(self, values: Float[Tensor, "rows units"]) -> Float[Tensor, "rows outputs"]:
        """The network's output for these units, one row for each of theirs."""
        parts = [self._run(len(part))(self.act(part)) for part in torch.split(values, MAX_ROWS)]
        return torch.cat(parts).reshape(len(values), -1)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_runs": {}}  # what is kept of passes is made again

    def _run(self, n_rows: int) -> Run:
        if n_rows not in self._runs:
            subject, first = self.rest.subject, np.zeros(n_rows, dtype=np.int64)
            self._runs[n_rows] = self.rest.on(input_rows(subject.model, subject.inputs, first))
        return self._runs[n_rows]


@dataclass(frozen=True, eq=False)
class _Done:
    """A call that ended before the site was reached, and not within another such call."""

    module: nn.Module
    output: Any


@dataclass(eq=False)
class _Watch:
    """Notes the calls of one pass until it reaches a site."""

    target: nn.Module
    is_before: bool
    call: int
    done: list[_Done] = field(default_factory=list)
    calls: int = 0
    reached: bool = False

    def watched(self, module: nn.Module, own: Callable[..., Any]) -> Callable[..., Any]:
        def run(*positional: Any, **named: Any) -> Any:
            is_target = module is self.target and self.calls == self.call
            self.calls += module is self.target
            self.reached |= is_target and self.is_before
            start = len(self.done)
            output = own(*positional, **named)
            if not self.reached:
                self.done[start:] = [_Done(module, copy.deepcopy(output))]
                self.reached = is_target
            return output

        return run


def _done_before(
    model: nn.Module, inputs: Inputs, site: Site
) -> tuple[list[_Done], Float[Tensor, "rows units"]]:
    """The calls that are over when a pass reaches the site, and the site's units."""
    target = find_module(model, site.module)
    fused = is_fused(target)  # its steps are sites within its only call
    watch = _Watch(target, site.is_input or fused, 0 if fused else site.call or 0)
    inner = [module for module in model.modules() if module is not model]
    with torch.no_grad(), undisturbed(model), _forwards(inner, watch.watched):
        passed = forward(model, inputs, [site])
    return watch.done, passed.units


@contextlib.contextmanager
def _answered(done: list[_Done]) -> Iterator[None]:
    """Calls that were noted give a copy of their output; later calls are run."""
    known: dict[nn.Module, deque[Any]] = {}
    for one in done:
        known.setdefault(one.module, deque()).append(one.output)

    def answering(module: nn.Module, own: Callable[..., Any]) -> Callable[..., Any]:
        def run(*positional: Any, **named: Any) -> Any:
            mine = known[module]
            return copy.deepcopy(mine.popleft()) if mine else own(*positional, **named)

        return run

    with _forwards(list(known), answering):
        yield


@contextlib.contextmanager
def _forwards(
    modules: list[nn.Module], made: Callable[[nn.Module, Callable[..., Any]], Callable[..., Any]]
) -> Iterator[None]:
    """Other forwards for some modules, whose hooks still run; afterwards they have their own."""
    with contextlib.ExitStack() as stack:
        for module in modules:
            own, had = module.forward, "forward" in vars(module)
            module.forward = made(module, own)
            stack.callback(_restore, module, own if had else None)
        yield


def _restore(module: nn.Module, own: Callable[..., Any] | None) -> None:
    if own is None:
        del module.forward
    else:
        module.forward = own


def _bytes(value: Any) -> int:
    """Of all tensors in a module's output."""
    if isinstance(value, Tensor):
        return value.nbytes
    if isinstance(value, Mapping):
        return sum(map(_bytes, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_bytes, value))
    return sum(map(_bytes, vars(value).values())) if hasattr(value, "__dict__") else 0
