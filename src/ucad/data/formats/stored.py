"""From rows that are stored somewhere, with a label each, to a data set that fits into memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ucad.data.blocks import ColumnSums, Source, gather, scan
from ucad.data.checks import some
from ucad.data.context import Context
from ucad.data.dataset import InterventionalData
from ucad.data.formats.composition import units
from ucad.data.formats.counted import check_counts, log_normalised, with_depth
from ucad.data.formats.options import (
    Kept,
    ReadOptions,
    beside_variables,
    columns_without,
    parsed_as,
)
from ucad.data.labels import read_labels
from ucad.data.missing import POLICIES, without_missing
from ucad.data.rest import Rest, RestPart, rows_within
from ucad.data.targets import control_notes
from ucad.errors import InvalidInputError

__all__ = ["StoredSamples", "dataset_of"]


@dataclass(frozen=True)
class StoredSamples:
    """Samples somewhere, and what is said of them.

    Attributes:
        source: samples × variables.
        names: of the variables.
        labels: what was acted on, for every sample.
        known: columns of context and of kinds of interventions, by name.
        path: where they are, for messages.
        notes: what was changed before.
    """

    source: Source
    names: Sequence[str]
    labels: Sequence[str]
    known: Mapping[str, Any]
    path: Path
    notes: tuple[str, ...] = ()


def dataset_of(stored: StoredSamples, options: ReadOptions) -> InterventionalData:
    """Reads the variables that are kept of as many samples as fit, never more of them at once."""
    with parsed_as(stored.path, "a matrix of numbers"):
        sums = scan(stored.source)
    labels, control, combined = read_labels(stored.labels, set(stored.names), options.control)
    options = replace(options, control=control)
    known = with_depth(stored.known, sums.depth, options)
    stored = replace(stored, labels=labels, known=known, notes=(*stored.notes, *combined))
    keep, notes = _kept(sums, stored.names, options)
    kept = [stored.names[column] for column in keep]
    rows = rows_within(stored.labels, len(kept), options.memory)
    unit, corrected = units(stored.source.blocks(), labels, sums.depth, options)
    reader, notes = _Reader(stored, keep, unit, options), (*notes, *corrected)
    with parsed_as(stored.path, "a matrix of numbers"):
        x = reader.rows(rows)
    x.flags.writeable = False  # nobody else holds it: a data set need not copy it
    labels = [stored.labels[row] for row in rows]
    filled = without_missing(x, kept, labels, options.missing)
    labels = [labels[row] for row in filled.rows]
    data = InterventionalData.from_targets(
        filled.x, labels, variable_names=kept, control=options.control
    )
    data = filled.marked(data, *stored.notes, *notes, *control_notes(labels, options.control))
    data = beside_variables(data, options, stored.known, rows[filled.rows])
    if len(rows) == len(stored.labels):
        return data
    rest = Rest(rows, len(stored.labels) - len(rows), _Left(reader, data, rows, options))
    return replace(data, rest=rest, notes=(*data.notes, rest.note))


def _kept(sums: ColumnSums, names: Sequence[str], options: ReadOptions) -> Kept:
    """The columns that `min_mean` and `drop_constant` leave, as `columns_to_keep` says."""
    if options.log_counts or options.counts:
        check_counts(sums.low, ReadOptions())
    if options.missing == POLICIES[0] and (options.min_mean is not None or options.drop_constant):
        _check_no_gaps(sums, names)
    reasons = []
    if options.min_mean is not None:
        mean = sums.total / np.maximum(sums.n_values, 1)
        small = ~(mean >= options.min_mean) | (sums.n_values == 0)
        reasons.append((f"their mean is below {options.min_mean:g}", small))
    if options.drop_constant:
        reasons.append(("they never change", ~(sums.low < sums.high)))
    return columns_without(reasons, names)


def _check_no_gaps(sums: ColumnSums, names: Sequence[str]) -> None:
    odd = (sums.n_values < len(sums.depth)) | ~np.isfinite(sums.total)
    wrong = [names[j] for j in np.flatnonzero(odd).tolist()]
    if wrong:
        raise InvalidInputError(
            f"Some value(s) are missing or infinite, in {len(wrong)} of {len(names)} columns: "
            f"{some(wrong)}. Leave these rows out with --missing drop, or fill the values in with "
            f"--missing mean (missing='drop' or 'mean' in Python)."
        )


@dataclass(frozen=True)
class _Reader:
    """Rows of what is stored as the data set has them; `unit` where they become logarithms."""

    stored: StoredSamples
    columns: Int[np.ndarray, " kept"]
    unit: Float[np.ndarray, " samples"] | None
    options: ReadOptions

    def rows(self, rows: Int[np.ndarray, " rows"]) -> np.ndarray:
        return gather(self.stored.source, rows, self.columns, self.changed)

    def changed(
        self, values: Float[np.ndarray, "rows kept"], rows: Int[np.ndarray, " rows"]
    ) -> np.ndarray:
        """log(1 + count / unit), where counts are not kept as they are."""
        if self.unit is None:
            return values
        check_counts(values, self.options)
        return log_normalised(values, self.unit[rows])


@dataclass(frozen=True)
class _Left:
    """Reads the samples that were left out, as parts of the same data set."""

    reader: _Reader
    data: InterventionalData
    taken: Int[np.ndarray, " taken"]
    options: ReadOptions

    def __call__(self) -> Iterator[RestPart]:
        """One pass over the source."""
        labels, data = self.reader.stored.labels, self.data
        stripped = [str(label).strip() for label in labels]
        number = {"": 0, self.options.control: 0}
        number |= {name: at for at, name in enumerate(data.regime_names) if at}
        is_left = np.ones(len(labels), dtype=bool)
        is_left[self.taken] = False
        for start, block in self.reader.stored.source.blocks():
            rows = np.flatnonzero(is_left[start : start + block.shape[0]])
            part = block[rows][:, self.reader.columns]
            dense = part.toarray() if hasattr(part, "toarray") else part
            x = self.reader.changed(dense.astype(np.float64), rows + start)
            fine = np.flatnonzero(np.isfinite(x).all(axis=1))
            if len(fine):
                numbers = rows[fine] + start
                regime = np.array([number.get(stripped[row], 0) for row in numbers])
                yield RestPart(numbers, self._part(x[fine], regime, numbers))

    def _part(
        self, x: np.ndarray, regime: Int[np.ndarray, " rows"], rows: Int[np.ndarray, " rows"]
    ) -> InterventionalData:
        known = self.reader.stored.known
        context = None
        if self.data.context is not None:
            columns = {name: [known[name][row] for row in rows] for name in self.options.context}
            context = Context.from_columns(columns).aligned(self.data.context.names)
        return InterventionalData(
            x,
            self.data.targets[regime],
            regime,
            self.data.variable_names,
            regime_names=self.data.regime_names,
            is_part=True,
            context=context,
            kinds=self.data.kinds,
        )
