"""`ucad certify`, `ucad report` and `ucad predict`: what a run folder has to say."""

from __future__ import annotations

import json as json_module
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ucad.cli.options import Count

if TYPE_CHECKING:
    from torch import Tensor

    from ucad.consensus.consensus import Consensus
    from ucad.data import InterventionalData
    from ucad.runs import Run
    from ucad.scm import FactorSCM
    from ucad.scm.factor_scm import State

__all__ = ["certify", "predict", "report", "write_run_report"]


def certify(run: Path, /, *, claim: str = "graph", json: bool = False) -> int:
    """Say what may be claimed of a fitted model. Ends with 0 if it may, with 1 if not in full.

    Parameters
    ----------
    run
        The run folder.
    claim
        What the exit code answers for: graph, directions, factors, values or predictions.
    json
        Print JSON.
    """
    from ucad.errors import FormatError
    from ucad.runs import CERTIFICATE, load_run

    certificate = load_run(run).certificate
    if certificate is None:
        earlier = (run / CERTIFICATE).exists()
        reason = (
            "only a certificate of an earlier ucad, whose claims were not tested on unseen "
            "samples: fit again to get one"
            if earlier
            else "no certificate"
        )
        raise FormatError(f"'{run}' holds {reason}.")
    permission = certificate.may_claim(claim)
    print(certificate.to_json() if json else certificate)
    return 0 if permission else 1


def report(
    run: Path,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    gene_sets: Path | None = None,
) -> None:
    """Write one self-contained HTML page about a run.

    Parameters
    ----------
    run
        The run folder.
    output
        The page to write; report.html in the run folder if not given.
    gene_sets
        A GMT or TSV file of gene sets that factors are tested for.
    """
    from ucad.errors import InvalidInputError
    from ucad.report.page import is_report

    if output is not None and output.exists() and not is_report(output):
        raise InvalidInputError(f"'{output}' exists and is no report of ucad: it is kept.")
    print(f"Report: {write_run_report(run, output, gene_sets)}")


def predict(
    run: Path,
    /,
    *clamps: str,
    regimes: bool = False,
    data: Path | None = None,
    target: str | None = None,
    control: str = "",
    log_counts: bool = False,
    samples: Count = 2000,
    at: tuple[str, ...] = (),
    json: bool = False,
) -> None:
    """Predict what clamping variables does, to the factors and to the variables.

    With --regimes: what each regime in the data changed, as predicted and as measured, and how the
    model does beside simple predictions.

    Parameters
    ----------
    run
        The run folder.
    clamps
        What to clamp: STAT1=0 JAK2=1.5. With --regimes, the regimes to show in full.
    regimes
        Compare predictions with what was measured in every regime.
    data
        With --regimes: a file of samples, such as of regimes that were not fitted; those that
        travel with the run if not given.
    target
        Of that file: the column that names what was clamped.
    control
        Of that file: the label of observational samples.
    log_counts
        Of that file: turn counts into log(1 + 10^4 count / total of the sample).
    samples
        How many samples of the model to average over.
    at
        The context to predict at, column=value; may be given several times. The average context
        if not given.
    json
        Print JSON.
    """
    if regimes:
        from ucad.cli.regimes import show_regimes
        from ucad.data.formats import ReadOptions

        options = ReadOptions(target=target, control=control, log_counts=log_counts)
        show_regimes(run, clamps, data, options, json=json)
        return
    from ucad.data.duplicates import find_variable
    from ucad.errors import InvalidInputError
    from ucad.runs import load_run
    from ucad.scm import Abstraction

    if data is not None:
        raise InvalidInputError("--data is for --regimes: ucad predict run/ --regimes --data FILE")
    if samples < 2:
        raise InvalidInputError(f"--samples must be at least 2. Got {samples}.")
    loaded = load_run(run)
    scm = loaded.scm
    names = scm.graph.variable_names
    values = {find_variable(name, names): value for name, value in _clamps(clamps).items()}
    values = _as_read(loaded, values)
    before, after, high = _states(scm, values, samples, _context_offset(scm, at))
    rows = [
        *_changes("factor", scm.graph.factor_names, before.z, high),
        *_changes("variable", scm.graph.variable_names, before.x, after.x),
    ]
    if loaded.consensus is not None:
        _add_intervals(rows, loaded.consensus, values, samples)
    reaches = sorted(Abstraction(scm).intervention_map(values).support)
    if json:
        print(json_module.dumps({"clamped": values, "reaches": reaches, "rows": rows}))
    else:
        _show_prediction(values, reaches, rows)


def _as_read(run: Run, values: dict[str, float]) -> dict[str, float]:
    """Clamps in the units that factors read, which a transformation may have changed."""
    import numpy as np

    from ucad.data.transforms import Reads

    names = run.scm.graph.variable_names
    reads = Reads.from_json(run.data, len(names))
    if reads.is_plain:
        return values
    row = np.array([[values.get(name, 1.0) for name in names]])
    read = dict(zip(names, reads.values(row)[0].tolist(), strict=True))
    return {name: read.get(name, value) for name, value in values.items()}


def _states(
    scm: FactorSCM, values: dict[str, float], samples: int, offset: Tensor | None
) -> tuple[State, State, Tensor]:
    """Both levels before and after the clamps: the model's states, and what ω makes of factors."""
    import torch

    from ucad.errors import InvalidInputError
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
    spread, shift = old.std(dim=0), new.mean(dim=0) - old.mean(dim=0)
    changed = (new - old).abs().amax(dim=0) > 1e-12
    for node in changed.nonzero()[:, 0].tolist():
        yield {
            "kind": kind,
            "name": names[node],
            "mean_before": float(old[:, node].mean()),
            "mean_after": float(new[:, node].mean()),
            "shift_in_sd": float(shift[node] / spread[node].clamp_min(1e-12)),
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


def write_run_report(folder: Path, path: Path | None = None, gene_sets: Path | None = None) -> Path:
    """Writes the report of a run folder and returns where it is."""
    from ucad.cli.regimes import run_enrichment, run_regimes
    from ucad.report import ReportContent, write_report
    from ucad.runs import REPORT, load_metrics, load_run

    run = load_run(folder)
    content = ReportContent(
        title=f"Causal abstraction of {run.data.get('path', folder.name)}",
        scm=run.scm,
        data=_sample(run, folder),
        n_samples=run.data.get("n_samples"),
        certificate=run.certificate,
        status=run.status.to_json(),
        history=run.history,
        metrics=load_metrics(folder),
        support=None if run.consensus is None else run.consensus.support,
        factors=run.factors,
        provenance={
            "created": run.created,
            "seconds": round(run.seconds, 2),
            **{f"version of {name}": version for name, version in run.versions.items()},
            **{f"data: {name}": value for name, value in run.data.items()},
            **{f"setting: {name}": value for name, value in run.settings.items()},
        },
        regimes=run_regimes(run),
        enrichment=run_enrichment(run, gene_sets),
    )
    return write_report(content, path or folder / REPORT)


def _sample(run: Run, folder: Path) -> InterventionalData:
    from ucad.errors import FormatError
    from ucad.scm import at_average_context

    if run.sample is None:
        raise FormatError(f"'{folder}' holds no sample of the data to report on.")
    return at_average_context(run.scm, run.sample)


def _context_offset(scm: FactorSCM, words: tuple[str, ...]) -> Tensor | None:
    """What a context written as column=value adds to every variable."""
    from ucad.errors import InvalidInputError

    if not words:
        return None
    if scm.context is None:
        raise InvalidInputError("The model has no context to predict at. Leave out --at.")
    pairs = {name: value for name, _, value in (word.partition("=") for word in words)}
    return scm.context.offset(scm.context.at(pairs)[None])


def _clamps(words: tuple[str, ...]) -> dict[str, float]:
    import math

    from ucad.errors import InvalidInputError

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


def _show_prediction(
    values: dict[str, float], reached: list[str], rows: list[dict[str, Any]]
) -> None:
    from rich.table import Table

    from ucad.cli.output import show

    clamped = ", ".join(f"{name} = {value:g}" for name, value in values.items()) or "nothing"
    table = Table(title=f"Clamping {clamped}")
    headings = ["", "changes", "mean before", "mean after", "shift (sd)"]
    has_fits = any("low" in row for row in rows)
    for heading in headings + ["90 % of fits", "moves in"] * has_fits:
        table.add_column(heading, justify="left" if heading in ("", "changes") else "right")
    for row in sorted(rows, key=lambda row: (row["kind"], -abs(row["shift_in_sd"]))):
        numbers = (row["mean_before"], row["mean_after"], row["shift_in_sd"])
        fits = _fit_cells(row) if has_fits else ()
        table.add_row(row["kind"], row["name"], *(f"{number:.3f}" for number in numbers), *fits)
    show(f"ω reaches the factors: {', '.join(reached) or 'none'}", table)


def _fit_cells(row: dict[str, Any]) -> tuple[str, str]:
    """The range over the fits, and in how many of them it moves; a mark where in few."""
    from ucad.consensus.support import STABLE

    if row.get("low") is None:
        return "", "?"
    mark = "" if row["moved"] >= STABLE else " ?"
    return f"{row['low']:.3f} … {row['high']:.3f}", f"{row['moved']:.0%} of fits{mark}"
