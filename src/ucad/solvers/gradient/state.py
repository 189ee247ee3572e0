"""Everything a training run knows at the end of an epoch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ucad.solvers.gradient.lagrangian import Adam, AugmentedLagrangian
from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.status import HistoryRow

__all__ = ["Active", "Best", "Layout", "Look", "TrainingState"]

Part = TypeVar("Part")


@dataclass(frozen=True)
class Layout:
    """Where each parameter lies in the flat vector of a configuration.

    One vector instead of many tensors: an optimiser step then costs eight operations in all.
    """

    shapes: tuple[tuple[str, tuple[int, ...]], ...]

    @classmethod
    def of(cls, parameters: Parameters) -> Layout:
        """Reads the names and shapes, without the axis of configurations."""
        return cls(tuple((name, tuple(value.shape[1:])) for name, value in parameters.items()))

    def flatten(self, parameters: Parameters) -> Float[Tensor, "configurations parameters"]:
        """Lays all parameters one after the other."""
        return torch.cat([parameters[name].flatten(1) for name, _ in self.shapes], dim=1)

    def views(self, values: Float[Tensor, "configurations parameters"]) -> Parameters:
        """Returns the parameters as views of the flat vectors."""
        sizes = [math.prod(shape) for _, shape in self.shapes]
        pieces = torch.split(values, sizes, dim=1)
        return {
            name: piece.view(len(values), *shape)
            for (name, shape), piece in zip(self.shapes, pieces, strict=True)
        }

    def leaves(self, values: Float[Tensor, "configurations parameters"]) -> Parameters:
        """Returns the same views as leaves that gradients are taken at; steps on `values` show."""
        return {name: view.detach().requires_grad_() for name, view in self.views(values).items()}


@dataclass(frozen=True, eq=False)
class Active:
    """The configurations still in training, one row of every tensor each.

    Attributes:
        rows: which configurations they are.
        values: their flat parameters.
        adam: the memory of their optimisers.
        lagrangian: their multipliers and penalties.
    """

    rows: Int[Tensor, " active"]
    values: Float[Tensor, "active parameters"]
    adam: Adam
    lagrangian: AugmentedLagrangian

    def only(self, staying: Bool[Tensor, " active"]) -> Active:
        """Those that stay in the batch."""
        return self if bool(staying.all()) else _mapped(self, lambda _, tensor: tensor[staying])


class Look(NamedTuple):
    """What a look at the active configurations found."""

    values: Float[Tensor, "active parameters"]
    nll: Float[Tensor, " active"]
    violation: Float[Tensor, " active"]


@dataclass(frozen=True, eq=False)
class Best:
    """The best snapshot of every configuration: feasible before infeasible, then the lowest NLL.

    Attributes:
        values: the flat parameters.
        nll: validation NLL at the snapshot.
        violation: the sum of all violations; 0 is feasible.
        mark: validation NLL when patience last began anew.
        epoch: epoch in which patience last began anew.
    """

    values: Float[Tensor, "configurations parameters"]
    nll: Float[Tensor, " configurations"]
    violation: Float[Tensor, " configurations"]
    mark: Float[Tensor, " configurations"]
    epoch: Int[Tensor, " configurations"]

    @classmethod
    def start(cls, values: Float[Tensor, "configurations parameters"]) -> Best:
        """Nothing has been looked at yet."""
        never = values.new_full((len(values),), math.inf)
        at = torch.zeros(len(values), dtype=torch.long, device=values.device)
        return cls(values.clone(), never, never.clone(), never.clone(), at)

    def update_(
        self, rows: Int[Tensor, " active"], look: Look, epoch: int, min_gain: float = 0.0
    ) -> Bool[Tensor, " active"]:
        """Keeps what is better than before, in place; returns where that was the case.

        Patience begins anew where the violation fell, or the NLL by more than `min_gain`.
        """
        values, nll, violation = look
        closer = violation < self.violation[rows]
        better = closer | ((violation == self.violation[rows]) & (nll < self.nll[rows]))
        better &= nll.isfinite()
        chosen = rows[better]
        self.values[chosen] = values[better]
        self.nll[chosen] = nll[better]
        self.violation[chosen] = violation[better]
        renewed = better & (closer | (nll < self.mark[rows] - min_gain))
        self.mark[rows[renewed]] = nll[renewed]
        self.epoch[rows[renewed]] = epoch
        return better


@dataclass(eq=False)
class TrainingState:
    """The configurations still in training, and the best of all of them.

    Attributes:
        active: the configurations still in training.
        best: the best snapshot of every configuration, also of those that have left.
        noise: state of the random generator of noise and batches.
        epoch: epochs done.
        n_broken: configurations that left because their values were not finite.
        history: one row of figures per look at the validation data.
    """

    active: Active
    best: Best
    noise: Tensor
    epoch: int = 0
    n_broken: int = 0
    history: tuple[HistoryRow, ...] = field(default=())

    def copied(self) -> TrainingState:
        """A state that does not change with this one."""
        return _mapped(self, lambda _, tensor: tensor.clone())

    def restore(self, earlier: TrainingState) -> None:
        """Becomes an earlier state again."""
        vars(self).update(vars(earlier))

    def tensors(self) -> dict[str, Tensor]:
        """Every tensor of the state, by name."""
        found: dict[str, Tensor] = {}
        _mapped(self, lambda name, tensor: found.setdefault(name, tensor.contiguous()))
        return found

    def record(self) -> dict[str, Any]:
        """Everything else, as plain numbers and lists."""
        return {name: getattr(self, name) for name in ("epoch", "n_broken", "history")}

    def resumed(self, tensors: dict[str, Tensor], record: dict[str, Any]) -> TrainingState:
        """Returns the state that `tensors` and `record` were taken from, of the same fit."""
        state = _mapped(self, lambda name, _: tensors[name])
        return replace(state, **{**record, "history": tuple(record["history"])})


def _mapped(part: Part, change: Callable[[str, Tensor], Tensor], prefix: str = "") -> Part:
    """Returns a nest of dataclasses with every tensor replaced, given its dotted name and value."""
    new: dict[str, Any] = {}
    for f in fields(part):  # type: ignore[arg-type]
        value, name = getattr(part, f.name), f"{prefix}{f.name}"
        if isinstance(value, Tensor):
            new[f.name] = change(name, value)
        elif hasattr(value, "__dataclass_fields__"):
            new[f.name] = _mapped(value, change, f"{name}.")
    return replace(part, **new)  # type: ignore[type-var]
