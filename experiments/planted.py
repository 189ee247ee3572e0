"""Networks whose factors are known: does UCAD find them? `python -m experiments.planted`.

A divisibility network trained through masked gaps, and a ripple-carry adder, a network of modular
sums and a tree of XORs, wired by hand. Each is recorded, fitted by several solvers, compared with
its true factors, and steered by the factors that were found for planted ones, beside placebos. The
divisibility network's factors have no names: there a swap is right if the network then decides as
it does when the true factor itself is swapped.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
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
    xor_tree,
)
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.metrics import Correlation, correlation_matrix, mean_correlation
from ucad.networks import (
    RecordSettings,
    Site,
    Steering,
    SubspaceSwap,
    SwapPairs,
    decision,
    factor_swap,
    forward,
    interchange_score,
    record,
    swap_pairs,
)
from ucad.networks.placebos import (
    factors_of_the_same_gap,
    placebo_score,
    random_direction_swaps,
    random_factor_swaps,
    rotated_factor_swaps,
)
from ucad.scm.families import AFFINE, NETWORK
from ucad.solvers import FitResult
from ucad.solvers.layered import (
    BottleneckConfig,
    fit_bottleneck,
    fit_rectified,
)
from ucad.solvers.search import fit_search

HAND_WIRED = {"adder": carry_adder, "modular": modular_sums, "xor": xor_tree}
NETWORKS = (*HAND_WIRED, "divisibility")
SOLVERS = ("rectified", "bottleneck", "search")
N_PAIRS, N_SEARCHED, LEAST_CHANGES = 1000, 5000, 0.01
Row = dict[str, Any]


def planted(name: str, seed: int, cache: Path) -> Planted:
    """A planted network by name; the divisibility network is trained, or taken from the cache."""
    if name in HAND_WIRED:
        return HAND_WIRED[name](seed)
    trained = trained_networks(seed, cache, "masked", masked_divisibility)
    unseen, factor_sites, n_factors = trained.unseen, ("2.factors", "3.factors"), (3, 3)
    where = [(site, k) for site, m in zip(factor_sites, n_factors, strict=True) for k in range(m)]
    return Planted(
        trained.model,
        sites=("1", "2", "3"),
        factor_sites=factor_sites,
        n_factors=n_factors,
        draw=lambda n, rng: one_hot(rng.choice(unseen, size=n, replace=False)),
        decide=decision,
        expected={
            number: _true_swap(trained.model, Site(site, units=(k,)))
            for number, (site, k) in enumerate(where)
        },
    )


def _true_swap(
    model: torch.nn.Module, factor: Site
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """What the network decides when the true factor itself is taken from the source."""
    swap = SubspaceSwap(model, factor, torch.ones(1, 1))

    def expected(base: np.ndarray, source: np.ndarray) -> np.ndarray:
        return decision(swap(torch.from_numpy(base), torch.from_numpy(source))).numpy()

    return expected


def fit(solver: str, data: InterventionalData, n_factors: tuple[int, ...]) -> FitResult:
    """One solver on recorded units."""
    total = sum(n_factors)
    if solver == "rectified":
        return fit_rectified(data, total, factors_per_pair=n_factors)
    if solver == "bottleneck":
        batch = max(128, min(2048, data.n_samples // 40))
        config = BottleneckConfig(factors_per_pair=n_factors, batch_size=batch, epochs=20)
        return fit_bottleneck(data, total, config=config)
    share = min(1.0, N_SEARCHED / data.n_samples)
    few = data.split(share, 1 - share).train.standardised()
    assert few.scaling is not None
    found = fit_search(few, total, families=(AFFINE, NETWORK))
    return replace(found, scm=found.scm.in_original_units(few.scaling))


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
    steering = Steering(
        network.model, result.scm, sites=recording.sites, activations=recording.activations
    )
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
        "mcc": matched.mean,
        "worst": float(matched.values.min()),
        "seconds": seconds,
        "status": str(result.status),
    }
    related = np.abs(correlation_matrix(learned, truth, Correlation.PEARSON))
    row["steered"] = [
        steer(network, steering, test, int(related[:, true].argmax()), true)
        for true in network.expected
        if _matters(network, true, test.numpy())
    ]
    return row


def _matters(network: Planted, true: int, numbers: np.ndarray) -> bool:
    """Whether swaps of the true factor change at least one decision in a hundred."""
    expected = network.expected[true]
    changes = expected(numbers, numbers[::-1].copy()) != expected(numbers, numbers)
    return float(changes.mean()) >= LEAST_CHANGES


def steer(network: Planted, steering: Steering, inputs: torch.Tensor, found: int, true: int) -> Row:
    """Swaps the factor that was found for a true one; placebos are swapped likewise."""
    name, expected, numbers = (
        steering.scm.graph.factor_names[found],
        network.expected[true],
        inputs.numpy(),
    )
    pairs = balanced_pairs(
        expected(numbers, numbers), lambda b, s: expected(numbers[b], numbers[s])
    )
    score = interchange_score(factor_swap(steering, name), inputs, pairs, network.decide)
    same_gap = factors_of_the_same_gap(steering, name)
    placebos = {
        "random factors": random_factor_swaps(steering, name, inputs),
        "random rotations": rotated_factor_swaps(steering, same_gap),
        "random directions": random_direction_swaps(steering, name, inputs),
    }
    levels = {
        kind: placebo_score(swaps, inputs, pairs, network.decide)
        for kind, swaps in placebos.items()
    }
    return {
        "factor": true,
        "score": score.mean,
        "on_changes": score.on_changes,
        "on_keeps": score.on_keeps,
        "n_pairs": len(pairs),
        "placebos": {kind: [level.mean, level.largest] for kind, level in levels.items()},
    }


def balanced_pairs(
    outcome: np.ndarray, expected: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> SwapPairs:
    """Swaps, half of which change the decision, whatever it was before.

    A network that says no five times in six is nearly always expected to say no after a swap, so
    that whoever destroys its yes is right. With a yes or no decision, half of the changes are to
    yes and half to no, and so are the swaps that change nothing: always giving one answer scores
    0.5, as doing nothing does. Where only one of the answers ever changes, only inputs with that
    answer are steered.
    """
    answers = np.unique(outcome)
    if len(answers) != 2:
        return swap_pairs(outcome, expected, n_pairs=N_PAIRS)
    parts = []
    for answer in answers:
        with contextlib.suppress(InvalidInputError):  # no swap changes this answer, or all do
            bases = np.flatnonzero(outcome == answer)
            parts.append(swap_pairs(outcome, expected, bases=bases, n_pairs=N_PAIRS // 2))
    fewest = min(min(pairs.changes.sum(), (~pairs.changes).sum()) for pairs in parts)
    kept = [_of_each_kind(pairs, int(fewest)) for pairs in parts]
    return SwapPairs(
        *(
            np.concatenate([getattr(pairs, field.name) for pairs in kept])
            for field in fields(SwapPairs)
        )
    )


def _of_each_kind(pairs: SwapPairs, n: int) -> SwapPairs:
    rows = [np.flatnonzero(pairs.changes == changes)[:n] for changes in (True, False)]
    return pairs.select(np.concatenate(rows))


def table(rows: Sequence[Row]) -> Iterator[str]:
    """One line a fit, as Markdown."""
    yield (
        "| network | solver | seed | MCC (worst factor) | steering, mean (worst factor) | "
        "random factors, mean (most) | random rotations, mean (most) | random directions, mean "
        "(most) | s |"
    )
    yield "|---" * 9 + "|"
    for row in rows:
        steered = row["steered"]
        scores = [one["score"] for one in steered]
        cells = [row["network"], row["solver"], f"{row['seed']}"]
        cells.append(f"{row['mcc']:.4f} ({row['worst']:.3f})")
        cells.append(f"{np.mean(scores):.3f} ({min(scores):.3f})")
        for kind in steered[0]["placebos"]:
            levels = np.array([one["placebos"][kind] for one in steered])
            cells.append(f"{levels[:, 0].mean():.2f} ({levels[:, 1].max():.2f})")
        cells.append(f"{row['seconds']:.1f}")
        yield f"| {' | '.join(cells)} |"


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
