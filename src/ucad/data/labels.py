"""The labels of a screen as they were meant: guides, combinations, and the controls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from ucad.data.combined import taken_apart
from ucad.data.guides import without_guides
from ucad.data.targets import CONTROL_WORDS, normal_form

__all__ = ["ReadLabels", "read_labels"]


class ReadLabels(NamedTuple):
    """The label of every sample, the label of controls, and what was not as in the file."""

    labels: list[str]
    control: str
    notes: tuple[str, ...]


def read_labels(labels: Sequence[str], names: Collection[str], control: str = "") -> ReadLabels:
    """Reads labels as screens write them.

    Guides become their genes, combinations are taken apart, and where no label of controls is
    given, those that screens use for controls are taken for it unless they are variables.

    Args:
        labels: what every sample says was acted on.
        names: the variables.
        control: the label of controls, if it is known.

    >>> read_labels(["STAT1_g1", "NT_g2", "AAVS1", "STAT1+NT"], {"STAT1"})[:2]
    (['STAT1', 'NT', 'NT', 'STAT1'], 'NT')
    """
    genes = without_guides(labels, names, control)
    found, notes = list(genes.labels), genes.notes
    if not control:
        likely = _likely_controls(found, names)
        if likely:
            control = likely[0]
            found = [control if label.strip() in likely else label for label in found]
            listed = " and ".join(f"'{label}'" for label in likely)
            verb = "is" if len(likely) == 1 else "are"
            notes += (f"{listed} {verb} taken for controls, as no label of controls was given.",)
    apart = taken_apart(found, names, control)
    return ReadLabels(apart.labels, control, (*notes, *apart.notes))


def _likely_controls(labels: Sequence[str], names: Collection[str]) -> tuple[str, ...]:
    """The labels that screens give to controls and that are no variables, most samples first."""
    counts = Counter(label.strip() for label in labels)
    kinds = (kind for kind, _ in counts.most_common() if kind not in names)
    return tuple(kind for kind in kinds if normal_form(kind) in CONTROL_WORDS)
