"""Labels of combined perturbations as screens write them, such as `CEBPE+RUNX1T1`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ucad.data.targets import CONTROL_WORDS, join_targets, normal_form

__all__ = ["TakenApart", "taken_apart"]

_SURE = ("+", "|", "&")
"""What joins names and hardly occurs in one: one part that is known is enough to take it apart."""

_LIKELY = (",", "/", "_")
"""What joins names and also occurs in them: all parts must be known."""

_SHOWN = 4
"""Labels named in a note: enough to recognise what they have in common."""


class TakenApart(NamedTuple):
    """The label of every sample with combinations written as ucad does, and what was changed."""

    labels: list[str]
    notes: tuple[str, ...]


def taken_apart(labels: Sequence[str], names: Collection[str], control: str = "") -> TakenApart:
    """Writes combinations `a+b` as `a;b`, in the order of their names, and `a+control` as `a`.

    A label that is a variable, the control or joined by `;` stays as it is. Others are taken
    apart at `+`, `|` or `&` if a part is known, and at `,`, `/` or `_` if all of them are: a
    variable, the label of controls, or a whole label of other samples.

    >>> taken_apart(["a+b", "b+a", "a+ctrl", "x_y", "ctrl"], {"a", "b"}, "ctrl").labels
    ['a;b', 'a;b', 'a', 'x_y', 'ctrl']
    """
    kinds = {label.strip() for label in labels}
    known = set(names) | {kind for kind in kinds if kind}
    meant = {
        kind: _parts(kind, known - {kind}, control) if kind not in names else None for kind in kinds
    }
    changed = {
        kind: control if not parts else join_targets(parts) if len(parts) > 1 else parts[0]
        for kind, parts in meant.items()
        if parts is not None and kind != control
    }
    if not changed:
        return TakenApart(list(labels), ())
    shown = sorted(changed)[:_SHOWN]
    told = ", ".join(f"'{kind}' as '{changed[kind]}'" for kind in shown)
    more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    note = f"{len(changed)} label(s) name combinations and are read so: {told}{more}."
    return TakenApart([changed.get(label.strip(), label) for label in labels], (note,))


def _parts(label: str, known: set[str], control: str) -> list[str] | None:
    """What a label combines, sorted and without controls; None if it is one name."""
    if ";" in label or '"' in label:
        return None
    for mark in (*_SURE, *_LIKELY):
        parts = [part.strip() for part in label.split(mark)]
        if len(parts) < 2 or not all(parts):
            continue
        targets = [part for part in parts if not _is_control(part, control)]
        n_known = sum(part in known for part in targets)
        if n_known == len(targets) or (mark in _SURE and n_known):
            return sorted(set(targets))
    return None


def _is_control(part: str, control: str) -> bool:
    return part == control or normal_form(part) in CONTROL_WORDS
