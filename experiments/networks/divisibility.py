"""Networks that decide whether a number below a million is a multiple of 6: data and training."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ucad.networks import Site

__all__ = [
    "SITES",
    "Trained",
    "concepts",
    "dense_network",
    "one_hot",
    "readout",
    "train",
    "trained_networks",
]

N_NUMBERS, N_DIGITS = 1_000_000, 6
SITES = ("1", "3", "5")
"""The three hidden layers, after their ReLU."""
GOOD_ENOUGH = 0.9995
_MOST_TRIES = 4
_TRAIN_SHARE = 0.8


class Trained(NamedTuple):
    """A network, the numbers it was not trained on, and how often it is right about them.

    `n_tries` says how many starts that took, and `cpu_seconds` how long.
    """

    model: nn.Sequential
    unseen: np.ndarray
    accuracy: float
    n_tries: int
    cpu_seconds: float


def one_hot(numbers: np.ndarray | Tensor) -> Tensor:
    """Six digits, ones first, each as ten zeros and ones."""
    numbers = torch.as_tensor(numbers)
    digits = torch.stack([(numbers // 10**place) % 10 for place in range(N_DIGITS)], dim=1)
    return nn.functional.one_hot(digits, 10).flatten(start_dim=1).float()


def concepts(numbers: np.ndarray) -> dict[str, np.ndarray]:
    """The paper's positive concepts and negative controls."""
    digit_sum = sum((numbers // 10**place) % 10 for place in range(N_DIGITS))
    found = {f"divisible by {k}": (numbers % k == 0).astype(float) for k in (2, 3, 6, 5, 7, 11)}
    return {**found, "digit sum": np.asarray(digit_sum, dtype=float)}


def dense_network() -> nn.Sequential:
    """The paper's MLP, [60, 32, 32, 32, 1] with ReLU."""
    layers: list[nn.Module] = [nn.Linear(60, 32), nn.ReLU()]
    for _ in range(2):
        layers += [nn.Linear(32, 32), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(32, 1))


def readout(model: nn.Sequential, site: Site) -> Callable[[Tensor], Tensor]:
    """From the live units of a site, before or after its ReLU, to the logit; dead ones stay 0."""
    rest = model[int(site.module) :]
    live = torch.eye(rest[1].in_features)[list(site.units or range(rest[1].in_features))]
    return lambda units: rest(units @ live)


def train(
    model: nn.Sequential, seed: int, *, epochs: int = 15, learning_rate: float = 4e-3
) -> tuple[np.ndarray, float]:
    """Trains on 80 % of all numbers; returns the others and the accuracy on them."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(N_NUMBERS, generator=generator)
    seen, unseen = order.split([int(_TRAIN_SHARE * N_NUMBERS), int(0.2 * N_NUMBERS)])
    inputs = one_hot(torch.arange(N_NUMBERS)).to(torch.uint8)
    is_multiple = (torch.arange(N_NUMBERS) % 6 == 0).float()
    adam = torch.optim.Adam(model.parameters(), lr=learning_rate)
    n_steps = epochs * (len(seen) // 1024)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, n_steps)
    for _ in range(epochs):
        shuffled = seen[torch.randperm(len(seen), generator=generator)]
        for rows in shuffled.split(1024)[: len(seen) // 1024]:
            logits = model(inputs[rows].float())[:, 0]
            loss = nn.functional.binary_cross_entropy_with_logits(logits, is_multiple[rows])
            adam.zero_grad()
            loss.backward()
            adam.step()
            schedule.step()
    with torch.no_grad():
        right = (model(inputs[unseen].float())[:, 0] > 0) == (is_multiple[unseen] > 0)
    return unseen.numpy(), float(right.float().mean())


def trained_networks(
    seed: int, cache: Path, name: str, build: Callable[[], nn.Sequential] = dense_network
) -> Trained:
    """A trained network from the cache, or trained now; stuck seeds are tried again.

    The n-th try of seed s starts from s + 100,000 n. The best is kept if none is good enough.
    """
    file = cache / f"{name}-{seed}.pt"
    if not file.exists():
        tries, started = [], time.process_time()
        for attempt in range(_MOST_TRIES):
            start = seed + 100_000 * attempt
            with torch.random.fork_rng():
                torch.manual_seed(start)
                model = build()
            unseen, accuracy = train(model, start)
            tries.append((accuracy, model.state_dict(), unseen, attempt + 1))
            if accuracy >= GOOD_ENOUGH:
                break
        accuracy, weights, unseen, n_tries = max(tries, key=lambda one: one[0])
        cache.mkdir(parents=True, exist_ok=True)
        torch.save(
            {
                "weights": weights,
                "unseen": torch.from_numpy(unseen),
                "accuracy": accuracy,
                "n_tries": n_tries,
                "cpu_seconds": time.process_time() - started,
            },
            file,
        )
    stored = torch.load(file, weights_only=True)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = build()
    model.load_state_dict(stored["weights"])
    return Trained(
        model.eval(),
        stored["unseen"].numpy(),
        float(stored["accuracy"]),
        int(stored["n_tries"]),
        float(stored["cpu_seconds"]),
    )
