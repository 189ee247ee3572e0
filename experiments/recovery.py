"""How well the search recovers the truth: `python -m experiments.recovery --settings a b`.

One JSON row is appended per graph as it finishes, and graphs already in the file are skipped, so a
long run can be stopped and taken up again. The table at the end has our figures next to the
paper's and next to the ceiling, the same refinement started from the true graph.
"""

from __future__ import annotations

import argparse
import json
import tomllib
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ucad.metrics import ConstantFactorWarning, Correlation, compare_structure, mean_correlation
from ucad.simulate import SETTINGS, Problem, paper_problem
from ucad.solvers import FitResult
from ucad.solvers.search import Mechanisms, SearchConfig, fit_search, score_structure

COLLINEAR = 0.99
Row = dict[str, Any]


def config_for(setting: str) -> SearchConfig:
    """The model class of a setting; everything else is the default."""
    chosen = SETTINGS[setting]
    return SearchConfig(
        factor_mechanism=Mechanisms.LINEAR if chosen.linear_factors else Mechanisms.MLP,
        variable_mechanism=Mechanisms.LINEAR if chosen.linear_variables else Mechanisms.MLP,
    )


def recover(setting: str, size: str, seed: int) -> Row:
    """Fits one graph and its ceiling, and compares both with the truth."""
    problem = paper_problem(setting, size, seed=seed)
    config = config_for(setting)
    found = fit_search(
        problem.train, problem.n_factors, config=config, validation=problem.validation
    )
    ceiling = score_structure(
        problem.train, problem.scm.graph, config=config, validation=problem.validation
    )
    gap = float(found.history[-1]["score"]) - float(ceiling.history[-1]["score"])
    return {
        "setting": setting,
        "size": size,
        "seed": seed,
        **figures(problem, found),
        "ceiling": figures(problem, ceiling),
        "score_above_ceiling": gap,
        "not_identifiable": list(not_identifiable(problem)),
        "status": str(found.status),
        "notes": list(found.status.notes),
    }


def figures(problem: Problem, result: FitResult) -> Row:
    """Recovery of the factors on test data, of the graph, the likelihood and the time."""
    learned = result.scm.state_map(problem.test.x).numpy()
    graph, truth = result.scm.graph, problem.scm.graph
    edges = compare_structure((graph.Q, graph.R), (truth.Q, truth.R))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantFactorWarning)
        mcc = {
            f"mcc_{c.value}": float(mean_correlation(learned, problem.factors, c).values.mean())
            for c in Correlation
        }
    return {
        **mcc,
        "exact_Q": edges.Q.shd == 0,
        "exact_R": edges.R.shd == 0,
        "nll": result.scm.nll(problem.test.x, problem.test.is_intervened),
        "seconds": result.seconds,
    }


def not_identifiable(problem: Problem) -> Iterator[str]:
    """Why the truth of a graph cannot be known from its data, one sentence each."""
    graph, data = problem.scm.graph, problem.train
    never = ~data.is_intervened.any(axis=0)
    z = problem.scm.state_map(data.x).numpy()
    correlation = np.abs(np.corrcoef(z.T))
    for k, other in np.argwhere(np.triu(correlation > COLLINEAR, k=1)):
        yield f"Z{k + 1} and Z{other + 1} are collinear ({correlation[k, other]:.4f})."
    if data.layer_of is not None:
        return
    for k in range(graph.n_factors):
        parents, children = np.flatnonzero(graph.Q[:, k]), np.flatnonzero(graph.R[:, k])
        if len(parents) == len(children) == 1 and never[parents[0]] and never[children[0]]:
            yield f"Z{k + 1} has one parent and one child, and nobody clamps either."
        for i in parents[never[parents] & graph.R[parents].any(axis=1)]:
            yield f"A chain goes through X{i + 1} into Z{k + 1}, and nobody clamps X{i + 1}."


def run(cells: Iterable[tuple[str, str, int]], output: Path) -> list[Row]:
    """Runs what is not in the file yet, appending a line a graph."""
    lines = output.read_text().splitlines() if output.exists() else []
    rows: list[Row] = [json.loads(line) for line in lines if line.strip()]
    done = {(row["setting"], row["size"], row["seed"]) for row in rows}
    for cell in cells:
        if cell in done:
            continue
        row = recover(*cell)
        rows.append(row)
        with output.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(
            f"{row['setting']} {row['size']} seed {row['seed']}: "
            f"MCC {row['mcc_pearson']:.4f}, RDC {row['mcc_rdc']:.4f}, "
            f"{row['seconds']:.1f} s, {row['score_above_ceiling']:+.0f} nats to the ceiling"
        )
    return rows


def table(rows: list[Row], paper: Mapping[str, Any]) -> Iterator[str]:
    """The figures of every cell, as a Markdown table, and what was not identifiable."""
    yield (
        "| setting | graphs | MCC Pearson (worst) | Spearman | RDC (worst) | exact Q, R | NLL | "
        "seconds (worst) | ceiling Pearson, RDC | truth scores better | paper Pearson, RDC |"
    )
    yield "|---" * 11 + "|"
    cells = dict.fromkeys((row["setting"], row["size"]) for row in rows)
    for setting, size in sorted(cells):
        chosen = [row for row in rows if (row["setting"], row["size"]) == (setting, size)]
        yield _table_row(setting, size, chosen, paper.get(setting, {}).get(size, {}))
    yield ""
    for row in rows:
        for reason in row["not_identifiable"]:
            cell = f"{row['setting']} {row['size']} seed {row['seed']}"
            yield f"- {cell} (MCC {row['mcc_pearson']:.3f}): {reason}"


def _table_row(setting: str, size: str, rows: list[Row], paper: Mapping[str, Any]) -> str:
    def values(name: str) -> np.ndarray:
        return np.array([row[name] for row in rows], dtype=float)

    def ceiling(name: str) -> float:
        return float(np.mean([row["ceiling"][name] for row in rows]))

    pearson, rdc, seconds = values("mcc_pearson"), values("mcc_rdc"), values("seconds")
    exact = f"{int(values('exact_Q').sum())}, {int(values('exact_R').sum())}"
    better = int((values("score_above_ceiling") < -1).sum())
    theirs = "–"
    if paper:
        theirs = f"{paper['mcc_pearson'][0]:.3f}, {paper['mcc_rdc'][0]:.3f}"
    return (
        f"| {setting} {size} | {len(rows)} | {pearson.mean():.4f} ({pearson.min():.3f}) | "
        f"{values('mcc_spearman').mean():.4f} | {rdc.mean():.4f} ({rdc.min():.3f}) | {exact} | "
        f"{values('nll').mean():.3f} | {seconds.mean():.1f} ({seconds.max():.0f}) | "
        f"{ceiling('mcc_pearson'):.4f}, {ceiling('mcc_rdc'):.4f} | {better} | {theirs} |"
    )


def main() -> None:
    """Reads the command line, runs, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", nargs="+", default=list("abcdefg"), choices=SETTINGS)
    parser.add_argument("--sizes", nargs="+", default=["16-3", "64-6"])
    parser.add_argument("--seeds", default="1000:1010", help="first:last, the last left out")
    parser.add_argument("-o", "--output", type=Path, default=Path("recovery.json"))
    parser.add_argument("--paper", type=Path, default=Path("../shared/paper/results.toml"))
    arguments = parser.parse_args()
    first, last = (int(part) for part in arguments.seeds.split(":"))
    cells = [
        (setting, size, seed)
        for setting in arguments.settings
        for size in arguments.sizes
        for seed in range(first, last)
    ]
    paper: Mapping[str, Any] = {}
    if arguments.paper.exists():
        paper = tomllib.loads(arguments.paper.read_text())
    rows = run(cells, arguments.output)
    wanted = [row for row in rows if (row["setting"], row["size"], row["seed"]) in set(cells)]
    print("\n".join(table(wanted, paper)))


if __name__ == "__main__":
    main()
