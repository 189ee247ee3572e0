"""Tables to which several things have happened at once, in any format, and what is true of them."""

import gzip
import io
import os
import shutil
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from tests.hostile.names import ODD

ENDINGS = [".csv", ".tsv", ".txt", ".csv", ".parquet", ".npz", ".npy", ".h5ad", ".zarr"]
TEXT = (".csv", ".tsv", ".txt")
RENAMING = (".npy", ".h5ad", ".zarr")
"""Formats without names, or where a name that is used twice is changed, and that is said."""


@dataclass
class Table:
    """A table on its way to a file.

    Attributes:
        columns: by position, since names may be repeated: a name and its cells.
        faithful: whether a reader that does not refuse it must read exactly these numbers.
        readable: whether it may be read at all; what is not must be refused.
        done: what has happened to it.
    """

    columns: list[tuple[str, list]]
    faithful: bool = True
    readable: bool = True
    done: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return [name for name, _ in self.columns]

    @property
    def n_rows(self) -> int:
        """Samples."""
        return len(self.columns[0][1]) if self.columns else 0

    def frame(self) -> pd.DataFrame:
        """The table as other programs hold it."""
        frame = pd.DataFrame({at: cells for at, (_, cells) in enumerate(self.columns)})
        frame.columns = self.names
        return frame


def damaged_table(seed: int, folder: Path) -> tuple[Path, Table]:
    """Writes a small table to which one to three things have happened."""
    rng = np.random.default_rng(seed)
    table = _sound_table(rng)
    for at in rng.integers(len(CELLS), size=int(rng.integers(0, 3))):
        CELLS[at](rng, table)
        table.done.append(CELLS[at].__name__)
    ending = ENDINGS[seed % len(ENDINGS)]
    path = folder / f"t{ending}"
    _judge(table, ending)
    _write(rng, table, path)
    if rng.random() < 0.4:
        how = FILES[int(rng.integers(len(FILES)))]
        table.done.append(how.__name__)
        path = how(rng, table, path)
    return path, table


def _judge(table: Table, ending: str) -> None:
    """What must be refused: no rows, cells that are no finite numbers, a name for two columns."""
    cells = [cell for _, column in table.columns for cell in column]
    numbers = all(isinstance(cell, float | int) and np.isfinite(cell) for cell in cells)
    indexed = bool(cells) and isinstance(cells[0], str)  # the first column may be the rows' index
    twice = {tuple(column) for name, column in table.columns if table.names.count(name) > 1}
    twice = set() if ending in RENAMING else twice
    table.readable = bool(cells) and (numbers or indexed) and len(twice) < 2
    table.faithful = numbers and len(set(table.names)) == len(table.names)


def _sound_table(rng) -> Table:
    """A few variables, each the effect of the one before."""
    n = int(rng.choice([24, 40]))
    x = rng.normal(size=(n, 4))
    for column in range(1, 4):
        x[:, column] += x[:, column - 1]
    return Table([(f"v{i}", x[:, i].tolist()) for i in range(4)])


def _one(rng, table: Table) -> int:
    return int(rng.integers(len(table.columns)))


def _put(rng, table: Table, value) -> None:
    at = _one(rng, table)
    if table.n_rows:
        table.columns[at][1][int(rng.integers(table.n_rows))] = value


def not_a_number(rng, table: Table) -> None:
    _put(rng, table, float("nan"))


def infinite(rng, table: Table) -> None:
    _put(rng, table, float(rng.choice([np.inf, -np.inf])))


def far_value(rng, table: Table) -> None:
    _put(rng, table, float(rng.choice([1e308, -1.7e308, 1e101, 1e30])))


def denormal(rng, table: Table) -> None:
    _put(rng, table, float(rng.choice([5e-324, -1e-310, -0.0])))


def tiny_column(rng, table: Table) -> None:
    cells = table.columns[_one(rng, table)][1]
    cells[:] = [cell * 1e-300 if isinstance(cell, float) else cell for cell in cells]


def constant_column(rng, table: Table) -> None:
    cells = table.columns[_one(rng, table)][1]
    cells[:] = [float(rng.choice([0.0, 1.0, 1e99]))] * len(cells)


def all_constant(_rng, table: Table) -> None:
    for _, cells in table.columns:
        cells[:] = [2.5] * len(cells)


def all_identical(_rng, table: Table) -> None:
    for _, cells in table.columns[1:]:
        cells[:] = table.columns[0][1]


def one_row(_rng, table: Table) -> None:
    for _, cells in table.columns:
        del cells[1:]


def no_row(_rng, table: Table) -> None:
    for _, cells in table.columns:
        cells.clear()


def one_column(_rng, table: Table) -> None:
    del table.columns[1:]


def whole_numbers(rng, table: Table) -> None:
    cells = table.columns[_one(rng, table)][1]
    cells[:] = [int(v) for v in rng.integers(-5, 2**53, size=len(cells))]


def two_values(rng, table: Table) -> None:
    cells = table.columns[_one(rng, table)][1]
    cells[:] = [float(v) for v in rng.integers(0, 2, size=len(cells))]


def words(rng, table: Table) -> None:
    cells = table.columns[_one(rng, table)][1]
    cells[:] = [str(v) for v in rng.choice(["red", "blue"], size=len(cells))]


def one_word(rng, table: Table) -> None:
    _put(
        rng,
        table,
        str(rng.choice(["red", "1,5", "1 000", "--", "N/A", "0x1F", "1e", "١٢", "#REF!"])),
    )


def dates(rng, table: Table) -> None:
    cells = table.columns[_one(rng, table)][1]
    cells[:] = [f"2024-01-{1 + i % 28:02d}" for i in range(len(cells))]


def repeated_name(_rng, table: Table) -> None:
    table.columns[-1] = (table.columns[0][0], table.columns[-1][1])


def odd_name(rng, table: Table) -> None:
    at = _one(rng, table)
    pool = [
        *ODD,
        "a\nb",
        "x" * 10_000,
        "\x1b[31m",
        "1",
        "1.5",
        "nan",
        "v0 ",
        "\u200b",
        "😀",
        "=1+1",
    ]
    table.columns[at] = (str(rng.choice(pool)), table.columns[at][1])


def wide(_rng, table: Table) -> None:
    for extra in range(300):
        table.columns.append((f"w{extra}", [float(i * extra % 7) for i in range(table.n_rows)]))


CELLS = [
    not_a_number, infinite, far_value, denormal, tiny_column, constant_column, all_constant,
    all_identical, one_row, no_row, one_column, whole_numbers, two_values, words, one_word, dates,
    repeated_name, odd_name, odd_name, odd_name,
]  # fmt: skip
"""What happens to cells and names."""


def _write(rng, table: Table, path: Path) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if path.suffix in TEXT:
            path.write_bytes(_text(rng, table, path.suffix))
        elif path.suffix == ".parquet":
            _or_nothing(table, path, lambda: table.frame().to_parquet(path))
        else:
            _or_nothing(table, path, lambda: _matrix(rng, table, path))


def _or_nothing(table: Table, path: Path, write) -> None:
    """What no other program writes becomes an empty file, which must be refused."""
    try:
        write()
    except Exception:  # noqa: BLE001 - whatever pandas or anndata cannot write
        shutil.rmtree(path, ignore_errors=True)
        path.write_bytes(b"")
        table.readable = False
        table.done.append("nothing")


def _text(rng, table: Table, ending: str) -> bytes:
    separator = {".csv": ",", ".tsv": "\t", ".txt": str(rng.choice([",", "\t", ";"]))}[ending]
    breaks = str(rng.choice(["\n", "\n", "\r\n", "\r"]))
    file = io.StringIO()
    quoting = int(rng.choice([0, 0, 1, 2]))
    table.frame().to_csv(
        file, sep=separator, index=False, lineterminator=breaks, quoting=quoting, na_rep="nan"
    )
    text = file.getvalue()
    encoding = str(rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"]))
    table.done.append(f"{encoding} {separator!r} {breaks!r} quoting {quoting}")
    if encoding in ("latin-1", "cp1252") and not text.isascii():
        table.faithful = False
    return text.encode(encoding, "replace")


def _matrix(rng, table: Table, path: Path) -> None:
    x = table.frame().to_numpy()
    x = x.astype(float) if rng.random() < 0.8 else x
    if x.dtype == object and path.suffix != ".h5ad":
        table.readable = False
    if path.suffix == ".npy":
        table.columns = [(f"X{at}", cells) for at, (_, cells) in enumerate(table.columns, 1)]
        np.save(path, x, allow_pickle=True)
    elif path.suffix == ".npz":
        np.savez(path, x=x, variable_names=np.array(table.names, dtype="U"))
    else:
        _anndata(table, x, path)


def _anndata(table: Table, x, path: Path) -> None:
    import anndata

    obs = pd.DataFrame(index=[f"cell{i}" for i in range(table.n_rows)])
    made = anndata.AnnData(X=x, obs=obs, var=pd.DataFrame(index=table.names))
    made.write_h5ad(path) if path.suffix == ".h5ad" else made.write_zarr(path)


def cut_off(rng, table: Table, path: Path) -> Path:
    """The first part of the file; of a folder, one file is gone."""
    table.faithful, table.readable = False, True
    target = path
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file())
        target = files[int(rng.integers(len(files)))]
    content = target.read_bytes()
    target.write_bytes(content[: int(rng.integers(len(content) + 1))])
    return path


def flipped(rng, table: Table, path: Path) -> Path:
    """Some bytes are others."""
    table.faithful, table.readable = False, True
    target = path
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file())
        target = files[int(rng.integers(len(files)))]
    content = bytearray(target.read_bytes())
    for at in rng.integers(max(1, len(content)), size=int(rng.choice([1, 5, 50]))):
        if content:
            content[at] = int(rng.integers(256))
    target.write_bytes(bytes(content))
    return path


def packed(_rng, table: Table, path: Path) -> Path:
    """As gzip leaves it."""
    if path.is_dir():
        return path
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return packed


def half_packed(rng, table: Table, path: Path) -> Path:
    """A gzip file that was cut off, or that holds nothing of the kind."""
    if path.is_dir():
        return path
    table.faithful, table.readable = False, True
    content = gzip.compress(path.read_bytes())
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(content[: int(rng.integers(len(content)))])
    return packed


def other_ending(rng, table: Table, path: Path) -> Path:
    """A name that says another format."""
    table.faithful = False
    table.readable = True
    other = path.with_suffix(str(rng.choice([".csv", ".npz", ".h5ad", ".parquet", ".dat", ""])))
    return path if other == path else path.rename(other)


def linked(_rng, table: Table, path: Path) -> Path:
    """A link to it."""
    link = path.with_name("link" + path.suffix)
    link.symlink_to(path.name)
    return link


def no_file(rng, table: Table, path: Path) -> Path:
    """Something else in its place."""
    table.readable = False
    how = int(rng.integers(5))
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    if how == 0:
        path.mkdir()
    elif how == 1:
        path.write_bytes(b"")
    elif how == 2:
        path.symlink_to(path.name)
    elif how == 3:
        os.mkfifo(path)
    return path


def ragged(rng, table: Table, path: Path) -> Path:
    """One line has more or fewer cells, or stands there twice."""
    if path.suffix not in TEXT:
        return path
    content = path.read_bytes()
    lines = content.split(b"\n")
    at = int(rng.integers(len(lines)))
    lines[at] = [lines[at] + b",7", lines[at][: len(lines[at]) // 2], b"# mine", b"\0"][
        int(rng.integers(4))
    ]
    path.write_bytes(b"\n".join(lines))
    table.faithful, table.readable = False, True
    return path


FILES = [cut_off, flipped, packed, packed, half_packed, other_ending, linked, no_file, ragged]
"""What happens to files."""
