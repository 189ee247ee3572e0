"""Gene sets as files hold them: GMT, or a table with a column of sets and a column of genes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ucad.errors import FormatError
from ucad.files import check_regular, read_text

__all__ = ["GeneSet", "read_gene_sets"]

SET_COLUMNS = ("set", "gene_set", "geneset", "term", "pathway", "source", "tf", "regulator")
GENE_COLUMNS = ("gene", "target", "genes", "symbol", "gene_symbol", "member")
"""Names of the two columns of a table, in the order in which they are looked for; the source of a
regulon is its transcription factor."""


class GeneSet(NamedTuple):
    """A name and its genes, and the regulator if the set is a regulon."""

    name: str
    genes: frozenset[str]
    regulator: str | None = None


def read_gene_sets(path: str | Path) -> list[GeneSet]:
    """Reads a GMT file (set, description, genes, separated by tabs), or a TSV or CSV with a header.

    A table has one line per gene of a set; further columns, such as confidence or sign, are passed
    over. A column `tf`, `source` or `regulator` says that sets are regulons.

    Raises:
        FormatError: the file cannot be read, or holds no sets.
    """
    path = Path(path)
    if not path.exists():
        raise FormatError(f"There is no file '{path}'.")
    check_regular(path)
    lines = [line for line in read_text(path).splitlines() if line.strip()]
    if not lines:
        raise FormatError(f"'{path}' holds no gene sets: it is empty.")
    if path.suffix.lower() == ".gmt":
        return _from_gmt(path, lines)
    return _from_table(path, lines, "," if path.suffix.lower() == ".csv" else "\t")


def _from_gmt(path: Path, lines: list[str]) -> list[GeneSet]:
    found = []
    for at, line in enumerate(lines, start=1):
        name, *rest = (field.strip() for field in line.split("\t"))
        genes = frozenset(filter(None, rest[1:]))
        if not name or not genes:
            raise FormatError(
                f"Line {at} of '{path}' must hold a name, a description and genes, separated by "
                f"tabs. Got '{line[:60]}'."
            )
        found.append(GeneSet(name, genes))
    return found


def _from_table(path: Path, lines: list[str], separator: str) -> list[GeneSet]:
    header = [field.strip().strip('"').casefold() for field in lines[0].split(separator)]
    which = next((name for name in SET_COLUMNS if name in header), None)
    gene = next((name for name in GENE_COLUMNS if name in header and name != which), None)
    if which is None or gene is None:
        raise FormatError(
            f"'{path}' must have a header with a column of sets ({', '.join(SET_COLUMNS)}) and one "
            f"of genes ({', '.join(GENE_COLUMNS)}). Its header is '{lines[0][:60]}'."
        )
    at_set, at_gene = header.index(which), header.index(gene)
    members: dict[str, set[str]] = {}
    for line in lines[1:]:
        fields = [field.strip().strip('"') for field in line.split(separator)]
        if len(fields) > max(at_set, at_gene) and fields[at_set] and fields[at_gene]:
            members.setdefault(fields[at_set], set()).add(fields[at_gene])
    if not members:
        raise FormatError(f"'{path}' holds no gene sets: no line has a set and a gene.")
    is_regulon = which in ("tf", "source", "regulator")
    return [
        GeneSet(name, frozenset(genes), name if is_regulon else None)
        for name, genes in members.items()
    ]
