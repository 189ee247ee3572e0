"""Places in tensors: where the units of a site are read, and how they are replaced."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ucad.errors import InvalidInputError, did_you_mean
from ucad.networks.sites import Pooling, Site

__all__ = ["LAST", "Rows", "check_shape", "elements", "pick", "put", "read", "write"]

LAST = "last"
"""The position that stands for the last token that the mask keeps."""


@dataclass(frozen=True, eq=False)
class Rows:
    """What differs from row to row of a batch, and is no unit.

    Attributes:
        mask: True at the tokens that count; None if all do.
        positions: a token for every row, by name.
    """

    mask: Bool[Tensor, "rows tokens"] | None = None
    positions: Mapping[str, Tensor] = field(default_factory=dict)

    def position(self, name: str, n_rows: int, n_tokens: int) -> Tensor:
        """The token of every row, 0 to n_tokens − 1."""
        found = self.positions.get(name)
        if found is None and name != LAST:
            raise InvalidInputError(
                f"A position per row '@{name}' must be an array of the inputs named '@{name}', "
                f"with one whole number per input.{did_you_mean(name, [LAST, *self.positions])}"
            )
        if found is None:
            found = torch.full((n_rows,), n_tokens - 1)
            if self.mask is not None:
                numbers = torch.arange(n_tokens, device=self.mask.device)
                found = torch.where(self.tokens(n_tokens), numbers, 0).amax(dim=1)
        found = torch.where(found < 0, found + n_tokens, found).long()
        if not bool(((found >= 0) & (found < n_tokens)).all()):
            raise InvalidInputError(
                f"The positions '@{name}' must be tokens, −{n_tokens} to {n_tokens - 1}. "
                f"Got {int(found.min())} to {int(found.max())} instead."
            )
        return found

    def tokens(self, n_tokens: int) -> Bool[Tensor, "rows tokens"]:
        """The mask, which must have as many tokens as the output of the module."""
        assert self.mask is not None, "only asked for where there is one"
        if self.mask.shape[1] != n_tokens:
            raise InvalidInputError(
                f"The mask of the inputs must have as many tokens as the module's output, "
                f"{n_tokens}. Got {self.mask.shape[1]} instead."
            )
        return self.mask


def elements(value: Any) -> dict[int | str, Any] | None:
    """The parts of a tuple, a list, a mapping or a dataclass by number or name; None for others.

    >>> elements((1, 2)), elements({"a": 3}), elements(4)
    ({0: 1, 1: 2}, {'a': 3}, None)
    """
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | list):
        return dict(enumerate(value))
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: getattr(value, part.name) for part in fields(value)}
    return None


def pick(site: Site, value: Any) -> Tensor:
    """The tensor of a module's output or input that the site lives in, or a refusal.

    A tuple of tensors of rows × units, such as the hidden state and the cell of an `nn.LSTMCell`,
    is one state: its parts side by side. Of parts of which one is a tensor, that one is meant.
    """
    if site.output is None and _is_state(value):
        value = torch.cat(list(value), dim=1)
    site = _with_only_tensor(site, value)
    parts = elements(value)
    if parts is not None or site.output is not None:
        value = _element(site, value, parts)
    if not isinstance(value, Tensor) or not value.is_floating_point():
        kind = f"{value.dtype}" if isinstance(value, Tensor) else type(value).__name__
        raise InvalidInputError(
            f"The module '{site.module}' must {'take' if site.is_input else 'give'} a tensor of "
            f"floating-point numbers. Got {kind} instead."
        )
    check_shape(site, value)
    return value


def put(site: Site, value: Any, tensor: Tensor) -> Any:
    """The module's output or input with the site's tensor replaced, as a new object."""
    site = site if _is_state(value) else _with_only_tensor(site, value)
    if site.output is None:
        if not _is_state(value):
            return tensor
        widths = [part.shape[1] for part in value]
        return _like(value, list(torch.split_with_sizes(tensor, widths, dim=1)))
    if isinstance(value, tuple | list):
        parts = list(value)
        parts[int(site.output)] = tensor
        return _like(value, parts)
    if not isinstance(value, Mapping):
        return replace(value, **{str(site.output): tensor})
    changed: Any = copy.copy(value)
    changed[site.output] = tensor
    return changed


def _like(value: Any, parts: list[Any]) -> Any:
    """A tuple or list of the same type with other parts."""
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def _with_only_tensor(site: Site, value: Any) -> Site:
    """The site at the only tensor among the parts, as of (hidden, None), where it names no part."""
    parts = elements(value)
    if site.output is not None or parts is None:
        return site
    tensors = [key for key, part in parts.items() if isinstance(part, Tensor)]
    return replace(site, output=tensors[0]) if len(tensors) == 1 else site


def _is_state(value: Any) -> bool:
    """Whether it is a tuple or a list of tensors that can stand side by side."""
    return (
        isinstance(value, tuple | list)
        and len(value) > 0
        and all(isinstance(p, Tensor) and p.is_floating_point() and p.ndim == 2 for p in value)
        and len({(len(part), part.dtype) for part in value}) == 1
    )


def read(site: Site, tensor: Tensor, rows: Rows) -> Float[Tensor, "rows units"]:
    """The values of the units, rows × units."""
    if site.pooling is None:
        values = _places(site, tensor, rows)
    elif site.pooling.over_tokens(tensor.ndim):
        values = _over_tokens(site.pooling, tensor, rows)
    else:
        maps = tensor.flatten(start_dim=2)
        values = maps.mean(dim=2) if site.pooling.is_mean else maps.amax(dim=2)
    return values[:, _columns(site, values.shape[1])]


def write(
    site: Site,
    tensor: Tensor,
    values: Float[Tensor, "rows units"],
    rows: Rows,
    clamped: Bool[Tensor, "rows units"] | None = None,
) -> Tensor:
    """A copy of the tensor in which the units have the given values.

    Args:
        site: whose units.
        tensor: what the module gave.
        values: one per row and unit.
        rows: mask and positions.
        clamped: where True, all that is pooled for a unit is set; elsewhere it is moved.
    """
    changed, values = tensor.clone(), values.to(tensor)
    if site.pooling is None:
        return _written_at_places(site, changed, values, rows)
    over_tokens = site.pooling.over_tokens(tensor.ndim)
    # Units on the second axis, what is pooled after it.
    maps = changed.transpose(1, 2) if over_tokens else changed
    units = _columns(site, maps.shape[1])
    to_map = (..., *(None,) * (tensor.ndim - 2))
    moved = maps[:, units] + (values - read(site, tensor, rows))[to_map]
    if clamped is not None:
        moved = torch.where(clamped[to_map], values[to_map], moved)
    if over_tokens and rows.mask is not None:
        moved = torch.where(rows.tokens(tensor.shape[1])[:, None], moved, maps[:, units])
    maps[:, units] = moved
    return changed


def check_shape(site: Site, tensor: Tensor) -> None:
    """Refuses a tensor in which the site cannot be."""
    shape = tuple(tensor.shape)
    if site.pooling is not None:
        wanted, fits = "(rows, tokens, features) or (rows, channels, …) to pool", tensor.ndim >= 3
    elif site.position is not None:
        wanted = f"(rows, tokens, features) with a token {site.position}"
        fits = tensor.ndim == 3
        if isinstance(site.position, int):
            fits = fits and -shape[1] <= site.position < shape[1]
    else:
        wanted = "(rows, units), or the site a 'position' (@-1) or a 'pooling' (:mean)"
        fits = tensor.ndim < 3
    if not fits or tensor.ndim == 0:
        what = "input" if site.is_input else "output"
        raise InvalidInputError(
            f"The {what} of module '{site.module}' must have the shape {wanted}. "
            f"Got {shape} instead."
        )
    _check_width(site, _width(site, tensor))


def _check_width(site: Site, width: int) -> None:
    if site.head is not None:
        if width % site.head[1]:
            raise InvalidInputError(
                f"The {width} features at site '{site.name}' must be a multiple of the number of "
                f"heads. Got {site.head[1]} instead."
            )
        width //= site.head[1]
    if site.units is not None and max(site.units, default=0) >= width:
        raise InvalidInputError(
            f"The 'units' of site '{site.name}' must be below {width}. "
            f"Got {max(site.units)} instead."
        )


def _width(site: Site, tensor: Tensor) -> int:
    if tensor.ndim == 1:
        return 1
    pooled_tokens = site.pooling is not None and site.pooling.over_tokens(tensor.ndim)
    return int(tensor.shape[2 if pooled_tokens or site.position is not None else 1])


def _columns(site: Site, width: int) -> list[int]:
    """Which of all features are the site's units."""
    first, size = 0, width
    if site.head is not None:
        size = width // site.head[1]
        first = site.head[0] * size
    return [first + unit for unit in (range(size) if site.units is None else site.units)]


def _places(site: Site, tensor: Tensor, rows: Rows) -> Float[Tensor, "rows features"]:
    if tensor.ndim == 1:
        return tensor[:, None]
    if site.position is None:
        return tensor
    if isinstance(site.position, int):
        return tensor[:, site.position]
    tokens = rows.position(site.position, len(tensor), tensor.shape[1]).to(tensor.device)
    return tensor[torch.arange(len(tensor), device=tensor.device), tokens]


def _written_at_places(site: Site, changed: Tensor, values: Tensor, rows: Rows) -> Tensor:
    if isinstance(site.position, str):
        features = _places(site, changed, rows).clone()
        features[:, _columns(site, features.shape[1])] = values
        tokens = rows.position(site.position, len(changed), changed.shape[1]).to(changed.device)
        changed[torch.arange(len(changed), device=changed.device), tokens] = features
        return changed
    places = _places(site, changed, rows)
    places[:, _columns(site, places.shape[1])] = values
    return changed


def _over_tokens(pooling: Pooling, tensor: Tensor, rows: Rows) -> Float[Tensor, "rows features"]:
    if rows.mask is None:
        return tensor.mean(dim=1) if pooling.is_mean else tensor.amax(dim=1)
    kept = rows.tokens(tensor.shape[1]).to(tensor.device)[:, :, None]
    if pooling.is_mean:
        return torch.where(kept, tensor, 0.0).sum(dim=1) / kept.sum(dim=1).clamp_min(1)
    return torch.where(kept, tensor, -torch.inf).amax(dim=1)


def _element(site: Site, value: Any, parts: dict[int | str, Any] | None) -> Any:
    verb = "take" if site.is_input else "give"
    if parts is None:
        raise InvalidInputError(
            f"The module '{site.module}' must {verb} a tuple, a list, a mapping or a dataclass for "
            f"output={site.output!r}. Got {type(value).__name__} instead."
        )
    if site.output is None:
        first = next(iter(parts), 0)
        raise InvalidInputError(
            f"The module '{site.module}' {verb}s a {type(value).__name__} of {len(parts)}: say "
            f"which element is meant, e.g. '{site.module}/{first}', in Python "
            f"Site('{site.module}', output={first!r})."
        )
    if site.output not in parts:
        raise InvalidInputError(
            f"The module '{site.module}' has no output {site.output!r}; it {verb}s {list(parts)}."
        )
    return parts[site.output]
