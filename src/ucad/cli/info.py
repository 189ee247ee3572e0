"""`ucad info`: what is in a data file, as ucad reads it, before any fitting."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

__all__ = ["info"]


def info(
    data: Path,
    /,
    *,
    target: str | None = None,
    control: str = "",
    indicators: dict[str, str] | None = None,
    ignore: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = (),
    drop_constant: bool = False,
    min_mean: float | None = None,
    log_counts: bool = False,
    missing: Literal["error", "drop", "mean"] = "error",
    json: bool = False,
) -> None:
    """Show what is in a data file: samples, variables, regimes, controls, and what looks odd.

    Nothing is fitted and nothing is written. A file that cannot be fitted is refused with all that
    is wrong with it.

    Parameters
    ----------
    data
        A .csv, .tsv, .parquet, .npz or .h5ad file, or a DCDI folder.
    target
        The column that names what was clamped (several joined by ;).
    control
        The label of observational samples in that column.
    indicators
        Columns of zeros and ones with the variable each clamps: --indicators.pma pkc
    ignore
        Columns that are no variables.
    drop_constant
        Leave out variables that never change.
    min_mean
        Leave out variables whose mean is below this.
    log_counts
        Turn counts into log(1 + 10^4 count / total of the sample).
    missing
        What is done about missing values: error, drop or mean.
    json
        Print JSON.
    """
    import logging

    import ucad

    # What reading says is in the summary, too.
    logging.getLogger("ucad.data").setLevel(logging.ERROR)
    try:
        read = ucad.read(
            data,
            target=target,
            control=control,
            indicators=indicators,
            ignore=ignore,
            drop_constant=drop_constant,
            min_mean=min_mean,
            log_counts=log_counts,
            missing=missing,
        )
    finally:
        logging.getLogger("ucad.data").setLevel(logging.NOTSET)
    summary = read.summary()
    print(json_module.dumps(summary.to_json(), ensure_ascii=False) if json else summary)
