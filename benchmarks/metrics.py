"""Prints the time of each metric at 10,000 samples: `python benchmarks/metrics.py`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from ucad.metrics import (
    Correlation,
    Decoder,
    Trees,
    compare_structure,
    dci_scores,
    explicitness,
    mean_correlation,
)

SLOW = ("dci, gradient_boosting",)


def metrics(learned: np.ndarray, true: np.ndarray) -> dict[str, Callable[[], object]]:
    """Each metric by name, ready to run."""
    rng = np.random.default_rng(1)
    state = rng.choice(3, size=(10 * true.shape[1], true.shape[1]), p=[0.05, 0.05, 0.9])
    graph = state == 0, state == 1
    return {
        **{
            f"mcc, {coefficient}": lambda c=coefficient: mean_correlation(learned, true, c)
            for coefficient in Correlation
        },
        **{
            f"r2, {decoder}": lambda d=decoder: explicitness(learned, true, d)
            for decoder in Decoder
        },
        **{f"dci, {trees}": lambda t=trees: dci_scores(learned, true, t) for trees in Trees},
        "structure": lambda: compare_structure(graph, graph),
    }


def main() -> None:
    """Runs every metric once per number of factors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--factors", type=int, nargs="+", default=[3, 8, 32])
    parser.add_argument(
        "--slow-up-to",
        type=int,
        default=8,
        help="the largest number of factors for DCI with scikit-learn's trees (minutes at 32)",
    )
    arguments = parser.parse_args()
    print(f"{arguments.samples} samples, seconds, one run each")
    for n_factors in arguments.factors:
        rng = np.random.default_rng(0)
        true = rng.standard_normal((arguments.samples, n_factors))
        mixing = rng.standard_normal((n_factors, n_factors)) / np.sqrt(n_factors)
        learned = true + np.tanh(true @ mixing)
        for name, run in metrics(learned, true).items():
            if name in SLOW and n_factors > arguments.slow_up_to:
                print(f"m = {n_factors:3d}  {name:24s}  not run (see --slow-up-to)")
                continue
            start = time.perf_counter()
            run()
            print(f"m = {n_factors:3d}  {name:24s}  {time.perf_counter() - start:8.3f}", flush=True)


if __name__ == "__main__":
    main()
