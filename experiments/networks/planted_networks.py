"""Networks whose abstraction is known: every gap goes through a few factors with anchors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

__all__ = [
    "Planted",
    "PlantedGap",
    "carry_adder",
    "factor_masks",
    "masked_divisibility",
    "modular_sums",
    "xor_tree",
]


class PlantedGap(nn.Module):
    """z = W h + b with W zero outside Q, then max(0, V z + c) with V zero outside R.

    The factors z are the output of the submodule `factors`, so that a hook can read them.
    """

    def __init__(self, Q: Tensor, R: Tensor) -> None:
        super().__init__()
        self.factors = nn.Linear(Q.shape[0], Q.shape[1])
        self.units = nn.Linear(R.shape[1], R.shape[0])
        self.register_buffer("Q", Q.float())
        self.register_buffer("R", R.float())
        nn.utils.parametrize.register_parametrization(self.factors, "weight", _Masked(Q.T))
        nn.utils.parametrize.register_parametrization(self.units, "weight", _Masked(R))

    def forward(self, h: Tensor) -> Tensor:
        """The units after the gap."""
        return torch.relu(self.units(self.factors(h)))


class _Masked(nn.Module):
    def __init__(self, mask: Tensor) -> None:
        super().__init__()
        self.register_buffer("mask", mask.float())

    def forward(self, weight: Tensor) -> Tensor:
        return weight * self.mask


@dataclass(frozen=True)
class Planted:
    """A network with known factors, and how to judge steering it.

    Attributes:
        model: the network.
        sites: the modules whose units are the variables, in order.
        factor_sites: the modules whose outputs are the true factors, one a gap.
        n_factors: per gap.
        draw: inputs, from how many are wanted and a generator.
        decide: from the network's output to its decision.
        expected: for every true factor that is to be steered, by number over all gaps, the right
            decisions on given bases that have the factor of given sources (rows of inputs).
    """

    model: nn.Module
    sites: tuple[str, ...]
    factor_sites: tuple[str, ...]
    n_factors: tuple[int, ...]
    draw: Callable[[int, np.random.Generator], Tensor]
    decide: Callable[[Tensor], Tensor]
    expected: Mapping[int, Callable[[np.ndarray, np.ndarray], np.ndarray]]


def factor_masks(
    n_units: int, n_factors: int, *, shared: int, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """Q and R of a gap: exclusive units dealt out evenly, the last `shared` ones with two factors.

    >>> Q, R = factor_masks(8, 2, shared=2)
    >>> (R.sum(dim=1) == 1).sum().item(), (R.sum(dim=1) == 2).sum().item()
    (6, 2)
    """
    rng = np.random.default_rng(seed)
    masks = []
    for _ in range(2):
        mask = torch.zeros(n_units, n_factors)
        for unit in range(n_units):
            if unit < n_units - shared:
                mask[unit, unit % n_factors] = 1
            else:
                mask[unit, torch.from_numpy(rng.permutation(n_factors)[:2])] = 1
        masks.append(mask)
    return masks[0], masks[1]


def masked_divisibility(n_factors: int = 3, *, width: int = 32, shared: int = 8) -> nn.Sequential:
    """[60, 32, m, 32, m, 32, 1]: the divisibility network through planted gaps, untrained."""
    gaps = [
        PlantedGap(*factor_masks(width, n_factors, shared=shared, seed=place)) for place in (0, 1)
    ]
    return nn.Sequential(nn.Linear(60, width), nn.ReLU(), *gaps, nn.Linear(width, 1))


def carry_adder(seed: int = 0) -> Planted:
    """A ripple-carry adder of two two-digit numbers, hand-wired, with the carry as a factor.

    First gap: s = a₀ + b₀ and t = a₁ + b₁. Second gap: the carry c = [s > 9], written as
    max(0, s − 9) − max(0, s − 10), the last digit d = s − 10 c, and t. Output: d + 10 (t + c).
    """
    rng = np.random.default_rng(seed)
    first = _wired(
        factors=[[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]],
        units=[([1, 0], 0), ([1, 0], -9), ([1, 0], -10), ([0, 1], 0), ([0, 1], -4), ([1, 1], -6)],
        rng=rng,
        input_scale=np.full(8, 0.5),
    )
    second = _wired(
        factors=[[0, 1, -1, 0, 0, 0], [1, -10, 10, 0, 0, 0], [0, 0, 0, 1, 0, 0]],
        units=[
            ([1, 0, 0], 0),
            ([1, 0, 0], 1),
            ([0, 1, 0], 0),
            ([0, 1, 0], -3),
            ([0, 0, 1], 0),
            ([0, 0, 1], -5),
            ([1, 0, 1], 0),
            ([1, 1, 0], 0),
        ],
        rng=rng,
        input_scale=1 / first.scale,
    )
    return Planted(
        _of_four_numbers(first, second, [0.0, 0, 1, 0, 0, 0, 10, 0]),
        sites=("1", "2", "3"),
        factor_sites=("2.factors", "3.factors"),
        n_factors=(2, 3),
        draw=lambda n, rng: torch.from_numpy(rng.integers(0, 10, size=(n, 4))).float(),
        decide=lambda output: output[:, 0].round().long(),
        expected={
            2: lambda base, source: (
                (base[:, 0] + base[:, 1]) % 10
                + 10 * (base[:, 2] + base[:, 3] + (source[:, 0] + source[:, 1] > 9))
            )
        },
    )


def modular_sums(seed: int = 0, modulus: int = 5) -> Planted:
    """((x₁ + x₂) mod p + (x₃ + x₄) mod p) mod p, hand-wired; the inner remainders are factors.

    First gap: s₁ = x₁ + x₂ and s₂ = x₃ + x₄. Second gap: rᵢ = sᵢ mod p, written as
    sᵢ − p (max(0, sᵢ − p + 1) − max(0, sᵢ − p)).
    """
    p, rng = modulus, np.random.default_rng(seed)
    first = _wired(
        factors=[[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]],
        units=[
            *[([1, 0], 0), ([1, 0], 1 - p), ([1, 0], -p)],
            *[([0, 1], 0), ([0, 1], 1 - p), ([0, 1], -p), ([1, 1], -p)],
        ],
        rng=rng,
        input_scale=np.full(8, 0.5),
    )
    second = _wired(
        factors=[[1, -p, p, 0, 0, 0, 0], [0, 0, 0, 1, -p, p, 0]],
        units=[
            *[([1, 0], 0), ([1, 0], -1), ([0, 1], 0), ([0, 1], -1)],
            *[([1, 1], 0), ([1, 1], 1 - p), ([1, 1], -p)],
        ],
        rng=rng,
        input_scale=1 / first.scale,
    )
    return Planted(
        _of_four_numbers(first, second, [0.0, 0, 0, 0, 1, -p, p]),
        sites=("1", "2", "3"),
        factor_sites=("2.factors", "3.factors"),
        n_factors=(2, 2),
        draw=lambda n, rng: torch.from_numpy(rng.integers(0, p, size=(n, 4))).float(),
        decide=lambda output: output[:, 0].round().long(),
        expected={
            2: lambda base, source: (
                ((source[:, 0] + source[:, 1]) % p + (base[:, 2] + base[:, 3]) % p) % p
            )
        },
    )


def xor_tree(seed: int = 0) -> Planted:
    """The parity of four bits as (x₁ ⊕ x₂) ⊕ (x₃ ⊕ x₄), hand-wired; the inner XORs are factors.

    First gap: s₁ = x₁ + x₂ and s₂ = x₃ + x₄. Second gap: pᵢ = sᵢ − 2 max(0, sᵢ − 1), which is the
    XOR of two bits. Output: p₁ + p₂ − 2 max(0, p₁ + p₂ − 1).
    """
    rng = np.random.default_rng(seed)
    first = _wired(
        factors=[[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]],
        units=[([1, 0], 0), ([1, 0], -1), ([0, 1], 0), ([0, 1], -1), ([1, 1], 0)],
        rng=rng,
        input_scale=np.full(8, 0.5),
    )
    second = _wired(
        factors=[[1, -2, 0, 0, 0], [0, 0, 1, -2, 0]],
        units=[([1, 0], 0), ([1, 0], 1), ([0, 1], 0), ([0, 1], 1), ([1, 1], 0), ([1, 1], -1)],
        rng=rng,
        input_scale=1 / first.scale,
    )
    return Planted(
        _of_four_numbers(first, second, [0.0, 0, 0, 0, 1, -2]),
        sites=("1", "2", "3"),
        factor_sites=("2.factors", "3.factors"),
        n_factors=(2, 2),
        draw=lambda n, rng: torch.from_numpy(rng.integers(0, 2, size=(n, 4))).float(),
        decide=lambda output: output[:, 0].round().long(),
        expected={
            2: lambda base, source: (source[:, :2].sum(axis=1) + base[:, 2:].sum(axis=1)) % 2,
            3: lambda base, source: (base[:, :2].sum(axis=1) + source[:, 2:].sum(axis=1)) % 2,
        },
    )


@dataclass(frozen=True)
class _Wired:
    gap: PlantedGap
    scale: np.ndarray


def _wired(
    factors: list[list[float]],
    units: list[tuple[list[float], float]],
    rng: np.random.Generator,
    input_scale: np.ndarray,
) -> _Wired:
    """A gap with given weights; every unit is multiplied by a random positive number."""
    W = torch.tensor(np.array(factors, dtype=float) * input_scale).float()
    scale = rng.uniform(0.5, 2.0, size=len(units))
    V = torch.tensor(np.array([row for row, _ in units]) * scale[:, None]).float()
    shift = torch.tensor(np.array([bias for _, bias in units]) * scale).float()
    gap = PlantedGap((W != 0).T, V != 0)
    _set(gap.factors.parametrizations.weight, W, None)
    _set(gap.units.parametrizations.weight, V, None)
    with torch.no_grad():
        gap.factors.bias.zero_()
        gap.units.bias.copy_(shift)
    return _Wired(gap, scale)


def _of_four_numbers(first: _Wired, second: _Wired, readout: list[float]) -> nn.Sequential:
    """Four inputs, each on two units; two gaps; a weighted sum of the last units."""
    spread, last = nn.Linear(4, 8, bias=False), nn.Linear(len(readout), 1)
    _set(spread, torch.kron(torch.eye(4), torch.ones(2, 1)), None)
    weights = torch.tensor(readout) / torch.tensor(second.scale).float()
    _set(last, weights[None], torch.zeros(1))
    return nn.Sequential(spread, nn.ReLU(), first.gap, second.gap, last)


def _set(module: nn.Module, weight: Tensor, bias: Tensor | None) -> None:
    """Writes weights in place; a parametrised weight goes by the name `original`."""
    with torch.no_grad():
        target = getattr(module, "original", None)
        (module.weight if target is None else target).copy_(weight)
        if bias is not None:
            module.bias.copy_(bias)
