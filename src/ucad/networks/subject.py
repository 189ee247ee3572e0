"""`Subject`: a network under study, as inputs that go in and decisions and units that come out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ucad.errors import InvalidInputError
from ucad.networks.decisions import Decide, decision
from ucad.networks.inputs import call_with, check_inputs
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
from ucad.networks.sites import Site, columns_of
from ucad.networks.wrapped import unwrapped
from ucad.solvers.budget import Budget

__all__ = ["Subject"]

Units = Float[np.ndarray, "rows _"]


@dataclass(frozen=True, eq=False)
class Subject:
    """A network, inputs it is studied on, and sites in the order in which they are computed.

    Attributes:
        model: the network; it is left as it was.
        inputs: what it is run on.
        sites: with their units.
        decide: from its output to its decision.
        read_output: from what it gives to the tensor that counts.
        batch_size: rows in one forward pass.
        budget: looked at before every pass; when it is over, `BudgetEndedError` is raised.
    """

    model: nn.Module
    inputs: Inputs
    sites: tuple[Site, ...]
    decide: Decide = decision
    read_output: ReadOutput = tensor_output
    batch_size: int = 8192
    budget: Budget | None = None

    @classmethod
    def of(
        cls,
        model: Any,
        inputs: Inputs,
        sites: Sequence[Site | str],
        *,
        decide: Decide = decision,
        read_output: ReadOutput = tensor_output,
    ) -> Subject:
        """A subject whose sites have their units, found by a pass over a few inputs."""
        if n_inputs(check_inputs(inputs)) < 2:
            raise InvalidInputError("A network must be studied on at least 2 inputs.")
        model = unwrapped(model)
        parsed = [Site.parse(site) if isinstance(site, str) else site for site in sites]
        resolved = resolve_sites(model, inputs, parsed)
        return cls(model, inputs, resolved, decide, read_output)

    @property
    def n_inputs(self) -> int:
        """How many inputs there are."""
        return n_inputs(self.inputs)

    def draw(self, n_rows: int, rng: np.random.Generator) -> Int[np.ndarray, " rows"]:
        """Numbers of inputs, drawn without repetition where there are enough."""
        if n_rows <= self.n_inputs:
            return rng.permutation(self.n_inputs)[:n_rows]
        return rng.integers(self.n_inputs, size=n_rows)

    def rows(self, numbers: np.ndarray) -> Inputs:
        """The inputs of the given numbers."""
        return select_inputs(self.inputs, numbers)

    def at(self, *numbers: int) -> Subject:
        """The same with some of the sites only."""
        return replace(self, sites=tuple(self.sites[i] for i in numbers))

    def decisions(
        self, inputs: Inputs, site: int | None = None, values: Units | None = None
    ) -> Int[np.ndarray, " rows"]:
        """What the network decides, with the units of one site replaced if some are given."""
        with torch.no_grad():
            parts = [
                self.decide(self.output(part, site, _part(values, rows))).cpu().numpy()
                for rows, part in self._batches(inputs)
            ]
        return np.concatenate(parts)

    def units(
        self, inputs: Inputs, site: int | None = None, values: Units | None = None
    ) -> list[Units]:
        """The units of every site, with those of one site replaced if some are given."""
        found = []
        with torch.no_grad(), undisturbed(self.model):
            for rows, part in self._batches(inputs):
                edit = self._edit(range(len(self.sites)), site, _part(values, rows))
                found.append(forward(self.model, part, self.sites, edit).units.cpu().numpy())
        whole = np.concatenate(found).astype(np.float64)
        return [whole[:, columns] for columns in columns_of(self.sites)]

    def edge_values(self, inputs: Inputs, site: int, values: Units) -> Units:
        """The units of the next site when those of this one are replaced.

        Put there in another pass, they reach the network by the edge between the two sites only:
        what the first does elsewhere stays as it is.
        """
        found = []
        with torch.no_grad(), undisturbed(self.model):
            for rows, part in self._batches(inputs):
                edit = self._edit((site, site + 1), site, _part(values, rows))
                both = self.sites[site : site + 2]
                passed = forward(self.model, part, both, edit).units
                found.append(passed[:, columns_of(both)[1]].cpu().numpy())
        return np.concatenate(found).astype(np.float64)

    def output(
        self, inputs: Inputs, site: int | None = None, values: Units | Tensor | None = None
    ) -> Tensor:
        """What counts of the output, in one pass; gradients flow unless they are turned off."""
        self._check_budget()
        where = () if site is None else (site,)
        edit = self._edit(where, site, values)
        with undisturbed(self.model):
            passed = _call(self.model, inputs, [self.sites[i] for i in where], edit)
        return output_reader(self.read_output)(passed)

    def outputs(self, inputs: Inputs) -> Tensor:
        """What counts of the output, of all inputs."""
        with torch.no_grad():
            return torch.cat([self.output(part) for _, part in self._batches(inputs)])

    def _edit(
        self, seen: Sequence[int], site: int | None, values: Units | Tensor | None
    ) -> Callable[[int, Tensor], Tensor | None] | None:
        if site is None or values is None:
            return None
        number = list(seen).index(site)
        return lambda i, old: torch.as_tensor(values).to(old) if i == number else None

    def _batches(self, inputs: Inputs) -> Iterator[tuple[slice, Inputs]]:
        total = n_inputs(inputs)
        for start in range(0, total, self.batch_size):
            self._check_budget()
            rows = slice(start, min(start + self.batch_size, total))
            yield rows, input_rows(self.model, inputs, np.arange(rows.start, rows.stop))

    def _check_budget(self) -> None:
        if self.budget is not None:
            self.budget.check()


def _part(
    values: Float[np.ndarray, "all _"] | None, rows: slice
) -> Float[np.ndarray, "part _"] | None:
    return None if values is None else values[rows]


def _call(model: nn.Module, inputs: Inputs, sites: Sequence[Site], edit: Any) -> Any:
    """The output of a pass; without sites there is nothing to hook."""
    return forward(model, inputs, sites, edit).output if sites else call_with(model, inputs)
