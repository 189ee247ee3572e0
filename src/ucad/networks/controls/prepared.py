"""A gap prepared for its controls: readings, and decoders of all of them trained alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ucad.networks.controls.bench import Bench, Gap
from ucad.networks.controls.decoders import Decoders, fit_decoders
from ucad.networks.controls.readings import Reading, readings_of
from ucad.networks.interchange import SwapPairs
from ucad.scm import LinearMechanism

__all__ = ["PreparedGap"]


@dataclass(frozen=True, eq=False)
class PreparedGap:
    """Readings of one gap, with their decoders.

    Attributes:
        bench: the network and the inputs that were run.
        gap: which factors.
        readings: the learned factors first.
        decoders: one per reading.
    """

    bench: Bench
    gap: Gap
    readings: tuple[Reading, ...]
    decoders: Decoders

    @classmethod
    def of(
        cls, bench: Bench, gap: Gap, fitted: Int[np.ndarray, " some"], *, n_draws: int, seed: int
    ) -> PreparedGap:
        """Reads the factors in all ways, and trains a decoder for each."""
        found = tuple(readings_of(bench, gap, fitted, n_draws=n_draws, seed=seed))
        return cls(bench, gap, found, _decoders(bench, gap, found, fitted, seed))

    def two_valued(self, fitted: Int[np.ndarray, " some"], seed: int) -> PreparedGap:
        """The same readings with every factor cut in two: a decoder is then a table.

        What a table decodes, the reading must hold; a network can compute it.
        """
        found = tuple(reading.two_valued(fitted) for reading in self.readings)
        decoders = _decoders(self.bench, self.gap, found, fitted, seed)
        return PreparedGap(self.bench, self.gap, found, decoders)

    def of_kind(self, kind: str) -> list[int]:
        """The numbers of the readings of a kind."""
        return [number for number, one in enumerate(self.readings) if one.kind == kind]

    def right(
        self, reading: int, block: Sequence[int], pairs: SwapPairs
    ) -> Bool[np.ndarray, " pairs"]:
        """Where the decision is right after a block of a reading's factors was swapped."""
        values = self._values(reading, block, pairs)
        return self.bench.right(pairs, self.gap.children, values)

    def _values(
        self, reading: int, block: Sequence[int], pairs: SwapPairs
    ) -> Float[Tensor, "pairs units"]:
        bench = self.bench
        base, source = bench.at(pairs.base), bench.at(pairs.source)
        z = torch.from_numpy(self.readings[reading].z)
        old, new = z[base], z[base].clone()
        new[:, list(block)] = z[source][:, list(block)]
        w = _context(bench.context(base))
        made = self.decoders.one(reading, new, w)
        values, children = bench.x[base].clone(), torch.from_numpy(self.gap.children)
        if bench.steering.replaces:
            values[:, children] = made.to(values)
        else:
            change = made - self.decoders.one(reading, old, w)
            values[:, children] = values[:, children] + change.to(values)
        return values


def _decoders(
    bench: Bench,
    gap: Gap,
    readings: Sequence[Reading],
    fitted: Int[np.ndarray, " some"],
    seed: int,
) -> Decoders:
    z = torch.from_numpy(np.stack([reading.z[fitted] for reading in readings]))
    y = bench.x[fitted][:, torch.from_numpy(gap.children)].cpu()
    linear = isinstance(bench.steering.scm.variable_mechanism, LinearMechanism)
    return fit_decoders(z, y, _context(bench.context(fitted)), linear=linear, seed=seed)


def _context(w: np.ndarray | None) -> Tensor | None:
    return None if w is None else torch.from_numpy(np.asarray(w, dtype=np.float64))
