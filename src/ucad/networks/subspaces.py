"""Swaps of linear subspaces of a site's units: random ones, and the supervised ceiling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ucad.errors import InvalidInputError
from ucad.networks.interchange import SwapPairs
from ucad.networks.passes import (
    Inputs,
    forward,
    input_rows,
    n_inputs,
    resolve_sites,
    undisturbed,
)
from ucad.networks.sites import Site
from ucad.networks.steering import tensor_output

__all__ = ["SubspaceSettings", "SubspaceSwap", "learn_subspace", "orthonormal"]


def orthonormal(matrix: Float[Tensor, "units directions"]) -> Float[Tensor, "units directions"]:
    """An orthonormal basis of the columns' span; gradients flow."""
    return torch.linalg.qr(matrix).Q


@dataclass(frozen=True, eq=False)
class SubspaceSwap:
    """Takes over the part of a site's units that lies in a subspace.

        h′ = h + S D Dᵀ S⁻¹ (h_source − h),    S = diag(scale)

    Attributes:
        model: the network; it is left as it was.
        site: with its units.
        directions: D, orthonormal columns.
        scale: S, such as the units' standard deviations; 1 if not given.
        read_output: from what the model gives to the tensor that counts.
        batch_size: rows in one forward pass.
    """

    model: nn.Module
    site: Site
    directions: Float[Tensor, "units directions"]
    scale: Float[Tensor, " units"] | None = None
    read_output: Callable[[Any], Tensor] = tensor_output
    batch_size: int = 8192

    def __call__(self, base: Inputs, source: Inputs) -> Tensor:
        """The network's output on the base inputs after the swap."""
        parts = []
        with undisturbed(self.model), torch.no_grad():
            for start in range(0, n_inputs(base), self.batch_size):
                rows = np.arange(start, min(start + self.batch_size, n_inputs(base)))
                taken = input_rows(self.model, source, rows)
                units = forward(self.model, taken, [self.site]).units
                parts.append(self.patched(input_rows(self.model, base, rows), units))
        return torch.cat(parts)

    def patched(self, base: Inputs, source_units: Float[Tensor, "rows units"]) -> Tensor:
        """One pass over base inputs that takes over the given units' part; gradients flow."""
        D = self.directions.to(source_units)
        S = torch.ones_like(D[:, 0]) if self.scale is None else self.scale.to(D)

        def edit(_i: int, tensor: Tensor) -> Tensor:
            values = self.site.read(tensor)
            return self.site.write(tensor, values + ((source_units - values) / S) @ D @ D.T * S)

        return self.read_output(forward(self.model, base, [self.site], edit).output)


@dataclass(frozen=True, kw_only=True)
class SubspaceSettings:
    """How a subspace is learned.

    Attributes:
        n_steps: of Adam.
        batch_size: pairs a step.
        learning_rate: of Adam.
        seed: of the start and of the batches.
    """

    n_steps: int = 300
    batch_size: int = 512
    learning_rate: float = 0.02
    seed: int = 0


def learn_subspace(
    model: nn.Module,
    site: Site | str,
    inputs: Inputs,
    pairs: SwapPairs,
    n_directions: int = 1,
    settings: SubspaceSettings | None = None,
) -> SubspaceSwap:
    """Learns the subspace whose swap best gives the expected decisions: a supervised ceiling.

        min over orthonormal D of the cross-entropy of model(base with h′) against the expected

    by gradient descent through the patched network, whose own weights stay as they are. Score it
    on other pairs than those it learned from (`SwapPairs.halves`).

    Source: distributed alignment search, "Finding alignments between interpretable causal
    variables and distributed neural representations".

    Args:
        model: the network.
        site: where the subspace lies.
        inputs: those that the pairs number.
        pairs: to learn from.
        n_directions: its dimension.
        settings: of the optimisation.
    """
    settings = SubspaceSettings() if settings is None else settings
    (where,) = resolve_sites(model, inputs, [Site.parse(site) if isinstance(site, str) else site])
    width = len(where.units or ())
    if not 1 <= n_directions <= width:
        raise InvalidInputError(
            f"'n_directions' must be between 1 and the number of units, {width}. "
            f"Got {n_directions} instead."
        )
    rng = np.random.default_rng(settings.seed)
    start = torch.from_numpy(rng.standard_normal((width, n_directions))).float()
    free = nn.Parameter(start)
    optimiser = torch.optim.Adam([free], lr=settings.learning_rate)
    with undisturbed(model):
        for _ in range(settings.n_steps):
            rows = rng.integers(len(pairs), size=min(settings.batch_size, len(pairs)))
            swap = SubspaceSwap(model, where, orthonormal(free))
            loss = _loss(swap, inputs, pairs, rows)
            # Only the directions' gradient: the network's own .grad is left alone.
            (free.grad,) = torch.autograd.grad(loss, [free])
            optimiser.step()
    return SubspaceSwap(model, where, orthonormal(free).detach())


def _loss(
    swap: SubspaceSwap, inputs: Inputs, pairs: SwapPairs, rows: Int[np.ndarray, " rows"]
) -> Tensor:
    with torch.no_grad():
        source = input_rows(swap.model, inputs, pairs.source[rows])
        units = forward(swap.model, source, [swap.site]).units
    output = swap.patched(input_rows(swap.model, inputs, pairs.base[rows]), units)
    logits = output.reshape(len(rows), -1)
    wanted = torch.from_numpy(pairs.expected[rows]).to(logits.device)
    if logits.shape[1] == 1:
        return nn.functional.binary_cross_entropy_with_logits(logits[:, 0], wanted.to(logits))
    return nn.functional.cross_entropy(logits, wanted)
