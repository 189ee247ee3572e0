"""Everything a training run knows at the end of an epoch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ucad.solvers.gradient.lagrangian import Adam, AugmentedLagrangian
from ucad.solvers.gradient.mechanisms import Parameters

__all__ = [
    "Best",
    "HistoryRow",
    "Layout",
    "Look",
    "TrainingState",
]

HistoryRow: TypeAlias = dict[str, float | int | str]
"""What the history says of one look at the validation data."""


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


class Look(NamedTuple):
    """What a look at the active configurations found."""

    values: Float[Tensor, "active parameters"]
    nll: Float[Tensor, " active"]
    violation: Float[Tensor, " active"]


@dataclass(eq=False)
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

    def update(
        self,
        rows: Int[Tensor, " active"],
        look: Look,
        epoch: int,
        min_gain: float = 0.0,
    ) -> Bool[Tensor, " active"]:
        """Keeps what is better than before; returns where that was the case.

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
        rows: which configurations are still in training.
        values: their flat parameters.
        adam: the memory of their optimisers.
        lagrangian: their multipliers and penalties.
        rate: their primal learning rates.
        growth: their penalty growth per epoch.
        warm_up: their epochs without constraints.
        rollbacks: how often each had to go back from a non-finite value.
        best: the best snapshot of every configuration, also of those that have left.
        epoch: epochs done.
        noise: state of the random generator of noise and batches.
        history: one row of figures per look at the validation data.
        n_rollbacks: rollbacks of all configurations, also of those that have left.
    """

    rows: Int[Tensor, " active"]
    values: Float[Tensor, "active parameters"]
    adam: Adam
    lagrangian: AugmentedLagrangian
    rate: Float[Tensor, " active"]
    growth: Float[Tensor, " active"]
    warm_up: Int[Tensor, " active"]
    rollbacks: Int[Tensor, " active"]
    best: Best
    epoch: int
    noise: Tensor
    history: list[HistoryRow] = field(default_factory=list)
    n_rollbacks: int = 0

    def keep(self, staying: Bool[Tensor, " active"]) -> None:
        """Lets configurations leave the batch."""
        if bool(staying.all()):
            return
        for name in ("rows", "values", "rate", "growth", "warm_up", "rollbacks"):
            setattr(self, name, getattr(self, name)[staying])
        self.adam = Adam(*(getattr(self.adam, f.name)[staying] for f in fields(Adam)))
        self.lagrangian = AugmentedLagrangian(
            self.lagrangian.multipliers[staying], self.lagrangian.penalty_coefficient[staying]
        )

    def tensors(self) -> dict[str, Tensor]:
        """Every tensor of the state, by name."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        nested = {
            f"{group}.{f.name}": getattr(plain[group], f.name)
            for group in ("adam", "lagrangian", "best")
            for f in fields(plain[group])
        }
        flat = {name: value for name, value in plain.items() if isinstance(value, Tensor)}
        return {name: value.contiguous() for name, value in {**flat, **nested}.items()}

    def record(self) -> dict[str, Any]:
        """Everything else, as plain numbers and lists."""
        return {"epoch": self.epoch, "history": self.history, "n_rollbacks": self.n_rollbacks}

    def copied(self) -> TrainingState:
        """A state that does not change with this one."""
        tensors = {name: value.clone() for name, value in self.tensors().items()}
        return TrainingState.from_tensors(tensors, {**self.record(), "history": [*self.history]})

    def restore(self, earlier: TrainingState) -> None:
        """Becomes an earlier state again."""
        for f in fields(self):
            setattr(self, f.name, getattr(earlier, f.name))

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor], record: dict[str, Any]) -> TrainingState:
        """Puts a state together again."""

        def group(name: str) -> dict[str, Tensor]:
            start = f"{name}."
            return {k.removeprefix(start): v for k, v in tensors.items() if k.startswith(start)}

        plain: dict[str, Any] = {k: v for k, v in tensors.items() if "." not in k}
        return cls(
            **plain,
            adam=Adam(**group("adam")),
            lagrangian=AugmentedLagrangian(**group("lagrangian")),
            best=Best(**group("best")),
            **record,
        )
