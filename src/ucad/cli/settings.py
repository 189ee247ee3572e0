"""The settings of `ucad fit`: defaults, then a TOML file, then options; a typo is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from ucad.cli.options import MAX_SEED
from ucad.errors import FormatError, InvalidInputError, did_you_mean
from ucad.files import read_toml
from ucad.schema import check_shape

__all__ = ["FitSettings", "check_kinds", "resolve"]

AUTO = "auto"
"""What stands for no choice in the settings that have one."""

_SHAPES: dict[str, Any] = {
    "factors": (int, str),
    "runs": int,
    "seed": int,
    "validation_share": float,
    "budget": float,
    "measurement_noise": float,
    "min_mean": float,
    "memory": float,
    "standardise": bool,
    "drop_constant": bool,
    "log_counts": bool,
    "counts": bool,
    "ignore": [str],
    "context": [str],
    "indicators": {str: str},
}
"""What a settings file must hold; anything else is a text."""


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """Everything a fit depends on besides the data file itself: the options of `ucad fit`."""

    factors: int | str = "auto"
    solver: str = "auto"
    factor_mechanism: str = "auto"
    variable_mechanism: str = "auto"
    budget: float | None = None
    measurement: str = "none"
    measurement_noise: float | None = None
    noise: str = "auto"
    transform: str = "auto"
    layers: str | None = None
    prior: str | None = None
    standardise: bool = True
    validation_share: float = 0.2
    seed: int = 0
    device: str = "cpu"
    runs: int = 0
    target: str | None = None
    control: str = ""
    indicators: Mapping[str, str] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    drop_constant: bool = False
    min_mean: float | None = None
    log_counts: bool = False
    counts: bool = False
    matrix: str = "X"
    context: tuple[str, ...] = ()
    context_acts_on: str = "auto"
    intervention: str = ""
    unmeasured: str = "keep"
    missing: str = "error"
    memory: float | None = None
    gene_sets: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= MAX_SEED:
            raise InvalidInputError(
                f"The seed must be a whole number from 0 to {MAX_SEED}. Got {self.seed} instead."
            )
        if not 0 <= self.validation_share < 1:
            raise InvalidInputError(
                f"The validation share must be at least 0 and below 1. "
                f"Got {self.validation_share} instead."
            )
        if self.factors != "auto" and (isinstance(self.factors, str) or self.factors < 1):
            raise InvalidInputError(
                "The number of factors must be a whole number of at least 1, or auto. "
                f"Got {self.factors!r} instead."
            )
        if self.min_mean is not None and not math.isfinite(self.min_mean):
            raise InvalidInputError(f"--min-mean must be a finite number. Got {self.min_mean}.")

    def to_toml(self) -> str:
        """The settings as a TOML file that `--config` takes."""
        plain = asdict(self)
        lines = [
            f"{name} = {_toml(value)}"
            for name, value in plain.items()
            if value is not None and not isinstance(value, Mapping)
        ]
        if self.indicators:
            lines += ["", "[indicators]"]
            lines += [
                f"{_toml(name)} = {_toml(target)}" for name, target in self.indicators.items()
            ]
        return "\n".join(lines)


def resolve(config: Path | None, options: Mapping[str, Any]) -> FitSettings:
    """Puts the settings together: defaults < file < options that were given."""
    values = {} if config is None else _read(config)
    values |= {name: value for name, value in options.items() if value is not None}
    for name in ("ignore", "context"):
        if name in values:
            values[name] = tuple(values[name])
    for name in (name for name, shape in _SHAPES.items() if shape is float):
        if isinstance(values.get(name), int):
            values[name] = _as_float(name, values[name])
    return FitSettings(**(_of_counts(values) | values))


def _as_float(name: str, value: int) -> float:
    """A whole number as the number that a setting holds."""
    try:
        return float(value)
    except OverflowError:
        raise InvalidInputError(f"'{name}' must be a finite number. Got {value} instead.") from None


def _of_counts(values: Mapping[str, Any]) -> dict[str, Any]:
    """What --counts stands for where nothing else is said: counts are readings of rates.

    Whoever names a law (--noise), a solver or mechanisms that know no such readings has said it.
    """
    own_law = values.get("noise", AUTO) != AUTO
    solver = values.get("solver", AUTO) in (AUTO, "search")
    sides = [values.get(name, AUTO) for name in ("factor_mechanism", "variable_mechanism")]
    knows = solver and all(side in (AUTO, "linear") for side in sides)
    return {"measurement": "counts"} if values.get("counts") and knows and not own_law else {}


def _read(path: Path) -> dict[str, Any]:
    values = read_toml(path)
    known = [f.name for f in fields(FitSettings)]
    for name in values:
        if name not in known:
            raise InvalidInputError(
                f"'{path}' has an unknown setting '{name}'.{did_you_mean(name, known)} Known are "
                f"{', '.join(known)}."
            )
    check_kinds(values, f"'{path}'")
    return values


def check_kinds(values: Mapping[str, Any], where: str) -> None:
    """Refuses settings of the wrong kind, such as a list where a number is wanted."""
    for name, value in values.items():
        try:
            check_shape({name: value}, {name: _SHAPES.get(name, str)}, where)
        except FormatError as error:
            raise InvalidInputError(str(error)) from error


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_toml, value))}]"
    # A text of JSON is one of TOML, but for a character that only TOML must have escaped.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
