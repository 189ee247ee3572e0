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
    random_live_units,
    random_rotations,
    untrained_like,
)
from ucad.networks.predictions import decoded_accuracy
from ucad.networks.subspaces import SubspaceSettings, learn_subspace, orthonormal

__all__ = ["concept_scores", "evaluation_numbers", "judge_gap", "pairs_of", "supervised_ceilings"]

N_PAIRS, N_DRAWS = 1000, 10
POSITIVE = ("divisible by 2", "divisible by 3", "divisible by 6", "digit sum")
NEGATIVE = ("divisible by 5", "divisible by 7", "divisible by 11")
CEILING_DIRECTIONS = {"parity": 1, "mod 3": 8}
CEILING_SETTINGS = SubspaceSettings(n_steps=400, learning_rate=0.05)
N_CEILING_NUMBERS, N_CEILING_PAIRS = 30_000, 8_000
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
    """One gap: the most two-valued factor must be parity, and the others together the rest.

    No label chooses the factors: the solver puts the most two-valued axis first. Placebos are
    random axes of the same factors, split in the same way, and the swap of all factors at once,
    which is right about every mod-3 pair (both numbers are even) and so shows what that test of a
    group of factors is worth: it asks whether the group is enough, not whether it is only that.
    """
    graph, inputs = steering.scm.graph, one_hot(numbers)
    names = [
        name
        for name, level in zip(graph.factor_names, graph.factor_level, strict=True)
        if level == gap
    ]
    first = graph.factor_names.index(names[0])
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
        row[concept] = _steered(steering, inputs, pairs, names, chosen)
    return row


def _steered(
    steering: Steering,
    inputs: Tensor,
    pairs: SwapPairs,
    names: Sequence[str],
    chosen: Sequence[str],
) -> Row:
    score = interchange_score(factor_swap(steering, chosen), inputs, pairs)
    singles = [interchange_score(factor_swap(steering, n), inputs, pairs).mean for n in names]
    rotated = placebo_score(_random_axes(steering, names, len(chosen)), inputs, pairs)
    everything = interchange_score(factor_swap(steering, names), inputs, pairs)
    untrained = placebo_score(_untrained(steering, chosen), inputs, pairs)
    return {
        "score": score.mean,
        "on_changes": score.on_changes,
        "on_keeps": score.on_keeps,
        "best_single": max(singles),
        "rotated_mean": rotated.mean,
        "rotated_most": rotated.largest,
        "untrained_mean": untrained.mean,
        "everything": everything.mean,
    }


def _random_axes(steering: Steering, names: Sequence[str], n_axes: int) -> Iterator[Swap]:
    generator = torch.Generator().manual_seed(0)
    for _ in range(N_DRAWS):
        drawn = torch.randn(len(names), n_axes, generator=generator, dtype=torch.float64)
        yield factor_swap(steering, names, orthonormal(drawn))


def _untrained(steering: Steering, chosen: Sequence[str]) -> Iterator[Swap]:
    for seed in range(3):
        yield factor_swap(replace(steering, model=untrained_like(steering.model, seed)), chosen)


def supervised_ceilings(
    model: nn.Module, known: np.ndarray, numbers: np.ndarray, gap: int
) -> dict[str, float]:
    """Subspaces of the layer after the gap, learned from labels of known numbers, on others.

    One direction for parity and eight for the remainder by 3.
    """
    known = known[:N_CEILING_NUMBERS]
    to_learn, to_score = pairs_of(known, n_pairs=N_CEILING_PAIRS), pairs_of(numbers)
    scores = {}
    for concept, n_directions in CEILING_DIRECTIONS.items():
        swap = learn_subspace(
            model, SITES[gap + 1], one_hot(known), to_learn[concept], n_directions, CEILING_SETTINGS
        )
        scores[concept] = interchange_score(swap, one_hot(numbers), to_score[concept]).mean
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
