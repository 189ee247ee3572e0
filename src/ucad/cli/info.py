"""`ucad info`: what is in a data file, as ucad reads it, before any fitting."""

from __future__ import annotations

import json as json_module
from pathlib import Path

from ucad.cli.fit_options import NO_READING, ReadingOptions, given

__all__ = ["info"]


def info(
    data: Path,
    /,
    *,
    reading: ReadingOptions = NO_READING,
    json: bool = False,
) -> None:
    """Show what is in a data file, as ucad reads it, and what looks odd.

    Nothing is fitted and nothing is written. A file that cannot be read is refused with all that is
    wrong with it; what makes a fit impossible or doubtful stands below the table, after a !.

    Parameters
    ----------
    data
        A .csv, .tsv, .parquet, .npz or .h5ad file, or a DCDI folder.
    json
        Print JSON.
    """
    import logging

    from ucad.cli.reading import read_data
    from ucad.cli.settings import resolve

    # What reading says is in the summary, too.
    logging.getLogger("ucad.data").setLevel(logging.ERROR)
    try:
        read = read_data(data, resolve(None, given(reading)))
    finally:
        logging.getLogger("ucad.data").setLevel(logging.NOTSET)
    summary = read.summary()
    print(json_module.dumps(summary.to_json(), ensure_ascii=False) if json else summary)
