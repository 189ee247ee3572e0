"""`InterventionalData`: measurements, and which variables were clamped in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from ucad._types import LayerOf, RegimeOf, VariableSamples, WhichIntervened
from ucad.data import checks
from ucad.data.context import Context
from ucad.data.fingerprint import fingerprint_of
from ucad.data.kinds import RegimeKind, kinds_of_regimes
from ucad.data.moments import MaskedMoments
from ucad.data.numbering import named_regimes, regimes_of, regimes_of_labels
from ucad.data.scaling import Scaling
from ucad.data.splits import OBSERVATIONAL, Rows, rows_by_regime, rows_stratified
from ucad.data.targets import (
    JOINT,
    check_control,
    check_targets,
    count_targets,
    hidden_parts,
)
from ucad.errors import InvalidInputError, all_at_once

if TYPE_CHECKING:
    from ucad.data.rest import Rest
    from ucad.data.summary import DataSummary

__all__ = ["InterventionalData", "Scaling", "Split"]


class Split(NamedTuple):
    """Three parts of one data set."""

    train: InterventionalData
    validation: InterventionalData
    test: InterventionalData


@dataclass(frozen=True, eq=False)
class InterventionalData:
    """Samples of the low-level variables, some taken while variables were clamped.

    Checked when made and never changed afterwards. Use `from_arrays` or `from_targets` to have the
    regimes worked out; `ucad.read` for files.

    >>> data = InterventionalData.from_targets(
    ...     np.array([[0.1, 0.2], [0.5, 0.4], [2.0, 0.9]]), ["", "", "b"], variable_names=("a", "b")
    ... )
    >>> data.regime, data.regime_names
    (array([0, 0, 1]), ('observational', 'b'))

    Attributes:
        x: the measurements, samples × variables.
        is_intervened: True where a variable is clamped.
        regime: the regime of every sample; 0 is observational, and the samples of a regime have
            the same variables clamped. A regime may clamp nothing that was measured.
        variable_names: one name per variable.
        layer_of: the layer of every variable, if they have layers.
        regime_names: one name per regime.
        scaling: how the user's units became those of `x`, if they did.
        is_part: made from a larger data set. A part may hold constant columns, and variables
            that are clamped in all of its samples.
        context: what else is known of every sample, such as its batch; never abstracted.
        kinds: what each regime does to its targets, as told; `auto` for all if empty.
        is_missing: True where a value was not measured and is filled in; None if nowhere.
        notes: what was left out or changed in reading, one sentence each.
        rest: samples of the file that were left out since they did not fit; None if none were.
    """

    x: VariableSamples
    is_intervened: WhichIntervened
    regime: RegimeOf
    variable_names: tuple[str, ...]
    layer_of: LayerOf | None = None
    regime_names: tuple[str, ...] = ()
    scaling: Scaling | None = None
    is_part: bool = False
    context: Context | None = None
    kinds: tuple[RegimeKind, ...] = ()
    is_missing: WhichIntervened | None = None
    notes: tuple[str, ...] = ()
    rest: Rest | None = None

    def __post_init__(self) -> None:
        checks.check_matrix(self.x, may_be_empty=self.is_part)
        checks.check_shapes(self.x, self.is_intervened, self.regime, self.layer_of)
        checks.check_names(self.variable_names, self.x.shape[1])
        for name, as_kind in (("is_intervened", checks.as_flags), ("regime", _whole_numbers)):
            object.__setattr__(self, name, as_kind(getattr(self, name), name))
        object.__setattr__(self, "layer_of", checks.as_layers(self.layer_of))
        if self.is_missing is not None:
            checks.check_same_shape(self.x, self.is_missing, "is_missing")
            flags = checks.as_flags(self.is_missing, "is_missing")
            object.__setattr__(self, "is_missing", flags if flags.any() else None)
        with all_at_once() as check:
            check(checks.check_finite, self.x, self.variable_names)
            check(checks.check_regimes, self.is_intervened, self.regime)
            if not self.is_part:
                check(checks.check_informative, self.x, self.is_intervened, self.variable_names)
            if self.scaling is not None:
                check(checks.check_scaling, *self.scaling, self.n_variables)
        if not self.regime_names:
            named = named_regimes(self.regime, self.is_intervened, self.variable_names)
            object.__setattr__(self, "regime", named.regime)
            object.__setattr__(self, "regime_names", named.names)
        for name in ("x", "is_intervened", "regime", "layer_of", "is_missing"):
            object.__setattr__(self, name, _read_only(getattr(self, name)))
        checks.check_regime_names(self.regime, self.regime_names)
        if len(self.kinds) not in (0, self.n_regimes):
            raise InvalidInputError(
                f"There must be one kind per regime, {self.n_regimes}. Got {len(self.kinds)}."
            )
        if self.context is not None and len(self.context) != len(self.x):
            raise InvalidInputError(
                f"The context must have one row per sample, {len(self.x)}. "
                f"Got {len(self.context)} instead."
            )

    @classmethod
    def from_arrays(
        cls,
        x: ArrayLike,
        is_intervened: ArrayLike | None = None,
        *,
        variable_names: Sequence[str] | None = None,
        layer_of: ArrayLike | None = None,
    ) -> InterventionalData:
        """Makes a data set from x and what was clamped; equal targets make a regime."""
        x = np.asarray(x)
        checks.check_matrix(x)
        clamps = np.zeros(x.shape) if is_intervened is None else np.asarray(is_intervened)
        layers = checks.as_layers(layer_of)
        checks.check_shapes(x, clamps, x[:, 0], layers)
        clamps = checks.as_flags(clamps, "is_intervened")
        return cls(
            x=_as_floats(x),
            is_intervened=clamps,
            regime=regimes_of(clamps),
            variable_names=_names(variable_names, x.shape[1]),
            layer_of=layers,
        )

    @classmethod
    def from_targets(
        cls,
        x: ArrayLike,
        targets: Sequence[str],
        *,
        variable_names: Sequence[str] | None = None,
        control: str = "",
        layer_of: ArrayLike | None = None,
    ) -> InterventionalData:
        """Makes a data set from the name(s) of what was clamped in every sample.

        Args:
            x: the measurements, samples × variables.
            targets: for every sample the clamped variable, several joined by `;` (a name that
                holds one in double quotes), or the control label (or nothing) for an observational
                sample. A target that is not among the variables makes a regime of its own that
                clamps nothing measured, which is said; one that is nearly a variable is refused.
            variable_names: one name per variable; `X1`, `X2`, … if not given.
            control: the label of observational samples, besides the empty one.
            layer_of: the layer of every variable, if they have layers.
        """
        x = np.asarray(x)
        checks.check_matrix(x)
        if len(targets) != len(x):
            raise InvalidInputError(
                f"'targets' must have one entry per sample, {len(x)}. Got {len(targets)} instead."
            )
        names, layers = _names(variable_names, x.shape[1]), checks.as_layers(layer_of)
        checks.check_shapes(x, x, x[:, 0], layers)
        stripped = [str(target).strip() for target in targets]
        labels = ["" if label in ("", control) else label for label in stripped]
        with all_at_once() as check:
            check(check_control, control, stripped)
            check(check_targets, count_targets(labels), names)
            check(checks.check_names, names, x.shape[1])
            if len(names) == x.shape[1]:
                check(checks.check_finite, x, names)
                check(checks.check_informative, x, np.zeros(x.shape, dtype=bool), names)
        regimes, clamps = regimes_of_labels(labels, names)
        return cls(
            x=_as_floats(x),
            is_intervened=clamps,
            regime=regimes.regime,
            variable_names=names,
            layer_of=layers,
            regime_names=regimes.names,
        )

    @property
    def n_samples(self) -> int:
        """N, the number of samples."""
        return len(self.x)

    @property
    def n_variables(self) -> int:
        """The paper's n."""
        return len(self.variable_names)

    @property
    def n_regimes(self) -> int:
        """The number of regimes that have a name, with or without samples here."""
        return len(self.regime_names)

    @cached_property
    def targets(self) -> Bool[np.ndarray, "regimes variables"]:
        """What every regime clamps; a regime without samples here clamps nothing."""
        present, first = np.unique(self.regime, return_index=True)
        clamps = np.zeros((self.n_regimes, self.n_variables), dtype=bool)
        clamps[present] = self.is_intervened[first]
        return clamps

    @cached_property
    def acts_on_hidden(self) -> Bool[np.ndarray, " regimes"]:
        """Which regimes act on something that was not measured, alone or beside variables."""
        known = {part for name in self.variable_names for part in (name, *name.split(JOINT))}
        hidden = [
            not self.targets[r].any() or bool(hidden_parts(name, known))
            for r, name in enumerate(self.regime_names)
        ]
        return np.asarray(hidden) & (np.arange(self.n_regimes) != OBSERVATIONAL)

    @cached_property
    def unmeasured_regimes(self) -> tuple[str, ...]:
        """The interventional regimes present whose targets are not among the variables."""
        present = np.unique(self.regime)
        return tuple(
            self.regime_names[r]
            for r in present
            if r != OBSERVATIONAL and not self.targets[r].any()
        )

    @cached_property
    def is_left_out(self) -> WhichIntervened:
        """True where a value has no term in the likelihood: clamped, or filled in."""
        return (
            self.is_intervened if self.is_missing is None else self.is_intervened | self.is_missing
        )

    @cached_property
    def complete(self) -> InterventionalData:
        """The samples in which nothing was filled in."""
        if self.is_missing is None:
            return self
        return self.select(np.flatnonzero(~self.is_missing.any(axis=1)))

    @cached_property
    def moments(self) -> MaskedMoments:
        """The masked second moments S_j of x."""
        return MaskedMoments(self.x, self.is_left_out)

    def summary(self) -> DataSummary:
        """What is in the data set, in words and numbers: `print(data.summary())`."""
        from ucad.data.summary import summarise

        return summarise(self)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything in the data set, for run folders."""
        return fingerprint_of(self)

    def with_context(self, context: Context | Mapping[str, ArrayLike]) -> InterventionalData:
        """Returns the data with covariates of the samples, by name; texts become indicators."""
        known = context if isinstance(context, Context) else Context.from_columns(context)
        return replace(self, context=known)

    def with_kinds(self, told: str | Mapping[str, str]) -> InterventionalData:
        """Returns the data with what was done to targets: one kind, or one per regime by name."""
        return replace(self, kinds=kinds_of_regimes(told, self.regime_names))

    def kind_of(self, regime: int) -> RegimeKind:
        """What a regime does to its targets."""
        if regime != OBSERVATIONAL and not self.targets[regime].any():
            return RegimeKind.UNMEASURED
        return self.kinds[regime] if self.kinds else RegimeKind.AUTO

    @cached_property
    def may_listen(self) -> Bool[np.ndarray, "samples variables"]:
        """Where a variable is acted on and may still go with its parents, as far as was told."""
        soft = np.array([self.kind_of(r).may_listen for r in range(self.n_regimes)], dtype=bool)
        return self.is_intervened & soft[self.regime][:, None]

    @property
    def is_set(self) -> Bool[np.ndarray, "samples variables"]:
        """Where a variable is acted on and set from outside, unless told otherwise."""
        return np.asarray(self.is_intervened & ~self.may_listen)

    @property
    def covariates(self) -> Float[np.ndarray, "samples covariates"] | None:
        """The values of the context, if there is one."""
        return None if self.context is None else self.context.values

    def select(self, rows: Rows) -> InterventionalData:
        """Returns the part that holds the given samples."""
        return replace(
            self,
            x=self.x[rows],
            is_intervened=self.is_intervened[rows],
            regime=self.regime[rows],
            is_part=True,
            context=self.context and self.context.select(rows),
            is_missing=None if self.is_missing is None else self.is_missing[rows],
            rest=None,
        )

    def select_variables(self, columns: Rows) -> InterventionalData:
        """Returns the data set of the given variables alone; regimes keep their names."""
        layers = None if self.layer_of is None else self.layer_of[columns]
        scaling = self.scaling and Scaling(*(part[columns] for part in self.scaling))
        return replace(
            self,
            x=self.x[:, columns],
            is_intervened=self.is_intervened[:, columns],
            variable_names=tuple(self.variable_names[column] for column in columns),
            layer_of=layers,
            scaling=scaling,
            is_missing=None if self.is_missing is None else self.is_missing[:, columns],
        )

    def split(
        self, train: float = 0.8, validation: float = 0.2, test: float = 0.0, *, seed: int = 0
    ) -> Split:
        """Splits by sample; every regime is dealt out in the same proportions."""
        rng = np.random.default_rng(seed)
        parts = rows_stratified(self.regime, (train, validation, test), rng)
        return Split(*(self.select(rows) for rows in parts))

    def split_regimes(self, n_validation: int, n_test: int, *, seed: int = 0) -> Split:
        """Splits by whole regimes; the observational one goes to train (the paper's ablation i)."""
        rng = np.random.default_rng(seed)
        parts = rows_by_regime(self.regime, n_validation, n_test, rng)
        return Split(*(self.select(rows) for rows in parts))

    def standardised(self, scaling: Scaling | None = None) -> InterventionalData:
        """Returns the data with every variable at mean 0 and variance 1, and remembers how.

        Args:
            scaling: use this map instead of the data's own mean and standard deviation, for a
                test set that must be in the units of a training set.
        """
        scaling = scaling or Scaling.of(self.x)
        before = self.scaling or Scaling(np.zeros(self.n_variables), np.ones(self.n_variables))
        both = Scaling(before.mean + before.scale * scaling.mean, before.scale * scaling.scale)
        return replace(self, x=scaling.applied_to(self.x), scaling=both)

    def unstandardised(self) -> InterventionalData:
        """Returns the data in the units they were measured in."""
        if self.scaling is None:
            return self
        return replace(self, x=self.scaling.mean + self.scaling.scale * self.x, scaling=None)

    def __len__(self) -> int:
        return self.n_samples

    def __repr__(self) -> str:
        layers = "" if self.layer_of is None else f", {len(np.unique(self.layer_of))} layers"
        known = "" if self.context is None else f", context {', '.join(self.context.names)}"
        return (
            f"InterventionalData({self.n_samples} samples × {self.n_variables} variables, "
            f"{len(np.unique(self.regime))} regimes{layers}{known})"
        )


def _names(names: Sequence[str] | None, n_variables: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"X{number}" for number in range(1, n_variables + 1))
    return tuple(str(name) for name in names)


def _whole_numbers(values: np.ndarray, name: str) -> np.ndarray:
    return values if values.dtype.kind == "i" else checks.as_whole_numbers(values, name)


def _as_floats(x: np.ndarray) -> np.ndarray:
    """Single and double precision as they are, everything else in double precision."""
    return x if x.dtype.kind == "f" and x.dtype.itemsize in (4, 8) else x.astype(np.float64)


def _read_only(
    array: np.ndarray | None,
) -> np.ndarray | None:
    if array is None or not array.flags.writeable:
        return array
    array = array.copy()
    array.flags.writeable = False
    return array
