"""Networks whose factors are known: does UCAD find them? `python -m experiments.planted`.

A divisibility network trained through masked gaps, a ripple-carry adder and a network of modular
sums, wired by hand. Each is recorded, fitted by several solvers, compared with its true factors,
and steered by the factor that was found for a planted one, beside placebos.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.networks.divisibility import one_hot, trained_networks
from experiments.networks.planted_networks import (
    Planted,
    carry_adder,
    masked_divisibility,
    modular_sums,
)
from ucad.data import InterventionalData
from ucad.metrics import Correlation, correlation_matrix, mean_correlation
from ucad.networks import (
    RecordSettings,
    Site,
    Steering,
    factor_swap,
    forward,
    interchange_score,
    record,
    swap_pairs,
)
from ucad.networks.placebos import placebo_score, random_factor_swaps, rotated_factor_swaps
from ucad.solvers import FitResult
from ucad.solvers.bottleneck import BottleneckConfig, fit_bottleneck
from ucad.solvers.rectified import RectifiedConfig, fit_rectified
from ucad.solvers.search import Mechanisms, SearchConfig, fit_search

NETWORKS = ("divisibility", "adder", "modular")
SOLVERS = ("rectified", "bottleneck", "search")
Row = dict[str, Any]


def planted(name: str, seed: int, cache: Path) -> Planted:
    """A planted network by name; the divisibility network is trained, or taken from the cache."""
    if name == "adder":
        return carry_adder(seed)
    if name == "modular":
        return modular_sums(seed)
    trained = trained_networks(seed, cache, "masked", masked_divisibility)
    unseen = trained.unseen
    return Planted(
        trained.model,
        sites=("1", "2", "3"),
        factor_sites=("2.factors", "3.factors"),
        n_factors=(3, 3),
        draw=lambda n, rng: one_hot(rng.choice(unseen, size=n, replace=False)),
        decide=lambda output: (output[:, 0] > 0).long(),
        steered=None,
        expected=None,
    )


def fit(solver: str, data: InterventionalData, n_factors: tuple[int, ...]) -> FitResult:
    """One solver on recorded units."""
    total = sum(n_factors)
    if solver == "rectified":
        return fit_rectified(data, total, config=RectifiedConfig(factors_per_gap=n_factors))
    if solver == "bottleneck":
        batch = max(128, min(2048, data.n_samples // 40))
        config = BottleneckConfig(factors_per_gap=n_factors, batch_size=batch, epochs=20)
        return fit_bottleneck(data, total, config=config)
    config = SearchConfig(variable_mechanism=Mechanisms.MLP)
    few = data.split(min(1.0, 5000 / data.n_samples), 1 - min(1.0, 5000 / data.n_samples)).train
    return fit_search(few.standardised(), total, config=config)


def study(network: Planted, solver: str, seed: int, *, n_inputs: int, per_clamp: int) -> Row:
    """Records, fits, compares with the true factors, and steers."""
    rng = np.random.default_rng(seed)
    inputs, test = network.draw(n_inputs, rng), network.draw(min(n_inputs, 4000), rng)
    recording = record(
        network.model,
        inputs,
        network.sites,
        settings=RecordSettings(per_clamp=per_clamp),
        seed=seed,
    )
    started = time.perf_counter()
    result = fit(solver, recording.data, network.n_factors)
    seconds = time.perf_counter() - started
    scaling = recording.data.standardised().scaling if solver == "search" else None
    steering = Steering(network.model, result.scm, scaling, recording.sites, recording.activations)
    with torch.no_grad():
        truth = torch.cat(
            [forward(network.model, test, [Site(site)]).units for site in network.factor_sites],
            dim=1,
        ).numpy()
    learned = steering.run(test).z.numpy()
    matched = mean_correlation(learned, truth, Correlation.PEARSON)
    row: Row = {
        "solver": solver,
        "seed": seed,
        "mcc": float(matched.values.mean()),
        "worst": float(matched.values.min()),
        "seconds": seconds,
        "status": str(result.status),
    }
    if network.expected is not None:
        row |= steer(network, steering, test, learned, truth)
    return row


def steer(
    network: Planted, steering: Steering, inputs: torch.Tensor, learned: Any, truth: Any
) -> Row:
    """Swaps the factor most correlated with the planted one; placebos are swapped likewise."""
    related = np.abs(correlation_matrix(learned, truth, Correlation.PEARSON))
    best = int(related[:, network.steered].argmax())
    names = steering.scm.graph.factor_names
    numbers = inputs.numpy()
    outcome = network.expected(numbers, numbers)
    pairs = swap_pairs(outcome, lambda b, s: network.expected(numbers[b], numbers[s]))
    score = interchange_score(factor_swap(steering, names[best]), inputs, pairs, network.decide)
    placebos = {
        "random factors": random_factor_swaps(steering, names[best], inputs),
        "random rotations": rotated_factor_swaps(steering, names),
    }
    found = {
        name: placebo_score(swaps, inputs, pairs, network.decide)
        for name, swaps in placebos.items()
    }
    return {
        "steering": score.mean,
        "on_changes": score.on_changes,
        "on_keeps": score.on_keeps,
        "placebos": {name: [level.mean, level.largest] for name, level in found.items()},
    }


def table(rows: Sequence[Row]) -> Iterator[str]:
    """One line a fit, as Markdown."""
    yield "| network | solver | seed | MCC (worst factor) | steering | placebo mean (most) | s |"
    yield "|---" * 7 + "|"
    for row in rows:
        steering, placebo = "–", "–"
        if "steering" in row:
            steering = f"{row['steering']:.3f}"
            levels = row["placebos"].values()
            most = max(level[1] for level in levels)
            placebo = f"{np.mean([level[0] for level in levels]):.2f} ({most:.2f})"
        yield (
            f"| {row['network']} | {row['solver']} | {row['seed']} | {row['mcc']:.4f} "
            f"({row['worst']:.3f}) | {steering} | {placebo} | {row['seconds']:.1f} |"
        )


def main() -> None:
    """Reads the command line, runs, prints the table and writes it as Markdown and JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), choices=NETWORKS)
    parser.add_argument("--solvers", nargs="+", default=list(SOLVERS), choices=SOLVERS)
    parser.add_argument("--seeds", default="1000:1003", help="first:last, the last left out")
    parser.add_argument("--cache", type=Path, default=Path("experiments/.cache"))
    parser.add_argument("-o", "--output", type=Path, default=Path("results/planted"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    first, last = (int(part) for part in arguments.seeds.split(":"))
    arguments.output.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for name in arguments.networks:
        for seed in range(first, last):
            network = planted(name, seed, arguments.cache)
            large = name == "divisibility"
            for solver in arguments.solvers:
                row = study(
                    network,
                    solver,
                    seed,
                    n_inputs=20_000 if large else 4000,
                    per_clamp=500 if large else 200,
                )
                rows.append({"network": name, **row})
                print(list(table(rows[-1:]))[-1], flush=True)
    (arguments.output / "planted.json").write_text(json.dumps(rows, indent=1))
    (arguments.output / "planted.md").write_text("\n".join(table(rows)) + "\n")
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
