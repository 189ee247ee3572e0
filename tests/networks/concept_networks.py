"""Networks wired by hand whose concepts are known: a recurrent adder, and A ∨ B of four bits."""

import numpy as np
import torch
from torch import nn


class _Cell(nn.Module):
    """From two bits and the state (carry, −carry, sum bit) to the next state."""

    def forward(self, bits, state):
        total = bits.sum(dim=1) + state[:, 0]
        carry = torch.relu(total - 1) - torch.relu(total - 2)
        return torch.stack([carry, -carry, total - 2 * carry], dim=1)


class ExactAdder(nn.Module):
    """Gives every bit of a sum when it is due."""

    def __init__(self):
        super().__init__()
        self.cell = _Cell()

    def forward(self, bits):
        state, outputs = bits.new_zeros(len(bits), 3), []
        for step in range(bits.shape[1]):
            state = self.cell(bits[:, step], state)
            outputs.append(4 * state[:, 2] - 2)
        return torch.stack(outputs, dim=1)


ADDER_SITES = ("cell#0", "cell#1", "cell#2")


def adder_bits(n=400, seed=0):
    return np.random.default_rng(seed).integers(2, size=(n, 3, 2)).astype(np.float32)


def carry(bits, step):
    """The carry out of a step."""
    found = np.zeros(len(bits))
    for k in range(step + 1):
        found = (bits[:, k].sum(axis=1) + found >= 2).astype(float)
    return found


def dense_or() -> nn.Sequential:
    """(x₀ ∧ x₁) ∨ (x₂ ⊕ x₃), and an idle fifth input; sites 1 and 3 hold both concepts."""
    first = [[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1]]
    layers = [
        (first, [-1, 0, -1, 0]),
        ([[1, 0, 0, 0], [0, 1, -2, 0], [0, 0, 0, 1]], [0, 0, 0]),
        ([[4, 4, 0]], [-2]),
    ]
    modules = []
    for weight, bias in layers:
        linear = nn.Linear(len(weight[0]), len(weight))
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(weight, dtype=torch.float32))
            linear.bias.copy_(torch.tensor(bias, dtype=torch.float32))
        modules += [linear, nn.ReLU()]
    return nn.Sequential(*modules[:-1])


def dense_bits(n=600, seed=0):
    rng = np.random.default_rng(seed)
    bits = rng.integers(2, size=(n, 5))
    return (bits + 0.02 * rng.standard_normal(bits.shape)).astype(np.float32)


class Parity(nn.Module):
    """The parity of four bits, at once; the layer before holds their sum."""

    def __init__(self):
        super().__init__()
        self.sum = nn.Linear(4, 2)
        self.wave = nn.Identity()
        with torch.no_grad():
            self.sum.weight.fill_(1.0)
            self.sum.bias.zero_()

    def forward(self, bits):
        return self.wave(-torch.cos(torch.pi * self.sum(bits)))[:, :1]
