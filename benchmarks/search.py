"""Prints how time and memory of the search grow with n: `python benchmarks/search.py`.

Linear noiseless problems with some four parents and children a factor at every size; each size
runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time

import numpy as np

from ucad.metrics import mean_correlation
from ucad.simulate import (
    GraphRecipe,
    MechanismRecipe,
    random_factor_graph,
    random_factor_scm,
    random_targets,
    simulate,
)
from ucad.solvers.search import fit_search

N_SAMPLES = 10_000
NEIGHBOURS = 8


def measure(n_variables: int, layered: bool) -> tuple[int, float, float, float]:
    """Returns the number of factors, CPU seconds, the MCC and the peak memory in GiB."""
    rng = np.random.default_rng(0)
    n_factors = max(3, n_variables // 50)
    quarter = n_variables // 4
    recipe = GraphRecipe(
        n_variables=n_variables,
        n_factors=n_factors,
        edge_probability=min(0.1, NEIGHBOURS / n_variables),
        layer_sizes=(quarter, n_variables - 2 * quarter, quarter) if layered else None,
        max_attempts=1_000_000,
    )
    scm = random_factor_scm(random_factor_graph(recipe, rng), MechanismRecipe(), rng)
    targets = random_targets(n_variables, n_variables, rng)
    regime = np.arange(N_SAMPLES) % len(targets)
    data = simulate(scm, targets, regime, 0, layer_of=recipe.layer_of).standardised()
    started = time.process_time()
    found = fit_search(data, n_factors)
    seconds = time.process_time() - started
    scaling = data.scaling
    assert scaling is not None
    true = scm.in_standard_units(scaling).state_map(data.x).numpy()
    mcc = mean_correlation(found.scm.state_map(data.x).numpy(), true).values.mean()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return n_factors, seconds, float(mcc), peak


def main() -> None:
    """Runs every size with and without layers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256, 512, 1000])
    parser.add_argument("--only", choices=["layers", "no layers"], default=None)
    arguments = parser.parse_args()
    print(f"{N_SAMPLES} samples, one process and one thread")
    print(
        "| n | m | layers | seconds | times the size before | MCC | peak GiB |\n" + "|---" * 7 + "|"
    )
    context = multiprocessing.get_context("spawn")
    for layers in ("layers", "no layers"):
        if arguments.only not in (None, layers):
            continue
        before = float("nan")
        for n_variables in arguments.sizes:
            with context.Pool(1) as pool:
                one = pool.apply(measure, (n_variables, layers == "layers"))
            n_factors, seconds, mcc, peak = one
            print(
                f"| {n_variables} | {n_factors} | {layers} | {seconds:.1f} | "
                f"{seconds / before:.1f} | {mcc:.4f} | {peak:.2f} |",
                flush=True,
            )
            before = seconds


if __name__ == "__main__":
    main()
