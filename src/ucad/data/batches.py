"""Batches against regimes: samples of each regime in each batch, and what is confounded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ucad.data.context import Context
from ucad.data.dataset import InterventionalData
from ucad.data.splits import OBSERVATIONAL

__all__ = ["BatchTable", "NumberTable", "batch_tables", "confounded", "number_tables"]

FAR = 1.0
"""Standard deviations of a covariate by which the mean of a regime must differ from that of the
controls to be named: batches of cells often differ by half of one in depth."""

FEW_SAMPLES = 10
"""Samples of a regime from which its mean of a covariate is compared."""

_SHOWN = 30
"""Regimes listed in a table, as in the summary."""

_LEVELS = 8
"""Levels shown side by side: what fits on a line of 100 characters."""


@dataclass(frozen=True)
class BatchTable:
    """Samples by regime and level of one column of the context.

    Attributes:
        column: of the context, such as `replicate`.
        levels: its texts.
        regimes: names of the regimes present, controls first.
        counts: samples, one row per regime and one entry per level.
        has_controls: whether the first regime is that of the controls.
    """

    column: str
    levels: tuple[str, ...]
    regimes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    has_controls: bool

    def lines(self) -> list[str]:
        """The table as text."""
        more = len(self.levels) - _LEVELS
        heads = [_cut(level, 10) for level in self.levels[:_LEVELS]] + ["…"] * (more > 0)
        lines = [f"{_cut(self.column, 32):32} " + " ".join(f"{head:>10}" for head in heads)]
        for name, row in list(zip(self.regimes, self.counts, strict=True))[:_SHOWN]:
            cells = " ".join(f"{count:>10,}" for count in row[:_LEVELS])
            lines.append(f"{_cut(name, 32):32} {cells}")
        if len(self.regimes) > _SHOWN:
            lines.append(f"… and {len(self.regimes) - _SHOWN} more regimes")
        return lines


@dataclass(frozen=True)
class NumberTable:
    """Means of one number of the context by regime.

    Attributes:
        column: of the context, such as `log_depth`.
        regimes: names of the regimes present, controls first.
        means: of each regime.
        far: regimes whose mean differs from that of the controls by a standard deviation.
    """

    column: str
    regimes: tuple[str, ...]
    means: tuple[float, ...]
    far: tuple[str, ...]

    def line(self) -> str:
        """The range of the means."""
        low, high = int(np.argmin(self.means)), int(np.argmax(self.means))
        return (
            f"{self.column}: from {self.means[low]:.3g} ({_cut(self.regimes[low], 32)}) to "
            f"{self.means[high]:.3g} ({_cut(self.regimes[high], 32)}), means of regimes."
        )


def batch_tables(data: InterventionalData) -> tuple[BatchTable, ...]:
    """One table for every column of texts in the context."""
    if data.context is None:
        return ()
    numbers = np.unique(data.regime)
    regimes = tuple(data.regime_names[number] for number in numbers)
    tables = []
    for column, places in _columns(data.context).items():
        inside = data.context.values[:, places] > 0.5
        counts = tuple(tuple(inside[data.regime == r].sum(axis=0).tolist()) for r in numbers)
        levels = tuple(data.context.names[at].removeprefix(f"{column}=") for at in places)
        has_controls = OBSERVATIONAL in numbers.tolist()
        tables.append(BatchTable(column, levels, regimes, counts, has_controls))
    return tuple(tables)


def number_tables(data: InterventionalData) -> tuple[NumberTable, ...]:
    """The means by regime of every number in the context."""
    if data.context is None:
        return ()
    indicators = {at for places in _columns(data.context).values() for at in places}
    numbers = np.unique(data.regime)
    regimes = tuple(data.regime_names[number] for number in numbers)
    tables = []
    for at, column in enumerate(data.context.names):
        if at in indicators:
            continue
        values = data.context.values[:, at]
        means = np.array([values[data.regime == r].mean() for r in numbers])
        sizes = np.array([(data.regime == r).sum() for r in numbers])
        off = np.abs(means - means[0]) > FAR * max(float(values.std()), 1e-300)
        off &= (sizes >= FEW_SAMPLES) & (numbers[0] == OBSERVATIONAL)
        far = tuple(regimes[r] for r in np.flatnonzero(off))
        tables.append(NumberTable(column, regimes, tuple(means.tolist()), far))
    return tuple(tables)


def confounded(table: BatchTable) -> list[str]:
    """What a table says cannot be told apart, one sentence each.

    A batch that holds one regime alone is that regime. A regime that is only in batches without
    controls differs from the controls by its batch, too.
    """
    counts = np.array(table.counts)
    if counts.shape[1] < 2 or counts.shape[0] < 2:
        return []
    found = []
    alone = np.flatnonzero((counts > 0).sum(axis=0) == 1)
    pairs = [(table.levels[at], table.regimes[int(counts[:, at].argmax())]) for at in alone]
    if pairs:
        told = _listed([f"{level} ({regime})" for level, regime in pairs])
        found.append(
            f"Of '{table.column}', {len(pairs)} level(s) hold one regime alone, so that batch and "
            f"regime are confounded: {told}."
        )
    if table.has_controls:
        beside = counts[:, counts[0] > 0].sum(axis=1) > 0
        never = [table.regimes[r] for r in np.flatnonzero(~beside) if counts[r].sum()]
        if never:
            found.append(
                f"{len(never)} regime(s) share no level of '{table.column}' with the controls, so "
                f"that what they do is confounded with it: {_listed(never)}."
            )
    return found


def _columns(context: Context) -> dict[str, list[int]]:
    """The places of the indicators of every column of texts: zeros and ones that add up to 1."""
    groups: dict[str, list[int]] = {}
    for at, name in enumerate(context.names):
        if "=" in name:
            groups.setdefault(name.partition("=")[0], []).append(at)
    return {
        column: places
        for column, places in groups.items()
        if np.isin(context.values[:, places], (0.0, 1.0)).all()
        and (context.values[:, places].sum(axis=1) <= 1).all()
    }


def _listed(names: list[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(_cut(name, 40) for name in names[:most]) + more


def _cut(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
