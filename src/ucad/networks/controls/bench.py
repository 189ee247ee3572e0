"""`Bench`: one pass over the inputs, shared by all factors and controls, and patched passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ucad.networks.decisions import Decide
from ucad.networks.inputs import Inputs, input_rows, select_inputs
from ucad.networks.interchange import SwapPairs
from ucad.networks.passes import forward, undisturbed
from ucad.networks.recording import Activation
from ucad.networks.sites import Site, columns_of
from ucad.networks.steering import Steering
from ucad.scm import LinearMechanism

__all__ = ["Bench", "Gap"]

SEEN_ROWS = 200
"""Rows on which each covariate of the context is mirrored, to see whether units change."""


@dataclass(frozen=True, eq=False)
class Gap:
    """Factors that make units of the same sites.

    Attributes:
        factors: their names.
        columns: their numbers.
        parents: the units that any of them is read from.
        children: the units that any of them makes.
    """

    factors: tuple[str, ...]
    columns: tuple[int, ...]
    parents: Bool[np.ndarray, " units"]
    children: Bool[np.ndarray, " units"]

    @classmethod
    def all_of(cls, steering: Steering) -> tuple[Gap, ...]:
        """The gaps of a steered network, in the order of their first factor."""
        graph, sites = steering.scm.graph, columns_of(steering.sites)
        by_sites: dict[tuple[bool, ...], list[int]] = {}
        for k in range(graph.n_factors):
            made = tuple(bool(graph.R[columns, k].any()) for columns in sites)
            by_sites.setdefault(made, []).append(k)
        return tuple(
            cls(
                tuple(graph.factor_names[k] for k in own),
                tuple(own),
                np.asarray(graph.Q[:, own].any(axis=1)),
                np.asarray(graph.R[:, own].any(axis=1)),
            )
            for made, own in by_sites.items()
            if any(made)
        )


@dataclass(frozen=True, eq=False)
class Bench:
    """A network left alone on all inputs that will be needed, and what is done to it.

    Attributes:
        steering: the network and its SCM.
        inputs: all inputs.
        decide: from the network's output to its decision.
        rows: the inputs that were run, by number, in order.
        x: their units, in the units of the network.
        z: their factors.
        w: their context, if the SCM has one.
        decisions: what the network decides on them.
    """

    steering: Steering
    inputs: Inputs
    decide: Decide
    rows: Int[np.ndarray, " rows"]
    x: Float[Tensor, "rows units"]
    z: Float[Tensor, "rows factors"]
    w: np.ndarray | None
    decisions: Int[np.ndarray, " rows"]

    @classmethod
    def of(
        cls, steering: Steering, inputs: Inputs, numbers: Sequence[np.ndarray], decide: Decide
    ) -> Bench:
        """Runs the network once on every input that is named."""
        rows = np.unique(np.concatenate([np.asarray(part) for part in numbers]))
        chosen = select_inputs(inputs, rows)
        run = steering.run(chosen)
        w = steering.covariates(chosen)
        decided = decide(run.output).cpu().numpy()
        return cls(steering, inputs, decide, rows, run.x.double(), run.z.double(), w, decided)

    def at(self, numbers: np.ndarray) -> Int[np.ndarray, " some"]:
        """Where inputs are among the rows."""
        return np.searchsorted(self.rows, numbers)

    @property
    def steering_is_linear(self) -> bool:
        """Whether F_X of the model is affine: then so are the decoders of the controls."""
        return isinstance(self.steering.scm.variable_mechanism, LinearMechanism)

    def context(self, rows: np.ndarray) -> np.ndarray | None:
        """The context of some rows, if there is one."""
        return None if self.w is None else self.w[rows]

    def covariates(
        self, children: Bool[np.ndarray, " units"]
    ) -> Float[np.ndarray, "rows covariates"] | None:
        """The context of all rows, without what does not act on units in the model; None if all."""
        if self.w is None:
            return None
        z, w, columns = self.z[:SEEN_ROWS], self.w[:SEEN_ROWS], torch.from_numpy(children)
        found = []
        with torch.no_grad():
            made = self.steering.scm.expected_variables(z, w)[:, columns]
            for c in range(w.shape[1]):
                other = w.copy()
                other[:, c] = w[:, c].min() + w[:, c].max() - w[:, c]
                now = self.steering.scm.expected_variables(z, other)[:, columns]
                if not torch.allclose(now, made):
                    found.append(c)
        return np.asarray(self.w[:, found], dtype=np.float64) if found else None

    def copied(self, pairs: SwapPairs) -> Bool[np.ndarray, " pairs"]:
        """Where the source's own decision is the expected one: a copy of the output is right."""
        return np.asarray(self.decisions[self.at(pairs.source)] == pairs.expected)

    def unswapped(self, pairs: SwapPairs) -> Bool[np.ndarray, " pairs"]:
        """Where the base's own decision is the expected one: to do nothing is right."""
        return np.asarray(self.decisions[self.at(pairs.base)] == pairs.expected)

    def swapped_sites(
        self, pairs: SwapPairs, units: Bool[np.ndarray, " units"]
    ) -> Bool[np.ndarray, " pairs"]:
        """Where the decision is right after all units of the sites of `units` are the source's."""
        whole = np.zeros_like(units)
        for columns in columns_of(self.steering.sites):
            whole[columns] = bool(units[columns].any())
        return self.right(pairs, whole, self.x[self.at(pairs.source)])

    def factor_values(
        self, pairs: SwapPairs, columns: Sequence[int], sources: np.ndarray | None = None
    ) -> Float[Tensor, "pairs units"]:
        """The units after factors were taken from the sources: h + F_X(z′, w) − F_X(z, w)."""
        base = self.at(pairs.base)
        source = self.at(pairs.source if sources is None else sources)
        steering, w = self.steering, self.context(base)
        z, new = self.z[base], self.z[base].clone()
        new[:, list(columns)] = self.z[source][:, list(columns)]
        made = steering.scm.expected_variables(new, w).double()
        scaling = steering.scaling
        scale = torch.ones(made.shape[1]) if scaling is None else torch.tensor(scaling.scale)
        if steering.replaces:
            mean = torch.zeros(made.shape[1]) if scaling is None else torch.tensor(scaling.mean)
            return mean.to(made) + scale.to(made) * made
        change = made - steering.scm.expected_variables(z, w).double()
        return self.x[base] + scale.to(made) * change

    def right(
        self,
        pairs: SwapPairs,
        units: Bool[np.ndarray, " units"],
        values: Float[Tensor, "pairs units"],
    ) -> Bool[np.ndarray, " pairs"]:
        """Where the decision is the expected one after units were given values.

        Args:
            pairs: the base inputs and what is expected.
            units: which units are patched.
            values: of all units, before they are brought to where units can be (act).
        """
        return np.asarray(self.patched(pairs.base, units, values) == pairs.expected)

    def patched(
        self,
        base: np.ndarray,
        units: Bool[np.ndarray, " units"],
        values: Float[Tensor, "pairs units"],
    ) -> Int[np.ndarray, " pairs"]:
        """The network's decisions on base inputs with units patched."""
        steering = self.steering
        parts = [c for c in columns_of(steering.sites) if units[c].any()]
        sites = [s for s, c in zip(steering.sites, columns_of(steering.sites), strict=True)]
        chosen = [sites[columns_of(steering.sites).index(c)] for c in parts]
        acts = self._acts(parts)
        decided, size = [], steering.batch_size
        with undisturbed(steering.model), torch.no_grad():
            for start in range(0, len(base), size):
                rows = slice(start, start + size)
                wanted = [act(values[rows, c]) for act, c in zip(acts, parts, strict=True)]
                edit = _Setting(wanted, [torch.from_numpy(units[c]) for c in parts])
                passed = self._passed(base[rows], chosen, edit)
                decided.append(self.decide(passed).cpu().numpy())
        return np.concatenate(decided)

    def decided_on(self, inputs: Inputs) -> Int[np.ndarray, " rows"]:
        """The network's decisions on other inputs, left alone."""
        return self.decide(self.steering.run(inputs).output).cpu().numpy()

    def _passed(self, numbers: np.ndarray, sites: Sequence[Site], edit: _Setting) -> Tensor:
        model = self.steering.model
        output = forward(model, input_rows(model, self.inputs, numbers), sites, edit).output
        read = self.steering.read_output
        assert callable(read), "Steering has made a function of it"
        return read(output)

    def _acts(self, parts: Sequence[slice]) -> list[Activation]:
        known, every = self.steering.activations, columns_of(self.steering.sites)
        if known is not None:
            return [known[every.index(part)] for part in parts]
        return [Activation.of(self.x[:, part]) for part in parts]


@dataclass(frozen=True, eq=False)
class _Setting:
    """The edit that gives chosen units of each site their values."""

    values: Sequence[Tensor]
    chosen: Sequence[Tensor]

    def __call__(self, i: int, now: Tensor) -> Tensor:
        return torch.where(self.chosen[i].to(now.device), self.values[i].to(now), now)
