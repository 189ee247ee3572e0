"""`ucad factors`: how many factors the data can show."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ucad.cli.fit_options import NO_MODEL, NO_READING, ModelOptions, ReadingOptions, given
from ucad.cli.options import Whole

if TYPE_CHECKING:
    from ucad.cli.settings import FitSettings
    from ucad.consensus.path import FactorPath

__all__ = ["factors"]

DONE, UNFINISHED = 0, 1
"""Exit codes: whether all fits were done, or some were stopped or failed."""

BAR = 12
"""Characters of the longest bar of the curve: the table then fits a terminal of 80."""

LEGEND = (
    "· error: negative log-likelihood of held-out samples per variable, in nats (units of the "
    "natural logarithm; lower is better), ± its standard error.",
    "· anchored: factors with a variable of their own.",
    "· come back: factors that are found again with one more.",
    "· left to explain: the largest share of a variable that others still predict; empty: factors "
    "that make nothing.",
)
"""What the columns are, for somebody who sees them for the first time."""

FIGURES = (".png", ".svg", ".pdf")
"""Kinds of files that are figures."""


def factors(
    data: Path,
    /,
    *,
    first: Annotated[Whole, Parameter(name="--from")] = 0,
    last: Annotated[Whole | None, Parameter(name="--to")] = None,
    output: Annotated[tuple[Path, ...], Parameter(name=["--output", "-o"])] = (),
    model: ModelOptions = NO_MODEL,
    reading: ReadingOptions = NO_READING,
    config: Path | None = None,
    force: bool = False,
    quiet: bool = False,
    json: bool = False,
) -> int:
    """Find out how many factors the data can show, and which numbers are plausible.

    Exit code 0: done. 1: the budget ended, or it was interrupted, and larger numbers were not
    tried. 2: wrong use, and nothing is written.

    Parameters
    ----------
    data
        A .csv, .tsv, .parquet, .npz or .h5ad file, or a DCDI folder.
    first
        The smallest number of factors to try.
    last
        The largest; 12 or half as many as there are variables if not given. The path ends before
        that where more factors bring nothing.
    output
        A .json or .csv file for the figures of every number, or a .png, .svg or .pdf file for the
        curve; may be given several times.
    config
        A TOML file with the settings of a fit; options given here take precedence.
    force
        Replace files that exist.
    quiet
        Show no progress.
    json
        Print the result as JSON.
    """
    from ucad.cli.settings import resolve

    settings = resolve(config, given(reading, model))
    _check_outputs(output, force=force)
    path = _path(data, settings, (first, last), quiet=quiet or json)
    for file in output:
        _write(path, file)
    if json:
        print(json_module.dumps(path.to_json()))
    else:
        _tell(path, output)
    return UNFINISHED if path.cut_short else DONE


def _path(
    data: Path, settings: FitSettings, numbers: tuple[int, int | None], *, quiet: bool
) -> FactorPath:
    from ucad.cli.progress import shown_progress
    from ucad.cli.reading import estimator_for, read_data

    measured = read_data(data, settings)
    with shown_progress(quiet=quiet) as progress:
        model = estimator_for(settings, measured.variable_names)
        model.n_factors, model.progress = "auto", progress
        return model.factor_path(measured, first=numbers[0], last=numbers[1])


def _check_outputs(output: tuple[Path, ...], *, force: bool) -> None:
    from ucad.errors import InvalidInputError

    for file in output:
        if file.suffix not in (".json", ".csv", *FIGURES):
            raise InvalidInputError(
                f"The output '{file}' must end in .json, .csv, {', '.join(FIGURES)}."
            )
        if file.exists() and not force:
            raise InvalidInputError(
                f"'{file}' exists and is not overwritten. Choose another file, or add --force."
            )


def _write(path: FactorPath, file: Path) -> None:
    from ucad.files import replacing, write_text

    if file.suffix in FIGURES:
        from ucad.report.figures import factor_path_figure

        figure = factor_path_figure(path.to_json())
        with replacing(file) as part:
            figure.savefig(part, format=file.suffix[1:])
    elif file.suffix == ".json":
        write_text(file, json_module.dumps(path.to_json(), indent=1) + "\n")
    else:
        write_text(file, _csv([step.row() for step in path.steps]))


def _csv(rows: list[dict[str, Any]]) -> str:
    import csv
    import io

    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _tell(path: FactorPath, output: tuple[Path, ...]) -> None:
    from rich.table import Table

    from ucad.cli.output import say, show

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("factors", "error", "±", "", "anchored", "come back", "left to explain"):
        table.add_column(name, justify="left" if name in ("", "left to explain") else "right")
    values = [step.nll for step in path.steps]
    low, high = min(values), max(values)
    for step in path.steps:
        length = round(BAR * (step.nll - low) / max(high - low, 1e-12))
        mark = " ◀" if step.n_factors == path.recommendation.n_factors else ""
        table.add_row(
            f"{step.n_factors}",
            f"{step.nll:.4f}",
            f"{step.standard_error:.4f}",
            "█" * length + "▏" + mark,
            f"{step.n_anchored}",
            "" if step.n_returning is None else f"{step.n_returning}",
            _left(step.row()),
        )
    show(table)
    made_from, make = path.mechanisms
    say(
        "",
        f"Number of factors: {path.recommendation}",
        "",
        *LEGEND,
        f"Factors are {made_from} in variables, variables {make} in factors.",
    )
    if path.cut_short:
        say(f"{path.cut_short} Larger numbers were not tried.")
    for file in output:
        print(f"Written: {file}")


def _left(row: dict[str, Any]) -> str:
    """What is left, or which factors are none, in a few words."""
    words = []
    if row["left_of"]:
        words.append(f"{row['left_share']:.1%} of {row['left_of']}")
    kinds = [name for name in ("empty", "copied") if row[f"n_{name}"]]
    words += [f"{row[f'n_{name}']} {name}" for name in kinds]
    return ", ".join(words) or "nothing"
