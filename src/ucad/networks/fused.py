"""Fused recurrent modules (`nn.RNN`, `nn.GRU`, `nn.LSTM`): the state after a step as a site."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ucad.errors import InvalidInputError
from ucad.networks.sites import Site

__all__ = ["is_fused", "output_units", "step_site", "stepwise"]

VisitState: TypeAlias = Callable[[int, Tensor], Tensor | None]
"""Given a step and the state after it, rows × units: the state to go on with, or None."""

_State: TypeAlias = Tensor | tuple[Tensor, Tensor]


def is_fused(module: nn.Module) -> TypeGuard[nn.RNNBase]:
    """Whether a module runs over all time steps in one call.

    >>> is_fused(nn.GRU(2, 3)), is_fused(nn.GRUCell(2, 3))
    (True, False)
    """
    return isinstance(module, nn.RNNBase)


def step_site(site: Site, module: nn.Module) -> Site:
    """The site as `module#step`, or `module#step/0` for the state that the module gives as output.

    `gru#3` is the whole state after step 3: of every layer, the lowest first, and of an LSTM the
    hidden state and then the cell of each. `gru@3` means the same; `gru/0@3`, the output at step
    3, is the part of the state that is given as output, and goes on into step 4 as well.

    >>> step_site(Site("gru", position=3), nn.GRU(2, 4)).name
    'gru#3'
    >>> step_site(Site("gru", output=0, position=3), nn.GRU(2, 4)).name
    'gru#3/0'
    """
    if not is_fused(module) or site.is_input or site.pooling is not None:
        return site
    if isinstance(site.position, int) and site.position >= 0 and site.output in (None, 0):
        site = replace(site, call=site.position, position=None)
    if site.call is None and (site.position is not None or site.output in (None, 0)):
        raise InvalidInputError(
            f"The module '{site.module}' ({type(module).__name__}) runs over all steps: name one, "
            f"counted from 0, as '{site.module}#0', for the state after that step."
        )
    if site.call is not None and (module.bidirectional or site.output not in (None, 0)):
        why = "reads from both ends" if module.bidirectional else "has one state per step"
        raise InvalidInputError(
            f"The module '{site.module}' {why}, so '{site.name}' is no state: give a module that "
            f"runs forward, and '{site.module}#{site.call}'."
        )
    return site


def output_units(site: Site, module: nn.RNNBase, width: int) -> slice:
    """Which columns of the whole state a site is in: all, or the hidden state of the last layer."""
    if site.output is None:
        return slice(0, width)
    cell = int(module.hidden_size) if isinstance(module, nn.LSTM) else 0
    hidden = int(module.proj_size) or int(module.hidden_size)
    return slice(width - cell - hidden, width - cell)


@contextlib.contextmanager
def stepwise(module: nn.RNNBase, sites: Sequence[Site], visit: VisitState) -> Iterator[None]:
    """The module run from one of the sites' steps to the next, which `visit` sees and may change.

    Between them it is called as it is, so nothing about its arithmetic changes. Afterwards it is
    what it was.
    """
    own = module.forward
    steps = sorted({site.call for site in sites if site.call is not None})
    calls = 0

    def forward(sequence: Any, state: Any = None) -> tuple[Tensor, _State]:
        nonlocal calls
        calls += 1
        if calls > 1 or not isinstance(sequence, Tensor) or sequence.ndim != 3:
            got = "more than one call" if calls > 1 else _described(sequence)
            raise InvalidInputError(
                "A recurrent module with sites at its steps must be called once, with a tensor of "
                f"rows, steps and features. Got {got}."
            )
        return _run(module, own, (sequence, state), steps, visit)

    had = "forward" in vars(module)
    module.forward = forward
    try:
        yield
    finally:
        if had:
            module.forward = own
        else:
            del module.forward


def _run(
    module: nn.RNNBase,
    own: Callable[..., Any],
    given: tuple[Tensor, Any],
    steps: Sequence[int],
    visit: VisitState,
) -> tuple[Tensor, _State]:
    sequence, state = given
    axis = 1 if module.batch_first else 0
    length, start, outputs = sequence.shape[axis], 0, []
    if steps[-1] >= length:
        raise InvalidInputError(
            f"The sequences have {length} steps, 0 to {length - 1}. Got a site at step {steps[-1]}."
        )
    for end in (*steps, length - 1):
        if end < start:
            continue
        output, state = own(sequence.narrow(axis, start, end + 1 - start), state)
        changed = visit(end, _flat(state)) if end in steps else None
        if changed is not None:
            state = _unflat(changed, state)
            last = _hidden(state)[-1].unsqueeze(axis)
            output = torch.cat([output.narrow(axis, 0, end - start), last], dim=axis)
        outputs.append(output)
        start = end + 1
    return torch.cat(outputs, dim=axis), state


def _flat(state: _State) -> Float[Tensor, "rows units"]:
    """The states of all layers side by side, rows × units."""
    parts = state if isinstance(state, tuple) else (state,)
    layers = range(len(parts[0]))
    return torch.cat([part[layer] for layer in layers for part in parts], dim=1)


def _unflat(flat: Float[Tensor, "rows units"], like: _State) -> _State:
    parts = like if isinstance(like, tuple) else (like,)
    widths = [part.shape[2] for _ in range(len(parts[0])) for part in parts]
    pieces = torch.split_with_sizes(flat, widths, dim=1)
    made = tuple(torch.stack(pieces[k :: len(parts)]) for k in range(len(parts)))
    return (made[0], made[1]) if isinstance(like, tuple) else made[0]


def _hidden(state: _State) -> Tensor:
    return state[0] if isinstance(state, tuple) else state


def _described(value: Any) -> str:
    return f"the shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
