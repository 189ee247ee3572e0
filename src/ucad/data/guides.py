"""Labels of screens that name a guide instead of its gene, such as `STAT1_g2` or `STAT1_KO`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from ucad.data.targets import CONTROL_WORDS, normal_form

__all__ = ["WithoutGuides", "without_guides"]

_STYLES = (
    re.compile(r"^sg[_.\- ]?(?P<stem>.+?)(?:[_.\-]g?\d+)?$"),
    re.compile(r"^(?P<stem>.+?)[_.\- ](?:sg|g|guide|grna|sgrna)[_.\- ]?\d+$", re.IGNORECASE),
    re.compile(r"^(?P<stem>.+?)(?:sg|g)\d+$"),
    re.compile(r"^(?P<stem>.+?)[_.\-]\d+$"),
    re.compile(
        r"^(?P<stem>.+?)[_.\- ](?:ko|kd|knock[_.\- ]?(?:out|down)|crispri?|shrna|sirna)"
        r"(?:[_.\- ]?\d+)?$",
        re.IGNORECASE,
    ),
    re.compile(r"^(?:sh|si|sg|g)rna[_.\- ](?P<stem>.+?)(?:[_.\- ]\d+)?$", re.IGNORECASE),
)
"""How screens number guides or say how a gene was turned down: `sgSTAT1_2`, `STAT1_g2`, `STAT1g2`,
`STAT1-2`, `STAT1_KO`, `shRNA_STAT1`. Activation is not among them: it is no copy of a knock-out."""

_SHOWN = 4
"""Labels named in a note: enough to recognise what they have in common."""


class WithoutGuides(NamedTuple):
    """The label of every sample as it is read, and what was changed."""

    labels: list[str]
    notes: tuple[str, ...]


def without_guides(
    labels: Sequence[str], names: Collection[str], control: str = ""
) -> WithoutGuides:
    """Writes the gene instead of its guide.

    A style of numbering counts where it is seen to be used: some label that is no variable itself
    becomes a variable or the label of controls without the number. Then it is taken off such
    labels, and off those of unmeasured genes that have several guides.

    >>> without_guides(["STAT1_g1", "FEV_g1", "FEV_g2", "NT_g1", "HLA_g"], {"STAT1"}).labels
    ['STAT1', 'FEV', 'FEV', 'NT', 'HLA_g']
    """
    known = {*names, control} - {""}
    open_kinds = sorted({label.strip() for label in labels} - known - {""})
    meant: dict[str, str] = {}
    for style in _STYLES:
        found = {kind: style.match(kind) for kind in open_kinds if kind not in meant}
        stems = {kind: match["stem"] for kind, match in found.items() if match is not None}
        sure = {kind: stem for kind, stem in stems.items() if _is_known(stem, known)}
        if sure:
            n_guides = Counter(stems.values())
            meant |= sure | {k: stem for k, stem in stems.items() if n_guides[stem] > 1}
    if not meant:
        return WithoutGuides(list(labels), ())
    told = ", ".join(f"'{kind}' as '{stem}'" for kind, stem in sorted(meant.items())[:_SHOWN])
    more = f" and {len(meant) - _SHOWN} more" if len(meant) > _SHOWN else ""
    note = f"{len(meant)} label(s) name guides and are read as their genes: {told}{more}."
    return WithoutGuides([meant.get(label.strip(), label) for label in labels], (note,))


def _is_known(stem: str, known: Collection[str]) -> bool:
    return stem in known or normal_form(stem) in CONTROL_WORDS
