"""Features of a network's inputs: what can be exchanged between two inputs, and read as context."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ucad.errors import InvalidInputError
from ucad.networks.passes import Inputs, n_inputs, select_inputs, tensors_of

__all__ = [
    "Feature",
    "covariate_names",
    "covariates_of",
    "features_of",
    "hybrid",
    "named_features",
]

MAX_LEVELS = 12
"""Different values up to which a feature counts as discrete, as in `ucad.data.context`."""

_SEEN_ROWS = 5000
"""Inputs that are looked at to tell one-hot codes and discrete values."""

_NAME = re.compile(r"(.+)\[([\d,]*)\](?:=(.+))?")


@dataclass(frozen=True)
class Feature:
    """Entries of one input tensor that are exchanged together: a number, or a one-hot code.

    Attributes:
        part: which tensor: `input` if there is only one, `arg_0`, … by position, or its name.
        shape: of one input in that tensor.
        places: flat positions in it.
        label: what the user calls it; empty for the name of its entries.
    """

    part: str
    shape: tuple[int, ...]
    places: tuple[int, ...]
    label: str = ""

    @property
    def name(self) -> str:
        """As `input[3]`, `input[2,1]`, or `input[2,0-9]` for a one-hot code.

        >>> Feature("input", (3, 10), (10, 11, 12)).name
        'input[1,0-2]'
        """
        if self.label:
            return self.label
        first, last = self._index(self.places[0]), self._index(self.places[-1])
        if len(self.places) > 1:
            first = f"{first}-{last.rpartition(',')[2]}"
        return f"{self.part}[{first}]"

    @property
    def entries(self) -> tuple[str, ...]:
        """The name of every entry."""
        return tuple(f"{self.part}[{self._index(place)}]" for place in self.places)

    def values(self, inputs: Inputs) -> Float[np.ndarray, "rows entries"]:
        """The entries of every input."""
        whole = dict(_parts(inputs))[self.part]
        flat = _tensor(whole).reshape(len(whole), -1)[:, list(self.places)]
        return flat.detach().cpu().numpy().astype(np.float64)

    def _index(self, place: int) -> str:
        return ",".join(str(int(i)) for i in np.unravel_index(place, self.shape or (1,)))


def features_of(inputs: Inputs, groups: Sequence[Sequence[str]] = ()) -> tuple[Feature, ...]:
    """The features of inputs: single numbers, and one-hot codes along the last axis.

    >>> [f.name for f in features_of(np.array([[1, 0, 0.3], [0, 1, 0.4], [1, 0, 0.1]]))]
    ['input[0-1]', 'input[2]']

    Args:
        inputs: what the network is called with.
        groups: entries, by name, that belong together although they are no one-hot code.
    """
    found: list[Feature] = []
    for part, values in _parts(inputs):
        shape = tuple(values.shape[1:])
        rows = np.asarray(_tensor(values[:_SEEN_ROWS]).reshape(min(len(values), _SEEN_ROWS), -1))
        width = shape[-1] if shape else 1
        for start in range(0, rows.shape[1], width):
            own = rows[:, start : start + width]
            found += [
                Feature(part, shape, tuple(range(start + low, start + high)))
                for low, high in _one_hot_runs(own)
            ]
    return _grouped(tuple(found), groups)


def named_features(inputs: Inputs, parts: Mapping[str, Sequence[str]]) -> tuple[Feature, ...]:
    """Features that the user names: any entries of one input tensor, written as slices of it.

    >>> images = np.zeros((5, 8, 16))
    >>> left, right = named_features(images, {"left": ["input[:,:8]"], "right": ["input[:,8:]"]})
    >>> left.name, len(left.places), right.places[:2]
    ('left', 64, (8, 9))

    Raises:
        InvalidInputError: there are no such entries, or two features share some.
    """
    tensors = dict(_parts(inputs))
    found: list[Feature] = []
    for label, texts in parts.items():
        places: list[int] = []
        names = {text.partition("[")[0] for text in texts}
        if len(names) != 1 or not names <= set(tensors):
            raise InvalidInputError(
                f"The part '{label}' must be entries of one input tensor, "
                f"{' or '.join(tensors)}. Got {', '.join(texts)} instead."
            )
        shape = tuple(tensors[min(names)].shape[1:])
        for text in texts:
            places += _places(text, shape)
        taken = {place for one in found if one.part in names for place in one.places}
        if taken & set(places) or not places:
            raise InvalidInputError(
                f"The part '{label}' must have entries that no other part has. Inputs have the "
                f"shape {shape}. Got {', '.join(texts)} instead."
            )
        found.append(Feature(min(names), shape, tuple(sorted(set(places))), label))
    return tuple(found)


_SLICES = re.compile(r"[^\[]+(\[[\d:,\s-]*\])?")


def _places(text: str, shape: tuple[int, ...]) -> list[int]:
    """The flat positions that `input[:,8:]` or `input[3]` means."""
    if _SLICES.fullmatch(text) is None:
        raise InvalidInputError(
            f"Entries must be written as input[3] or as slices, input[:,8:]. Got '{text}' instead."
        )
    inside = text.partition("[")[2].removesuffix("]")
    index = tuple(
        slice(*(int(end) if end.strip() else None for end in one.split(":")))
        if ":" in one
        else int(one)
        for one in inside.split(",")
        if one.strip()
    )
    every = np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape)
    try:
        return [int(place) for place in np.ravel(every[index])]
    except (IndexError, TypeError) as error:
        raise InvalidInputError(
            f"The inputs have no entries '{text}': each has the shape {shape}."
        ) from error


def hybrid(base: Inputs, source: Inputs, features: Sequence[Feature]) -> Inputs:
    """The base inputs, with some features taken from the source input in the same row.

    >>> base, source = torch.zeros(2, 3), torch.ones(2, 3)
    >>> hybrid(base, source, features_of(torch.rand(5, 3))[:2])
    tensor([[1., 1., 0.],
            [1., 1., 0.]])
    """
    everything = np.arange(n_inputs(base))
    mixed, other = select_inputs(base, everything), dict(_parts(source))
    for part, values in _parts(mixed):
        places = [place for f in features if f.part == part for place in f.places]
        if places:
            flat = _tensor(values).reshape(len(values), -1)
            taken = _tensor(other[part]).reshape(len(values), -1)
            flat[:, places] = taken[:, places].to(flat)
    return mixed


def covariate_names(feature: Feature, inputs: Inputs) -> tuple[str, ...]:
    """How a feature is written as context: its numbers, or an indicator of each of its values.

    Indicators are for three or more values, which are then taken for names, as of tokens.
    """
    if len(feature.places) > 1:
        return feature.entries
    levels = np.unique(feature.values(inputs)[:_SEEN_ROWS])
    if 2 < len(levels) <= MAX_LEVELS and (levels == np.round(levels)).all():
        return tuple(f"{feature.name}={level:g}" for level in levels)
    return (feature.name,)


def covariates_of(inputs: Inputs, names: Sequence[str]) -> Float[np.ndarray, "rows covariates"]:
    """The context of inputs, by the names that `covariate_names` gives.

    >>> covariates_of(np.array([[0.0, 3.0], [1.0, 4.0]]), ["input[0]", "input[1]=4"])
    array([[0., 0.],
           [1., 1.]])
    """
    parts = dict(_parts(inputs))
    columns = []
    for name in names:
        found = _NAME.fullmatch(name)
        if found is None or found.group(1) not in parts:
            raise InvalidInputError(
                f"The context of a network must be entries of its inputs, such as "
                f"{next(iter(parts))}[0]. Got '{name}' instead."
            )
        whole = _tensor(parts[found.group(1)])
        index = [int(i) for i in found.group(2).split(",") if i][: whole.ndim - 1]
        shape = tuple(whole.shape[1:])
        if len(index) != len(shape) or any(i >= n for i, n in zip(index, shape, strict=True)):
            raise InvalidInputError(
                f"The inputs have no entry '{name}': each has the shape {shape}."
            )
        place = int(np.ravel_multi_index(index, shape)) if shape else 0
        values = whole.reshape(len(whole), -1)[:, place].double().cpu().numpy()
        level = found.group(3)
        columns.append(values if level is None else (values == float(level)).astype(np.float64))
    return np.stack(columns, axis=1) if columns else np.zeros((n_inputs(inputs), 0))


def _parts(inputs: Inputs) -> Iterator[tuple[str, Tensor | np.ndarray]]:
    """Every input tensor with its name."""
    if isinstance(inputs, Mapping):
        yield from inputs.items()
        return
    tensors = tensors_of(inputs)
    names = [f"arg_{k}" for k in range(len(tensors))] if isinstance(inputs, tuple) else ["input"]
    yield from zip(names, tensors, strict=True)


def _one_hot_runs(values: np.ndarray) -> list[tuple[int, int]]:
    """Runs of columns in which exactly one is 1 and the others are 0; other columns by themselves.

    The shortest run that starts at a column is taken; two columns that are each other's negation
    are a run.
    """
    width = values.shape[1]
    is_flag = ((values == 0) | (values == 1)).all(axis=0)
    runs, start = [], 0
    while start < width:
        sums, end = np.zeros(len(values)), start
        while end < width and is_flag[end] and sums.max(initial=0) <= 1:
            sums = sums + values[:, end]
            end += 1
            if (sums == 1).all() and end - start > 1:
                break
        is_run = end - start > 1 and bool((sums == 1).all())
        runs.append((start, end if is_run else start + 1))
        start = runs[-1][1]
    return runs


def _grouped(features: Sequence[Feature], groups: Sequence[Sequence[str]]) -> tuple[Feature, ...]:
    """The features with those of a group made one."""
    of_entry = {name: feature for feature in features for name in feature.entries}
    joined = list(features)
    for group in groups:
        unknown = [name for name in group if name not in of_entry]
        if unknown:
            raise InvalidInputError(f"The inputs have no entry '{unknown[0]}'.")
        members = [feature for feature in joined if set(feature.entries) & set(group)]
        if len({feature.part for feature in members}) != 1:
            raise InvalidInputError("A group of entries must lie in one input tensor.")
        places = tuple(sorted(place for feature in members for place in feature.places))
        at = joined.index(members[0])
        joined = [feature for feature in joined if feature not in members]
        joined.insert(at, Feature(members[0].part, members[0].shape, places))
    return tuple(joined)


def _tensor(values: Tensor | np.ndarray) -> Tensor:
    """A tensor of the values; arrays are copied, since files are mapped read-only."""
    return values if isinstance(values, Tensor) else torch.from_numpy(np.array(values))
