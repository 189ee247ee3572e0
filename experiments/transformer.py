"""A small transformer that tells multiples of 6: `python -m experiments.transformer`.

One layer of attention and two MLPs read the five digits of a number and decide at the last token
whether it is a multiple of 6. The variables are the residual stream at that token before and after
the first MLP: a place where a supervised subspace steers the network, so that the study can tell.
Factors of the gap between them are found without labels, compared with concepts, and swapped
between inputs, beside placebos and the supervised ceiling. The network is dense, so no theorem says
what the axes are.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from experiments.networks.divisibility import concepts
from experiments.networks.judging import pairs_of, steered
from ucad.metrics.scoring import EvaluationSettings
from ucad.networks import (
    RecordSettings,
    Site,
    Steering,
    SubspaceSettings,
    decoded_accuracy,
    interchange_score,
    learn_subspace,
    record,
)
from ucad.networks.concepts import concept_table
from ucad.networks.placebos import random_live_units, random_rotations
from ucad.solvers.layered import BinaryFactorSearch, BottleneckConfig, fit_bottleneck

SITES = (Site("middle", position=-1), Site("between", position=-1))
N_DIGITS, N_NUMBERS = 5, 100_000
N_FACTORS, N_FITTED, N_JUDGED = 3, 14_000, 6_000
BOTTLENECK = BottleneckConfig(
    hidden=128,
    epochs=40,
    batch_size=512,
    binary_factor=BinaryFactorSearch(n_factors=2, epochs=20, by_behaviour=True),
)
"""Two factors are as few as keep 0.99 of the decisions. A token has many two-valued directions,
every half of the ten digits, so the switch is looked for among what the decisions need."""
CEILING_DIRECTIONS = {"parity": 1, "mod 3": 8}
POSITIVE, NEGATIVE = ("divisible by 2", "divisible by 3", "divisible by 6"), ("divisible by 7",)
Row = dict[str, Any]


class DigitTransformer(nn.Module):
    """Embeddings, attention of the last token to all, and two MLPs on the residual stream.

    `middle` and `between` are identities that mark the stream before and after the first MLP.
    Nothing reads the other tokens after the attention, so they are not computed.
    """

    def __init__(self, width: int = 32, n_heads: int = 4) -> None:
        super().__init__()
        self.digits = nn.Embedding(10, width)
        self.places = nn.Parameter(torch.randn(N_DIGITS, width) * 0.1)
        self.attention = nn.MultiheadAttention(width, n_heads, batch_first=True)
        self.middle, self.between = nn.Identity(), nn.Identity()
        self.first, self.second = _mlp(width), _mlp(width)
        self.answer = nn.Linear(width, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        """The logit of being a multiple of 6."""
        h = self.digits(tokens) + self.places
        last = h[:, -1:]
        last = self.middle(last + self.attention(last, h, h, need_weights=False)[0])
        last = self.between(last + self.first(last))
        return self.answer((last + self.second(last))[:, -1])


def _mlp(width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))


def tokens_of(numbers: np.ndarray) -> Tensor:
    """Five digits, the ones last.

    >>> tokens_of(np.array([120])).tolist()
    [[0, 0, 1, 2, 0]]
    """
    places = 10 ** np.arange(N_DIGITS)[::-1]
    return torch.from_numpy(numbers[:, None] // places % 10)


def train(
    seed: int, *, n_steps: int = 4000, width: int = 32
) -> tuple[DigitTransformer, np.ndarray, float]:
    """Trains on 80 % of all numbers; returns the network, the others, and the accuracy on them."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = DigitTransformer(width)
    rng = np.random.default_rng(seed)
    numbers = rng.permutation(N_NUMBERS)
    seen, unseen = numbers[: int(0.8 * N_NUMBERS)], numbers[int(0.8 * N_NUMBERS) :]
    tokens, is_multiple = tokens_of(seen), torch.from_numpy(seen % 6 == 0).float()
    adam = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, 4e-3, total_steps=n_steps)
    for _ in range(n_steps):
        rows = torch.from_numpy(rng.integers(len(seen), size=512))
        logits = model(tokens[rows])[:, 0]
        loss = nn.functional.binary_cross_entropy_with_logits(logits, is_multiple[rows])
        adam.zero_grad()
        loss.backward()
        adam.step()
        schedule.step()
    with torch.no_grad():
        decided = model(tokens_of(unseen))[:, 0].numpy() > 0
    return model.eval(), unseen, float((decided == (unseen % 6 == 0)).mean())


def readout(model: DigitTransformer, units: Tensor) -> Tensor:
    """From the residual stream after the first MLP to the logit."""
    return model.answer(units + model.second(units))


def study(seed: int, *, n_steps: int = 4000) -> Row:
    """Trains, records, fits, compares with the concepts, and swaps factors."""
    model, unseen, accuracy = train(seed, n_steps=n_steps)
    fitted, judged = unseen[:N_FITTED], unseen[N_FITTED : N_FITTED + N_JUDGED]
    settings = RecordSettings(per_clamp=100)
    recording = record(model, tokens_of(fitted), SITES, settings=settings, seed=seed)
    config = replace(BOTTLENECK, readouts=(partial(readout, model),))
    result = fit_bottleneck(recording.data, N_FACTORS, config=config, seed=seed)
    steering = Steering(model, result.scm, sites=recording.sites, activations=recording.activations)
    inputs, is_even = tokens_of(judged), judged % 2 == 0
    z = steering.run(inputs).z.numpy()
    decoded = decoded_accuracy(
        steering, inputs[is_even], (judged % 6 == 0)[is_even], [steering.sites[1].name]
    )
    return {
        "seed": seed,
        "accuracy": accuracy,
        "r2": result.history[0]["r2"],
        "kurtosis": result.history[0]["kurtosis"],
        "switch": result.history[0]["binary_factor"],
        "decoded_even": decoded.after,
        "network_even": decoded.before,
        "r_parity": abs(float(np.corrcoef(z[:, 0], is_even)[0, 1])),
        "concepts": concept_row(steering, judged),
        "steering": steer(steering, judged, fitted),
    }


def concept_row(steering: Steering, numbers: np.ndarray) -> Row:
    """The best RDC of every concept, beside placebos with as many factors."""
    numbers = numbers[:1000]
    run, labels = steering.run(tokens_of(numbers)), concepts(numbers)
    table = concept_table(
        run.z.numpy(),
        {name: labels[name] for name in POSITIVE},
        {name: labels[name] for name in NEGATIVE},
        placebos={
            "random units": random_live_units(run.x.double().numpy(), N_FACTORS),
            "random rotations": random_rotations(run.z.numpy()),
        },
        metrics=[],
        settings=EvaluationSettings(n_resamples=0, n_permutations=20, n_refits=0),
    )
    return {
        name: {
            "value": score.value,
            "permuted": score.chance,
            **{kind: level.mean for kind, level in score.placebos.items()},
        }
        for name in (*POSITIVE, *NEGATIVE)
        for score in [table.find("best_rdc", name)]
    }


def steer(steering: Steering, numbers: np.ndarray, known: np.ndarray) -> Row:
    """Swaps the switch for parity, and the others together for mod 3."""
    inputs, names, to_learn = tokens_of(numbers), steering.scm.graph.factor_names, pairs_of(known)
    found: Row = {}
    for concept, pairs in pairs_of(numbers).items():
        chosen = names[:1] if concept == "parity" else names[1:]
        ceiling = learn_subspace(
            steering.model,
            steering.sites[1],
            tokens_of(known),
            to_learn[concept],
            CEILING_DIRECTIONS[concept],
            SubspaceSettings(n_steps=400, learning_rate=0.05),
        )
        found[concept] = {
            **steered(steering, inputs, pairs, names, chosen),
            "ceiling": interchange_score(ceiling, inputs, pairs).mean,
        }
    return found


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Steering and concepts as Markdown tables."""
    yield (
        "| network | accuracy | R² | switch | decoded, even | r parity | swap | factors | "
        "rotations, mean (most) | subspaces, mean (most) | supervised | all three | best one |"
    )
    yield "|---" * 13 + "|"
    for row in rows:
        for concept, one in row["steering"].items():
            cells = [f"{row['seed']}", f"{row['accuracy']:.4f}", f"{row['r2']:.3f}"]
            cells += [
                row["switch"],
                f"{row['decoded_even']:.3f}",
                f"{row['r_parity']:.3f}",
                concept,
            ]
            cells.append(f"**{one['score']:.3f}**")
            cells.append(f"{one['rotated_mean']:.2f} ({one['rotated_most']:.2f})")
            cells.append(f"{one['subspace_mean']:.2f} ({one['subspace_most']:.2f})")
            cells += [f"{one[key]:.3f}" for key in ("ceiling", "everything", "best_single")]
            yield f"| {' | '.join(cells)} |"
    yield ""
    yield f"| best RDC, mean over networks | {' | '.join((*POSITIVE, *NEGATIVE))} |"
    yield "|---" * (1 + len(POSITIVE) + len(NEGATIVE)) + "|"
    for column in rows[0]["concepts"][POSITIVE[0]]:
        means = [
            np.mean([row["concepts"][name][column] for row in rows])
            for name in (*POSITIVE, *NEGATIVE)
        ]
        label = "**bottleneck, m = 3**" if column == "value" else column
        yield f"| {label} | {' | '.join(f'{mean:.2f}' for mean in means)} |"


def main() -> None:
    """Reads the command line, runs, prints the tables and writes them as Markdown and JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1000:1003", help="first:last, the last left out")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("-o", "--output", type=Path, default=Path("results/transformer"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.output.mkdir(parents=True, exist_ok=True)
    rows = []
    for seed in range(*(int(part) for part in arguments.seeds.split(":"))):
        rows.append(study(seed, n_steps=arguments.steps))
        (arguments.output / "transformer.json").write_text(json.dumps(rows, indent=1))
    text = "\n".join(lines(rows)) + "\n"
    (arguments.output / "transformer.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
