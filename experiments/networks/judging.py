"""How the factors of a divisibility network are judged: concepts, decoding and steering."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from experiments.networks.divisibility import SITES, Trained, concepts, one_hot
from ucad.metrics import Metric
from ucad.metrics.scoring import EvaluationSettings
from ucad.networks import Steering, SwapPairs, factor_swap, interchange_score, swap_pairs
from ucad.networks.concepts import ConceptTable, concept_table
from ucad.networks.interchange import Swap
from ucad.networks.placebos import (
    placebo_score,
    random_direction_swaps,
    random_live_units,
    random_rotations,
    untrained_like,
)
from ucad.networks.predictions import decoded_accuracy
from ucad.networks.subspaces import SubspaceSettings, learn_subspace, orthonormal

__all__ = [
    "concept_scores",
    "evaluation_numbers",
    "factors_of_gap",
    "judge_gap",
    "pairs_of",
    "steered",
    "supervised_ceilings",
]

N_PAIRS = 1000
N_ROTATIONS, N_SUBSPACES, N_UNTRAINED = 12, 10, 3
POSITIVE = ("divisible by 2", "divisible by 3", "divisible by 6", "digit sum")
NEGATIVE = ("divisible by 5", "divisible by 7", "divisible by 11")
CEILING_DIRECTIONS = {"parity": 1, "mod 3": 8}
CEILING_SETTINGS = SubspaceSettings(n_steps=400, learning_rate=0.05)
N_CEILING_NUMBERS, N_CEILING_PAIRS, N_CEILING_STARTS = 30_000, 8_000, 4
Row = dict[str, Any]


def pairs_of(numbers: np.ndarray, *, n_pairs: int = N_PAIRS, seed: int = 0) -> dict[str, SwapPairs]:
    """Swaps into multiples of 6: the parity of any number, and the remainder by 3 of an even one.

    Half of the swaps should turn the answer into no, half should leave it at yes. Nothing is asked
    of odd numbers, on which the networks do not use divisibility by 3.
    """
    is_even, by_three = numbers % 2 == 0, numbers % 3 == 0
    bases = np.flatnonzero(is_even & by_three)
    return {
        "parity": swap_pairs(
            is_even & by_three,
            lambda base, source: is_even[source] & by_three[base],
            bases=bases,
            n_pairs=n_pairs,
            seed=seed,
        ),
        "mod 3": swap_pairs(
            is_even & by_three,
            lambda base, source: by_three[source] & is_even[base],
            bases=bases,
            sources=np.flatnonzero(is_even),
            n_pairs=n_pairs,
            seed=seed,
        ),
    }


def judge_gap(steering: Steering, numbers: np.ndarray, gap: int, seed: int = 0) -> Row:
    """One gap: its first factor, the switch, must be parity, and the others together the rest.

    No label chooses a factor. Both numbers of a mod-3 pair are even, so the swap of all factors is
    right about every pair: the test of a block asks whether it is enough. What it is worth is what
    placebos have that are blocks of the same size of the same bottleneck.
    """
    names, inputs = factors_of_gap(steering, gap), one_hot(numbers)
    first = steering.scm.graph.factor_names.index(names[0])
    z = steering.run(inputs).z[:, first].numpy()
    is_even = numbers % 2 == 0
    decoded = decoded_accuracy(
        steering, inputs[is_even], (numbers % 6 == 0)[is_even], [SITES[gap + 1]]
    )
    row: Row = {
        "r_parity": float(abs(np.corrcoef(z, is_even)[0, 1])),
        "decoded_even": decoded.after,
        "network_even": decoded.before,
    }
    for concept, pairs in pairs_of(numbers, seed=seed).items():
        chosen = names[:1] if concept == "parity" else names[1:]
        row[concept] = steered(steering, inputs, pairs, names, chosen)
    return row


def factors_of_gap(steering: Steering, gap: int) -> list[str]:
    """The names of a gap's factors, the switch first."""
    graph = steering.scm.graph
    named = zip(graph.factor_names, graph.factor_level, strict=True)
    return [name for name, level in named if level == gap]


def steered(
    steering: Steering,
    inputs: Tensor,
    pairs: SwapPairs,
    names: Sequence[str],
    chosen: Sequence[str],
) -> Row:
    """The swap of chosen factors of a gap, beside placebos of the same size."""
    score = interchange_score(factor_swap(steering, chosen), inputs, pairs)
    rotated = placebo_score(_random_axes(steering, names, len(chosen)), inputs, pairs)
    subspaces = random_direction_swaps(
        steering, names[0], inputs, n_directions=len(names), n_draws=N_SUBSPACES
    )
    subspace = placebo_score(subspaces, inputs, pairs)
    untrained = placebo_score(_untrained(steering, chosen), inputs, pairs)
    return {
        "score": score.mean,
        "on_changes": score.on_changes,
        "on_keeps": score.on_keeps,
        "best_single": _best_single(steering, inputs, pairs, names),
        "everything": interchange_score(factor_swap(steering, names), inputs, pairs).mean,
        "rotated_mean": rotated.mean,
        "rotated_most": rotated.largest,
        "subspace_mean": subspace.mean,
        "subspace_most": subspace.largest,
        "untrained_mean": untrained.mean,
        "untrained_most": untrained.largest,
        "placebo_most": max(rotated.largest, subspace.largest, untrained.largest),
    }


def _best_single(
    steering: Steering, inputs: Tensor, pairs: SwapPairs, names: Sequence[str]
) -> float:
    """One factor chosen by labels on half of the pairs, and scored on the others."""
    to_choose, to_score = pairs.halves()
    best = max(
        names,
        key=lambda name: interchange_score(factor_swap(steering, name), inputs, to_choose).mean,
    )
    return interchange_score(factor_swap(steering, best), inputs, to_score).mean


def _random_axes(steering: Steering, names: Sequence[str], n_axes: int) -> Iterator[Swap]:
    """Random subspaces of the gap's own factors, of the same size, decoded through the same F_X."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(N_ROTATIONS):
        drawn = torch.randn(len(names), n_axes, generator=generator, dtype=torch.float64)
        yield factor_swap(steering, names, orthonormal(drawn))


def _untrained(steering: Steering, chosen: Sequence[str]) -> Iterator[Swap]:
    for seed in range(N_UNTRAINED):
        yield factor_swap(replace(steering, model=untrained_like(steering.model, seed)), chosen)


def supervised_ceilings(
    model: nn.Module, known: np.ndarray, numbers: np.ndarray, gap: int
) -> dict[str, float]:
    """Subspaces of the layer after the gap, learned from labels of known numbers, on others.

    One direction for parity and eight for the remainder by 3. The descent ends in local optima, so
    several starts are learned, and the one that is best on the known numbers is kept.
    """
    known = known[:N_CEILING_NUMBERS]
    inputs, to_score = one_hot(known), pairs_of(numbers)
    to_learn = pairs_of(known, n_pairs=N_CEILING_PAIRS)
    scores = {}
    for concept, n_directions in CEILING_DIRECTIONS.items():
        swaps = [
            learn_subspace(
                model,
                SITES[gap + 1],
                inputs,
                to_learn[concept],
                n_directions,
                replace(CEILING_SETTINGS, seed=seed),
            )
            for seed in range(N_CEILING_STARTS)
        ]
        best = max(swaps, key=lambda s: interchange_score(s, inputs, to_learn[concept]).mean)
        scores[concept] = interchange_score(best, one_hot(numbers), to_score[concept]).mean
    return scores


def concept_scores(
    z: np.ndarray, x: np.ndarray, x_untrained: np.ndarray, numbers: np.ndarray
) -> ConceptTable:
    """The paper's table for given factors, beside placebos with as many factors."""
    labels, m = concepts(numbers), z.shape[1]
    return concept_table(
        z,
        {name: labels[name] for name in POSITIVE},
        {name: labels[name] for name in NEGATIVE},
        placebos={
            "random units": random_live_units(x, m),
            "random rotations": random_rotations(z),
            "untrained network": random_live_units(x_untrained, m),
        },
        metrics=[Metric.MCC_PEARSON, Metric.MCC_RDC],
        settings=EvaluationSettings(n_resamples=0, n_permutations=20, n_refits=0),
    )


def evaluation_numbers(trained: Trained, n_fitted: int, n_wanted: int) -> np.ndarray:
    """Numbers that neither the network nor the solver has seen."""
    return trained.unseen[n_fitted : n_fitted + n_wanted]
