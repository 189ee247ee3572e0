"""`ucad predict`: what clamping variables or factors does, at both levels."""

from __future__ import annotations

import itertools
import json as json_module
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from ucad.cli.fit_options import NO_READING, ReadingOptions
from ucad.cli.options import Count
from ucad.errors import InvalidInputError, did_you_mean

if TYPE_CHECKING:
    from torch import Tensor

    from ucad.consensus.consensus import Consensus
    from ucad.scm import FactorSCM
    from ucad.scm.factor_scm import State

__all__ = ["predict"]

QUANTILES = (0.05, 0.95)
"""Of the change over samples: a 90% range, as that over fits is."""

MAX_NAMED = 8
"""Clamps named in a line; all are in the JSON."""


def predict(
    run: Path,
    /,
    *clamps: str,
    min_shift: Annotated[float, Parameter(validator=Number(gte=0))] = 0.0,
    top: Count | None = None,
    sort: Literal["shift", "rise", "fall", "name"] = "shift",
    samples: Count = 2000,
    at: tuple[str, ...] = (),
    regimes: bool = False,
    data: Path | None = None,
    reading: ReadingOptions = NO_READING,
    json: bool = False,
) -> None:
    """Predict what clamping variables, or setting factors, does to all others.

    A factor is set by clamping the variables that it is made from, to the values nearest to their
    means that give it its value; which, and which other factors feel that, is said.

    With --regimes: what each regime in the data changed, as predicted and as measured, and how the
    model does beside simple predictions.

    Parameters
    ----------
    run
        The run folder.
    clamps
        What to clamp: STAT1=0 JAK2=1.5, or a factor: Z1=2. With --regimes, the regimes to show in
        full.
    min_shift
        Leave out what shifts by less than this, in standard deviations.
    top
        Show only so many factors and so many variables, the first after sorting.
    sort
        By the size of the shift, by rise or fall (largest first), or by name.
    samples
        How many samples of the model to average over.
    at
        The context to predict at, column=value; may be given several times. The average context
        if not given.
    regimes
        Compare predictions with what was measured in every regime.
    data
        With --regimes: a file of samples, such as of regimes that were not fitted; those that
        travel with the run if not given.
    json
        Print JSON.
    """
    if regimes:
        from ucad.cli.regimes import show_regimes

        show_regimes(run, clamps, data, reading, json=json)
        return
    if data is not None or reading != NO_READING:
        raise InvalidInputError(
            "--data and how to read it are for --regimes: ucad predict run/ --regimes --data FILE"
        )
    if samples < 2:
        raise InvalidInputError(f"--samples must be at least 2. Got {samples}.")
    found = _predicted(run, clamps, samples, at)
    found["rows"] = _chosen(found["rows"], min_shift, top, sort)
    if json:
        print(json_module.dumps(found))
    else:
        _show(found)


def _predicted(run: Path, clamps: tuple[str, ...], samples: int, at: tuple[str, ...]) -> Any:
    """What is clamped, which factors feel it, and what changes, as plain data."""
    from ucad.data.transforms import Reads
    from ucad.runs import load_run
    from ucad.scm import Abstraction, variables_for

    loaded = load_run(run)
    scm, offset = loaded.scm, _context_offset(loaded.scm, at)
    values, factors = _told_apart(scm, _clamps(clamps))
    reads = Reads.from_json(loaded.data, scm.graph.n_variables)
    values = reads.clamps(values, scm.graph.variable_names)
    by_factor: dict[str, float] = {}
    if factors:
        typical = scm.sample(samples).x
        by_factor = variables_for(scm, factors, typical, values)
    every = values | by_factor
    before, after, high = _states(scm, every, samples, offset)
    rows = [
        *_changes("factor", scm.graph.factor_names, before.z, high),
        *_changes("variable", scm.graph.variable_names, before.x, after.x),
    ]
    if loaded.consensus is not None:
        _add_intervals(rows, loaded.consensus, every, samples)
    return {
        "clamped": every,
        "factors": factors,
        "reaches": sorted(Abstraction(scm).intervention_map(every).support),
        "rows": rows,
    }


def _told_apart(
    scm: FactorSCM, given: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, float]]:
    """Clamps of variables, and of factors; a misspelt name is refused with a suggestion."""
    from ucad.data.duplicates import find_variable

    names, factors = scm.graph.variable_names, scm.graph.factor_names
    on_factors = {n: v for n, v in given.items() if n in factors and n not in names}
    on_variables = {find_variable(n, names): v for n, v in given.items() if n not in on_factors}
    for name in on_variables:
        if name not in names:
            raise InvalidInputError(
                f"There is no variable or factor '{name}'.{did_you_mean(name, (*names, *factors))}"
            )
    return on_variables, on_factors


def _states(
    scm: FactorSCM, values: dict[str, float], samples: int, offset: Tensor | None
) -> tuple[State, State, Tensor]:
    """Both levels before and after the clamps: the model's states, and what ω makes of factors."""
    import torch

    from ucad.scm import Abstraction

    abstraction, context = Abstraction(scm), scm.draw_context(samples)
    on_readings = scm.context is not None and scm.context.on_readings
    if offset is not None and not on_readings:
        context = context + offset
    before, after = scm.solve(context), scm.solve(context, values)
    high = abstraction.high_level.solve(context, abstraction.intervention_map(values))
    if offset is not None and on_readings:
        before, after = (state._replace(x=state.x + offset) for state in (before, after))
    if not all(bool(torch.isfinite(part).all()) for part in (before.x, after.x, before.z, high)):
        raise InvalidInputError(
            "The model does not predict finite values for this: what is clamped is too large."
        )
    return before, after, high


def _changes(kind: str, names: Sequence[str], old: Tensor, new: Tensor) -> Iterator[dict[str, Any]]:
    """The nodes of one level that a clamp changes, with their means before and after."""
    change, spread = new - old, old.std(dim=0).clamp_min(1e-12)
    changed = (change.abs().amax(dim=0) > 1e-12).nonzero()[:, 0]
    if len(changed) == 0:
        return
    low, high = (change[:, changed] / spread[changed]).quantile(change.new_tensor(QUANTILES), dim=0)
    for place, node in enumerate(changed.tolist()):
        yield {
            "kind": kind,
            "name": names[node],
            "mean_before": float(old[:, node].mean()),
            "mean_after": float(new[:, node].mean()),
            "shift_in_sd": float(change[:, node].mean() / spread[node]),
            "sample_low": float(low[place]),
            "sample_high": float(high[place]),
        }


def _add_intervals(
    rows: list[dict[str, Any]], found: Consensus, values: dict[str, float], samples: int
) -> None:
    """What fits on parts of the samples predict, beside each prediction."""
    from ucad.consensus.intervals import shift_intervals

    intervals = shift_intervals(found, values, samples)
    for row in rows:
        interval = intervals.get(row["name"])
        row |= dict.fromkeys(("low", "high", "moved")) if not interval else interval._asdict()


def _chosen(
    rows: list[dict[str, Any]], min_shift: float, top: int | None, sort: str
) -> list[dict[str, Any]]:
    """The rows above the cut-off, factors first, each kind sorted and cut."""
    keys: dict[str, Any] = {
        "shift": lambda row: -abs(row["shift_in_sd"]),
        "rise": lambda row: -row["shift_in_sd"],
        "fall": lambda row: row["shift_in_sd"],
        "name": lambda row: row["name"],
    }
    kept = [row for row in rows if abs(row["shift_in_sd"]) >= min_shift]
    return [
        row
        for kind in ("factor", "variable")
        for row in sorted((r for r in kept if r["kind"] == kind), key=keys[sort])[:top]
    ]


def _context_offset(scm: FactorSCM, words: tuple[str, ...]) -> Tensor | None:
    """What a context written as column=value adds to every variable."""
    if not words:
        return None
    if scm.context is None:
        raise InvalidInputError("The model has no context to predict at. Leave out --at.")
    pairs = {name: value for name, _, value in (word.partition("=") for word in words)}
    return scm.context.offset(scm.context.at(pairs)[None])


def _clamps(words: tuple[str, ...]) -> dict[str, float]:
    values: dict[str, float] = {}
    for word in words:
        name, equals, text = word.rpartition("=")
        try:
            value = float(text if equals else "")
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise InvalidInputError(f"A clamp must be written name=value. Got '{word}'.")
        if name in values:
            raise InvalidInputError(f"'{name}' is clamped twice.")
        values[name] = value
    return values


def _show(found: Mapping[str, Any]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from ucad.cli.output import say, show

    rows, factors = found["rows"], found["factors"]
    clamped = _assigned(found["clamped"]) or "nothing"
    table = Table(title=f"Clamping {clamped}", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    headings = ["", "before", "after", "shift (sd)", "90% of samples"]
    has_fits = any("low" in row for row in rows)
    for heading in headings + ["90% of fits", "moved by"] * has_fits:
        right = {"justify": "right", "no_wrap": True} if heading else {"overflow": "fold"}
        table.add_column(heading, **right)
    for row, after in itertools.zip_longest(rows, rows[1:]):
        numbers = (row["mean_before"], row["mean_after"], row["shift_in_sd"])
        spread = f"{row['sample_low']:.2f} … {row['sample_high']:.2f}"
        fits = _fit_cells(row) if has_fits else ()
        cells = (f"{number:.3f}" for number in numbers)
        ends = after is not None and after["kind"] != row["kind"]
        table.add_row(row["name"], *cells, spread, *fits, end_section=ends)
    if factors:
        others = [name for name in found["reaches"] if name not in factors]
        also = f" They feed {', '.join(others)}, too." if others else ""
        say(f"{_assigned(factors)} is set by clamping {clamped}.{also}")
    reached = ", ".join(found["reaches"]) or "none"
    say(f"Factors made from what is clamped (the intervention map ω): {reached}")
    if not rows:
        print("Nothing changes by that much.")
        return
    show(table)
    say(
        "Means before and after, factors first. A shift is in standard deviations of what it was "
        "before; it differs between samples, and 90% of them lie in the range given."
        + " The last columns: the range of the shift over fits on parts of the samples, and the "
        "share of those fits in which it moves at all." * has_fits
    )


def _assigned(values: Mapping[str, float]) -> str:
    named = [f"{name} = {value:.4g}" for name, value in values.items()]
    more = f" and {len(named) - MAX_NAMED} more" if len(named) > MAX_NAMED else ""
    return ", ".join(named[:MAX_NAMED]) + more


def _fit_cells(row: dict[str, Any]) -> tuple[str, str]:
    """The range over the fits, and in how many of them it moves; a mark where in few."""
    from ucad.consensus.support import STABLE

    if row.get("low") is None:
        return "", "?"
    mark = "" if row["moved"] >= STABLE else " ?"
    return f"{row['low']:.3f} … {row['high']:.3f}", f"{row['moved']:.0%}{mark}"
