"""Dense networks for Boolean functions of bits, with and without intermediate concepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

__all__ = ["ACTIVATIONS", "FUNCTIONS", "BooleanFunction", "boolean_inputs", "dense_network"]

ACTIVATIONS: Mapping[str, type[nn.Module]] = {"gelu": nn.GELU, "tanh": nn.Tanh, "relu": nn.ReLU}
WIDTH, N_IDLE, NOISE = 24, 2, 0.1


class BooleanFunction(NamedTuple):
    """A function of bits, and the concepts it goes through; none if there are none."""

    n_bits: int
    outcome: Callable[[np.ndarray], np.ndarray]
    concepts: Mapping[str, Callable[[np.ndarray], np.ndarray]]
    blocks: Mapping[str, tuple[int, ...]]


def _function(
    n_bits: int,
    outcome: Callable[..., np.ndarray],
    **concepts: tuple[tuple[int, ...], Callable[..., np.ndarray]],
) -> BooleanFunction:
    def made(bits: np.ndarray) -> np.ndarray:
        values = [f(*(bits[:, i] for i in block)) for block, f in concepts.values()]
        return np.asarray(outcome(*values) if concepts else outcome(*bits.T))

    return BooleanFunction(
        n_bits,
        made,
        {
            name: lambda bits, block=block, f=f: np.asarray(f(*(bits[:, i] for i in block)))
            for name, (block, f) in concepts.items()
        },
        {name: block for name, (block, _) in concepts.items()},
    )


FUNCTIONS: Mapping[str, BooleanFunction] = {
    "and-or-xor": _function(
        4,
        lambda a, b: a | b,
        A=((0, 1), lambda x, y: x & y),
        B=((2, 3), lambda x, y: x ^ y),
    ),
    "or-and-or": _function(
        4,
        lambda a, b: a & b,
        A=((0, 1), lambda x, y: x | y),
        B=((2, 3), lambda x, y: x | y),
    ),
    "majority-xor-and": _function(
        5,
        lambda a, b: a ^ b,
        A=((0, 1, 2), lambda x, y, z: (x & y) | (x & z) | (y & z)),
        B=((3, 4), lambda x, y: x & y),
    ),
    "wide": _function(
        6,
        lambda a, b: a | b,
        A=((0, 1, 2, 3), lambda x, y, z, v: x & y & z & v),
        B=((4, 5), lambda x, y: x ^ y),
    ),
    "nested": _function(
        5,
        lambda a, c, b: (a ^ c) | b,
        A=((0, 1), lambda x, y: x & y),
        C=((2,), lambda x: x),
        B=((3, 4), lambda x, y: x & y),
    ),
    "shared": _function(
        4,
        lambda a, c, d: (a ^ c) | (a & d),
        A=((0, 1), lambda x, y: x & y),
        C=((2,), lambda x: x),
        D=((3,), lambda x: x),
    ),
    "parity": _function(4, lambda x, y, z, v: x ^ y ^ z ^ v),
    "majority": _function(5, lambda *x: sum(one.astype(int) for one in x) >= 3),
}
"""Three functions with two concepts each; a concept of four inputs, one inside another, one that
two others share; and two functions without: of parity every block is one, of majority none."""


def boolean_inputs(
    n: int, n_bits: int, seed: int, *, is_uniform: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Noisy values around −1 and 1, or uniform ones that are cut at 0; two are idle; the bits."""
    rng = np.random.default_rng(seed)
    if is_uniform:
        x = rng.uniform(-1, 1, size=(n, n_bits + N_IDLE))
        return x.astype(np.float32), x[:, :n_bits] > 0
    bits = rng.integers(2, size=(n, n_bits + N_IDLE)).astype(bool)
    x = 2.0 * bits - 1 + NOISE * rng.standard_normal(bits.shape)
    return x.astype(np.float32), bits[:, :n_bits]


def dense_network(n_bits: int, activation: str, seed: int) -> nn.Sequential:
    """Three hidden layers; the sites are the outputs of their activations, 1, 3 and 5."""
    torch.manual_seed(seed)
    act = ACTIVATIONS[activation]
    widths = [n_bits + N_IDLE, WIDTH, WIDTH, WIDTH]
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), act()]
    return nn.Sequential(*layers, nn.Linear(WIDTH, 1))
