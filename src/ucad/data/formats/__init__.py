"""Files to data sets and back: csv, parquet, npz, npy, h5ad, zarr and folders of DCDI."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ucad.data.dataset import InterventionalData
from ucad.data.formats.anndata import read_h5ad, read_zarr, write_h5ad
from ucad.data.formats.arrays import read_npz, write_npz
from ucad.data.formats.dcdi import is_dcdi, read_dcdi, write_dcdi
from ucad.data.formats.mapped import read_npy
from ucad.data.formats.options import ReadOptions, check_writable
from ucad.data.formats.tables import (
    read_csv,
    read_parquet,
    write_csv,
    write_parquet,
)
from ucad.data.rest import DEFAULT_MEMORY
from ucad.errors import FormatError, InvalidInputError, did_you_mean
from ucad.files import check_regular
from ucad.parameters import as_path

__all__ = ["ReadOptions", "read", "write"]

_READERS: dict[str, Callable[[Path, ReadOptions], InterventionalData]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".txt": read_csv,
    ".parquet": read_parquet,
    ".npz": read_npz,
    ".npy": read_npy,
    ".h5ad": read_h5ad,
    ".zarr": read_zarr,
    "": read_dcdi,
}
_WRITERS: dict[str, Callable[[InterventionalData, Path], None]] = {
    ".csv": write_csv,
    ".tsv": write_csv,
    ".parquet": write_parquet,
    ".npz": write_npz,
    ".h5ad": write_h5ad,
    "": write_dcdi,
}
_TABLE = {
    *("target", "control", "indicators", "ignore"),
    *("drop_constant", "min_mean", "missing", "context", "intervention", "log_counts", "counts"),
}
_STORED = _TABLE - {"indicators", "ignore"} | {"memory"}
_APPLIES: dict[str, set[str]] = {
    ".csv": _TABLE,
    ".tsv": _TABLE,
    ".txt": _TABLE,
    ".parquet": _TABLE,
    ".h5ad": _STORED | {"matrix"},
    ".zarr": _STORED | {"matrix"},
    ".npy": _STORED,
    ".npz": {"drop_constant", "min_mean", "missing", "context", "intervention"},
    "": {"drop_constant", "min_mean", "missing"},
}
"""Which options say something about which kind of file."""
_ADVICE = {
    **dict.fromkeys((".gz", ".zip", ".bz2", ".xz"), " Unpack it first."),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), " Save the sheet as CSV first."),
}
"""What to do about files that are often brought."""
MAX_NAMED = 5
"""Files of a folder that an error names."""


def read(  # noqa: PLR0913 - the user's front door: every option by its own name
    path: str | Path,
    *,
    target: str | None = None,
    control: str = "",
    indicators: Mapping[str, str] | None = None,
    ignore: Sequence[str] = (),
    drop_constant: bool = False,
    min_mean: float | None = None,
    log_counts: bool = False,
    counts: bool = False,
    matrix: str = "X",
    context: Sequence[str] = (),
    intervention: str = "",
    missing: str = "error",
    memory: float = DEFAULT_MEMORY,
) -> InterventionalData:
    """Reads a data set; the ending of the name says how, a folder is DCDI's.

    Args:
        path: `.csv`, `.tsv`, `.txt` (tab separated), `.parquet`, `.npz`, `.npy`, `.h5ad`, `.zarr`,
            or a folder with `data_interv1.npy`, `intervention1.csv` and `regime1.csv`.
        target: the column that names what was clamped in a sample: one name, several joined by
            `;` (or by `+` and the like, where the parts are known), or nothing.
            `target`, if there is such a column.
        control: the label of observational samples in that column, besides the empty one.
        indicators: instead of `target`, columns of zeros and ones, one per condition, with the
            variable each clamps (`""` for one that counts as observational).
        ignore: columns that are neither variables nor targets.
        drop_constant: leave out variables that never change instead of refusing them.
        min_mean: leave out variables whose mean is below this, such as genes hardly seen.
        log_counts: turn counts into log(1 + 10⁴ · count / total of the sample).
        counts: keep counts and their depth: values are log(1 + count / depth) with depth = total
            of the sample / median total, from which a fit finds both again. Not with log_counts.
        matrix: which matrix of an AnnData holds the values: `X`, `raw` or `layers/NAME`.
        context: columns (of a table, of `obs`) that say something of a sample and are no
            variables, such as its batch; texts become indicators. `log_depth` is made of the
            totals of the samples where there is no such column.
        intervention: what was done to targets: `clamp`, `shift`, `soft`, `unknown`, or the column
            that says it for every sample; by default the data are asked when a model is fitted.
        missing: what is done about missing values: `error` refuses them, `drop` leaves out the
            samples that have one, `mean` fills in the mean of the variable in the same regime and
            leaves the entry out of the likelihood.
        memory: GiB that reading and fitting may take, for files that are read in blocks (`.h5ad`,
            `.zarr`, `.npy`): if all samples would take more, a part of every regime is read, a note
            says so, and a fit is checked on the others.

    Raises:
        FormatError: the file is not there, or is not what its name says.
        InvalidInputError: the file was read, and its contents are no usable data set.
    """
    path = as_path(path, "path")
    options = ReadOptions(
        target=target,
        control=control,
        indicators=indicators or {},
        ignore=ignore,
        drop_constant=drop_constant,
        min_mean=min_mean,
        log_counts=log_counts,
        counts=counts,
        matrix=matrix,
        context=tuple(context),
        intervention=intervention,
        missing=missing,
        memory=memory,
    )
    suffix = _kind_of(path)
    for name in options.given:
        if name not in _APPLIES[suffix]:
            kind = f"{suffix} files" if suffix else "folders"
            raise InvalidInputError(f"The option '{name}' does not apply to {kind}.")
    return _READERS[suffix](path, options)


def _kind_of(path: Path) -> str:
    """The ending that says how to read what is there; anything that cannot be read is refused."""
    if not path.exists():
        if path.is_symlink():
            raise FormatError(f"'{path}' is a link that leads nowhere.")
        beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        raise FormatError(f"There is no file '{path}'.{did_you_mean(path.name, beside)}")
    suffix = path.suffix.lower()
    if path.is_dir() and suffix != ".zarr":
        if suffix and suffix in _READERS:
            raise FormatError(f"'{path}' must be a file. Got a folder instead.")
        _check_is_dcdi(path)
        return ""
    if suffix not in _READERS or suffix == "":
        endings = ", ".join(filter(None, _READERS))
        advice = _ADVICE.get(suffix, "")
        raise FormatError(f"'{path}' must end in one of {endings}, or be a folder.{advice}")
    if not path.is_dir():
        check_regular(path)
    return suffix


def _check_is_dcdi(path: Path) -> None:
    """Names the tables in a folder that is not DCDI's: one of them was meant."""
    tables = sorted(p.name for p in path.iterdir() if p.suffix.lower() in _READERS and p.suffix)
    if tables and not is_dcdi(path):
        more = ", …" if len(tables) > MAX_NAMED else ""
        named = ", ".join(tables[:MAX_NAMED])
        raise FormatError(f"'{path}' is a folder of data files ({named}{more}): name one of them.")


def write(data: InterventionalData, path: str | Path) -> None:
    """Writes a data set so that `read` gives it back exactly, or refuses.

    What a table cannot hold (regime names, layers, scaling) goes into the file's own metadata, or
    for csv and DCDI folders into a small `.json` beside it.
    """
    path = as_path(path, "path")
    suffix = path.suffix.lower()
    if suffix not in _WRITERS:
        raise FormatError(
            f"Data sets are written as {', '.join(filter(None, _WRITERS))} or a folder without an "
            f"ending. Got '{path.name}' instead."
        )
    check_writable(data)
    _WRITERS[suffix](data, path)
