"""What is in a data set before any fitting: samples, variables, regimes, and what looks odd."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ucad.data.batches import BatchTable, NumberTable, batch_tables, confounded, number_tables
from ucad.data.checks import check_fittable
from ucad.data.dataset import InterventionalData
from ucad.data.duplicates import columns_by_variable, near_duplicates, variable_of_column
from ucad.data.far_values import far_values, row_counters, told, told_counters
from ucad.data.readings import counts_behind
from ucad.data.repeated_samples import told_repeated
from ucad.data.splits import OBSERVATIONAL
from ucad.data.targets import CONTROL_WORDS, normal_form, split_targets
from ucad.errors import InvalidInputError

__all__ = ["DataSummary", "RegimeSummary", "summarise"]

FEW_SAMPLES = 20
"""A regime with fewer samples than this is named: its means have an error above a fifth of a
standard deviation."""

_WIDTH = 79
"""Characters per line of sentences, for a terminal of 80."""

N_LOOKED_AT = 64
"""Samples by which values are known for counts."""

MIN_COUNTED = 10
"""Variables from which on whole numbers are said to be counts: scores and codes are few."""

_SHOWN = 30
"""Names listed in a message: enough to recognise what they have in common."""


@dataclass(frozen=True)
class RegimeSummary:
    """One regime: what it is called, how many samples it has, what it clamps.

    Attributes:
        name: of the regime.
        n_samples: in it.
        targets: the variables it clamps.
        is_control: whether nothing was done in it.
        is_unmeasured: whether something was done to what is not among the variables.
    """

    name: str
    n_samples: int
    targets: tuple[str, ...]
    is_control: bool
    is_unmeasured: bool


@dataclass(frozen=True, kw_only=True)
class DataSummary:
    """What is in a data set; `print` it, or take `to_json()`.

    Attributes:
        n_samples: rows.
        n_variables: columns that are variables.
        regimes: the regimes present, controls first, then the largest first.
        never_targeted: how many variables no regime clamps.
        missing: how many values were filled in.
        duplicates: groups of identical columns, which a fit makes one variable.
        near_duplicates: pairs of nearly identical columns.
        notes: what reading left out, changed or took for what.
        warnings: what a user should look at.
        batches: samples by regime and level, for every column of texts in the context.
        numbers: means by regime of every number in the context.
    """

    n_samples: int
    n_variables: int
    regimes: tuple[RegimeSummary, ...]
    never_targeted: int
    missing: int
    duplicates: tuple[tuple[str, ...], ...]
    near_duplicates: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    batches: tuple[BatchTable, ...] = ()
    numbers: tuple[NumberTable, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The same as JSON holds it."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"{_counted(self.n_samples, 'sample')} × {_counted(self.n_variables, 'variable')}"]
        lines += ["", f"{'regime':32} {'samples':>8}  acts on"]
        for one in self.regimes[:_SHOWN]:
            doing = "nothing (control)" if one.is_control else _listed(one.targets)
            if one.is_unmeasured:
                doing += " and " * bool(one.targets) + "something that was not measured"
            lines.append(f"{_cut(one.name):32} {one.n_samples:>8,}  {doing}")
        if len(self.regimes) > _SHOWN:
            lines.append(f"… and {len(self.regimes) - _SHOWN} more regimes")
        for table in self.batches:
            lines += ["", *table.lines()]
        lines += [""] * bool(self.numbers) + [table.line() for table in self.numbers]
        lines += ["", "A regime is a group of samples in which the same variables were acted on."]
        never = "is" if self.never_targeted == 1 else "are"
        lines.append(f"{_counted(self.never_targeted, 'variable')} {never} never acted on.")
        for note in (*self.notes, *(f"! {warning}" for warning in self.warnings)):
            lines += textwrap.wrap(
                note, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
            )
        return "\n".join(lines)


def summarise(data: InterventionalData) -> DataSummary:
    """Looks at a data set as a fit will see it."""
    present, counts = np.unique(data.regime, return_counts=True)
    regimes = [
        RegimeSummary(
            data.regime_names[number],
            int(count),
            tuple(data.variable_names[j] for j in np.flatnonzero(data.targets[number])),
            number == OBSERVATIONAL,
            bool(data.acts_on_hidden[number]),
        )
        for number, count in zip(present.tolist(), counts, strict=True)
    ]
    regimes.sort(key=lambda one: (not one.is_control, -one.n_samples))
    groups = columns_by_variable(variable_of_column(data))
    duplicates = tuple(
        tuple(data.variable_names[j] for j in group) for group in groups if len(group) > 1
    )
    near = tuple(near_duplicates(data.x, data.variable_names))
    batches, numbers = batch_tables(data), number_tables(data)
    return DataSummary(
        n_samples=data.n_samples,
        n_variables=data.n_variables,
        regimes=tuple(regimes),
        never_targeted=int(np.logical_not(data.is_intervened.any(axis=0)).sum()),
        missing=0 if data.is_missing is None else int(data.is_missing.sum()),
        duplicates=duplicates,
        near_duplicates=near,
        notes=(*data.notes, *_of_counts(data)),
        warnings=(
            *_warnings(regimes, duplicates, near),
            *_of_context(batches, numbers),
            *_of_values(data),
        ),
        batches=batches,
        numbers=numbers,
    )


def _of_context(batches: Sequence[BatchTable], numbers: Sequence[NumberTable]) -> list[str]:
    """Where the context goes with the regimes."""
    return [text for table in batches for text in confounded(table)] + [
        f"The mean of '{table.column}' differs by a standard deviation or more from that of the "
        f"controls in {len(table.far)} regime(s): {_listed(table.far)}."
        for table in numbers
        if table.far
    ]


def _of_values(data: InterventionalData) -> list[str]:
    """What looks odd in the values themselves, and why no model can be fitted, if none can."""
    odd = [told(far_values(data)), told_counters(row_counters(data)), told_repeated(data)]
    try:
        check_fittable(data.x, data.variable_names)
    except InvalidInputError as error:
        odd.append(f"These data cannot be fitted. {error}")
    return [text for text in odd if text]


def _of_counts(data: InterventionalData) -> list[str]:
    """What may be done about values that are counts, by the first samples."""
    raw = data.select(np.arange(min(data.n_samples, N_LOOKED_AT))).unstandardised()
    counts = None if data.n_variables < MIN_COUNTED else counts_behind(raw.x, ~raw.is_left_out)
    if counts is None:
        return []
    form, option = ("whole numbers", "--counts")
    if counts.is_logged:
        form, option = ("log(1 + count / depth)", "--measurement counts (which --counts sets)")
    return [
        f"The values are counts ({form}). If they are readings of rates, as those of cells are, "
        f"fit with {option}: their noise is then known."
    ]


def _warnings(
    regimes: Sequence[RegimeSummary],
    duplicates: Sequence[tuple[str, ...]],
    near: Sequence[tuple[str, str]],
) -> list[str]:
    found = []
    if not any(one.is_control for one in regimes):
        found.append("There are no controls: nothing shows how the variables behave by themselves.")
    if all(one.is_control for one in regimes):
        found.append("Nothing was acted on: directions can hardly be told from these data.")
    named = (part for one in regimes if one.is_unmeasured for part in split_targets(one.name))
    measured = {target for one in regimes for target in one.targets}
    unmeasured = [part for part in dict.fromkeys(named) if part not in measured]
    if unmeasured:
        found.append(f"{len(unmeasured)} target(s) are not measured: {_listed(unmeasured)}.")
    if unmeasured and not measured:
        found.append(
            "No label names a variable, so nothing is known of where anything was acted on. Are "
            "variables called otherwise in labels (symbols for Ensembl's numbers, codes)?"
        )
    likely = [name for name in unmeasured if normal_form(name) in CONTROL_WORDS]
    if likely:
        found.append(f"{_listed(likely)} may be the label of controls: name it with --control.")
    small = [one.name for one in regimes if one.n_samples < FEW_SAMPLES]
    if small:
        found.append(
            f"{len(small)} regime(s) have fewer than {FEW_SAMPLES} samples: {_listed(small)}."
        )
    if duplicates:
        groups = [" = ".join(group) for group in duplicates]
        found.append(f"Identical columns, which a fit makes one variable: {_listed(groups)}.")
    if near:
        pairs = [f"{a} ≈ {b}" for a, b in near]
        found.append(f"Nearly identical columns, which a fit can hardly tell: {_listed(pairs)}.")
    return found


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}" + "s" * (number != 1)


def _listed(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(_cut, names[:most])) + more


def _cut(name: str, most: int = 32) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
