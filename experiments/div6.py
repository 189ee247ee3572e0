"""The divisibility-by-6 study: `python -m experiments.div6`.

Trains five networks (weights are cached), records them with and without clamps, and fits a
bottleneck with three factors in every gap between two layers, and m = 2 and 3 factors in all, as
the paper does. Prints the paper's factor–concept table next to ours and next to placebos, and
steering in both gaps next to placebos and a supervised ceiling; writes Markdown, JSON and a figure.
No label is used to fit a factor or to choose one for steering.

What is in the JSON file is not run again; `--from div6.json` only writes the tables anew.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.networks.div6_page import figure, page, steering_lines
from experiments.networks.divisibility import (
    SITES,
    Trained,
    one_hot,
    readout,
    trained_networks,
)
from experiments.networks.judging import (
    concept_scores,
    evaluation_numbers,
    judge_gap,
    supervised_ceilings,
)
from ucad.data import InterventionalData
from ucad.networks import Recording, RecordSettings, Steering, forward, record
from ucad.networks.placebos import untrained_like
from ucad.scm import FactorSCM
from ucad.solvers import FitResult
from ucad.solvers.layered import BinaryFactorSearch, BottleneckConfig, fit_bottleneck
from ucad.solvers.search import fit_search

FACTORS_PER_GAP, N_GAPS = 3, 2
BOTTLENECK = BottleneckConfig(hidden=128, epochs=20, binary_factor=BinaryFactorSearch())
N_OBSERVATIONAL, N_PER_CLAMP, N_JUDGED = 190_000, 500, 6_000
N_CONCEPT_SAMPLES = 1000
PAPER_FACTORS, N_PAPER_TRAIN, N_PAPER_VALIDATION = (2, 3), 10_000, 10_000
Row = dict[str, Any]


def study(seed: int, cache: Path, row: Row | None = None) -> Row:
    """One network: what the row does not have yet of fits and scores."""
    row = {} if row is None else dict(row)
    trained = trained_networks(seed, cache, "dense")
    row.setdefault("cpu_seconds", {})["train"] = trained.cpu_seconds
    numbers = evaluation_numbers(trained, N_OBSERVATIONAL, N_JUDGED)
    row |= {"seed": seed, "accuracy": trained.accuracy, "n_tries": trained.n_tries}
    recording = None
    for part, make in PARTS.items():
        if part not in row:
            started = time.process_time()
            recording = recording or _recorded(trained, seed)
            row |= make(trained, recording, numbers, seed)
            row["cpu_seconds"][part] = time.process_time() - started
    return row


def per_gap(trained: Trained, recording: Recording, numbers: np.ndarray, seed: int) -> Row:
    """Three factors in every gap, by the bottleneck: a switch and two more.

    The network's own decisions take part in the fit; no label does.
    """
    readouts = tuple(readout(trained.model, site) for site in recording.sites[1:])
    config = replace(BOTTLENECK, readouts=readouts)
    result = fit_bottleneck(recording.data, N_GAPS * FACTORS_PER_GAP, config=config, seed=seed)
    steering = _steering(trained, recording, result.scm)
    return {
        "fit_seconds": result.seconds,
        "history": list(result.history),
        "gaps": [judge_gap(steering, numbers, gap) for gap in range(N_GAPS)],
        "concepts": {"bottleneck": concept_row(steering, trained, numbers)},
    }


def ceilings(trained: Trained, _recording: Recording, numbers: np.ndarray, _seed: int) -> Row:
    """What a subspace learned from labels reaches; it learns from other numbers."""
    known = trained.unseen[:N_OBSERVATIONAL]
    return {
        "ceilings": [
            supervised_ceilings(trained.model, known, numbers, gap) for gap in range(N_GAPS)
        ]
    }


def as_the_paper(trained: Trained, recording: Recording, numbers: np.ndarray, seed: int) -> Row:
    """M = 2 and 3 factors in all with linear F_Z and F_X; the lower validation NLL is kept."""
    results = _total_fits(recording.data, seed)
    m = min(results, key=lambda m: results[m].validation_nll)
    scm = results[m].scm
    return {
        "paper": {
            "m": m,
            "validation_nll": {str(k): one.validation_nll for k, one in results.items()},
            "seconds": {str(k): one.seconds for k, one in results.items()},
            "status": results[m].status.reason,
            "parents": scm.graph.Q.sum(axis=0).tolist(),
            "children": scm.graph.R.sum(axis=0).tolist(),
            "concepts": concept_row(Steering(trained.model, scm), trained, numbers),
        }
    }


PARTS: Mapping[str, Callable[[Trained, Recording, np.ndarray, int], Row]] = {
    "gaps": per_gap,
    "ceilings": ceilings,
    "paper": as_the_paper,
}
"""What a row consists of, by the key that says that it is there."""


def _recorded(trained: Trained, seed: int) -> Recording:
    inputs = one_hot(trained.unseen[:N_OBSERVATIONAL])
    settings = RecordSettings(per_clamp=N_PER_CLAMP)
    return record(trained.model, inputs, SITES, settings=settings, seed=seed)


def _steering(trained: Trained, recording: Recording, scm: FactorSCM) -> Steering:
    return Steering(trained.model, scm, sites=recording.sites, activations=recording.activations)


def _total_fits(data: InterventionalData, seed: int) -> dict[int, FitResult]:
    """The search on a stratified part of the samples; the models are in the network's units.

    Units that never change in that part are left out.
    """
    shares = [n / data.n_samples for n in (N_PAPER_TRAIN, N_PAPER_VALIDATION)]
    parts = data.split(*shares, 1 - sum(shares), seed=seed)
    live = np.flatnonzero(parts.train.x.std(axis=0) > 0)
    train = parts.train.select_variables(live).standardised()
    assert train.scaling is not None
    validation = parts.validation.select_variables(live).standardised(train.scaling)
    results = {}
    for m in PAPER_FACTORS:
        found = fit_search(train, m, validation=validation, seed=seed)
        results[m] = replace(found, scm=found.scm.in_original_units(train.scaling))
    return results


def concept_row(steering: Steering, trained: Trained, numbers: np.ndarray) -> Row:
    """The best RDC and Pearson of every concept, beside placebos with as many factors."""
    numbers = numbers[:N_CONCEPT_SAMPLES]
    inputs = one_hot(numbers)
    run = steering.run(inputs)
    with torch.no_grad():
        untrained = forward(untrained_like(trained.model), inputs, steering.sites).units
    table = concept_scores(
        run.z.numpy(), run.x.double().numpy(), untrained.double().numpy(), numbers
    )
    scores: Row = {}
    for score in table.scores:
        key = f"{score.metric} {score.concept or score.kind}"
        scores[key] = {
            "value": score.value,
            "permuted": score.chance,
            **{name: level.mean for name, level in score.placebos.items()},
        }
    return scores


def write(rows: list[Row], output: Path) -> None:
    """The tables as Markdown and the figure."""
    output.mkdir(parents=True, exist_ok=True)
    (output / "div6.md").write_text(page(rows))
    figure(rows, output / "div6.png")
    print(page(rows))


def main() -> None:
    """Reads the command line and runs what the JSON file does not have."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1010:1015", help="first:last, the last left out")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="networks at a time")
    parser.add_argument("--cache", type=Path, default=Path("experiments/.cache"))
    parser.add_argument("--from", dest="saved", type=Path, help="a div6.json: run nothing")
    parser.add_argument("-o", "--output", type=Path, default=Path("results/div6"))
    arguments = parser.parse_args()
    if arguments.saved is not None:
        write(json.loads(arguments.saved.read_text()), arguments.output)
        return
    seeds = range(*(int(part) for part in arguments.seeds.split(":")))
    arguments.output.mkdir(parents=True, exist_ok=True)
    file = arguments.output / "div6.json"
    saved = json.loads(file.read_text()) if file.exists() else []
    rows: dict[int, Row] = {row["seed"]: row for row in saved}
    missing = [seed for seed in seeds if not PARTS.keys() <= rows.get(seed, {}).keys()]
    for row in run(missing, arguments.cache, rows, arguments.jobs):
        rows[row["seed"]] = row
        file.write_text(json.dumps([rows[seed] for seed in sorted(rows)], indent=1))
        print("\n".join(list(steering_lines([row]))[2:]), flush=True)
    write([rows[seed] for seed in seeds], arguments.output)


def run(seeds: Sequence[int], cache: Path, rows: Mapping[int, Row], n_jobs: int) -> Iterator[Row]:
    """Several networks at a time, each in a process of its own with one thread."""
    start = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_jobs, start, torch.set_num_threads, (1,)) as pool:
        for done in as_completed([pool.submit(study, s, cache, rows.get(s)) for s in seeds]):
            yield done.result()


if __name__ == "__main__":
    main()
