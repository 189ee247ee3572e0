"""Compares the search with other learners of causal graphs: `python -m benchmarks.peers run`.

Peers are asked only where they are installed (an environment of their own serves best: `pip
install dagma sdcd gcastle causal-learn`). Every fit is a process of its own on one thread, and
ends after so many seconds of CPU. Data: `ours`, a noisy linear screen of f-SCMs; `sdcd` and
`dagma`, those packages' own simulators (networks with hard interventions on every variable; linear
Gaussian without any), which have no factors. `python -m benchmarks.peers page` writes the rows into
docs/scale.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.scale import DOCS, PAGE, Cell, commit, linear_data, rows_of
from ucad.data import InterventionalData
from ucad.graph import boolean_product

ROWS = DOCS / "results" / "4000" / "peers.jsonl"
MARKS = ("<!-- rows of benchmarks/peers.py -->\n", "<!-- end of peers -->\n")
FACTORS = {64: 4, 256: 8, 1000: 20}
N_SAMPLES = 5_000
EDGES_PER_VARIABLE = 2
PER_INTERVENTION = {64: 60, 256: 15, 1000: 4}
"""Samples of every regime in SDCD's simulator, so that there are about as many as in ours."""


class World(NamedTuple):
    """Samples, and the true graph of variables; a row is a cause."""

    data: InterventionalData
    truth: np.ndarray
    n_factors: int


def ours(n: int, seed: int) -> World:
    """A noisy linear screen: 4 parents per factor, which regimes clamp, and up to 46 children."""
    cell = Cell("linear", "screen", n, N_SAMPLES, FACTORS[n], seed=seed)
    data, graph, _ = linear_data(cell)
    return World(data, boolean_product(graph.Q, graph.R.T), FACTORS[n])


def sdcd_simulator(n: int, seed: int) -> World:
    """Networks of sigmoids with noise, every variable acted on alone."""
    from sdcd import random_model_gaussian_global_variance
    from sdcd.utils import set_random_seed_all

    set_random_seed_all(seed)
    model = random_model_gaussian_global_variance(n, EDGES_PER_VARIABLE * n, hard=True)
    table = model.generate_dataframe_from_all_distributions(1000, PER_INTERVENTION[n], seed=seed)
    labels = table.pop("perturbation_label").astype(str).to_numpy()
    acted = labels[:, None] == np.array([str(name) for name in table.columns])
    data = InterventionalData.from_arrays(table.to_numpy(dtype=np.float64), acted)
    return World(data.standardised(), model.adjacency != 0, FACTORS[n])


def dagma_simulator(n: int, seed: int) -> World:
    """Linear Gaussian equations of equal noise, observed only."""
    from dagma import utils

    utils.set_random_seed(seed)
    truth = utils.simulate_dag(n, EDGES_PER_VARIABLE * n, "ER")
    x = utils.simulate_linear_sem(utils.simulate_parameter(truth), N_SAMPLES, "gauss")
    return World(InterventionalData.from_arrays(x).standardised(), truth != 0, FACTORS[n])


def by_search(world: World) -> np.ndarray:
    """`fit_search`, linear."""
    from ucad.solvers.search.solver import fit_search

    return np.asarray(fit_search(world.data, world.n_factors).scm.graph.variable_adjacency)


def by_dagma(world: World) -> np.ndarray:
    """DAGMA, linear, as in its readme."""
    from dagma.linear import DagmaLinear

    return np.asarray(DagmaLinear(loss_type="l2").fit(_raw(world), lambda1=0.02) != 0)


def by_sdcd(world: World) -> np.ndarray:
    """SDCD with its defaults."""
    import pandas as pd
    from sdcd import SDCD
    from sdcd.utils import create_intervention_dataset

    acted = world.data.is_intervened
    labels = np.where(acted.any(axis=1), acted.argmax(axis=1).astype(str), "obs")
    table = pd.DataFrame(_raw(world), columns=[str(j) for j in range(acted.shape[1])])
    model = SDCD()
    model.train(create_intervention_dataset(table.assign(perturbation_label=labels)))
    return np.asarray(model.get_adjacency_matrix(threshold=True) != 0)


def by_low_rank(world: World) -> np.ndarray:
    """NOTEARS of gcastle, with a matrix of low rank."""
    from castle.algorithms import NotearsLowRank

    learner = NotearsLowRank()
    learner.learn(_raw(world), rank=world.n_factors)
    return np.asarray(learner.causal_matrix) != 0


def by_boss(world: World) -> np.ndarray:
    """BOSS of causal-learn; an edge without a direction goes both ways."""
    from causallearn.search.PermutationBased.BOSS import boss

    marks = boss(_raw(world), verbose=False).graph
    is_tail = marks == -1
    return np.asarray(is_tail & (marks.T != 0))


SIMULATORS = {"ours": ours, "sdcd": sdcd_simulator, "dagma": dagma_simulator}
PEERS: dict[str, tuple[str, str, Callable[[World], np.ndarray]]] = {
    "ucad": ("ucad", "m, who was acted on", by_search),
    "DAGMA": ("dagma", "nothing", by_dagma),
    "SDCD": ("sdcd", "who was acted on", by_sdcd),
    "NOTEARS-low-rank": ("castle", "the rank m", by_low_rank),
    "BOSS": ("causallearn", "nothing", by_boss),
}
"""The module, what it is told besides the samples, and how it is called."""


def _raw(world: World) -> np.ndarray:
    return np.ascontiguousarray(world.data.x, dtype=np.float64)


def distance(found: np.ndarray, truth: np.ndarray) -> int:
    """SHD: pairs of variables whose edge is missing, too many or reversed.

    An edge that is left without a direction counts as right where there is one.

    >>> distance(np.array([[0, 1], [1, 0]]), np.array([[0, 1], [0, 0]]))
    0
    """
    found, truth = np.asarray(found, dtype=bool), np.asarray(truth, dtype=bool)
    open_ = found & found.T
    wrong = np.where(open_, ~(truth | truth.T), found != truth)
    return int(np.triu(wrong | wrong.T, 1).sum())


def fitted(peer: str, simulator: str, n: int, seed: int, connection: object) -> None:
    """Sends the CPU seconds and the distance of one fit; in a process of its own."""
    world = SIMULATORS[simulator](n, seed)
    started = time.process_time()
    found = PEERS[peer][2](world)
    seconds = time.process_time() - started
    edges = {"found": int(found.sum()), "edges": int(world.truth.sum())}
    connection.send({"cpu_seconds": round(seconds, 1), "shd": distance(found, world.truth)} | edges)  # type: ignore[attr-defined]


def limited(max_seconds: int, *task: object) -> None:
    """Runs a fit that the system ends after so many seconds of CPU."""
    resource.setrlimit(resource.RLIMIT_CPU, (max_seconds, max_seconds))
    fitted(*task)  # type: ignore[arg-type]


def measure(task: tuple[str, str, int, int], max_seconds: int) -> dict[str, object]:
    """One row; without seconds where the fit did not end."""
    context = multiprocessing.get_context("spawn")
    ours_, theirs = context.Pipe(duplex=False)
    process = context.Process(target=limited, args=(max_seconds, *task, theirs))
    process.start()
    theirs.close()
    try:
        result = ours_.recv()
    except EOFError:
        result = {"cpu_seconds": None, "shd": None}
    process.join()
    keys = ("peer", "simulator", "n", "seed")
    row: dict[str, object] = dict(zip(keys, task, strict=True)) | result
    return row | {"max_seconds": max_seconds, "exit": process.exitcode, "commit": commit()}


def table(rows: list[dict[str, object]]) -> str:
    """The rows as they stand on the page."""
    lines = ["| data | n | learner | is told | CPU s | SHD | edges (found) |", "|---" * 7 + "|"]
    order = list(PEERS)
    rows = sorted(rows, key=lambda r: (r["simulator"], r["n"], order.index(str(r["peer"]))))
    for row in rows:
        if row["cpu_seconds"] is None:
            why = "stopped" if row["exit"] in (-9, -24) else "failed"
            ended = f"{why} within {row['max_seconds']} | – | –"
        else:
            ended = f"{row['cpu_seconds']:.1f} | {row['shd']} | {row['edges']} ({row['found']})"
        lines.append(
            f"| {row['simulator']} | {row['n']:,} | {row['peer']} | {PEERS[str(row['peer'])][1]} "
            f"| {ended} |"
        )
    return "\n".join(lines) + "\n"


def page(text: str, rows: list[dict[str, object]]) -> str:
    """The page with the table of these rows."""
    before, rest = text.split(MARKS[0])
    return before + MARKS[0] + table(rows) + MARKS[1] + rest.split(MARKS[1])[1]


def main() -> None:
    """Runs what has no row yet and is installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "page"])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(FACTORS))
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--data", nargs="+", choices=list(SIMULATORS), default=list(SIMULATORS))
    parser.add_argument("--seed", type=int, default=4000)
    parser.add_argument("--max-seconds", type=int, default=300)
    parser.add_argument("--rows", type=Path, default=ROWS)
    arguments = parser.parse_args()
    done = rows_of(arguments.rows)
    if arguments.what == "page":
        PAGE.write_text(page(PAGE.read_text(), done))
        return
    arguments.rows.parent.mkdir(parents=True, exist_ok=True)
    seen = {(row["peer"], row["simulator"], row["n"], row["seed"]) for row in done}
    for n in arguments.sizes:
        for simulator in arguments.data:
            for peer in arguments.peers:
                task = (peer, simulator, n, arguments.seed)
                modules = (PEERS[peer][0], "ucad" if simulator == "ours" else simulator)
                there = all(importlib.util.find_spec(name) is not None for name in modules)
                if task not in seen and there:
                    row = measure(task, arguments.max_seconds)
                    with arguments.rows.open("a") as rows:
                        rows.write(json.dumps(row) + "\n")
                    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
