"""Measures how the search grows: `python benchmarks/scale.py linear --sizes 500 1000`.

Three tables: `linear` (n grows, 20 factors, N = 10,000), `samples` (N grows, n = 100) and
`nonlinear` (setting e, n grows). Every cell runs in a process of its own, so that its peak memory
is its own, and is compared with `X.T @ X` of the same shape in the same process. A row is appended
as soon as its cell has ended, and cells that have a row already are left out: start it again to go
on where it stopped. `python benchmarks/scale.py page` writes the rows into docs/scale.md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ucad.data import InterventionalData
from ucad.graph import FactorGraph, boolean_product
from ucad.metrics import mean_correlation
from ucad.scm.families import AFFINE, NETWORK
from ucad.simulate import (
    GraphRecipe,
    MechanismRecipe,
    random_factor_graph,
    random_factor_scm,
    random_targets,
    simulate,
)
from ucad.solvers.registry import one_thread
from ucad.solvers.search.solver import fit_search

DOCS = Path(__file__).parents[1] / "docs"
ROWS = DOCS / "results" / "7000" / "scale.jsonl"
EARLIER = DOCS / "results" / "5000" / "scale.jsonl", DOCS / "results" / "scale.jsonl"
"""Rows of an earlier version, and of seed 0, on which the search was made faster."""
PAGE = DOCS / "scale.md"
MARKS = ("<!-- rows of benchmarks/scale.py -->\n", "<!-- end of rows -->\n")
PARENTS = 4
MAX_CHILDREN = 46
PER_REGIME = 70
SIGNAL = (0.2, 0.98)
VALUE = -3.0
NONLINEAR = {128: 8, 256: 8, 512: 10}


@dataclass(frozen=True)
class Cell:
    """One problem: its table, the shape of its graph, and its size."""

    table: str
    shape: str
    n: int
    n_samples: int
    n_factors: int
    layers: bool = False
    dtype: str = "float64"
    seed: int = 0


def graph_of(cell: Cell, rng: np.random.Generator) -> tuple[FactorGraph, np.ndarray | None]:
    """A graph of 4 parents per factor and 4 children, or up to 46 in a screen; and layers."""
    n, m, is_screen = cell.n, cell.n_factors, cell.shape == "screen"
    Q, R = np.zeros((n, m), dtype=bool), np.zeros((n, m), dtype=bool)
    order, layer_of = rng.permutation(n), None
    if is_screen:
        size = min(MAX_CHILDREN, n // m - PARENTS) + PARENTS
        for k in range(m):
            own = order[k * size : (k + 1) * size]
            Q[own[:PARENTS], k], R[own[PARENTS:], k] = True, True
        layer_of = np.where(Q.any(axis=1), 0, 1)
        return FactorGraph(Q, R), layer_of if cell.layers else None
    position = np.argsort(order) * 4 // n
    for k in range(m):
        cut = rng.integers(1, 4)
        Q[rng.choice(np.flatnonzero(position < cut), PARENTS, replace=False), k] = True
        R[rng.choice(np.flatnonzero(position >= cut), PARENTS, replace=False), k] = True
    return FactorGraph(Q, R), position if cell.layers else None


def regimes_of(cell: Cell, graph: FactorGraph, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """What every regime acts on, and the regime of every sample."""
    if cell.shape != "screen":
        return random_targets(cell.n, cell.n, rng), np.arange(cell.n_samples) % (cell.n + 1)
    targeted = np.flatnonzero(graph.Q.any(axis=1))
    targets = np.zeros((len(targeted) + 1, cell.n), dtype=bool)
    targets[np.arange(1, len(targets)), targeted] = True
    acted = np.repeat(np.arange(1, len(targets)), PER_REGIME)
    return targets, np.concatenate([acted, np.zeros(cell.n_samples - len(acted), dtype=np.int64)])


def linear_data(cell: Cell) -> tuple[InterventionalData, FactorGraph, np.ndarray]:
    """Samples of a linear model: noiseless with random clamps, or a noisy screen."""
    rng = np.random.default_rng([cell.seed, cell.n, cell.n_samples])
    graph, layer_of = graph_of(cell, rng)
    targets, regime = regimes_of(cell, graph, rng)
    acted, is_screen = targets[regime], cell.shape == "screen"
    dtype = np.dtype(cell.dtype).type
    x = rng.standard_normal((cell.n_samples, cell.n), dtype=dtype)
    W, V = (rng.uniform(0.5, 1.5, graph.Q.shape) * rng.choice([-1, 1], graph.Q.shape) for _ in "WV")
    z, left = np.zeros((cell.n_samples, cell.n_factors)), graph.R.sum(axis=1)
    if is_screen:
        x[acted] = VALUE
    for k in graph.factor_order:
        z[:, k] = x[:, graph.Q[:, k]] @ W[graph.Q[:, k], k]
        left = left - graph.R[:, k]
        for j in np.flatnonzero(graph.R[:, k] & (left == 0)):
            pure = z[:, graph.R[j]] @ V[j, graph.R[j]]
            share = rng.uniform(*SIGNAL) if is_screen else 1.0
            made = np.sqrt(share) * pure / pure.std() + np.sqrt(1 - share) * x[:, j]
            x[:, j] = np.where(acted[:, j], VALUE if is_screen else x[:, j], made)
    names = tuple(f"X{j + 1}" for j in range(cell.n))
    data = InterventionalData(x, acted, regime.astype(np.int64), names, layer_of)
    return data.standardised(), graph, z


def nonlinear_data(cell: Cell) -> tuple[InterventionalData, FactorGraph, np.ndarray]:
    """The paper's setting e at any size, with as many edges per factor as at 128 variables."""
    rng = np.random.default_rng([cell.seed, cell.n])
    recipe = GraphRecipe(
        n_variables=cell.n, n_factors=cell.n_factors, edge_probability=min(0.1, 12.8 / cell.n)
    )
    mechanisms = MechanismRecipe(linear_factors=False, noise_scale=0.4)
    scm = random_factor_scm(random_factor_graph(recipe, rng), mechanisms, rng)
    targets = random_targets(cell.n, cell.n, rng)
    regime = np.arange(cell.n_samples) % len(targets)
    data = simulate(scm, targets, regime, cell.seed)
    return data.standardised(), scm.graph, scm.state_map(data.x).numpy()


def peak_gib() -> float:
    """The most memory that this process has held since `reset_peak`, in GiB (Linux)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 2**20


def reset_peak() -> float:
    """Forgets the peak so far, that of making the data; returns what is held now, in GiB."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_gib()


def measure(cell: Cell, max_seconds: float) -> dict[str, object]:
    """Fits one cell and returns its row."""
    imports = peak_gib()
    make = nonlinear_data if cell.table == "nonlinear" else linear_data
    data, graph, z = make(cell)
    families = (NETWORK, AFFINE) if cell.table == "nonlinear" else (AFFINE, AFFINE)
    with one_thread():
        started = time.process_time()
        _ = data.x.T @ data.x
        product = time.process_time() - started
        before = reset_peak()
        started = time.process_time()
        found = fit_search(data, cell.n_factors, families=families, max_seconds=max_seconds)
        seconds, peak = time.process_time() - started, peak_gib()
    A = boolean_product(graph.Q, graph.R.T)
    wrong = int((np.asarray(found.scm.graph.variable_adjacency) != A).sum())
    mcc = mean_correlation(found.scm.state_map(data.x).numpy(), z).values.mean()
    return asdict(cell) | {
        "cpu_seconds": round(seconds, 2),
        "product_seconds": round(product, 4),
        "times_product": round(seconds / product, 1),
        "peak_gib": round(peak, 3),
        "imports_gib": round(imports, 3),
        "before_fit_gib": round(before, 3),
        "data_gib": round(data.x.nbytes / 2**30, 3),
        "mcc": round(float(mcc), 5),
        "wrong_edges": wrong,
        "edges": int(A.sum()),
        "finished": found.status.converged,
        "commit": commit(),
    }


def commit() -> str:
    """The version that is measured."""
    asked = ("git", "rev-parse", "--short", "HEAD")
    return subprocess.run(asked, cwd=DOCS, capture_output=True, text=True, check=False).stdout[:-1]


def rows_of(*files: Path) -> list[dict[str, object]]:
    """The rows of some files, those that exist."""
    lines = (file.read_text().splitlines() for file in files if file.exists())
    return [json.loads(line) for file in lines for line in file]


def cells(arguments: argparse.Namespace) -> list[Cell]:
    """The cells of the table asked for."""
    if arguments.table == "nonlinear":
        sizes = arguments.sizes or list(NONLINEAR)
        return [
            Cell("nonlinear", "e", n, 10_000, NONLINEAR.get(n, 8), seed=arguments.seed)
            for n in sizes
        ]
    if arguments.table == "samples":
        sizes = arguments.sizes or [10_000, 100_000, 1_000_000]
        shape = ("samples", "sparse", 100)
        return [Cell(*shape, size, 5, dtype="float32", seed=arguments.seed) for size in sizes]
    sizes = arguments.sizes or [500, 1000, 2000, 4000, 10_000]
    layers = {"both": (False, True), "yes": (True,), "no": (False,)}[arguments.layers]
    dtype = arguments.dtype
    return [
        Cell("linear", shape, n, 10_000, 20, layers=has, dtype=dtype, seed=arguments.seed)
        for shape in arguments.shape
        for has in layers
        for n in sizes
    ]


def table(rows: list[dict[str, object]]) -> str:
    """The rows as they stand on the page, sorted by table, shape, layers and size."""
    lines = [
        "| table | graph | layers | n | N | seed | CPU s | × `X.T @ X` | peak GiB (data) "
        "| factor MCC | wrong edges |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    keys = ("table", "shape", "layers", "n", "n_samples", "seed")
    rows = sorted(rows, key=lambda row: tuple(str(row[key]).zfill(9) for key in keys))
    lines.extend(map(_line, rows))
    return "\n".join(lines) + "\n"


def _line(row: dict[str, object]) -> str:
    layers, late = "yes" if row["layers"] else "no", "" if row["finished"] else ", out of time"
    return (
        f"| {row['table']} | {row['shape']} | {layers} | {row['n']:,} | {row['n_samples']:,} "
        f"| {row['seed']} | {row['cpu_seconds']:.0f} | {row['times_product']:.0f} "
        f"| {row['peak_gib']:.1f} ({row['data_gib']:.2f}) | {row['mcc']:.3f} "
        f"| {row['wrong_edges']} of {row['edges']:,}{late} |"
    )


def page(text: str, rows: list[dict[str, object]]) -> str:
    """The page with the table of these rows."""
    before, rest = text.split(MARKS[0])
    return before + MARKS[0] + table(rows) + MARKS[1] + rest.split(MARKS[1])[1]


def main() -> None:
    """Runs what has no row yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["linear", "samples", "nonlinear", "page"])
    parser.add_argument("--sizes", type=int, nargs="+", default=None)
    parser.add_argument("--shape", nargs="+", default=["sparse", "screen"])
    parser.add_argument("--layers", choices=["both", "yes", "no"], default="both")
    parser.add_argument("--dtype", choices=["float64", "float32"], default="float64")
    parser.add_argument("--max-seconds", type=float, default=900.0)
    parser.add_argument("--seed", type=int, default=7000)
    parser.add_argument("--rows", type=Path, default=ROWS)
    arguments = parser.parse_args()
    done = rows_of(arguments.rows)
    if arguments.table == "page":
        PAGE.write_text(page(PAGE.read_text(), rows_of(*EARLIER, arguments.rows)))
        return
    arguments.rows.parent.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("spawn")
    for cell in cells(arguments):
        if any(asdict(cell).items() <= row.items() for row in done):
            continue
        with context.Pool(1) as pool:
            row = pool.apply(measure, (cell, arguments.max_seconds))
        with arguments.rows.open("a") as rows:
            rows.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
