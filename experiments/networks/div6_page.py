"""The tables and the figure of the divisibility study, from its saved rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["concept_lines", "figure", "page", "steering_lines", "target_lines"]

N_GAPS = 2
PAPER_BEST_RDC = {
    "divisible by 2": 0.88,
    "divisible by 3": 0.32,
    "divisible by 6": 0.55,
    "digit sum": 0.16,
    "divisible by 5": 0.14,
    "divisible by 7": 0.07,
    "divisible by 11": 0.03,
}
Row = dict[str, Any]


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
        "",
        *steering_lines(rows),
        "",
        *target_lines(rows),
        "",
        "Parity is the swap of one factor out of three, mod 3 that of the other two. Both numbers "
        "of a mod-3 pair are even, so swapping all three is right as well: the score says that the "
        "two are enough, and the placebos, random blocks of the same size of the same factors, say "
        "what that is worth.",
        "",
        "## Factors and concepts",
        "",
        "Best RDC of any factor, mean over the networks; placebos have as many factors.",
        "",
        *concept_lines(rows),
        "",
        *paper_lines(rows),
    ]
    return "\n".join(lines) + "\n"


def steering_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Both gaps of every network: what was reached, placebos and ceiling."""
    columns = ["network", "gap", "r parity", "decoded, even"]
    for concept in ("parity", "mod 3, two factors"):
        columns += [concept, "rotations", "subspaces", "untrained", "supervised"]
    columns += ["mod 3, all three", "mod 3, best one"]
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    for row in rows:
        for gap, judged in enumerate(row["gaps"]):
            cells = [f"{row['seed']}", f"{gap + 1}", f"{judged['r_parity']:.3f}"]
            cells.append(f"{judged['decoded_even']:.4f}")
            for concept in ("parity", "mod 3"):
                one = judged[concept]
                cells.append(f"**{one['score']:.3f}**")
                cells += [
                    f"{one[f'{kind}_mean']:.2f} ({one[f'{kind}_most']:.3f})"
                    for kind in ("rotated", "subspace", "untrained")
                ]
                cells.append(f"{row['ceilings'][gap][concept]:.3f}")
            cells += [f"{judged['mod 3'][key]:.3f}" for key in ("everything", "best_single")]
            yield f"| {' | '.join(cells)} |"


def target_lines(rows: Sequence[Row]) -> Iterator[str]:
    """What was to be reached, and what was."""
    for gap, (parity_wanted, mod_3_wanted) in enumerate(((0.95, 0.90), (0.90, 0.90))):
        judged = [row["gaps"][gap] for row in rows]
        of = f"- gap {gap + 1}, "
        related = [one["r_parity"] for one in judged]
        yield f"{of}|r| of the switch with parity: {_met(related, 0.97)}"
        decoded = [one["decoded_even"] for one in judged]
        yield f"{of}accuracy on even inputs after decoding: {_met(decoded, 0.99)}"
        parity, mod_3 = ([one[concept] for one in judged] for concept in ("parity", "mod 3"))
        yield (
            f"{of}parity by the switch: {_met([one['score'] for one in parity], parity_wanted)}; "
            f"{_above_placebos(parity)}"
        )
        yield (
            f"{of}mod 3 by the two others: {_met([one['score'] for one in mod_3], mod_3_wanted)}; "
            f"{_above_placebos(mod_3)}"
        )
        singles = [one["best_single"] for one in mod_3]
        yield f"{of}mod 3 by one factor alone, which labels choose: {_spread(singles)}"


def _spread(values: Sequence[float]) -> str:
    return f"mean {np.mean(values):.3f} ({min(values):.3f}–{max(values):.3f})"


def _met(values: Sequence[float], wanted: float) -> str:
    verdict = "reached" if np.mean(values) >= wanted else "**missed**"
    return f"{_spread(values)}, wanted {wanted}: {verdict}"


def _above_placebos(judged: Sequence[Mapping[str, float]]) -> str:
    n_above = sum(one["score"] > one["placebo_most"] for one in judged)
    return f"{n_above} of {len(judged)} networks above the largest of their own placebos"


def concept_lines(rows: Sequence[Row]) -> Iterator[str]:
    """The best RDC per concept, mean over networks: the paper's, ours, and placebos."""
    yield f"| | {' | '.join(PAPER_BEST_RDC)} |"
    yield "|---" * (len(PAPER_BEST_RDC) + 1) + "|"
    yield f"| paper | {' | '.join(f'{v:.2f}' for v in PAPER_BEST_RDC.values())} |"
    tables = {
        "search, m = 2 or 3": [row["paper"]["concepts"] for row in rows],
        "bottleneck, m = 6": [row["concepts"]["bottleneck"] for row in rows],
    }
    for name, scores in tables.items():
        for column in scores[0][f"best_rdc {next(iter(PAPER_BEST_RDC))}"]:
            means = [np.mean([s[f"best_rdc {c}"][column] for s in scores]) for c in PAPER_BEST_RDC]
            label = f"**{name}**" if column == "value" else f"{name}: {column}"
            yield f"| {label} | {' | '.join(f'{mean:.2f}' for mean in means)} |"


def paper_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Which m was chosen by validation NLL, and the MCC over the positive concepts."""
    fits = [row["paper"] for row in rows]
    yield f"- search: m by validation NLL {', '.join(str(fit['m']) for fit in fits)}"
    for coefficient, papers in (("Pearson", 0.41), ("RDC", 0.72)):
        found = [fit["concepts"][f"mcc_{coefficient.lower()} positive"] for fit in fits]
        yield (
            f"- search: MCC by {coefficient} over the positive concepts "
            f"{_spread([one['value'] for one in found])}; as many random units "
            f"{_spread([one['random units'] for one in found])}; the paper {papers}"
        )


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
        marks = {
            "best placebo": ("v", [one["placebo_most"] for one in judged]),
            "mean rotation": ("_", [one["rotated_mean"] for one in judged]),
            "supervised": ("^", [row["ceilings"][gap][concept] for row in rows]),
        }
        for label, (mark, values) in marks.items():
            axes[at].plot(places, values, mark, color="black", label=label)
        axes[at].axhline(0.5, color="grey", linewidth=0.8)
        n_factors = "one factor" if concept == "parity" else "two factors"
        axes[at].set_title(f"{concept} ({n_factors}), gap {gap + 1}", fontsize=9)
        axes[at].set_xticks(places, [str(row["seed"]) for row in rows], rotation=45)
    axes[0].set_ylabel("interchange accuracy")
    axes[0].set_ylim(0.4, 1.02)
    axes[0].legend(fontsize=7, loc="lower left")
    drawing.tight_layout()
    drawing.savefig(file, dpi=150)
    plt.close(drawing)
