"""Papalexi's knock-outs from raw counts: `python -m experiments.papalexi DATA SETS -o ROWS`.

One fit to all regimes for the factors and their gene sets, one for each of three knock-outs that is
held out and predicted, thirty to halves of the cells and to parts of the regimes for the support of
factors and their parents, and one to all regimes that takes the counts for exact values. The file
of rows is written anew; `--only STAT1` appends the row of one that is held out.
"""

from __future__ import annotations

import argparse
import json
import logging
import resource
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import ucad
from experiments.running import provenance
from ucad.data import InterventionalData
from ucad.gene_sets import enrichment, read_gene_sets

HELD_OUT = ("STAT1", "JAK2", "IFNGR2")
"""The knock-outs of measured genes whose effect repeats in half of the cells."""

MIN_MEAN = 0.25
"""Counts per cell that a gene must have: 105 of 299 genes do."""

N_FACTORS = 3
"""As many as were asked for; nothing was tuned."""

MAX_CELLS = 250
"""Cells per knock-out that models are fitted to, the first ones; changes are measured in all."""


N_RUNS = 30
"""Fits for the support of factors: 24 on halves and 6 without some regimes, 20 s of CPU."""

MIN_SUPPORT = 0.2
"""Share of the halves below which a parent is not listed."""


def model(measurement: str = "counts") -> ucad.UCAD:
    """How every fit is made: as `ucad fit --counts` does, counts are readings of rates."""
    return ucad.UCAD(
        N_FACTORS,
        solver="search",
        factor_mechanism="linear",
        variable_mechanism="linear",
        unmeasured="infer",
        measurement=measurement,
    )


def fitted_to(data: InterventionalData, left_out: str | None = None) -> InterventionalData:
    """All controls and the first cells of every knock-out but one."""
    rows = [np.flatnonzero(data.regime == 0)]
    for number, name in enumerate(data.regime_names[1:], start=1):
        if name != left_out:
            rows.append(np.flatnonzero(data.regime == number)[:MAX_CELLS])
    return data.select(np.sort(np.concatenate(rows)))


def run(path: Path, sets: Path) -> list[dict[str, Any]]:
    """The rows: what was found in all regimes, then one per regime that was held out."""
    data = _read(path)
    fitted = model().fit(fitted_to(data))
    rows: list[dict[str, Any]] = [_found(fitted, data, sets)]
    print(rows[0]["factors"], rows[0]["names"], rows[0]["measured_change_of_factors"], flush=True)
    rows += [_held_out(data, name) for name in HELD_OUT]
    rows.append(_support(fitted_to(data)))
    print(rows[-1], flush=True)
    exact = _found(model("none").fit(fitted_to(data)), data, sets)
    rows.append({**exact, "what": "all regimes, counts taken for exact values"})
    rows.append(
        {
            "what": "cost",
            "cpu_seconds": round(time.process_time(), 1),
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
    )
    return rows


def _read(path: Path) -> InterventionalData:
    return ucad.read(
        path,
        target="target",
        control="control",
        min_mean=MIN_MEAN,
        counts=True,
        context=["replicate", "log_depth"],
    )


def _held_out(data: InterventionalData, name: str) -> dict[str, Any]:
    """A knock-out that the fit has not seen, predicted by every method."""
    predictions = model().fit(fitted_to(data, name)).predict_regimes(data)
    row = next(row for row in predictions.scoreboard if row["regime"] == name)
    at = predictions.changes.names.index(name)
    raw = {
        method: _raw_correlation(predictions, values[at], at)
        for method, values in predictions.predicted.items()
    }
    print(name, row["error"], raw, flush=True)
    return {"what": "held out", **row, "r_in_log_units": raw}


def _found(fitted: ucad.UCAD, data: InterventionalData, sets: Path) -> dict[str, Any]:
    graph, found = fitted.graph_, enrichment(fitted.graph_, read_gene_sets(sets))
    changes = fitted.predict_regimes(data)
    moved = {
        name: {z: round(float(v), 2) for z, v in zip(graph.factor_names, values, strict=True)}
        for name, values in zip(changes.changes.names, changes.factors[1], strict=True)
    }
    return {
        "what": "all regimes",
        "n_samples": data.n_samples,
        "n_genes": data.n_variables,
        "factors": {
            z: {"parents": graph.parents(z), "children": graph.children(z)}
            for z in graph.factor_names
        },
        "measured_change_of_factors": moved,
        "sets": [hit.__dict__ for hit in found.hits[:20]],
        "n_sets": len(found.hits),
        "n_sets_permuted": found.permuted,
        "names": found.names,
        "regulons": {
            one.name: sorted(one.genes & set(graph.variable_names))
            for one in read_gene_sets(sets)
            if one.name in ("STAT1", "STAT2", "IRF1")
        },
        "acts_on": [action._asdict() for action in fitted.acts_on_],
        "confounded": list(data.summary().warnings),
        "verdict": fitted.certificate_.verdict,
        "converged": fitted.status_.converged,
    }


def _support(data: InterventionalData) -> dict[str, Any]:
    """Which factors and parents come back in halves; unmeasured targets are not placed."""
    fitted = model().set_params(unmeasured="keep", n_runs=N_RUNS).fit(data)
    support = fitted.support_
    return {
        "what": "support",
        "n_runs": N_RUNS,
        "parents": {z: fitted.graph_.parents(z) for z in fitted.graph_.factor_names},
        "factors": {one.name: one.stability for one in support.factors},
        "parents_in_halves": {
            f"{edge.cause} -> {edge.effect}": edge.support
            for edge in support.edges
            if edge.graph.value == "Q" and edge.support >= MIN_SUPPORT
        },
    }


def _raw_correlation(predictions: Any, value: np.ndarray, at: int) -> float | None:
    """The correlation over genes in log units, as others report it."""
    changes = predictions.changes
    free = ~changes.targets[at]
    one, other = (value * changes.sd)[free], (changes.change[at] * changes.sd)[free]
    if not np.isfinite(one).all() or one.std() < 1e-12:
        return None
    return round(float(np.corrcoef(one, other)[0, 1]), 3)


def main() -> None:
    """Reads the command line and writes the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", type=Path)
    parser.add_argument("-o", "--rows", type=Path, default=Path("results/papalexi.jsonl"))
    parser.add_argument("--only", nargs="+", choices=HELD_OUT, help="hold out these, nothing else")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    about = provenance()
    found = (
        [_held_out(_read(options.data), name) for name in options.only]
        if options.only
        else run(options.data, options.sets)
    )
    rows = [{**row, "about": about} for row in found]
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(row, ensure_ascii=False, default=float) for row in rows]
    with options.rows.open("a" if options.only else "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
