"""Which column of an AnnData's `var` holds the names by which labels call the variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ucad.data.combined import taken_apart
from ucad.data.guides import without_guides
from ucad.data.targets import split_targets

__all__ = ["VariableNames", "names_as_labelled", "unique_names"]


class VariableNames(NamedTuple):
    """One name per variable, and what is to be said of them."""

    names: list[str]
    notes: tuple[str, ...]


def names_as_labelled(var: Any, labels: Sequence[str], control: str = "") -> VariableNames:
    """The index of `var`, or the column of texts that labels name variables by.

    Many files index genes by Ensembl's numbers, with symbols in `gene_name` or `feature_name`, and
    label cells by symbols. The index stands if a single label is found in it; otherwise the column
    in which most labels are found is taken.

    Args:
        var: the table, one row per variable.
        labels: what every sample says was acted on.
        control: the label of controls, if it is known.
    """
    index = [str(name) for name in var.index]
    kinds = sorted(set(labels))
    best, n_best, chosen = index, _n_found(kinds, index, control), None
    for column in var.columns if n_best == 0 else ():
        pairs = zip(var[column].tolist(), index, strict=True)
        values = [value if isinstance(value, str) and value else name for value, name in pairs]
        n_found = _n_found(kinds, values, control)
        if n_found > n_best:
            best, n_best, chosen = values, n_found, column
    if chosen is None:
        return VariableNames(best, ())
    note = (
        f"Variables are named by the column '{chosen}' of 'var': {n_best} target(s) are found "
        "there, and none in its index."
    )
    return VariableNames(best, (note,))


def _n_found(kinds: Sequence[str], names: Sequence[str], control: str) -> int:
    """How many variables the labels name, guides and combinations taken apart."""
    known = set(names) - {""}
    plain = without_guides(kinds, known, control).labels
    apart = taken_apart(plain, known, control).labels
    return len(known & {target for label in apart for target in split_targets(label)} - {control})


def unique_names(names: Sequence[str]) -> list[str]:
    """The names with `-1`, `-2`, … appended to those that occurred before, as scanpy does.

    >>> unique_names(["a", "b", "a", "a-1", "a"])
    ['a', 'b', 'a-2', 'a-1', 'a-3']
    """
    taken, seen, found = set(names), set[str](), []
    for name in names:
        free, number = name, 0
        while free in seen or (number and free in taken):
            number += 1
            free = f"{name}-{number}"
        seen.add(free)
        found.append(free)
    return found
