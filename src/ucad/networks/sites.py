"""`Site`: which numbers inside a network are the low-level variables."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ucad._types import LayerOf
from ucad.errors import InvalidInputError

__all__ = ["Pooling", "Site", "columns_of", "layers_of", "sites_of_names", "variable_names"]


class Pooling(StrEnum):
    """How a channel's map becomes one number."""

    MEAN = "mean"
    MAX = "max"


@dataclass(frozen=True)
class Site:
    """The units of one module's output that are read, and that may be replaced.

    An output of shape (rows, units) needs nothing but the module's name, (rows, tokens, features)
    a token position, and (rows, channels, …) a pooling.

    *Pooled channels.* The variable is the pooled value of the channel's map. To clamp it, the whole
    map is set to the value, so that nothing else of the channel gets through and its pooled value
    is the one asked for. To move it, as steering does, the value's change is added to every place
    of the map: the pooled value is again the one asked for, and moving it nowhere changes nothing.

    >>> Site("blocks.0.mlp", position=-1).name
    'blocks.0.mlp@-1'
    >>> Site.parse("conv2:mean")
    Site(module='conv2', position=None, pooling=<Pooling.MEAN: 'mean'>, units=None, output=None, \
call=None)

    Attributes:
        module: the module's name in `model.named_modules()`; "" is the model itself.
        position: the token, for outputs of shape (rows, tokens, features); may be negative.
        pooling: over all axes after the second, for outputs of shape (rows, channels, …).
        units: the units to take; all if not given.
        output: which element, for modules that return a tuple, a list or a mapping.
        call: which call (0 is the first), for modules that are called several times in one pass.
    """

    module: str
    position: int | None = None
    pooling: Pooling | None = None
    units: tuple[int, ...] | None = None
    output: int | str | None = None
    call: int | None = None

    def __post_init__(self) -> None:
        if self.position is not None and self.pooling is not None:
            raise InvalidInputError(
                f"The site '{self.module}' must have a token position or a pooling, not both."
            )
        if self.units is not None:
            units = tuple(int(unit) for unit in self.units)
            if len(set(units)) != len(units) or min(units, default=0) < 0:
                raise InvalidInputError(
                    f"The 'units' of site '{self.module}' must be different and at least 0. "
                    f"Got {list(units)} instead."
                )
            object.__setattr__(self, "units", units)

    @property
    def name(self) -> str:
        """The site without its units: module, then #call, /output, @position, :pooling."""
        parts = (("#", self.call), ("/", self.output), ("@", self.position), (":", self.pooling))
        return self.module + "".join(f"{mark}{value}" for mark, value in parts if value is not None)

    @classmethod
    def parse(cls, text: str) -> Site:
        """The site that `name` describes, with units in brackets if only some are meant."""
        found = _SITE.fullmatch(text)
        if found is None:
            raise InvalidInputError(
                "A site must be written as a module's name, then #call, /output, @position and "
                f":mean or :max where they are needed, then [units]. Got '{text}' instead."
            )
        call, output, position, pooling, units = found.group(2, 3, 4, 5, 6)
        return cls(
            found.group(1),
            position=None if position is None else int(position),
            pooling=None if pooling is None else Pooling(pooling),
            units=None if units is None else tuple(int(unit) for unit in units.split(",")),
            output=int(output) if output is not None and output.isdigit() else output,
            call=None if call is None else int(call),
        )

    def __str__(self) -> str:
        """What `parse` takes: the name, and the units in brackets if only some are meant."""
        units = "" if self.units is None else f"[{','.join(map(str, self.units))}]"
        return self.name + units

    def pick(self, output: Any) -> Tensor:
        """The tensor of a module's output that the site lives in, or a refusal that names it."""
        if isinstance(output, tuple | list | Mapping) or self.output is not None:
            output = self._element(output)
        if not isinstance(output, Tensor) or not output.is_floating_point():
            kind = f"{output.dtype}" if isinstance(output, Tensor) else type(output).__name__
            raise InvalidInputError(
                f"The module '{self.module}' must give a tensor of floating-point numbers. "
                f"Got {kind} instead."
            )
        self._check_shape(output)
        return output

    def put(self, output: Any, tensor: Tensor) -> Any:
        """The module's output with the site's tensor replaced, as a new object."""
        if self.output is None:
            return tensor
        if isinstance(output, tuple | list):
            parts = list(output)
            parts[int(self.output)] = tensor
            return type(output)(*parts) if hasattr(output, "_fields") else type(output)(parts)
        changed = copy.copy(output)
        changed[self.output] = tensor
        return changed

    def read(self, tensor: Tensor) -> Float[Tensor, "rows units"]:
        """The values of the units, rows × units."""
        if self.pooling is Pooling.MEAN:
            values = tensor.flatten(start_dim=2).mean(dim=2)
        elif self.pooling is Pooling.MAX:
            values = tensor.flatten(start_dim=2).amax(dim=2)
        else:
            values = self._places(tensor)
        return values if self.units is None else values[:, list(self.units)]

    def write(
        self,
        tensor: Tensor,
        values: Float[Tensor, "rows units"],
        clamped: Bool[Tensor, "rows units"] | None = None,
    ) -> Tensor:
        """A copy of the tensor in which the units have the given values.

        Args:
            tensor: what the module gave.
            values: one a row and unit.
            clamped: where True, a pooled channel's whole map is set; elsewhere it is moved.
        """
        units = slice(None) if self.units is None else list(self.units)
        changed, values = tensor.clone(), values.to(tensor)
        if self.pooling is None:
            self._places(changed)[:, units] = values
            return changed
        maps = changed[:, units]
        to_map = (..., *(None,) * (tensor.ndim - 2))
        moved = maps + (values - self.read(tensor))[to_map]
        if clamped is not None:
            moved = torch.where(clamped[to_map], values[to_map], moved)
        changed[:, units] = moved
        return changed

    def _places(self, tensor: Tensor) -> Float[Tensor, "rows units"]:
        if tensor.ndim == 1:
            return tensor[:, None]
        return tensor if self.position is None else tensor[:, self.position]

    def _element(self, output: Any) -> Any:
        keys = list(output) if isinstance(output, Mapping) else list(range(len(output)))
        if self.output is None:
            raise InvalidInputError(
                f"The module '{self.module}' gives a {type(output).__name__} of {len(output)}: say "
                f"which element is meant, e.g. Site('{self.module}', output={keys[0]!r})."
            )
        if self.output not in keys:
            raise InvalidInputError(
                f"The module '{self.module}' has no output {self.output!r}; it gives {keys}."
            )
        return output[self.output]

    def _check_shape(self, tensor: Tensor) -> None:
        shape = tuple(tensor.shape)
        if self.pooling is not None:
            wanted, fits = "(rows, channels, …) for pooling", tensor.ndim >= 3
        elif self.position is not None:
            wanted = f"(rows, tokens, features) with a token {self.position}"
            fits = tensor.ndim == 3 and -shape[1] <= self.position < shape[1]
        else:
            wanted, fits = "(rows, units), or the site a 'position' or a 'pooling'", tensor.ndim < 3
        if not fits or tensor.ndim == 0:
            raise InvalidInputError(
                f"The output of module '{self.module}' must have the shape {wanted}. "
                f"Got {shape} instead."
            )
        width = self._width(tensor)
        if self.units is not None and max(self.units, default=0) >= width:
            raise InvalidInputError(
                f"The 'units' of site '{self.name}' must be below {width}. "
                f"Got {max(self.units)} instead."
            )

    def _width(self, tensor: Tensor) -> int:
        if tensor.ndim == 1:
            return 1
        return int(tensor.shape[1 if self.position is None else 2])


_SITE = re.compile(
    r"([^#/@:\[\]]*)(?:#(\d+))?(?:/(\w+))?(?:@(-?\d+))?(?::(mean|max))?(?:\[(\d+(?:,\d+)*)\])?"
)


def variable_names(sites: Sequence[Site]) -> tuple[str, ...]:
    """One name a unit, `site[unit]`; the sites' units must be known.

    >>> variable_names([Site("layers.1", units=(0, 7))])
    ('layers.1[0]', 'layers.1[7]')
    """
    names = tuple(f"{site.name}[{unit}]" for site in sites for unit in site.units or ())
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InvalidInputError(f"A unit must be named once. Got '{twice[0]}' twice.")
    return names


def sites_of_names(names: Sequence[str]) -> tuple[Site, ...]:
    """The sites behind the names that a recording gave its variables.

    >>> [site.units for site in sites_of_names(["layers.1[0]", "layers.1[7]", "layers.3[2]"])]
    [(0, 7), (2,)]
    """
    single = [Site.parse(name) for name in names]
    nameless = [name for name, site in zip(names, single, strict=True) if site.units is None]
    if nameless:
        raise InvalidInputError(
            "Variables of a network must be named site[unit], as `record` does. "
            f"Got '{nameless[0]}' instead."
        )
    return tuple(
        replace(site, units=tuple(u for part in parts for u in part.units or ()))
        for site, parts in groupby(single, key=lambda site: replace(site, units=None))
    )


def columns_of(sites: Sequence[Site]) -> list[slice]:
    """Which columns of all units side by side belong to each site.

    >>> columns_of([Site("1", units=(0, 1)), Site("3", units=(0,))])
    [slice(0, 2, None), slice(2, 3, None)]
    """
    ends = np.cumsum([0, *(len(site.units or ()) for site in sites)]).tolist()
    return [slice(start, end) for start, end in pairwise(ends)]


def layers_of(sites: Sequence[Site]) -> LayerOf:
    """The layer of every unit: sites count up, those of one module's same call share a layer."""
    layers: list[int] = []
    number = -1
    for _, together in groupby(sites, key=lambda site: (site.module, site.call)):
        number += 1
        layers += [number for site in together for _ in site.units or ()]
    return np.array(layers, dtype=np.int64)
