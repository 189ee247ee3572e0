"""Labels that name what was clamped: how they are written, read, and checked."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from ucad.errors import InvalidInputError, did_you_mean

__all__ = [
    "CONTROL_WORDS",
    "JOINT",
    "check_control",
    "check_targets",
    "control_notes",
    "count_targets",
    "hidden_parts",
    "is_nothing",
    "join_targets",
    "label_of",
    "normal_form",
    "split_targets",
]

JOINT = "|"
"""What stands between the names of a variable that was measured more than once."""

_SEPARATOR = ";"
_PARTS = re.compile(r'\s*("(?:[^"]|"")*"(?=\s*(?:;|$))|[^;]*)\s*(?:;|$)')
"""A name in double quotes (doubled inside), or anything without a separator."""
MIN_NAMES = 10
"""Labels that all differ and are no variables, from which on they name samples: of fewer it can be
chance that each occurs once."""
_SHOWN = 8
"""Labels listed in a message: they are short, and often only one of them is misspelt."""

CONTROL_WORDS = {
    "control", "controls", "ctrl", "nt", "ntc", "nontargeting", "nontargetingcontrol",
    "nontarget", "negctrl", "negativecontrol", "untreated", "unperturbed", "wildtype", "wt", "mock",
    "vehicle", "dmso", "none", "observational", "safetargeting", "safeharbor", "aavs1", "scramble",
    "scrambled", "scr",
}  # fmt: skip
"""How screens name samples in which nothing was done, without capitals, spaces, `-` and `_`."""

_logger = logging.getLogger(__name__)


def join_targets(names: Iterable[str]) -> str:
    """The label that names several targets; a name that could be misread is quoted.

    >>> join_targets(["STAT1", "a;b", " c"])
    'STAT1;"a;b";" c"'
    """
    return _SEPARATOR.join(_quoted(name) for name in names)


def split_targets(label: str) -> list[str]:
    """The targets named in one label.

    >>> split_targets("STAT1; JAK2"), split_targets('"a;b"')
    (['STAT1', 'JAK2'], ['a;b'])
    """
    if '"' not in label:
        return [part.strip() for part in label.split(_SEPARATOR) if part.strip()]
    found = (match.group(1).strip() for match in _PARTS.finditer(label))
    return [_unquoted(part) for part in found if part]


def hidden_parts(label: str, known: Collection[str]) -> list[str]:
    """The targets of a combination that are not known, beside one that is.

    >>> hidden_parts("STAT1;SPI1", {"STAT1"}), hidden_parts("dose 1;day 2", {"STAT1"})
    (['SPI1'], [])
    """
    parts = split_targets(label)
    hidden = [part for part in parts if part not in known]
    return hidden if len(hidden) < len(parts) else []


def is_nothing(value: object) -> bool:
    """Whether a cell is empty: None, or a missing value of numpy or pandas.

    >>> is_nothing(None), is_nothing(float("nan")), is_nothing(""), is_nothing(0)
    (True, True, False, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and bool(value != value)


def label_of(value: object) -> str:
    """What a cell of a column of targets says; a list of names is joined.

    >>> label_of("a;b"), label_of(None), label_of(["a", "b;c"]), label_of(b"a"), label_of(1)
    ('a;b', '', 'a;"b;c"', 'a', '1')
    """
    if is_nothing(value):
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, list | tuple | np.ndarray):
        return join_targets(label_of(name) for name in value)
    return str(value)


def check_control(control: str, labels: Sequence[str]) -> None:
    """Refuses a control label that no sample has."""
    if control and control not in labels:
        kinds = list(dict.fromkeys(labels))
        raise InvalidInputError(
            f"No sample has the control label '{control}'.{did_you_mean(control, kinds)} "
            f"The labels are {_listed(kinds)}."
        )


def control_notes(labels: Sequence[str], control: str) -> tuple[str, ...]:
    """Which labels are taken for controls, in a sentence; nothing if no sample has a label.

    >>> control_notes(["NT", "a", "", "NT"], "NT")
    ("The controls are 2 samples labelled 'NT' and 1 without a label.",)
    """
    counts = Counter(label.strip() for label in labels)
    kinds = [f"{counts[control]:,} samples labelled '{control}'"] if control else []
    if counts[""]:
        kinds.append(f"{counts['']:,} {'samples ' * (not kinds)}without a label")
    if len(counts) == 1 and counts[""]:
        return ()
    return (f"The controls are {' and '.join(kinds)}." if kinds else "No sample is a control.",)


def check_targets(n_samples: Mapping[str, int], names: Sequence[str]) -> None:
    """Refuses misspelt targets, and says which targets were not measured.

    A target is misspelt if it becomes the name of a variable by changing capitals, spaces, `-` and
    `_`, or by swapping two letters that stand side by side. Nothing else counts as a slip: STAT1
    and STAT2, or HLA-A and HLA-B, are different genes.

    Args:
        n_samples: how many samples each target was clamped in.
        names: the variables.
    """
    known = set(names)
    missing = {target: count for target, count in n_samples.items() if target not in known}
    if not missing:
        return
    if len(missing) == len(n_samples) >= MIN_NAMES and max(missing.values()) == 1:
        raise InvalidInputError(
            f"Every sample has a label of its own, such as '{next(iter(missing))}', and none is a "
            f"variable: this names the samples, not what was acted on. Choose another column."
        )
    alike = {normal_form(name): name for name in names}
    slips = {target: _meant(target, known, alike) for target in missing}
    wrong = [f"'{target}' ('{meant}'?)" for target, meant in slips.items() if meant is not None]
    if wrong:
        raise InvalidInputError(
            f"{len(wrong)} target(s) are no variables, but nearly: {_joined(wrong)}. Correct them, "
            f"or rename what is really something else."
        )
    counted = [f"'{n}' ({count} sample{'s' * (count != 1)})" for n, count in missing.items()]
    _logger.warning(
        "%d target(s) are not among the variables: %s. Their samples count as interventions on "
        "something unmeasured; name the label of controls if it is one of them.",
        len(missing),
        _joined(counted),
    )


def count_targets(labels: Iterable[str]) -> Counter[str]:
    """How many samples each target was clamped in."""
    counts: Counter[str] = Counter()
    for label, count in Counter(labels).items():
        for target in split_targets(label):
            counts[target] += count
    return counts


def normal_form(name: str) -> str:
    """A name without capitals, spaces, `-` and `_`."""
    return re.sub(r"[\s_-]", "", name).casefold() or name


def _meant(target: str, known: set[str], alike: Mapping[str, str]) -> str | None:
    if normal_form(target) in alike:
        return alike[normal_form(target)]
    if len(target) < 4:  # of three letters, swapping two often gives another name
        return None
    for at in range(len(target) - 1):
        first, second = target[at], target[at + 1]
        swapped = target[:at] + second + first + target[at + 2 :]
        if first.isalpha() and second.isalpha() and swapped in known:
            return swapped
    return None


def _quoted(name: str) -> str:
    plain = name == name.strip() and name and _SEPARATOR not in name and '"' not in name
    return name if plain else '"' + name.replace('"', '""') + '"'


def _unquoted(part: str) -> str:
    is_quoted = len(part) >= 2 and part[0] == part[-1] == '"'
    return part[1:-1].replace('""', '"') if is_quoted else part


def _listed(labels: Sequence[str]) -> str:
    return _joined([f"'{label}'" for label in labels])


def _joined(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more
