"""Networks with the whole table of controls: `python -m experiments.network_controls`.

Divisibility by 6, a small transformer, a convolutional network on scikit-learn's digits with a
planted compositional label, and the hand-wired networks. Each is trained here, fitted without
labels, with as few factors as keep 0.99 of its decisions, and judged by the table of
`ucad.networks.steering_table`, whatever that says. One JSON line per network and method.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

from experiments import div6, planted, transformer
from experiments.networks.divisibility import SITES, one_hot, trained_networks
from experiments.networks.judging import pairs_of
from experiments.networks.table_rows import (
    Case,
    Fit,
    by_behaviour,
    study_row,
    table_lines,
    three_per_gap,
)
from ucad.networks import Recording, SwapPairs, expected_by_lookup, readouts, swap_pairs
from ucad.scm.families import AFFINE, NETWORK
from ucad.solvers.layered import BottleneckConfig, fit_bottleneck, fit_rectified
from ucad.solvers.search import fit_search

N_PAIRS = 1000
Row = dict[str, Any]


def by_two_rules(case: Case, per_clamp: int | None = None) -> Iterator[Row]:
    """As few factors as keep the decisions, and three in every gap, as `ucad record` proposes."""
    yield study_row(case, method="bottleneck, k by decisions", per_clamp=per_clamp)
    yield study_row(case, three_per_gap, method="bottleneck, k = 3", per_clamp=per_clamp)


def divisibility(seed: int, cache: Path) -> Iterator[Row]:
    """The paper's MLP; mod 3 is asked for on even numbers only, as the network uses it there."""
    trained = trained_networks(seed, cache, "dense")
    judged = trained.unseen[60_000:64_000]
    case = Case(
        "divisibility by 6",
        seed,
        trained.model,
        SITES,
        one_hot(trained.unseen[:30_000]),
        one_hot(judged),
        _divisibility_pairs(judged),
        {},
        directions=8,
        about={"accuracy": trained.accuracy},
    )
    switch = partial(_switch, config=div6.BOTTLENECK)
    yield study_row(case, switch, method="switch, k = 3")
    yield study_row(case, method="bottleneck, k by decisions")


def _switch(case: Case, recording: Recording, config: BottleneckConfig) -> Fit:
    """As the page reported it before: a two-valued factor and two more, with readouts."""
    per_gap = (3,) * (len(recording.sites) - 1)
    config = replace(config, readouts=readouts(case.model, recording, case.fitted))
    found = fit_bottleneck(recording.data, sum(per_gap), config=config, seed=case.seed)
    return Fit(found.scm, per_gap, "as before")


def _divisibility_pairs(numbers: np.ndarray) -> dict[str, SwapPairs]:
    """Parity; mod 3 with even sources, as before; and mod 3 with any source.

    With even sources a copy of the source's output is always right about mod 3, so that nothing
    can be above it; odd multiples of 3 tell the two apart, if the network knows of them.
    """
    is_even, by_three = numbers % 2 == 0, numbers % 3 == 0
    return {
        **pairs_of(numbers, n_pairs=N_PAIRS),
        "mod 3, any source": swap_pairs(
            is_even & by_three,
            lambda base, source: by_three[source] & is_even[base],
            bases=np.flatnonzero(is_even & by_three),
            n_pairs=N_PAIRS,
        ),
    }


def small_transformer(seed: int, _cache: Path) -> Iterator[Row]:
    """One layer of attention and two MLPs, at the last token."""
    model, unseen, accuracy = transformer.train(seed)
    judged = unseen[14_000:18_000]
    case = Case(
        "transformer",
        seed,
        model,
        [site.name for site in transformer.SITES],
        transformer.tokens_of(unseen[:14_000]),
        transformer.tokens_of(judged),
        _divisibility_pairs(judged),
        {},
        directions=8,
        about={"accuracy": accuracy},
    )
    switch = partial(_switch, config=transformer.BOTTLENECK)
    yield study_row(case, switch, method="switch, k = 3")
    yield study_row(case, method="bottleneck, k by decisions")


class DigitsNetwork(nn.Module):
    """Two 8 × 8 digits side by side; is (first even) ∨ (second > 4)?

    Both digits go through the same convolutions; `left` and `right` are the features of each, and
    `mixed` follows both.
    """

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(12, 24, 3)
        )
        self.first = nn.Sequential(nn.Linear(2 * 96, 48), nn.ReLU())
        self.mixed = nn.Sequential(nn.Linear(48, 32), nn.ReLU())
        self.answer = nn.Linear(32, 1)

    def forward(self, images: Tensor) -> Tensor:
        """The logit, of images of shape (rows, 1, 8, 16)."""
        both = [torch.relu(self.features(half)).flatten(1) for half in images.split(8, dim=3)]
        return self.answer(self.mixed(self.first(torch.cat(both, dim=1))))


def digits(seed: int, _cache: Path) -> Iterator[Row]:
    """Real images, whose label is planted: A = first digit even, B = second above 4, A ∨ B."""
    rng = np.random.default_rng(seed)
    images, names = load_digits(return_X_y=True)
    order = rng.permutation(len(images))
    parts = order[:1100], order[1100:]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = DigitsNetwork()
        x, a, b = _two_digits(images, names, parts[0], 12_000, rng)
        _train_digits(model, x, torch.from_numpy(a | b).float())
    fitted, _, _ = _two_digits(images, names, parts[1], 4000, rng)
    judged, a, b = _two_digits(images, names, parts[1], 3000, rng)
    with torch.no_grad():
        accuracy = float(((model(judged)[:, 0] > 0).numpy() == (a | b)).mean())
    outcome, concepts = a | b, {"A": a, "B": b}
    columns = {"A": range(8), "B": range(8, 16)}
    case = Case(
        "digits",
        seed,
        model.eval(),
        ["first~in", "first"],
        fitted,
        judged,
        {name: _pairs(outcome, concepts, name, seed) for name in concepts},
        {
            name: [f"input[0,{i},{j}]" for i in range(8) for j in own]
            for name, own in columns.items()
        },
        about={"accuracy": accuracy},
    )
    yield from by_two_rules(case)
    parts = {"left": ["input[:,:,:8]"], "right": ["input[:,:,8:]"]}
    yield study_row(case, partial(by_behaviour, parts=parts), method="behaviour, parts named")


def _two_digits(
    images: np.ndarray, names: np.ndarray, rows: np.ndarray, n: int, rng: np.random.Generator
) -> tuple[Tensor, np.ndarray, np.ndarray]:
    left, right = rng.choice(rows, size=(2, n))
    both = np.concatenate([images[k].reshape(-1, 8, 8) for k in (left, right)], axis=2)
    return torch.from_numpy(both / 16)[:, None].float(), names[left] % 2 == 0, names[right] > 4


def _train_digits(model: nn.Module, x: Tensor, wanted: Tensor, n_steps: int = 900) -> None:
    adam = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(n_steps):
        rows = torch.randint(len(x), (128,))
        loss = nn.functional.binary_cross_entropy_with_logits(model(x[rows])[:, 0], wanted[rows])
        adam.zero_grad()
        loss.backward()
        adam.step()


def _pairs(outcome: np.ndarray, concepts: dict[str, np.ndarray], name: str, seed: int) -> SwapPairs:
    """Bases on which the concept matters: the other one is false."""
    (other,) = (values for key, values in concepts.items() if key != name)
    expected = expected_by_lookup(concepts, outcome, name)
    return swap_pairs(outcome, expected, bases=np.flatnonzero(~other), n_pairs=N_PAIRS, seed=seed)


def hand_wired(seed: int, cache: Path, names: Sequence[str] = planted.NETWORKS) -> Iterator[Row]:
    """Networks with known factors and anchors: three solvers that are told k, and the two rules."""
    for name in names:
        network = planted.planted(name, seed, cache)
        rng = np.random.default_rng(seed)
        inputs, judged = network.draw(4000, rng), network.draw(3000, rng)
        values = judged.numpy()
        pairs = {
            f"factor {true}": _planted_pairs(expected, values)
            for true, expected in network.expected.items()
            if planted._matters(network, true, values)
        }
        case = Case(
            name,
            seed,
            network.model,
            network.sites,
            inputs,
            judged,
            pairs,
            {},
            decide=network.decide,
        )
        for method, fit in _FITS.items():
            yield study_row(case, _with(fit, network.n_factors), method=method, per_clamp=200)
        yield from by_two_rules(case, per_clamp=200)


def _planted_pairs(expected: Any, values: np.ndarray) -> SwapPairs:
    return planted.balanced_pairs(
        expected(values, values), lambda b, s: expected(values[b], values[s])
    )


def _with(fit: Callable[..., Any], per_gap: tuple[int, ...]) -> Callable[[Case, Recording], Fit]:
    return lambda case, recording: Fit(
        fit(recording, per_gap, case.seed), per_gap, "as many factors as there are"
    )


def _rectified(recording: Recording, per_gap: tuple[int, ...], _seed: int) -> Any:
    return fit_rectified(recording.data, sum(per_gap), factors_per_pair=per_gap).scm


def _bottleneck(recording: Recording, per_gap: tuple[int, ...], seed: int) -> Any:
    config = BottleneckConfig(factors_per_pair=per_gap, batch_size=128, epochs=20)
    return fit_bottleneck(recording.data, sum(per_gap), config=config, seed=seed).scm


def _search(recording: Recording, per_gap: tuple[int, ...], seed: int) -> Any:
    data = recording.data
    share = min(1.0, planted.N_SEARCHED / data.n_samples)
    few = data.split(share, 1 - share).train if share < 1 else data
    few = few.standardised()
    assert few.scaling is not None
    found = fit_search(few, sum(per_gap), families=(AFFINE, NETWORK), seed=seed, max_seconds=120)
    return replace(found, scm=found.scm.in_original_units(few.scaling)).scm


_FITS = {"rectified": _rectified, "bottleneck, k known": _bottleneck, "search": _search}
STUDIES = {
    "div6": divisibility,
    "transformer": small_transformer,
    "digits": digits,
    "planted": hand_wired,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Reads the command line, runs what the file does not have, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", nargs="+", default=list(STUDIES), choices=list(STUDIES))
    parser.add_argument("--seeds", default="2000:2002", help="first:last, the last left out")
    parser.add_argument("--cache", type=Path, default=Path("experiments/.cache"))
    parser.add_argument("-o", "--output", type=Path, default=Path("network_controls.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the table, and run nothing")
    parser.add_argument("--commit", default="", help="written into every row")
    parser.add_argument("--networks", nargs="+", default=list(planted.NETWORKS))
    given = parser.parse_args(arguments)
    studies = STUDIES | {"planted": partial(hand_wired, names=given.networks)}
    torch.set_num_threads(1)
    lines = given.output.read_text().splitlines() if given.output.exists() else []
    rows: list[Row] = [json.loads(line) for line in lines]
    done = {(row["run"], row["seed"]) for row in rows}
    for name in [] if given.table else given.studies:
        for seed in range(*map(int, given.seeds.split(":"))):
            if (name, seed) in done:
                continue
            for row in studies[name](seed, given.cache):
                rows.append({"run": name, "commit": given.commit, **row})
                with given.output.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
                print("\n".join(table_lines(rows[-1:])[2:]), flush=True)
    print("\n".join(table_lines(rows)))


if __name__ == "__main__":
    main()
