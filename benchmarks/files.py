"""Prints what large files cost: `python -m benchmarks.files csv`, `… h5ad`, `… h5ad --fit`.

The file is made in a temporary folder; it is read in a process of its own, so that its peak memory
is its own. CPU seconds, wall-clock seconds and peak memory over the size of the array; a row goes
to docs/results/7000/files.jsonl.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

ROWS = Path(__file__).parents[1] / "docs" / "results" / "7000" / "files.jsonl"
SHAPES = {"csv": (200_000, 500), "h5ad": (250_000, 5_000)}
"""Samples and variables of a file, if nothing is said."""

ROWS_AT_A_TIME = 5_000
"""Of a file that is written, so that writing it takes little memory."""


def write_csv(path: Path, n_samples: int, n_variables: int, seed: int) -> None:
    """Normal draws with all their digits, about 20 bytes each, and a column of targets."""
    rng = np.random.default_rng(seed)
    names = [f"g{j}" for j in range(n_variables)]
    with path.open("w") as file:
        file.write(",".join([*names, "target\n"]))
        for start in range(0, n_samples, ROWS_AT_A_TIME):
            x = rng.normal(size=(min(ROWS_AT_A_TIME, n_samples - start), n_variables))
            targets = rng.integers(min(51, n_variables), size=len(x)).tolist()
            for row, target in zip(x.tolist(), targets, strict=True):
                label = names[target] if target else ""
                file.write(",".join(map(repr, row)) + f",{label}\n")


def write_h5ad(path: Path, n_samples: int, n_variables: int, seed: int) -> None:
    """Sparse counts, 0 or 1 and few of them, that follow two factors; 50 genes are knocked out."""
    import h5py
    import pandas as pd
    from anndata.io import write_elem

    rng = np.random.default_rng(seed)
    names = [f"g{j}" for j in range(n_variables)]
    base = rng.uniform(0.005, 0.08, n_variables).astype(np.float32)
    loadings = (rng.standard_normal((2, n_variables)) * 0.5).astype(np.float32)
    targets = rng.integers(min(51, n_variables), size=n_samples)
    with h5py.File(path, "w") as file:
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        X = file.create_group("X")
        X.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0"})
        X.attrs["shape"] = np.array([n_samples, n_variables])
        kinds = {"data": np.float32, "indices": np.int32}
        parts = {
            name: X.create_dataset(name, (0,), maxshape=(None,), dtype=kind, chunks=(2**20,))
            for name, kind in kinds.items()
        }
        sizes = []
        for start in range(0, n_samples, ROWS_AT_A_TIME):
            n = min(ROWS_AT_A_TIME, n_samples - start)
            z = rng.standard_normal((n, 2)).astype(np.float32)
            rate = base * np.exp(z @ loadings)
            of_targets = targets[start : start + n]
            rate[np.arange(n)[of_targets > 0], of_targets[of_targets > 0]] = 0
            seen = rng.random((n, n_variables), dtype=np.float32) < rate
            columns = np.nonzero(seen)[1]
            sizes.append(seen.sum(axis=1))
            for name, values in {"data": np.ones(len(columns)), "indices": columns}.items():
                parts[name].resize((parts[name].shape[0] + len(columns),))
                parts[name][-len(columns) :] = values
        X.create_dataset("indptr", data=np.concatenate([[0], np.cumsum(np.concatenate(sizes))]))
        labels = np.array(["NT", *names[1:]])[targets]
        index = [f"c{i}" for i in range(n_samples)]
        write_elem(file, "obs", pd.DataFrame({"target": labels}, index=index))
        write_elem(file, "var", pd.DataFrame(index=names))


def measure(path: str, fits: bool) -> dict[str, float]:
    """Reads a file, and fits; returns seconds, the peak and the size of the dense array in GiB."""
    import ucad

    wall, before = time.monotonic(), time.process_time()
    is_cells = path.endswith(".h5ad")
    options = {"control": "NT", "log_counts": True, "drop_constant": True} if is_cells else {}
    data = ucad.read(path, **options)  # type: ignore[arg-type]
    if fits:
        linear = {"factor_mechanism": "linear", "variable_mechanism": "linear"}
        model = ucad.UCAD(2, solver="search", random_state=0, **linear).fit(data)
        print(model.status_)
    return {
        "wall s": time.monotonic() - wall,
        "CPU s": time.process_time() - before,
        "peak GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "array GiB": data.x.nbytes / 2**30,
        "samples": data.n_samples,
    }


def in_own_process(path: Path, *, fits: bool) -> dict[str, float]:
    """What `measure` returns, in a process that did nothing before."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, (str(path), fits))


def main() -> None:
    """Reads the command line, writes the file and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=list(SHAPES))
    parser.add_argument("--samples", type=int)
    parser.add_argument("--variables", type=int)
    parser.add_argument("--fit", action="store_true", help="fit two linear factors, too")
    parser.add_argument("--seed", type=int, default=7000)
    parser.add_argument("--rows", type=Path, default=ROWS)
    options = parser.parse_args()
    n_samples = options.samples or SHAPES[options.kind][0]
    n_variables = options.variables or SHAPES[options.kind][1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"table.{options.kind}")
        (write_csv if options.kind == "csv" else write_h5ad)(
            path, n_samples, n_variables, options.seed
        )
        size = path.stat().st_size / 2**30
        row = in_own_process(path, fits=options.fit)
    shape = f"{n_samples} × {n_variables}"
    print(
        f"{shape}, a file of {size:.2f} GiB, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}"
    )
    print(", ".join(f"{name} {value:.2f}" for name, value in row.items()))
    print(f"peak / array {row['peak GiB'] / row['array GiB']:.2f}")
    from benchmarks.scale import commit  # what it imports is no part of what reading takes

    made = {"kind": options.kind, "n": n_variables, "n_samples": n_samples, "seed": options.seed}
    load = {"load": round(os.getloadavg()[0], 1), "fits": options.fit, "commit": commit()}
    figures = {name: round(value, 3) for name, value in row.items()}
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    with options.rows.open("a") as rows:
        rows.write(json.dumps(made | figures | load) + "\n")


if __name__ == "__main__":
    main()
