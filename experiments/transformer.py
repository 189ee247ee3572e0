"""A small transformer that adds, and what steers it: `python -m experiments.transformer`.

One layer of attention and one MLP read the digits a₁ a₀ b₁ b₀ and decide the tens digit of the sum,
(a₁ + b₁ + carry) mod 10. The variables are the residual stream at the last token, before and after
the MLP; the concepts are the carry from the ones and the tens digit itself. Factors of the gap
between them are found without labels and swapped between inputs, beside placebos and a supervised
ceiling. An honest small study: the network is dense, so no theorem says what the axes are.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ucad.networks import (
    RecordSettings,
    Site,
    Steering,
    factor_swap,
    interchange_score,
    record,
    swap_pairs,
)
from ucad.networks.concepts import concept_table
from ucad.networks.placebos import placebo_score, random_live_units, random_rotations
from ucad.networks.subspaces import learn_subspace, orthonormal
from ucad.solvers.bottleneck import BottleneckConfig, fit_bottleneck

SITES = (Site("middle", position=-1), Site("end", position=-1))
N_FACTORS, N_TOKENS = 8, 4
Row = dict[str, Any]


class AddingTransformer(nn.Module):
    """Embeddings, one attention layer and one MLP; the answer is read at the last token.

    `middle` and `end` are identities that mark the residual stream before and after the MLP.
    """

    def __init__(self, width: int = 48, n_heads: int = 4) -> None:
        super().__init__()
        self.digits = nn.Embedding(10, width)
        self.places = nn.Parameter(torch.randn(N_TOKENS, width) * 0.1)
        self.attention = nn.MultiheadAttention(width, n_heads, batch_first=True)
        self.middle = nn.Identity()
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width)
        )
        self.end = nn.Identity()
        self.answer = nn.Linear(width, 10)

    def forward(self, tokens: Tensor) -> Tensor:
        """The logits of the tens digit."""
        h = self.digits(tokens) + self.places
        h = self.middle(h + self.attention(h, h, h, need_weights=False)[0])
        h = self.end(h + self.mlp(h))
        return self.answer(h[:, -1])


def all_sums() -> Tensor:
    """All 10,000 pairs of two-digit numbers, as tokens a₁ a₀ b₁ b₀."""
    return torch.cartesian_prod(*[torch.arange(10)] * N_TOKENS)


def tens_digit(tokens: Any, carry: Any = None) -> Any:
    """(a₁ + b₁ + carry) mod 10, with the carry of a₀ + b₀ unless another is given."""
    own = tokens[:, 1] + tokens[:, 3] > 9
    return (tokens[:, 0] + tokens[:, 2] + (own if carry is None else carry)) % 10


def train(seed: int, *, n_steps: int = 3000, width: int = 48) -> tuple[AddingTransformer, float]:
    """Trains on 80 % of all sums; returns the network and its accuracy on the others."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = AddingTransformer(width)
    generator = torch.Generator().manual_seed(seed)
    tokens = all_sums()[torch.randperm(10_000, generator=generator)]
    answers = tens_digit(tokens)
    adam = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, n_steps)
    for _ in range(n_steps):
        rows = torch.randint(8000, (512,), generator=generator)
        loss = nn.functional.cross_entropy(model(tokens[rows]), answers[rows])
        adam.zero_grad()
        loss.backward()
        adam.step()
        schedule.step()
    with torch.no_grad():
        right = model(tokens[8000:]).argmax(dim=1) == answers[8000:]
    return model.eval(), float(right.double().mean())


def study(seed: int, *, n_steps: int = 3000, width: int = 48) -> Row:
    """Trains, records, fits, compares with the concepts, and swaps the most two-valued factor."""
    model, accuracy = train(seed, n_steps=n_steps, width=width)
    inputs = all_sums()
    recording = record(model, inputs, SITES, settings=RecordSettings(per_clamp=100), seed=seed)
    config = BottleneckConfig(batch_size=512, epochs=20)
    result = fit_bottleneck(recording.data, N_FACTORS, config=config, seed=seed)
    steering = Steering(model, result.scm, sites=recording.sites, activations=recording.activations)
    numbers = inputs.numpy()
    carry = (numbers[:, 1] + numbers[:, 3] > 9).astype(float)
    run = steering.run(inputs)
    z = run.z.numpy()
    chosen = np.random.default_rng(seed).permutation(len(z))[:1000]
    table = concept_table(
        z[chosen],
        {"carry": carry[chosen], "tens digit": tens_digit(numbers)[chosen].astype(float)},
        {"a₀ odd": (numbers[chosen, 1] % 2).astype(float)},
        placebos={
            "random units": random_live_units(run.x.double().numpy()[chosen], N_FACTORS),
            "random rotations": random_rotations(z[chosen]),
        },
        metrics=[],
    )
    correlations = [abs(float(np.corrcoef(column, carry)[0, 1])) for column in z.T]
    return {
        "seed": seed,
        "accuracy": accuracy,
        "r2": result.history[0]["r2"],
        "kurtosis": result.history[0]["kurtosis"],
        "r_carry_first": correlations[0],
        "r_carry_best": max(correlations),
        "concepts": str(table),
        **steer_carry(steering, inputs, int(np.argmax(correlations))),
    }


def steer_carry(steering: Steering, inputs: Tensor, best: int) -> Row:
    """Swaps the carry: the tens digit must follow the source's carry and keep the rest."""
    numbers, names = inputs.numpy(), steering.scm.graph.factor_names

    def expected(base: np.ndarray, source: np.ndarray) -> np.ndarray:
        return tens_digit(numbers[base], numbers[source, 1] + numbers[source, 3] > 9)

    pairs = swap_pairs(tens_digit(numbers), expected, n_pairs=1000)
    generator = torch.Generator().manual_seed(0)
    rotated = (
        factor_swap(steering, names, orthonormal(torch.randn(N_FACTORS, 1, generator=generator)))
        for _ in range(10)
    )
    placebo = placebo_score(rotated, inputs, pairs)
    learn, score = pairs.halves()
    ceiling = learn_subspace(steering.model, SITES[1], inputs, learn, 1)
    return {
        "first": interchange_score(factor_swap(steering, names[0]), inputs, pairs).mean,
        "most_correlated": interchange_score(
            factor_swap(steering, names[best]), inputs, pairs
        ).mean,
        "placebo_mean": placebo.mean,
        "placebo_most": placebo.largest,
        "ceiling": interchange_score(ceiling, inputs, score).mean,
    }


def main() -> None:
    """Reads the command line, runs, prints and writes JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1000:1003", help="first:last, the last left out")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("-o", "--output", type=Path, default=Path("results/transformer"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    first, last = (int(part) for part in arguments.seeds.split(":"))
    rows = []
    for seed in range(first, last):
        rows.append(study(seed, n_steps=arguments.steps))
        for name, value in rows[-1].items():
            print(f"{name}: {value}" if name != "concepts" else value, flush=True)
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "transformer.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
