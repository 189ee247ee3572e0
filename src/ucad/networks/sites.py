"""`Site`: which numbers inside a network are the low-level variables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby, pairwise

import numpy as np

from ucad._types import LayerOf
from ucad.errors import InvalidInputError

__all__ = [
    "Pooling",
    "Site",
    "check_units",
    "columns_of",
    "layers_of",
    "sites_of_names",
    "variable_names",
]


class Pooling(StrEnum):
    """How a map, or a sequence of tokens, becomes one number per unit.

    `mean` and `max` go over the tokens of an output of shape (rows, tokens, features), without
    those that the attention mask leaves out, and over the map of one of shape (rows, channels,
    height, width). `channel-mean` and `channel-max` go over all axes after the second, whatever
    their number: for (rows, channels, length).
    """

    MEAN = "mean"
    MAX = "max"
    CHANNEL_MEAN = "channel-mean"
    CHANNEL_MAX = "channel-max"

    @property
    def is_mean(self) -> bool:
        """Whether it takes the mean, not the largest value."""
        return self in (Pooling.MEAN, Pooling.CHANNEL_MEAN)

    def over_tokens(self, n_axes: int) -> bool:
        """Whether it goes over the second axis and leaves the last, given the number of axes."""
        return n_axes == 3 and self in (Pooling.MEAN, Pooling.MAX)


@dataclass(frozen=True)
class Site:
    """The units of one module's output or input that are read, and that may be replaced.

    An output of shape (rows, units) needs nothing but the module's name, (rows, tokens, features)
    a token position or a pooling over tokens, and (rows, channels, …) a pooling.

    *Pooled units.* The variable is the pooled value. To clamp it, all that is pooled is set to the
    value, so that nothing else of the unit gets through and its pooled value is the one asked for.
    To move it, as steering does, the value's change is added everywhere: the pooled value is again
    the one asked for, and moving it nowhere changes nothing.

    *Names.* The module is looked for by its whole name, then as the only one whose name ends with
    it: `encoder.layer.1` is found as `model.encoder.layer.1` when a head has been put around the
    encoder, and the other way round.

    >>> Site("blocks.0.mlp", position=-1).name
    'blocks.0.mlp@-1'
    >>> Site.parse("conv2:mean").pooling
    <Pooling.MEAN: 'mean'>
    >>> Site.parse("attention.dense~in@last%2of4").head
    (2, 4)

    Attributes:
        module: the module's name in `model.named_modules()`; "" is the model itself.
        position: the token, for shapes (rows, tokens, features): a number, which may be negative;
            `last`, the last one that the attention mask keeps; or the name of an array of the
            inputs, `@name`, which has one position per row and is not given to the model.
        pooling: see `Pooling`.
        units: the units to take; all if not given.
        output: which element, for modules that give (or take) several: a number or a name.
        call: which call (0 is the first), for modules that are called several times in one pass.
        is_input: whether it is the module's input instead of its output.
        head: (h, of how many): the part of the features that belongs to an attention head, as at
            the input of the projection that follows the heads.
    """

    module: str
    position: int | str | None = None
    pooling: Pooling | None = None
    units: tuple[int, ...] | None = None
    output: int | str | None = None
    call: int | None = None
    is_input: bool = False
    head: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.position is not None and self.pooling is not None:
            raise InvalidInputError(
                f"The site '{self.module}' must have a token position or a pooling, not both."
            )
        if self.head is not None and not 0 <= self.head[0] < self.head[1]:
            raise InvalidInputError(
                f"The 'head' of site '{self.module}' must be one of {self.head[1]}, counted from "
                f"0. Got {self.head[0]} instead."
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
        """The site without its units: module, then ~in, #call, /output, @position, :pooling, %head.

        >>> Site("dense", is_input=True, head=(1, 4)).name
        'dense~in%1of4'
        """
        parts = (
            ("~", "in" if self.is_input else None),
            ("#", self.call),
            ("/", self.output),
            ("@", self.position),
            (":", self.pooling),
            ("%", None if self.head is None else f"{self.head[0]}of{self.head[1]}"),
        )
        return self.module + "".join(f"{mark}{value}" for mark, value in parts if value is not None)

    @classmethod
    def parse(cls, text: str) -> Site:
        """The site that `name` describes, with units in brackets if only some are meant."""
        found = _SITE.fullmatch(text)
        if found is None:
            raise InvalidInputError(
                "A site must be written as a module's name, then ~in, #call, /output, @position, "
                ":mean or :max, %headOFheads (as %0of4) where they are needed, then [units]. "
                f"Got '{text}' instead."
            )
        part = found.groupdict()
        heads = part["head"]
        return cls(
            part["module"],
            position=_whole_or_name(part["position"]),
            pooling=None if part["pooling"] is None else Pooling(part["pooling"]),
            units=None if part["units"] is None else tuple(map(int, part["units"].split(","))),
            output=_whole_or_name(part["output"]),
            call=None if part["call"] is None else int(part["call"]),
            is_input=part["input"] is not None,
            head=None if heads is None else (int(heads.split("of")[0]), int(heads.split("of")[1])),
        )

    def __str__(self) -> str:
        """What `parse` takes: the name, and the units in brackets if only some are meant."""
        units = "" if self.units is None else f"[{','.join(map(str, self.units))}]"
        return self.name + units


_SITE = re.compile(
    r"(?P<module>[^#/@:~%\[\]]*)(?P<input>~in)?(?:#(?P<call>\d+))?(?:/(?P<output>\w+))?"
    r"(?:@(?P<position>-?\d+|[A-Za-z_]\w*))?(?::(?P<pooling>(?:channel-)?(?:mean|max)))?"
    r"(?:%(?P<head>\d+of\d+))?(?:\[(?P<units>\d+(?:,\d+)*)\])?"
)


def _whole_or_name(text: str | None) -> int | str | None:
    if text is None:
        return None
    return int(text) if text.lstrip("-").isdigit() else text


def variable_names(sites: Sequence[Site]) -> tuple[str, ...]:
    """One name per unit, `site[unit]`; the sites' units must be known.

    >>> variable_names([Site("layers.1", units=(0, 7))])
    ('layers.1[0]', 'layers.1[7]')
    """
    names = tuple(f"{site.name}[{unit}]" for site in sites for unit in site.units or ())
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InvalidInputError(f"A unit must be named once. Got '{twice[0]}' twice.")
    return names


def check_units(x: np.ndarray, names: Sequence[str]) -> None:
    """Refuses units that are no numbers: as units that never change they would pass unseen."""
    wrong = ~np.isfinite(x).all(axis=0)
    if wrong.any():
        raise InvalidInputError(
            f"{wrong.sum()} of {len(wrong)} units are no finite numbers on some inputs, the first "
            f"of them '{names[int(np.argmax(wrong))]}': look for NaN among inputs and weights."
        )


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
    """The layer of every unit: sites count up, those of one module's same call share a layer.

    A module's input and its output are two layers.
    """
    layers: list[int] = []
    number = -1
    for _, together in groupby(sites, key=lambda site: (site.module, site.is_input, site.call)):
        number += 1
        layers += [number for site in together for _ in site.units or ()]
    return np.array(layers, dtype=np.int64)
