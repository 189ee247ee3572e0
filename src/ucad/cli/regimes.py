"""`ucad predict run/ --regimes`: predictions beside what was measured, regime by regime."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING

from ucad.errors import FormatError, InvalidInputError, did_you_mean

if TYPE_CHECKING:
    from ucad.cli.fit_options import ReadingOptions
    from ucad.data import InterventionalData
    from ucad.effects import RegimePredictions
    from ucad.estimator import UCAD
    from ucad.gene_sets import Enrichment
    from ucad.runs import Run

__all__ = ["run_enrichment", "run_regimes", "show_regimes"]

_METHODS = {
    "ucad": "all evidence",
    "model": "model alone",
    "none": "no change",
    "mean": "other regimes",
    "linear": "regression",
}
"""Short headings for `ucad.effects.predictions.METHODS`, so that the table fits a terminal."""

MAX_SHOWN = 15
"""Variables shown per regime, those that changed or were predicted to change most."""


def show_regimes(
    run: Path, named: tuple[str, ...], data: Path | None, options: ReadingOptions, *, json: bool
) -> None:
    """Prints the scoreboard, and the regimes that are named in full."""
    import ucad

    model = ucad.load(run)
    found = model.predict_regimes(_samples(model, run, data, options))
    for name in named:
        if name not in found.changes.names:
            known = found.changes.names
            raise InvalidInputError(f"There is no regime '{name}'.{did_you_mean(name, known)}")
    if json:
        print(json_module.dumps(found.to_json(), ensure_ascii=False, allow_nan=False))
        return
    _show_scoreboard(found)
    for name in named:
        _show_regime(found, name)


def run_regimes(run: Run) -> RegimePredictions | None:
    """What the regimes in a run's sample changed, for its report; None if nothing can be said."""
    from ucad.effects import predict_regimes

    if run.sample is None:
        return None
    names = {run.sample.regime_names[number] for number in run.sample.regime}
    try:
        return predict_regimes(run.scm, run.sample, names)
    except InvalidInputError:  # no controls, or no regime
        return None


def run_enrichment(run: Run, gene_sets: Path | None) -> Enrichment | None:
    """Which of the gene sets in a file a run's factors are enriched in."""
    from ucad.gene_sets import enrichment, read_gene_sets

    return None if gene_sets is None else enrichment(run.scm.graph, read_gene_sets(gene_sets))


def _samples(
    model: UCAD, run: Path, path: Path | None, options: ReadingOptions
) -> InterventionalData:
    """The samples to compare with: the columns of a file that the model knows, or the run's own."""
    import numpy as np

    from ucad.cli.fit_options import given
    from ucad.cli.reading import read_data
    from ucad.cli.settings import resolve
    from ucad.data.targets import JOINT

    if path is None:
        if model.sample_ is None:
            raise FormatError(f"'{run}' holds no sample of the data. Name a file with --data.")
        return model.sample_
    read = read_data(path, resolve(None, given(options)))
    names = model.graph_.variable_names
    known = {*names, *(part for name in names for part in name.split(JOINT))}
    columns = [j for j, name in enumerate(read.variable_names) if name in known]
    return read.select_variables(np.array(columns, dtype=np.int64))


def _show_scoreboard(found: RegimePredictions) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from ucad.cli.output import say, show

    rows = sorted(found.scoreboard, key=lambda row: (not row["held_out"], row["regime"]))
    table = Table(
        title="Error of the predicted change of means, in spreads of the controls",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for heading in ("regime", "samples", "noise", *_METHODS.values()):
        table.add_column(heading, justify="left" if heading == "regime" else "right")
    for row in rows:
        cells = [_cell(row["error"][method]) for method in _METHODS]
        name = row["regime"] + " *" * row["held_out"]
        table.add_row(name, str(row["n_samples"]), _cell(row["noise"]), *cells)
    show(table)
    held_out = any(row["held_out"] for row in rows)
    say(
        "noise: the error that a perfect prediction would have. all evidence: the model and the "
        "simple predictions, weighed. other regimes: their mean. regression: on the target."
        + " * held out: the model was not fitted to it."
        * held_out,
        "",
        *found.verdicts,
    )


def _cell(error: float | None) -> str:
    return "–" if error is None else f"{error:.3f}"


def _show_regime(found: RegimePredictions, name: str) -> None:
    from rich.table import Table

    from ucad.cli.output import show

    rows = found.rows(name)
    size = [max(abs(row["predicted"]), abs(row["measured"])) for row in rows]
    order = sorted(range(len(rows)), key=lambda at: (rows[at]["kind"] != "factor", -size[at]))
    n_factors = len(found.factor_names)
    table = Table(title=f"{name}: change of the mean, in spreads of the controls")
    for heading in ("", "name", "predicted", "interval", "measured", "± 95%"):
        table.add_column(heading, justify="left" if heading in ("", "name") else "right")
    for row in (rows[at] for at in order[: n_factors + MAX_SHOWN]):
        interval = f"{row['low']:.2f} … {row['high']:.2f}" if "low" in row else ""
        table.add_row(
            row["kind"],
            row["name"],
            f"{row['predicted']:.2f}",
            interval,
            f"{row['measured']:.2f}",
            f"{1.96 * row['measured_error']:.2f}",
        )
    show(table)
