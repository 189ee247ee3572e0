"""Readings with noise: UCAD told of it or not, beside factor analysis, ICA, NMF and t-tests."""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF, FactorAnalysis, FastICA

from experiments.running import provenance
from ucad import UCAD
from ucad._types import BooleanMatrix
from ucad.graph import transitive_closure
from ucad.simulate.worlds import WorldProblem, world_problem

__all__ = ["main", "row_of", "table"]

WORLDS = (
    "genes",
    "genes-27",
    "genes-8",
    "genes-3",
    "genes-technical",
    "read-noise",
    "rates-50",
    "rates-90",
)
"""The worlds of the table, the gene networks first."""

READ_NOISE = 0.5
"""The standard deviation of the noise in the world `read-noise`, in its own units."""

_BASELINES = ("factor_analysis", "ica", "nmf")

LEVEL = 0.05
"""The false discovery rate of differential expression."""


def row_of(world: str, seed: int) -> dict[str, Any]:
    """All methods on one problem."""
    problem = world_problem(world, seed)
    true = transitive_closure(problem.adjacency)
    row: dict[str, Any] = {"world": world, "seed": seed, "about": provenance()}
    told = _told(problem)
    plain = {"factor_mechanism": "linear", "variable_mechanism": "linear"}
    for name, settings in (("plain", plain), ("told", told)):
        if name == "told" and not told:
            continue
        start = time.process_time()
        model = UCAD(problem.asked_factors, **settings).fit(problem.train)
        edges = np.asarray(model.graph_.variable_adjacency)
        row[name] = {
            "mcc": _mcc(model.transform(problem.test.x), problem.factors),
            **_pairs(transitive_closure(edges), true),
            "reversed": int((edges & true.T).sum()),
            "verdict": model.certificate_.verdict,
            "may_claim": {one.what: one.answer.value for one in model.certificate_.permissions},
            "seconds": round(time.process_time() - start, 1),
        }
    row["differential_expression"] = _pairs(_differential_expression(problem), true)
    row["baselines"] = _baselines(problem)
    return row


def _told(problem: WorldProblem) -> dict[str, Any]:
    """What UCAD is told of the measurement."""
    if problem.name == "read-noise":
        assert problem.train.scaling is not None
        noise = (READ_NOISE / problem.train.scaling.scale).tolist()
        return {"measurement": "gaussian", "measurement_noise": noise}
    return {} if problem.name == "genes" else {"measurement": "counts"}


def _mcc(found: np.ndarray, true: np.ndarray) -> float:
    both = np.nan_to_num(np.abs(np.corrcoef(found.T, true.T)))
    matched = both[: found.shape[1], found.shape[1] :]
    return float(matched[linear_sum_assignment(-matched)].sum() / true.shape[1])


def _pairs(found: BooleanMatrix, true: BooleanMatrix) -> dict[str, float]:
    both = int((found & true).sum())
    return {
        "precision": both / max(int(found.sum()), 1),
        "recall": both / max(int(true.sum()), 1),
    }


def _differential_expression(problem: WorldProblem) -> BooleanMatrix:
    """Welch's test of every variable in every regime of one target, Benjamini-Hochberg."""
    data = problem.train
    n, found = data.n_variables, []
    for r in range(1, data.n_regimes):
        here = data.x[data.regime == r]
        if data.targets[r].sum() == 1 and len(here) > 1:
            v = int(np.flatnonzero(data.targets[r])[0])
            p = stats.ttest_ind(here, data.x[data.regime == 0], equal_var=False).pvalue
            found += [(p[j], v, j) for j in range(n) if j != v and np.isfinite(p[j])]
    pairs = np.zeros((n, n), dtype=bool)
    if found:
        adjusted = stats.false_discovery_control([p for p, _, _ in found])
        for q, (_, v, j) in zip(adjusted, found, strict=True):
            pairs[v, j] |= bool(q < LEVEL)
    return pairs


def _baselines(problem: WorldProblem) -> dict[str, float]:
    m, x, y = problem.asked_factors, problem.train.x, problem.test.x
    low = x.min(axis=0)
    methods = {
        "factor_analysis": (FactorAnalysis(m, rotation="varimax"), x, y),
        "ica": (FastICA(m, random_state=0, max_iter=1000), x, y),
        "nmf": (NMF(m, init="nndsvda", max_iter=500), x - low, np.maximum(y - low, 0.0)),
    }
    return {
        name: _mcc(method.fit(train).transform(test), problem.factors)
        for name, (method, train, test) in methods.items()
    }


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """One line per world: means over seeds of the fit that is told of the noise, beside others."""
    cells: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        cells[row["world"]].append(row)
    lines = [
        "| world | networks | factors, MCC (not told; factor analysis, ICA, NMF) | ancestor pairs, "
        "precision / recall (lowest) | reversed edges: found, claimed | differential expression, "
        "precision / recall |",
        "|---" * 6 + "|",
    ]
    for world in (world for world in WORLDS if world in cells):
        each = cells[world]
        best = [row.get("told", row["plain"]) for row in each]
        others = [np.mean([row["plain"]["mcc"] for row in each])]
        others += [np.mean([row["baselines"][name] for row in each]) for name in _BASELINES]
        pairs = " / ".join(_mean_lowest(best, name) for name in ("precision", "recall"))
        simple = [row["differential_expression"] for row in each]
        found = sum(one["reversed"] for one in best)
        claimed = sum(one["reversed"] for one in best if _claims(one))
        lines.append(
            f"| {world} | {len(each)} | {_mean_lowest(best, 'mcc')} "
            f"({'; '.join([f'{others[0]:.2f}', ', '.join(f'{o:.2f}' for o in others[1:])])}) "
            f"| {pairs} | {found}, {claimed} "
            f"| {' / '.join(_mean_lowest(simple, name) for name in ('precision', 'recall'))} |"
        )
    return "\n".join(lines)


def _mean_lowest(results: Sequence[Mapping[str, Any]], name: str) -> str:
    values = [float(one[name]) for one in results]
    return f"{np.mean(values):.2f} ({min(values):.2f})"


def _claims(result: Mapping[str, Any]) -> bool:
    """Whether anything of the graph or its directions may be claimed."""
    answers = (result["may_claim"][what] for what in ("graph", "directions"))
    return any(answer in ("yes", "partly") for answer in answers)


def main() -> int:
    """Runs what has no row yet, one row per world and seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=1000)
    parser.add_argument("--table", type=Path, default=Path("results/measurement.jsonl"))
    options = parser.parse_args()
    options.table.parent.mkdir(parents=True, exist_ok=True)
    lines = options.table.read_text("utf-8").splitlines() if options.table.exists() else []
    done = {(row["world"], row["seed"]) for row in map(json.loads, lines)}
    warnings.simplefilter("ignore")
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for world in options.worlds:
            if (world, seed) not in done:
                text = json.dumps(row_of(world, seed), ensure_ascii=False)
                with options.table.open("a", encoding="utf-8") as table:
                    table.write(text + "\n")
                print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
