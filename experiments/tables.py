"""Our figures beside the paper's, as tables in Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.cells import CELLS, ROTATED, Cell, rows_of
from ucad.simulate import SETTINGS

__all__ = [
    "METRICS",
    "Table",
    "fault",
    "plus_minus",
    "rotated_table",
    "setting_tables",
    "summary_table",
    "values_of",
]

Row = Mapping[str, Any]
METRICS = {
    "mcc_pearson": "MCC (Pearson)",
    "mcc_spearman": "MCC (Spearman)",
    "mcc_rdc": "MCC (RDC)",
    "r2_linear": "R² linear",
    "r2_mlp": "R² MLP",
    "dci_informativeness": "DCI informativeness",
    "dci_disentanglement": "DCI disentanglement",
    "dci_completeness": "DCI completeness",
    "nll": "NLL",
    "dag_violation": "DAG violation",
}
OURS = {"exact": "exact graph", "feasible": "feasible", "shd": "SHD", "seconds": "CPU seconds"}
CLEAR_LOSS = -1.0
"""Nats by which the true graph must score higher for the search to be at fault."""


@dataclass(frozen=True)
class Table:
    """A title, a header, and rows of text."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        """As in a README."""
        lines = [f"### {self.title}", "", _line(self.header), "|---" * len(self.header) + "|"]
        lines += [_line(row) for row in self.rows]
        return "\n".join([*lines, "", *(f"- {note}" for note in self.notes), ""])

    def latex(self) -> str:
        """As a booktabs table."""
        lines = [r"\begin{table}[htb]", r"\centering", rf"\caption{{{_tex(self.title)}}}"]
        lines += [rf"\begin{{tabular}}{{l{'c' * (len(self.header) - 1)}}}", r"\toprule"]
        lines += [" & ".join(map(_tex, self.header)) + r" \\", r"\midrule"]
        lines += [" & ".join(map(_tex, row)) + r" \\" for row in self.rows]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def values_of(rows: Iterable[Row], name: str) -> np.ndarray:
    """One value a graph; seconds: CPU time of the fit; `ceiling.x` is x of the true graph."""
    if name == "seconds":
        return np.array([row["about"]["fit_cpu_seconds"] for row in rows], dtype=float)
    results = [row["result"] for row in rows]
    if name.startswith("ceiling."):
        results, name = [one.get("ceiling", {}) for one in results], name.partition(".")[2]
    found = [one.get(name) for one in results]
    return np.array([value for value in found if value is not None], dtype=float)


def plus_minus(name: str, mean: float, std: float | None = None, *, digits: int = 4) -> str:
    """A mean and, if there are several graphs, their standard deviation.

    >>> plus_minus("nll", 0.5, 0.25, digits=2), plus_minus("dag_violation", -1e-6)
    ('0.50 ± 0.25', '-1.00e-06')
    """
    value, spread = (".2e", ".1e") if name == "dag_violation" else (f".{digits}f", f".{digits}f")
    return f"{mean:{value}}" if std is None else f"{mean:{value}} ± {std:{spread}}"


def fault(row: Row) -> str | None:
    """Who is to blame where a graph falls short: the search, the score, or nobody.

    Short is an MCC (Pearson) below 0.98; where both mechanisms are nonlinear, RDC below 0.97. The
    search is at fault if the true graph scores higher; else the score prefers what was found, and
    no search by it could do better.
    """
    result, setting = row["result"], SETTINGS[row["task"]["setting"]]
    free = not (setting.linear_factors or setting.linear_variables)
    short = result["mcc_rdc"] < 0.97 if free else result["mcc_pearson"] < 0.98
    if not short:
        return None
    gap = result.get("score_above_ceiling")
    if gap is None:
        return "unknown"
    return "search" if gap < CLEAR_LOSS else "score"


def summary_table(rows: Sequence[Row], paper: Mapping[str, Any]) -> Table:
    """A line a cell and solver, and what was not identifiable or fell short, graph by graph."""
    header = (
        "cell",
        "solver",
        "graphs",
        "MCC Pearson (worst)",
        "Spearman",
        "RDC (worst)",
        "exact Q, R",
        "SHD",
        "NLL",
        "CPU seconds (worst)",
        "ceiling Pearson, RDC",
        "truth scores better",
        "paper Pearson, RDC",
    )
    lines = []
    for cell, solver, own in _groups(rows):
        published = paper.get(cell.setting, {}).get(cell.size)
        lines.append((str(cell), solver, *_summary(own, published)))
    return Table("Summary", header, tuple(lines), tuple(_accounts(rows)))


def setting_tables(rows: Sequence[Row], paper: Mapping[str, Any]) -> Iterator[Table]:
    """The paper's table of every setting, with our columns beside its own."""
    for letter, setting in SETTINGS.items():
        columns: list[tuple[str, Mapping[str, str]]] = []
        for cell in (cell for cell in CELLS if cell.setting == letter):
            published = paper.get(letter, {}).get(cell.size, {})
            groups = [group for group in _groups(rows) if group[0] == cell]
            if not groups:
                continue
            theirs = {name: plus_minus(name, *pair) for name, pair in published.items()}
            columns.append((f"{cell.size} paper", theirs))
            columns += [(f"{cell.size} {solver}", _column(own)) for _, solver, own in groups]
            columns.append((f"{cell.size} true graph", _column(groups[0][2], "ceiling.")))
        if columns:
            lines = tuple(
                (title, *(column.get(name, "–") for _, column in columns))
                for name, title in (METRICS | OURS).items()
            )
            header = ("metric", *(name for name, _ in columns))
            yield Table(f"({letter}) {setting.description}", header, lines)


def rotated_table(rows: Sequence[Row], paper: Mapping[str, Any]) -> Table:
    """MCC (Pearson) as learned, and after random rotations: ours, and the paper's in brackets."""
    names = {
        "mcc_pearson": "learned (paper)",
        "true_rotated": "true factors rotated (paper)",
        "learned_rotated": "learned factors rotated (paper)",
    }
    lines = []
    for cell, solver, own in _groups(rows):
        if cell not in ROTATED:
            continue
        published = paper.get("rotated_controls", {}).get(cell.setting, {}).get(cell.size, [])
        ours = [values_of(own, name) for name in names]
        figures = (
            f"{_mean(values)} ({theirs:.2f})"
            for values, theirs in zip(ours, published, strict=True)
        )
        lines.append((str(cell), solver, str(len(own)), *figures))
    title = "Rotated controls: MCC (Pearson), factors not standardised, 20 rotations"
    return Table(title, ("cell", "solver", "graphs", *names.values()), tuple(lines))


def _groups(rows: Sequence[Row]) -> Iterator[tuple[Cell, str, list[Row]]]:
    solvers = dict.fromkeys(row["task"].get("solver", "search") for row in rows)
    others = sorted({Cell(row["task"]["setting"], row["task"]["size"]) for row in rows})
    for cell in dict.fromkeys([*CELLS, *others]):
        found = list(rows_of(rows, cell))
        for solver in solvers:
            own = [row for row in found if row["task"].get("solver", "search") == solver]
            if own:
                yield cell, solver, own


def _summary(own: list[Row], published: Mapping[str, Any] | None) -> tuple[str, ...]:
    pearson, rdc, seconds = (values_of(own, n) for n in ("mcc_pearson", "mcc_rdc", "seconds"))
    exact = ", ".join(f"{int(values_of(own, name).sum())}" for name in ("exact_Q", "exact_R"))
    better = int((values_of(own, "score_above_ceiling") < CLEAR_LOSS).sum())
    top = ", ".join(_mean(values_of(own, f"ceiling.mcc_{c}")) for c in ("pearson", "rdc"))
    theirs = "–"
    if published:
        theirs = f"{published['mcc_pearson'][0]:.3f}, {published['mcc_rdc'][0]:.3f}"
    return (
        str(len(own)),
        f"{_mean(pearson)} ({pearson.min():.3f})",
        _mean(values_of(own, "mcc_spearman")),
        f"{_mean(rdc)} ({rdc.min():.3f})",
        exact,
        f"{values_of(own, 'shd').mean():.1f}",
        f"{values_of(own, 'nll').mean():.3f}",
        f"{seconds.mean():.1f} ({seconds.max():.0f})",
        top,
        str(better),
        theirs,
    )


def _accounts(rows: Sequence[Row]) -> Iterator[str]:
    for cell, solver, own in _groups(rows):
        for row in own:
            graph = f"{cell} {solver} seed {row['task']['seed']}"
            result = row["result"]
            blamed = fault(row)
            if blamed is not None:
                gap = result.get("score_above_ceiling")
                by = "" if gap is None else f", score {gap:+.0f} nats from the truth's"
                yield (
                    f"{graph} falls short (Pearson {result['mcc_pearson']:.3f}, RDC "
                    f"{result['mcc_rdc']:.3f}{by}): the {blamed} is at fault."
                )
            for reason in result["not_identifiable"]:
                yield f"{graph} (Pearson {result['mcc_pearson']:.3f}): {reason}"


def _column(own: list[Row], prefix: str = "") -> dict[str, str]:
    column = {}
    for name in METRICS:
        values = values_of(own, prefix + name)
        if len(values):
            column[name] = plus_minus(name, values.mean(), _std(values))
    if exact := values_of(own, prefix + "exact").tolist():
        column["exact"] = f"{sum(map(int, exact))} of {len(exact)}"
        column["shd"] = f"{values_of(own, prefix + 'shd').mean():.1f}"
    if not prefix:
        column["feasible"] = f"{int(values_of(own, 'feasible').sum())} of {len(own)}"
        seconds = values_of(own, "seconds")
        column["seconds"] = f"{seconds.mean():.1f} ± {_std(seconds):.1f}"
    return column


def _std(values: np.ndarray) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _mean(values: np.ndarray) -> str:
    return f"{values.mean():.4f}" if len(values) else "–"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _tex(text: str) -> str:
    marks = {"±": r"$\pm$", "²": "$^2$", "–": "--", "_": r"\_"}
    return "".join(marks.get(character, character) for character in text)
