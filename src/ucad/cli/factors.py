"""`ucad factors`: how many factors the data can show."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from ucad.cli.options import Whole

if TYPE_CHECKING:
    from ucad.cli.settings import FitSettings
    from ucad.consensus.path import FactorPath

__all__ = ["factors"]

DONE, UNFINISHED = 0, 1
"""Exit codes: whether all fits were done, or some were stopped or failed."""

BAR = 24
"""Characters of the longest bar of the curve."""

FIGURES = (".png", ".svg", ".pdf")
"""Kinds of files that are figures."""


def factors(
    data: Path,
    /,
    *,
    first: Annotated[Whole, Parameter(name="--from")] = 0,
    last: Annotated[Whole | None, Parameter(name="--to")] = None,
    output: Annotated[tuple[Path, ...], Parameter(name=["--output", "-o"])] = (),
    factor_mechanism: str | None = None,
    variable_mechanism: str | None = None,
    budget: float | None = None,
    layers: str | None = None,
    prior: str | None = None,
    target: str | None = None,
    control: str | None = None,
    indicators: dict[str, str] | None = None,
    ignore: Annotated[tuple[str, ...] | None, Parameter(consume_multiple=True)] = None,
    context: tuple[str, ...] | None = None,
    context_acts_on: str | None = None,
    missing: Literal["error", "drop", "mean"] | None = None,
    drop_constant: bool | None = None,
    min_mean: float | None = None,
    log_counts: bool | None = None,
    standardise: bool | None = None,
    validation_share: float | None = None,
    seed: Whole | None = None,
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
    factor_mechanism
        How factors are made of variables: auto, linear, mlp or spline.
    variable_mechanism
        How variables are made of factors: the same.
    budget
        The seconds it may take.
    layers
        A csv file with one line per variable, name,layer.
    prior
        A TOML file with lists of edges known beforehand: required, forbidden and anchors.
    target
        The column that names what was clamped (several joined by ;).
    control
        The label of observational samples in that column.
    indicators
        Columns of zeros and ones with the variable each clamps: --indicators.pma pkc
    ignore
        Columns that are no variables.
    context
        Columns of covariates, such as the batch of a sample; may be given several times.
    context_acts_on
        mechanisms, readings or auto.
    missing
        What is done about missing values: error, drop or mean.
    drop_constant
        Leave out variables that never change.
    min_mean
        Leave out variables whose mean is below this.
    log_counts
        Turn counts into log(1 + 10^4 count / total of the sample).
    standardise
        Fit on variables of mean 0 and variance 1.
    validation_share
        The part of the samples held out to choose between models.
    seed
        Random seed.
    config
        A TOML file with the settings of a fit; options given here take precedence.
    force
        Replace files that exist.
    quiet
        Show no progress.
    json
        Print the result as JSON.
    """
    from ucad.cli.fit import settings_given
    from ucad.cli.settings import resolve

    settings = resolve(config, settings_given(locals()))
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
    from ucad.cli.fit import estimator_for, read_data
    from ucad.cli.progress import shown_progress

    measured = read_data(data, settings)
    with shown_progress(quiet=quiet) as progress:
        model = estimator_for(settings, measured.variable_names)
        model.set_params(n_factors="auto", progress=progress)
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

    from ucad.cli.output import show

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("factors", "NLL", "± se", "", "anchored", "come back", "what is left"):
        table.add_column(name, justify="left" if name in ("", "what is left") else "right")
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
    print(f"\n{path.recommendation}")
    print(f"F_Z {path.mechanisms[0]}, F_X {path.mechanisms[1]}; {path.seconds:.1f} s.")
    if path.cut_short:
        print(f"{path.cut_short} Larger numbers were not tried.")
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
