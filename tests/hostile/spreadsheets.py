"""One table in the many ways in which spreadsheets and statistics programs save it."""

import codecs
import csv
import io
from pathlib import Path

import numpy as np

ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"]
NAMES = ["a", "é", "gene 1", "x;y", "p,q", 'q"q', "two\nlines", "中文", "1", "STAT1", "-", "=1+1"]


def spreadsheet(seed: int, folder: Path) -> tuple[Path, tuple[str, ...], np.ndarray]:
    """Writes a table and returns its path, its names and its numbers."""
    rng = np.random.default_rng(seed)
    separator = str(rng.choice([",", ";", "\t"]))
    decimal = "," if separator != "," and rng.random() < 0.5 else "."
    names = rng.permutation(NAMES)[: int(rng.integers(2, 6))].tolist()
    x = np.round(rng.normal(size=(int(rng.integers(3, 9)), len(names))) * 10.0, 3) + 0.0005
    cells = [[repr(float(value)).replace(".", decimal) for value in row] for row in x]
    empty = [""] * int(rng.integers(0, 3))
    buffer = io.StringIO()
    writer = csv.writer(
        buffer,
        delimiter=separator,
        lineterminator=str(rng.choice(["\n", "\r\n"])),
        quoting=csv.QUOTE_ALL if rng.random() < 0.3 else csv.QUOTE_MINIMAL,
    )
    if rng.random() < 0.2:
        buffer.write(f"sep={separator}\r\n")
    for row in (names, *cells):
        writer.writerow([*row, *empty])
    path = folder / f"table.{rng.choice(['csv', 'tsv', 'txt'])}"
    path.write_bytes(_encoded(buffer.getvalue(), str(rng.choice(ENCODINGS))))
    return path, tuple(names), x


def written_for_people(seed: int, folder: Path) -> tuple[Path, str]:
    """A table in which one column, often the first, holds numbers as people write them."""
    rng = np.random.default_rng(seed)
    form = FORMS[seed % len(FORMS)]
    n_rows, names = int(rng.integers(3, 30)), ["a", "b", "c"]
    at = int(rng.choice([0, 0, 1, 2]))
    cells = rng.normal(size=(n_rows, 3)).round(3).astype(str).tolist()
    for row, value in zip(cells, rng.permutation(9000)[:n_rows] + 1000, strict=True):
        row[at] = form(int(value))
    buffer = io.StringIO()
    csv.writer(buffer).writerows([names, *cells])
    path = folder / "table.csv"
    path.write_text(buffer.getvalue(), encoding="utf-8")
    return path, names[at]


FORMS = [
    "{:,}".format,
    "{:,}.5".format,
    "${:,}".format,
    "{} %".format,
    "{}%".format,
    "€ {}".format,
    "{} €".format,
    lambda value: f"{value:,}".replace(",", "'"),
    lambda value: f"{value:,}".replace(",", "\u202f"),
    lambda value: f"{value:,}".replace(",", ".") + ",5",
    lambda value: f"{value / 7:.2f}".replace(".", ","),
    lambda value: f"\u2212{value}",
]
"""Thousands in groups, currencies, percentages, decimal commas, the typographic minus."""


def _encoded(text: str, encoding: str) -> bytes:
    mark = codecs.BOM_UTF16_BE if encoding == "utf-16-be" else b""
    return mark + text.encode(encoding)
