"""A gap prepared for its controls: readings, and decoders of all of them trained alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ucad.networks.controls.bench import Bench, Gap
from ucad.networks.controls.decoders import Decoders, Tables, fit_decoders, fit_tables
from ucad.networks.controls.readings import Reading, readings_of
from ucad.networks.interchange import SwapPairs

__all__ = ["PreparedGap"]


@dataclass(frozen=True, eq=False)
class PreparedGap:
    """Readings of one gap, with their decoders.

    Attributes:
        bench: the network and the inputs that were run.
        gap: which factors.
        readings: the learned factors first.
        decoders: one per reading.
        w: the context of all rows that acts on the gap's children.
    """

    bench: Bench
    gap: Gap
    readings: tuple[Reading, ...]
    decoders: Decoders | Tables
    w: Float[np.ndarray, "rows covariates"] | None = None

    @classmethod
    def of(
        cls, bench: Bench, gap: Gap, fitted: Int[np.ndarray, " some"], *, n_draws: int, seed: int
    ) -> PreparedGap:
        """Reads the factors in all ways, and trains a decoder for each."""
        found = tuple(readings_of(bench, gap, fitted, n_draws=n_draws, seed=seed))
        w = bench.covariates(gap.children)
        data = _Fitted.of(bench, gap, w, found, fitted)
        decoders = data.decoders(linear=bench.steering_is_linear, seed=seed)
        return cls(bench, gap, found, decoders, w)

    def two_valued(self, fitted: Int[np.ndarray, " some"], seed: int) -> PreparedGap:
        """The same readings with every factor cut in two: a decoder is then a table.

        What a table decodes, the reading must hold; a network can compute it.
        """
        found = tuple(reading.two_valued(fitted) for reading in self.readings)
        data = _Fitted.of(self.bench, self.gap, self.w, found, fitted)
        decoders = data.tables(linear=self.bench.steering_is_linear) or data.decoders(
            linear=self.bench.steering_is_linear, seed=seed
        )
        return replace(self, readings=found, decoders=decoders)

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
        w = _some(self.w, base)
        made = self.decoders.one(reading, new, w)
        values, children = bench.x[base].clone(), torch.from_numpy(self.gap.children)
        if bench.steering.replaces:
            values[:, children] = made.to(values)
        else:
            change = made - self.decoders.one(reading, old, w)
            values[:, children] = values[:, children] + change.to(values)
        return values


@dataclass(frozen=True, eq=False)
class _Fitted:
    """What decoders learn from: the factors of every reading, the context and the children."""

    z: Float[np.ndarray, "readings samples factors"]
    y: Float[np.ndarray, "samples units"]
    w: Tensor | None

    @classmethod
    def of(
        cls,
        bench: Bench,
        gap: Gap,
        w: np.ndarray | None,
        readings: Sequence[Reading],
        fitted: Int[np.ndarray, " some"],
    ) -> _Fitted:
        z = np.stack([reading.z[fitted] for reading in readings])
        y = bench.x[fitted][:, torch.from_numpy(gap.children)].cpu().numpy()
        return cls(z, y, _some(w, fitted))

    def decoders(self, *, linear: bool, seed: int) -> Decoders:
        z, y = torch.from_numpy(self.z), torch.from_numpy(self.y)
        return fit_decoders(z, y, self.w, linear=linear, seed=seed)

    def tables(self, *, linear: bool) -> Tables | None:
        """None where the model's own decoder is affine, or a table would have too many cells."""
        if linear:
            return None
        w = np.zeros((len(self.y), 0)) if self.w is None else self.w.numpy()
        return fit_tables(self.z, self.y, w)


def _some(w: np.ndarray | None, rows: Int[np.ndarray, " some"]) -> Tensor | None:
    return None if w is None else torch.from_numpy(w[rows])
