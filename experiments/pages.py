"""Pages made from tracked rows: `python -m experiments.pages` writes `docs/results.md`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import ucad
from experiments import ablation, claims, factors, measurement, real_measurements, screens
from experiments.cells import CELLS, Cell, paper_results
from experiments.running import ROUNDS, read_rows

__all__ = ["main", "results_page"]

ROOT = Path(__file__).parents[1]
ROWS = ROOT / "docs" / "results"
OLD_COMMIT = "cb27c22"
"""The last commit with the earlier search."""

Row = Mapping[str, Any]


def rows_in(name: str) -> list[dict[str, Any]]:
    """The rows of a tracked file; none if there is no such file."""
    return read_rows(ROWS / name)


def fresh(name: str) -> list[dict[str, Any]]:
    """The rows of the newest round that has any, else those of before the rounds."""
    return next((rows for rows in rounds(name) if rows), rows_in(name))


def newest_of_cells(name: str) -> list[dict[str, Any]]:
    """The rows of every cell, or case, in the newest round that has any of it."""
    cells: dict[str, list[dict[str, Any]]] = {}
    for rows in reversed(rounds(name)):
        cells |= {cell: [row for row in rows if _cell(row) == cell] for cell in map(_cell, rows)}
    return [row for rows in cells.values() for row in rows]


def _cell(row: Row) -> str:
    """What is fitted in a row: the certificate's rows call it a case."""
    return str(row["case"] if "case" in row else row["task"]["cell"])


def rounds(name: str) -> list[list[dict[str, Any]]]:
    """The rows of every round of reports, the newest first."""
    return [rows_in(f"{first}/{name}") for first in ROUNDS]


def seeds_of(rows: Iterable[Row]) -> str:
    """The seeds of some rows, first to last."""
    found = sorted({int((row.get("task") or row).get("seed", -1)) for row in rows})
    return f"{found[0]}–{found[-1]}" if found else "none"


def current_table(told: list[list[Row]], not_told: list[list[Row]], paper: Iterable[Row]) -> str:
    """One line per cell: the newest rows of each, beside the paper's figure and its learner's.

    Args:
        told: rows of the search that is told the class of mechanisms, the newest first.
        not_told: rows of the defaults, the newest first.
        paper: rows of the paper's learner.
    """
    lines = [
        "| cell | paper: MCC | the paper's learner here: MCC (RDC), graphs | search: MCC (RDC) "
        "| exact graphs | seeds | CPU s (largest) | class not told: MCC (RDC), graphs |",
        "|---" * 8 + "|",
    ]
    learner = _by_cell(paper)
    for cell in (*CELLS, Cell("h", "16-3")):
        rows, default = _newest(told, cell), _newest(not_told, cell)
        if not rows:
            continue
        theirs = list(learner.get(cell, {}).values())
        exact = sum(bool(row["result"]["exact"]) for row in rows)
        lines.append(
            f"| {cell} | {_paper(cell)} | {_means(theirs)} | {_means(rows, count=False)} "
            f"| {exact} of {len(rows)} | {seeds_of(rows)} "
            f"| {_seconds(rows).mean():.1f} ({_seconds(rows).max():.0f}) | {_means(default)} |"
        )
    return "\n".join(lines)


def _newest(files: Iterable[Iterable[Row]], cell: Cell) -> list[Row]:
    found = (list(_by_cell(rows).get(cell, {}).values()) for rows in files)
    return next((rows for rows in found if rows), [])


def _means(rows: list[Row], *, count: bool = True) -> str:
    if not rows:
        return "not run"
    text = f"{_mean(rows, 'mcc_pearson'):.4f} ({_mean(rows, 'mcc_rdc'):.4f})"
    return f"{text}, {len(rows)}" if count else text


def recovery_table(old: Iterable[Row], new: Iterable[Row], auto: Iterable[Row]) -> str:
    """One line per cell: both versions on the same graphs, and the default settings."""
    every = [_by_cell(rows) for rows in (old, new, auto)]
    lines = [
        "| cell | graphs | paper | old: MCC (RDC), exact | new: MCC (RDC), exact | change of MCC "
        "(RDC) | CPU s, old → new (largest) | class not told: graphs, MCC (RDC), CPU s |",
        "|---" * 8 + "|",
    ]
    for cell in (*CELLS, Cell("h", "16-3")):
        before, after, default = (rows.get(cell, {}) for rows in every)
        same = sorted(set(before) & set(after))
        if not same:
            continue
        a, b = [before[s] for s in same], [after[s] for s in same]
        c = [default[s] for s in sorted(default)]
        change = _mean(b, "mcc_pearson") - _mean(a, "mcc_pearson")
        change_rdc = _mean(b, "mcc_rdc") - _mean(a, "mcc_rdc")
        lines.append(
            f"| {cell} | {len(same)} | {_paper(cell)} | {_short(a)} | {_short(b)} "
            f"| {change:+.4f} ({change_rdc:+.4f}) "
            f"| {_seconds(a).mean():.1f} → {_seconds(b).mean():.1f} ({_seconds(b).max():.0f}) "
            f"| {_default(c)} |"
        )
    return "\n".join(lines)


def _by_cell(rows: Iterable[Row]) -> dict[Cell, dict[int, Row]]:
    cells: dict[Cell, dict[int, Row]] = defaultdict(dict)
    for row in rows:
        task = row.get("task", {})
        if row.get("error") is None and "setting" in task:
            cells[Cell(task["setting"], task["size"])][task["seed"]] = row
    return cells


def _mean(rows: Iterable[Row], name: str) -> float:
    return float(np.mean([row["result"][name] for row in rows]))


def _seconds(rows: Iterable[Row]) -> np.ndarray:
    return np.array([row["about"]["fit_cpu_seconds"] for row in rows])


def _short(rows: list[Row]) -> str:
    exact = sum(bool(row["result"]["exact"]) for row in rows)
    return f"{_mean(rows, 'mcc_pearson'):.4f} ({_mean(rows, 'mcc_rdc'):.4f}), {exact}"


def _default(rows: list[Row]) -> str:
    if not rows:
        return "–"
    return (
        f"{len(rows)}, {_mean(rows, 'mcc_pearson'):.4f} ({_mean(rows, 'mcc_rdc'):.4f}), "
        f"{_seconds(rows).mean():.1f}"
    )


def _paper(cell: Cell) -> str:
    """The paper's MCC (Pearson), if it has the cell."""
    figures = paper_results().get(cell.setting, {}).get(cell.size, {})
    return f"{figures['mcc_pearson'][0]:.2f}" if "mcc_pearson" in figures else "–"


def commits(rows: Iterable[Row]) -> str:
    """The commits that made some rows."""
    found = {str(row["about"].get("commit")) for row in rows if "about" in row}
    return ", ".join(sorted(found)) or "unknown"


def claim_counts(rows: Iterable[Row]) -> dict[str, str]:
    """What the certificate's rows come to, as the page says it in words."""
    done = [row for row in rows if "error" not in row]
    right = [row for row in done if row["right"]]
    able = [row for row in right if row["can_be_full"]]
    flawed = [row for row in done if row["expected"]]
    hit = [row for row in flawed if set(row["expected"]) & set(row["suggestions"][:2])]
    over = [row for row in done if row["over_claims"]]
    worlds = sorted({str(row["case"]) for row in over})
    return {
        "n_claims": f"{len(done):,}",
        "n_over": f"{len(over)}",
        "over_worlds": ", ".join(worlds) or "none",
        "n_full": f"{sum(map(claims.is_full, able))}",
        "n_able": f"{len(able)}",
        "n_alarms": f"{sum(row['answers']['graph'] == 'no' for row in right)}",
        "n_right": f"{len(right)}",
        "n_refused": f"{sum(row['answers']['graph'] != 'yes' for row in flawed)}",
        "n_flawed": f"{len(flawed)}",
        "n_hit": f"{len(hit)}",
    }


def factor_counts(rows: Iterable[Row]) -> dict[str, str]:
    """How often the number of factors was right, where there are some and where there are none."""
    results = [row["result"] for row in rows]
    some, none = ([r for r in results if bool(r["true"]) is has] for has in (True, False))
    within = [r for r in some if r["true"] in r["plausible"] and len(r["plausible"]) <= 2]
    return {
        "n_counted": f"{len(some)}",
        "n_within": f"{len(within)}",
        "n_none": f"{len(none)}",
        "n_zero": f"{sum(r['n_factors'] == 0 for r in none)}",
    }


def results_page() -> str:
    """The page, from whatever rows are there."""
    old, new, auto = (rows_in(f"recovery-{name}.jsonl") for name in ("old", "new", "auto"))
    mended = [rows_in(f"recovery-{name}-mended.jsonl") for name in ("old", "new")]
    turned = [rows_in(f"recovery-{name}-3.jsonl") for name in ("old", "new", "auto")]
    screen, counted = fresh("screens.jsonl"), newest_of_cells("factors.jsonl")
    measured, read = fresh("real_measurements.jsonl"), fresh("measurement.jsonl")
    moves, claimed = fresh("ablation.jsonl"), rows_in("claims.jsonl")
    claimed_2 = rows_in("claims-2.jsonl")
    claimed_3, last = newest_of_cells("claims.jsonl"), rows_in("7000/claims-last.jsonl")
    told = [*rounds("recovery.jsonl"), turned[1], mended[1], new]
    not_told = [*rounds("recovery-auto.jsonl"), turned[2], auto]
    text = (Path(__file__).parent / "results_page.md").read_text("utf-8")
    again = {key.replace("n_", "last_"): value for key, value in claim_counts(last).items()}
    again["last_over_worlds"] = again.pop("over_worlds")
    return text.format(
        **claim_counts(claimed_3),
        **again,
        last_seeds=seeds_of(last),
        last_commit=", ".join(sorted({str(row.get("commit")) for row in last})),
        n_cases_7000=len({row["case"] for row in rows_in("7000/claims.jsonl")}),
        **factor_counts(counted),
        factors_seeds=seeds_of(counted),
        factors_commit=commits(counted),
        version=ucad.__version__,
        current=current_table(told, not_told, fresh("recovery-paper.jsonl")),
        screens_seeds=seeds_of(screen),
        real_seeds=seeds_of(measured),
        claims_seeds=seeds_of(claimed_3),
        claims_commit=", ".join(sorted({str(row.get("commit")) for row in claimed_3})),
        old_commit=OLD_COMMIT,
        screens_commit=commits(screen),
        ablation_commit=commits(moves),
        recovery=recovery_table(old, new, auto),
        mended=recovery_table(*mended, ()),
        turned=recovery_table(*turned),
        real=real_measurements.table(measured) if measured else "Not run yet.",
        real_commit=commits(measured),
        readings=measurement.table(read) if read else "Not run yet.",
        readings_commit=commits(read),
        readings_seeds=seeds_of(read),
        screens=screens.table(screen),
        ablation=ablation.table(moves),
        claims=claims.table(claimed) if claimed else "Not run.",
        claims_2=claims.table(claimed_2) if claimed_2 else "Not run.",
        claims_3=claims.table(claimed_3) if claimed_3 else "Not run yet.",
        factors=factors.table(counted) if counted else "Not run yet.",
    )


def main() -> None:
    """Writes the page and its figure."""
    from experiments.figures import draw_claims

    (ROOT / "docs" / "results.md").write_text(results_page(), "utf-8")
    place = {name: at for at, name in enumerate(claims.CASES)}
    rows = [row for row in newest_of_cells("claims.jsonl") if "error" not in row]
    rows.sort(key=lambda row: place.get(row["case"], len(place)))
    draw_claims(rows, ROOT / "docs" / "figures" / "claims.svg")


if __name__ == "__main__":
    main()
