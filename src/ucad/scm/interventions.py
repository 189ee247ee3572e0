"""Interventions: hard, soft and parametric replacements of mechanisms, their algebra and orders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from ucad.errors import InvalidInputError

__all__ = [
    "IDENTITY",
    "Clamp",
    "Constant",
    "Function",
    "Intervention",
    "InterventionLike",
    "Kind",
    "MechanismFunction",
    "Transform",
    "Value",
    "as_intervention",
    "hard",
    "knock_down",
    "parametric",
    "replaced",
    "shift",
    "soft",
]

Value: TypeAlias = float | Tensor
"""A constant assignment: one number, or one number a sample."""

MechanismFunction: TypeAlias = Callable[
    [Float[Tensor, "samples parents"], Float[Tensor, " samples"]], Float[Tensor, " samples"]
]
"""F_V(parents of V, context of V); the parents come in the order of the graph's names."""


class Kind(IntEnum):
    """The kinds of interventions, each containing the one before."""

    HARD = 0
    SOFT = 1
    PARAMETRIC = 2


@dataclass(frozen=True, eq=False)
class Constant:
    """Replaces F_V by a constant assignment C_V."""

    value: Value
    kind = Kind.HARD

    def agrees_with(self, other: object) -> bool:
        """Whether both make the same assignment."""
        return isinstance(other, Constant) and _same(self.value, other.value)


@dataclass(frozen=True)
class Function:
    """Replaces F_V by another function of the same arguments."""

    mechanism: MechanismFunction
    kind = Kind.SOFT

    def agrees_with(self, other: object) -> bool:
        """Whether both use the same function."""
        return self == other


@dataclass(frozen=True)
class Transform:
    """Replaces F_V by I_V⟨F_V⟩, a function made from the original one."""

    transform: Callable[[MechanismFunction], MechanismFunction]
    kind = Kind.PARAMETRIC

    def agrees_with(self, other: object) -> bool:
        """Whether both use the same transformation."""
        return self == other


Inside: TypeAlias = Value | Function | Transform
"""What takes the place of one F_X inside a collapsed mechanism."""


@dataclass(frozen=True, eq=False)
class Clamp:
    """Replaces some F_X *inside* the collapsed mechanism F^H_Z: what ω produces.

    Attributes:
        values: for every variable X of the mechanistic support K_Z ⊆ Pa_Z the constant C_X, or
            what a soft or parametric intervention makes of F_X.
    """

    values: Mapping[str, Inside]
    kind = Kind.PARAMETRIC

    def agrees_with(self, other: object) -> bool:
        """Whether `other` clamps at least these variables, to the same values (the order ⪯_H)."""
        return isinstance(other, Clamp) and all(
            name in other.values and _same(value, other.values[name])
            for name, value in self.values.items()
        )


Replacement: TypeAlias = Constant | Function | Transform | Clamp


@dataclass(frozen=True)
class Intervention:
    """A support and, for each of its nodes, the replacement of the node's mechanism.

    >>> first, second = hard({"X1": 0.0, "X2": 1.0}), hard({"X2": 5.0})
    >>> first.then(second).values
    {'X1': 0.0, 'X2': 5.0}
    >>> hard({"X1": 0.0}).precedes(first)
    True

    Attributes:
        replacements: one for every node of the support, by name.
    """

    replacements: Mapping[str, Replacement] = field(default_factory=dict)

    @property
    def support(self) -> frozenset[str]:
        """The nodes whose mechanisms are replaced."""
        return frozenset(self.replacements)

    @property
    def kind(self) -> Kind:
        """The smallest of the classes hard ⊂ soft ⊂ parametric that holds this intervention."""
        return max((r.kind for r in self.replacements.values()), default=Kind.HARD)

    @property
    def values(self) -> dict[str, Value]:
        """The constant assignments C_V; refused if some replacement is no constant."""
        values = {}
        for name, replacement in self.replacements.items():
            if not isinstance(replacement, Constant):
                raise InvalidInputError(
                    f"Only a hard intervention has values. The replacement of '{name}' is "
                    f"{Kind(replacement.kind).name.lower()}."
                )
            values[name] = replacement.value
        return values

    def then(self, later: Intervention) -> Intervention:
        """The composition self ∘ later of the paper: M^(self ∘ later) = (M^self)^later.

        On a node of both supports the later one prevails; two `Clamp`s merge, so that
        ω(a ∘ b) = ω(a) ∘ ω(b).

        Definition "Intervention algebras".
        """
        merged = dict(self.replacements)
        for name, replacement in later.replacements.items():
            before = merged.get(name)
            if isinstance(before, Clamp) and isinstance(replacement, Clamp):
                merged[name] = Clamp(_both_inside(before.values, replacement.values))
            elif before is not None and isinstance(replacement, Transform):
                merged[name] = _transformed(before, replacement)
            else:
                merged[name] = replacement
        return Intervention(merged)

    def precedes(self, other: Intervention) -> bool:
        """The partial order: the support lies in the other's, and the replacements agree there.

        For hard interventions this is ⪯_L, for those that ω produces it is ⪯_H.

        Lemma "Partial order on I_H".
        """
        return all(
            name in other.replacements and replacement.agrees_with(other.replacements[name])
            for name, replacement in self.replacements.items()
        )

    def __bool__(self) -> bool:
        return bool(self.replacements)


IDENTITY = Intervention()
"""No intervention: M^id = M."""

InterventionLike: TypeAlias = Intervention | Mapping[str, Value]


def hard(values: Mapping[str, Value]) -> Intervention:
    """Clamps nodes to constants, or to one value a sample."""
    if not isinstance(values, Mapping):
        raise InvalidInputError(
            f"An intervention must be a mapping from names to values, such as {{'X1': 0.0}}. "
            f"Got {values!r} instead."
        )
    return Intervention({_name(name): Constant(_value(name, v)) for name, v in values.items()})


def soft(mechanisms: Mapping[str, MechanismFunction]) -> Intervention:
    """Replaces mechanisms by other functions of the same parents and context."""
    return Intervention({name: Function(mechanism) for name, mechanism in mechanisms.items()})


def parametric(
    transforms: Mapping[str, Callable[[MechanismFunction], MechanismFunction]],
) -> Intervention:
    """Replaces every mechanism F_V by I_V⟨F_V⟩."""
    return Intervention({name: Transform(transform) for name, transform in transforms.items()})


def as_intervention(intervention: InterventionLike) -> Intervention:
    """Takes an `Intervention` as it is, and a mapping from names to values as a hard one."""
    return intervention if isinstance(intervention, Intervention) else hard(intervention)


@dataclass(frozen=True)
class ScaledAndShifted:
    """The transformation F_V ↦ keep · F_V + add."""

    keep: float = 1.0
    add: float = 0.0

    def __call__(self, mechanism: MechanismFunction) -> MechanismFunction:
        """The mechanism, scaled and shifted."""
        return lambda parents, context: self.keep * mechanism(parents, context) + self.add


def shift(amounts: Mapping[str, float]) -> Intervention:
    """Adds a constant to nodes, which still listen: F_V ↦ F_V + c."""
    return parametric({name: ScaledAndShifted(add=amount) for name, amount in amounts.items()})


def knock_down(shares: Mapping[str, float], to: float = 0.0) -> Intervention:
    """Moves nodes a share of the way to a value: F_V ↦ (1 − share) · F_V + share · to."""
    return parametric(
        {name: ScaledAndShifted(1 - share, share * to) for name, share in shares.items()}
    )


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise InvalidInputError(f"A variable or factor is called by a text. Got {name!r} instead.")
    return name


def _value(name: str, value: Value) -> Value:
    """A finite number, or one a sample."""
    try:
        tensor = torch.as_tensor(value)
        is_real = not tensor.is_complex() and tensor.ndim <= 1
    except (TypeError, ValueError, RuntimeError, OverflowError):
        is_real = False
    if not is_real or not bool(torch.isfinite(tensor).all()):
        raise InvalidInputError(
            f"'{name}' must be set to a finite number, or to one per sample. Got {value!r} instead."
        )
    return value


def _assigned(value: Value, context: Float[Tensor, " samples"]) -> Float[Tensor, " samples"]:
    """A constant, or one number a sample, for all samples."""
    tensor = torch.as_tensor(value).to(context)
    if tensor.ndim and tensor.shape != context.shape:
        raise InvalidInputError(
            f"An intervention with one value per sample must have {len(context)} of them. "
            f"Got {len(tensor)} instead."
        )
    return tensor + 0 * context


def _both_inside(before: Mapping[str, Inside], later: Mapping[str, Inside]) -> dict[str, Inside]:
    """The later one prevails; a transformation is applied to what was there."""
    both = {**before, **later}
    for name in before.keys() & later.keys():
        old, new = before[name], later[name]
        if isinstance(new, Transform):
            first = old if isinstance(old, Function | Transform) else Constant(old)
            made = _transformed(first, new)
            assert isinstance(made, Transform), "a transformation of a transformation is one"
            both[name] = made
    return both


def _same(left: Inside, right: Inside) -> bool:
    if isinstance(left, Function | Transform) or isinstance(right, Function | Transform):
        return left == right
    return torch.equal(torch.as_tensor(left), torch.as_tensor(right))


def _transformed(before: Replacement, later: Transform) -> Replacement:
    """I_V⟨·⟩ applied to what an earlier intervention has made of F_V."""
    if isinstance(before, Clamp):
        raise InvalidInputError("A transformation after an image of ω is not defined.")
    return Transform(lambda mechanism: later.transform(replaced(before, mechanism)))


def replaced(replacement: Replacement, mechanism: MechanismFunction) -> MechanismFunction:
    """What a replacement makes of a mechanism."""
    match replacement:
        case Constant(value):
            return lambda _parents, context: _assigned(value, context)
        case Function(function):
            return function
        case Transform(transform):
            return transform(mechanism)
    raise InvalidInputError("A clamp inside a collapsed mechanism applies to factors only.")
