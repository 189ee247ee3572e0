"""The divisibility-by-6 study: `python -m experiments.div6`.

Trains five networks (weights are cached), records them with and without clamps, and fits a
bottleneck with eight factors in every gap between two layers; with `--paper` also m = 2 and 3
factors in all, as the paper does, which takes long. Prints the paper's factor–concept table next
to ours and next to placebos, and steering in both gaps next to placebos and a supervised ceiling;
writes Markdown, JSON and a figure. No label is used to fit a factor or to choose one for steering.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.networks.divisibility import SITES, Trained, one_hot, trained_networks
from experiments.networks.judging import concept_scores, evaluation_numbers, judge_gap
from ucad.data import InterventionalData
from ucad.networks import Recording, RecordSettings, Steering, forward, record
from ucad.networks.placebos import untrained_like
from ucad.scm import FactorSCM
from ucad.solvers.bottleneck import fit_bottleneck
from ucad.solvers.gradient import MechanismKind, ModelSettings, fit_gradient, preset
from ucad.solvers.search import Mechanisms, SearchConfig, fit_search

FACTORS_PER_GAP, N_GAPS = 8, 2
N_OBSERVATIONAL, N_PER_CLAMP, N_JUDGED = 190_000, 500, 6_000
N_CONCEPT_SAMPLES, N_SEARCHED = 1000, 6000
PAPER_BEST_RDC = {
    "divisible by 2": 0.88,
    "divisible by 3": 0.32,
    "divisible by 6": 0.55,
    "digit sum": 0.16,
    "divisible by 5": 0.14,
    "divisible by 7": 0.07,
    "divisible by 11": 0.03,
}
TARGETS = {
    "r_parity": (0.97, 0.97),
    "parity": (0.95, 0.90),
    "mod 3": (0.90, 0.90),
    "decoded_even": (0.99, 0.99),
}
Row = dict[str, Any]


def study(seed: int, cache: Path, *, paper: bool = False) -> Row:
    """One network: all fits, all scores."""
    trained = trained_networks(seed, cache, "dense")
    numbers = evaluation_numbers(trained, N_OBSERVATIONAL, N_JUDGED)
    recording = record(
        trained.model,
        one_hot(trained.unseen[:N_OBSERVATIONAL]),
        SITES,
        settings=RecordSettings(per_clamp=N_PER_CLAMP),
        seed=seed,
    )
    started = time.perf_counter()
    result = fit_bottleneck(recording.data, N_GAPS * FACTORS_PER_GAP, seed=seed)
    seconds = time.perf_counter() - started
    steering = _steering(trained, recording, result.scm)
    row: Row = {
        "seed": seed,
        "accuracy": trained.accuracy,
        "n_tries": trained.n_tries,
        "fit_seconds": seconds,
        "history": list(result.history),
        "gaps": [judge_gap(steering, numbers, gap) for gap in range(N_GAPS)],
        "concepts": {"bottleneck": concept_row(steering, trained, numbers)},
    }
    if paper:
        for name, scm in as_the_paper(recording.data, seed):
            scores = concept_row(_steering(trained, recording, scm), trained, numbers)
            row["concepts"][name] = scores
    return row


def _steering(trained: Trained, recording: Recording, scm: FactorSCM) -> Steering:
    return Steering(trained.model, scm, sites=recording.sites, activations=recording.activations)


def as_the_paper(data: InterventionalData, seed: int) -> Iterator[tuple[str, FactorSCM]]:
    """M = 2 and 3 factors in all, by the search and by the gradient objective.

    Both see a stratified part of the samples; the models are in the units of the network.
    """
    share = N_SEARCHED / data.n_samples
    parts = data.split(share, share, 1 - 2 * share, seed=seed)
    train = parts.train.standardised()
    assert train.scaling is not None
    validation = parts.validation.standardised(train.scaling)
    for m in (2, 3):
        config = SearchConfig(variable_mechanism=Mechanisms.MLP)
        found = fit_search(train, m, config=config, validation=validation, seed=seed)
        yield f"search, m = {m}", found.scm.in_original_units(train.scaling)
        model = ModelSettings(
            factor_mechanism=MechanismKind.LINEAR, variable_mechanism=MechanismKind.MLP
        )
        settings = preset("fast", data.n_variables, model)
        learned = fit_gradient(train, m, config=settings, validation=validation, seed=seed)
        yield f"gradient, m = {m}", learned.scm.in_original_units(train.scaling)


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


def steering_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Both gaps of every network: what was reached, placebos and ceiling."""
    yield (
        "| network | gap | r parity | decoded, even | parity | placebo mean (most) | untrained | "
        "ceiling | mod 3 | placebo mean (most) | untrained | ceiling | all factors, mod 3 | "
        "best single factor, mod 3 |"
    )
    yield "|---" * 14 + "|"
    for row in rows:
        for gap, judged in enumerate(row["gaps"]):
            cells = [f"{row['seed']}", f"{gap + 1}", f"{judged['r_parity']:.3f}"]
            cells.append(f"{judged['decoded_even']:.4f}")
            for concept in ("parity", "mod 3"):
                one = judged[concept]
                cells.append(f"**{one['score']:.3f}**")
                cells.append(f"{one['rotated_mean']:.2f} ({one['rotated_most']:.2f})")
                cells += [f"{one['untrained_mean']:.2f}", f"{one['ceiling']:.3f}"]
            cells += [f"{judged['mod 3'][key]:.2f}" for key in ("everything", "best_single")]
            yield f"| {' | '.join(cells)} |"


def target_lines(rows: Sequence[Row]) -> Iterator[str]:
    """What was to be reached, and what was."""
    for gap in range(N_GAPS):
        for name, wanted in TARGETS.items():
            values = [_value(row["gaps"][gap], name) for row in rows]
            reached = "reached" if np.mean(values) >= wanted[gap] else "**missed**"
            yield (
                f"- gap {gap + 1}, {name}: mean {np.mean(values):.3f} "
                f"({min(values):.3f}–{max(values):.3f}), wanted {wanted[gap]}: {reached}"
            )
    above = [
        judged[concept]["score"] > judged[concept]["rotated_most"]
        for row in rows
        for judged in row["gaps"]
        for concept in ("parity", "mod 3")
    ]
    yield f"- above the largest of its own placebos: {sum(above)} of {len(above)}"


def _value(judged: Mapping[str, Any], name: str) -> float:
    found = judged[name]
    return float(found["score"] if isinstance(found, dict) else found)


def concept_lines(rows: Sequence[Row]) -> Iterator[str]:
    """The best RDC per concept, mean over networks: the paper's, ours, and placebos."""
    yield f"| best RDC | {' | '.join(PAPER_BEST_RDC)} |"
    yield "|---" * (len(PAPER_BEST_RDC) + 1) + "|"
    yield f"| paper, m = 3 | {' | '.join(f'{v:.2f}' for v in PAPER_BEST_RDC.values())} |"
    for name in rows[0]["concepts"]:
        columns = list(rows[0]["concepts"][name][f"best_rdc {next(iter(PAPER_BEST_RDC))}"])
        for column in columns:
            means = [
                np.mean([row["concepts"][name][f"best_rdc {c}"][column] for row in rows])
                for c in PAPER_BEST_RDC
            ]
            label = f"**{name}**" if column == "value" else f"{name}: {column}"
            yield f"| {label} | {' | '.join(f'{mean:.2f}' for mean in means)} |"


def figure(rows: Sequence[Row], file: Path) -> None:
    """Steering of every network beside the placebos and the ceiling."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    drawing, axes = plt.subplots(1, 4, figsize=(11, 3), sharey=True)
    for at, (gap, concept) in enumerate((g, c) for g in range(N_GAPS) for c in ("parity", "mod 3")):
        judged = [row["gaps"][gap][concept] for row in rows]
        places = np.arange(len(rows))
        axes[at].bar(places, [one["score"] for one in judged], color="#4477aa", label="factors")
        for key, mark, label in [
            ("rotated_most", "v", "best placebo"),
            ("rotated_mean", "_", "mean placebo"),
            ("ceiling", "^", "supervised"),
        ]:
            axes[at].plot(places, [one[key] for one in judged], mark, color="black", label=label)
        axes[at].axhline(0.5, color="grey", linewidth=0.8)
        axes[at].set_title(f"{concept}, gap {gap + 1}")
        axes[at].set_xticks(places, [str(row["seed"]) for row in rows], rotation=45)
    axes[0].set_ylabel("interchange accuracy")
    axes[0].set_ylim(0.4, 1.02)
    axes[0].legend(fontsize=7, loc="lower left")
    drawing.tight_layout()
    drawing.savefig(file, dpi=150)
    plt.close(drawing)


def page(rows: Sequence[Row]) -> str:
    """All tables as one Markdown text."""
    seeds = ", ".join(str(row["seed"]) for row in rows)
    accuracies = ", ".join(f"{row['accuracy']:.5f}" for row in rows)
    lines = [
        "# Divisibility by 6",
        "",
        f"Networks {seeds}; accuracy on unseen numbers {accuracies}.",
        "",
        "## Steering",
        *steering_lines(rows),
        "",
        *target_lines(rows),
        "",
        "Parity is the swap of one factor out of eight. Mod 3 is the swap of the other seven, and "
        "since both numbers of a mod-3 pair are even, swapping all eight is right as well: the "
        "figure says that the seven are enough, not that they hold nothing else. No single factor "
        "is divisibility by 3 (last column).",
        "",
        "## Factors and concepts",
        *concept_lines(rows),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Reads the command line and runs; networks already in the JSON file are not run again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1000:1005", help="first:last, the last left out")
    parser.add_argument("--cache", type=Path, default=Path("experiments/.cache"))
    parser.add_argument("--paper", action="store_true", help="also fit m = 2, 3: takes long")
    parser.add_argument("-o", "--output", type=Path, default=Path("results/div6"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    first, last = (int(part) for part in arguments.seeds.split(":"))
    arguments.output.mkdir(parents=True, exist_ok=True)
    file = arguments.output / "div6.json"
    rows: list[Row] = json.loads(file.read_text()) if file.exists() else []
    for seed in range(first, last):
        if seed not in [row["seed"] for row in rows]:
            rows.append(study(seed, arguments.cache, paper=arguments.paper))
            file.write_text(json.dumps(rows, indent=1))
            print("\n".join([*list(steering_lines(rows[-1:]))[2:]]), flush=True)
    rows = [row for row in rows if first <= row["seed"] < last]
    (arguments.output / "div6.md").write_text(page(rows))
    figure(rows, arguments.output / "div6.png")
    print(page(rows))


if __name__ == "__main__":
    main()
