"""Recurrent networks whose abstract states are known: adders and a modular counter."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

__all__ = ["Adder", "Counter", "adder_inputs", "carries", "counter_inputs", "train"]


class Adder(nn.Module):
    """Reads two numbers bit by bit, the lowest first, and gives every bit of the sum when due."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.cell = nn.GRUCell(2, width)
        self.head = nn.Linear(width, 1)

    def forward(self, bits: Tensor) -> Tensor:
        """From rows × steps × 2 bits to rows × steps logits."""
        state = bits.new_zeros(len(bits), self.cell.hidden_size)
        outputs = []
        for step in range(bits.shape[1]):
            state = self.cell(bits[:, step], state)
            outputs.append(self.head(state))
        return torch.cat(outputs, dim=1)


class Counter(nn.Module):
    """Reads symbols, and says at the end what their sum is modulo a number."""

    def __init__(self, modulus: int = 3, width: int = 16) -> None:
        super().__init__()
        self.cell = nn.GRUCell(modulus, width)
        self.head = nn.Linear(width, modulus)

    def forward(self, symbols: Tensor) -> Tensor:
        """From rows × steps × one-hot symbols to rows × logits of the remainder."""
        state = symbols.new_zeros(len(symbols), self.cell.hidden_size)
        for step in range(symbols.shape[1]):
            state = self.cell(symbols[:, step], state)
        output: Tensor = self.head(state)
        return output


def adder_inputs(n: int, n_bits: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random pairs of numbers as bits, rows × (bits + 1) × 2, and the bits of their sums."""
    rng = np.random.default_rng(seed)
    bits = np.zeros((n, n_bits + 1, 2), dtype=np.float32)
    bits[:, :n_bits] = rng.integers(2, size=(n, n_bits, 2))
    return bits, (bits.sum(axis=2) + carries(bits)).astype(np.int64) % 2


def carries(bits: np.ndarray) -> np.ndarray:
    """The carry that enters every step, rows × steps."""
    found = np.zeros(bits.shape[:2], dtype=np.int64)
    for step in range(1, bits.shape[1]):
        found[:, step] = (bits[:, step - 1].sum(axis=1) + found[:, step - 1]) >= 2
    return found


def counter_inputs(n: int, n_steps: int, modulus: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random symbols as one-hot codes, and their running sums modulo a number."""
    symbols = np.random.default_rng(seed).integers(modulus, size=(n, n_steps))
    return np.eye(modulus, dtype=np.float32)[symbols], symbols.cumsum(axis=1) % modulus


def train(
    model: nn.Module,
    inputs: np.ndarray,
    labels: np.ndarray,
    *,
    n_steps: int = 1500,
    seed: int = 0,
    learning_rate: float = 1e-2,
) -> float:
    """Trains on multi-label (rows × labels) or class labels, and gives the accuracy of all rows."""
    x, y = torch.from_numpy(inputs), torch.from_numpy(labels)
    many = y.ndim == 2
    adam = torch.optim.Adam(model.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, n_steps)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(n_steps):
        rows = torch.randint(len(x), (256,), generator=generator)
        output = model(x[rows])
        loss = (
            nn.functional.binary_cross_entropy_with_logits(output, y[rows].float())
            if many
            else nn.functional.cross_entropy(output, y[rows])
        )
        adam.zero_grad()
        loss.backward()
        adam.step()
        schedule.step()
    with torch.no_grad():
        output = model(x)
    right = ((output > 0) == (y == 1)).all(dim=1) if many else output.argmax(dim=1) == y
    return float(right.double().mean())
