"""Swaps of linear subspaces of a site's units: random ones, and the supervised ceiling."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from ucad.errors import InvalidInputError
from ucad.networks.decisions import Decide, decision, decision_loss
from ucad.networks.interchange import SwapPairs
from ucad.networks.outputs import ReadOutput, output_reader, tensor_output
from ucad.networks.passes import (
    Inputs,
    forward,
    input_rows,
    n_inputs,
    resolve_sites,
    select_inputs,
    undisturbed,
)
from ucad.networks.sites import Site

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
    read_output: ReadOutput = tensor_output
    batch_size: int = 8192

    def __call__(self, base: Inputs, source: Inputs) -> Tensor:
        """The network's output on the base inputs after the swap."""
        units = self.units_of(source)
        with undisturbed(self.model), torch.no_grad():
            return torch.cat(
                [
                    self.patched(input_rows(self.model, base, rows), units[rows])
                    for rows in self._portions(n_inputs(base))
                ]
            )

    def units_of(self, inputs: Inputs) -> Float[Tensor, "rows units"]:
        """The site's units on inputs left alone."""
        with undisturbed(self.model), torch.no_grad():
            return torch.cat(
                [
                    forward(self.model, input_rows(self.model, inputs, rows), [self.site]).units
                    for rows in self._portions(n_inputs(inputs))
                ]
            )

    def _portions(self, n_rows: int) -> list[np.ndarray]:
        starts = range(0, n_rows, self.batch_size)
        return [np.arange(start, min(start + self.batch_size, n_rows)) for start in starts]

    def patched(self, base: Inputs, source_units: Float[Tensor, "rows units"]) -> Tensor:
        """One pass over base inputs that takes over the given units' part; gradients flow."""
        D = self.directions.to(source_units)
        S = D.new_ones(len(D)) if self.scale is None else self.scale.to(D)

        def edit(_i: int, values: Tensor) -> Tensor:
            return values + ((source_units - values) / S) @ D @ D.T * S

        passed = forward(self.model, base, [self.site], edit)
        return output_reader(self.read_output)(passed.output)


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


def learn_subspace(  # noqa: PLR0913 - the model, where, on what, and how
    model: nn.Module,
    site: Site | str,
    inputs: Inputs,
    pairs: SwapPairs,
    n_directions: int = 1,
    settings: SubspaceSettings | None = None,
    *,
    read_output: ReadOutput = tensor_output,
    decide: Decide = decision,
) -> SubspaceSwap:
    """Learns the subspace whose swap best gives the expected decisions: a supervised yardstick.

        min over orthonormal D of the cross-entropy of model(base with h′) against the expected

    by gradient descent through the patched network, whose own weights stay as they are. It ends in
    a local optimum, so it is no upper bound. Score it on other pairs than those it learned from
    (`SwapPairs.halves`).

    Source: distributed alignment search, "Finding alignments between interpretable causal
    variables and distributed neural representations".

    Args:
        model: the network.
        site: where the subspace lies.
        inputs: those that the pairs number.
        pairs: to learn from.
        n_directions: its dimension.
        settings: of the optimisation.
        read_output: from what the model gives to the tensor that counts.
        decide: from the network's output to its decision; `AllLabels` and `OneLabel` bring their
            own loss.
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
    free = nn.Parameter(torch.from_numpy(rng.standard_normal((width, n_directions))).float())
    whole = SubspaceSwap(model, where, torch.eye(width, n_directions), read_output=read_output)
    with undisturbed(model):
        _descend(free, whole, inputs, pairs, settings, decide)
    return replace(whole, directions=orthonormal(free).detach())


def _descend(
    free: nn.Parameter,
    swap: SubspaceSwap,
    inputs: Inputs,
    pairs: SwapPairs,
    settings: SubspaceSettings,
    decide: Decide,
) -> None:
    """Adam on batches of pairs; the source's units are read once."""
    rng = np.random.default_rng([settings.seed, 1])
    units = swap.units_of(select_inputs(inputs, pairs.source))
    optimiser = torch.optim.Adam([free], lr=settings.learning_rate)
    for _ in range(settings.n_steps):
        rows = rng.integers(len(pairs), size=min(settings.batch_size, len(pairs)))
        now = replace(swap, directions=orthonormal(free))
        base = input_rows(swap.model, inputs, pairs.base[rows])
        output = now.patched(base, units[torch.from_numpy(rows).to(units.device)])
        wanted = torch.from_numpy(pairs.expected[rows]).to(output.device)
        # Only the directions' gradient: the network's own .grad is left alone.
        (free.grad,) = torch.autograd.grad(decision_loss(decide, output, wanted), [free])
        optimiser.step()
