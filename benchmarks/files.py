"""Prints what reading large files costs: `python -m benchmarks.files csv`.

The file is made in a temporary folder; it is read in a process of its own, so that its peak memory
is its own. CPU seconds, wall-clock seconds and peak memory over the size of the array.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

ROWS_AT_A_TIME = 5_000
"""Of a file that is written, so that writing it takes little memory."""


def write_csv(path: Path, n_samples: int, n_variables: int) -> None:
    """Normal draws with all their digits, about 20 bytes each, and a column of targets."""
    rng = np.random.default_rng(0)
    names = [f"g{j}" for j in range(n_variables)]
    with path.open("w") as file:
        file.write(",".join([*names, "target\n"]))
        for start in range(0, n_samples, ROWS_AT_A_TIME):
            x = rng.normal(size=(min(ROWS_AT_A_TIME, n_samples - start), n_variables))
            targets = rng.integers(min(51, n_variables), size=len(x)).tolist()
            for row, target in zip(x.tolist(), targets, strict=True):
                label = names[target] if target else ""
                file.write(",".join(map(repr, row)) + f",{label}\n")


def measure(path: str) -> dict[str, float]:
    """Reads a file; returns seconds, the peak in GiB and the size of the array in GiB."""
    import ucad

    wall, before = time.monotonic(), time.process_time()
    data = ucad.read(path)
    return {
        "wall s": time.monotonic() - wall,
        "CPU s": time.process_time() - before,
        "peak GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "array GiB": data.x.nbytes / 2**30,
    }


def in_own_process(path: Path) -> dict[str, float]:
    """What `measure` returns, in a process that did nothing before."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, (str(path),))


def main() -> None:
    """Reads the command line, writes the file and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["csv"])
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--variables", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        write_csv(path, options.samples, options.variables)
        size = path.stat().st_size / 2**30
        row = in_own_process(path)
    shape = f"{options.samples} × {options.variables}"
    print(f"{shape}, {size:.2f} GiB of text, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}")
    print(", ".join(f"{name} {value:.2f}" for name, value in row.items()))
    print(f"peak / array {row['peak GiB'] / row['array GiB']:.2f}")


if __name__ == "__main__":
    main()
