"""Small networks of every kind that can be recorded, and one whose abstraction is known."""

import numpy as np
import torch
from torch import nn

from ucad.graph import FactorGraph
from ucad.scm import FactorSCM, LinearMechanism


def mlp(inplace: bool = False) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(5, 6), nn.ReLU(inplace=inplace), nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 1)
    )


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.first = nn.Conv2d(1, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)
        self.second = nn.Conv2d(3, 4, 3)
        self.head = nn.Linear(4, 2)

    def forward(self, images):
        hidden = torch.relu(self.second(torch.tanh(self.norm(self.first(images)))))
        return self.head(hidden.mean(dim=(2, 3)))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 12), nn.GELU(), nn.Linear(12, width))

    def forward(self, stream):
        normed = self.norm(stream)
        mixed, _ = self.attention(normed, normed, normed, need_weights=False)
        stream = stream + mixed
        return stream + self.mlp(stream)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.embedding = nn.Embedding(10, 8)
        self.blocks = nn.ModuleList([Block(8), Block(8)])
        self.head = nn.Linear(8, 10)

    def forward(self, tokens):
        stream = self.embedding(tokens)
        for block in self.blocks:
            stream = block(stream)
        return self.head(stream[:, -1])


class Recurrent(nn.Module):
    """Calls one cell twice, and returns a mapping."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.cell = nn.Linear(5, 5)
        self.idle = nn.Linear(5, 5)

    def forward(self, x):
        once = torch.tanh(self.cell(x))
        return {"hidden": torch.tanh(self.cell(once)), "count": 2}


def exact_network() -> nn.Sequential:
    """From (a, b): (a, 2a, b, −b), then (s, 2s, t, 3t) with s = a, t = b, then s + t − 1.5."""
    layers = [
        ([[1, 0], [2, 0], [0, 1], [0, -1]], [0, 0, 0, 0]),
        ([[1, 0, 0, 0], [2, 0, 0, 0], [0, 0, 1, 0], [0, 0, 3, 0]], [0, 0, 0, 0]),
        ([[1, 0, 1, 0], [2, 0, 2, 0]], [-1.5, -3.0]),
        ([[1, 0]], [0]),
    ]
    modules = []
    for weight, bias in layers:
        linear = nn.Linear(len(weight[0]), len(weight))
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(weight, dtype=torch.float32))
            linear.bias.copy_(torch.tensor(bias, dtype=torch.float32))
        modules.append(linear)
    return nn.Sequential(*modules)


EXACT_SITES = ("0", "1", "2")


def exact_scm() -> FactorSCM:
    """The f-SCM of `exact_network`: Z1 = a and Z2 = b in the first gap, Z3 = a + b later."""
    F_Z = torch.zeros(3, 10, dtype=torch.float64)
    F_Z[0, 0], F_Z[0, 1] = 0.5, 0.25
    F_Z[1, 2], F_Z[1, 3] = 0.5, -0.5
    F_Z[2, 4], F_Z[2, 6] = 1.0, 1.0
    F_X = torch.zeros(10, 3, dtype=torch.float64)
    F_X[4, 0], F_X[5, 0], F_X[6, 1], F_X[7, 1] = 1.0, 2.0, 1.0, 3.0
    F_X[8, 2], F_X[9, 2] = 1.0, 2.0
    shift = torch.zeros(10, dtype=torch.float64)
    shift[8], shift[9] = -1.5, -3.0
    names = [
        f"{site}[{unit}]"
        for site, width in zip("012", (4, 4, 2), strict=True)
        for unit in range(width)
    ]
    noise = np.r_[np.ones(4), np.zeros(6)]
    return FactorSCM(
        FactorGraph((F_Z != 0).numpy().T, (F_X != 0).numpy(), variable_names=tuple(names)),
        LinearMechanism(F_Z, torch.zeros(3, dtype=torch.float64)),
        LinearMechanism(F_X, shift),
        torch.tensor(noise),
    )


def exact_inputs(n: int = 400, seed: int = 0) -> torch.Tensor:
    """Bits a and b, slightly off 0 and 1 so that all values differ."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(2, size=(n, 2))
    return torch.tensor(bits + 0.05 * rng.standard_normal((n, 2)), dtype=torch.float32)
