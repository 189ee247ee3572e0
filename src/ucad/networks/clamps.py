"""Clamps: what is held fixed in each regime, and the edit that holds it, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from ucad.errors import InvalidInputError, did_you_mean
from ucad.networks.passes import Clamped
from ucad.networks.sites import Site, columns_of

__all__ = ["RowClamps", "check_groups", "clamp_targets", "regime_label"]


@dataclass(frozen=True, eq=False)
class RowClamps:
    """The edit that gives every row of a batch its own clamped units.

    Attributes:
        sites: with their units.
        which: True where a unit is clamped.
        values: what to; only read where it is.
    """

    sites: Sequence[Site]
    which: Bool[np.ndarray, "rows units"]
    values: np.ndarray

    def __call__(self, i: int, values: Tensor) -> Clamped | None:
        """The values of site i with its clamped units, or None if it has none."""
        columns = columns_of(self.sites)[i]
        if not self.which[:, columns].any():
            return None
        which = torch.as_tensor(self.which[:, columns], device=values.device)
        wanted = torch.as_tensor(self.values[:, columns]).to(values)
        return Clamped(torch.where(which, wanted, values), which)


def clamp_targets(
    names: Sequence[str], *, each_unit: bool, groups: Sequence[Sequence[str]]
) -> Bool[np.ndarray, "clamps variables"]:
    """What each regime clamps, the observational one first; dead units drop out of groups.

    >>> clamp_targets(["a", "b"], each_unit=False, groups=[["a", "b"], ["dead"]]).astype(int)
    array([[0, 0],
           [1, 1]])
    """
    rows = [np.zeros(len(names), dtype=bool)]
    if each_unit:
        rows += list(np.eye(len(names), dtype=bool))
    jointly = [np.isin(names, list(group)) for group in groups]
    return np.array([*rows, *(target for target in jointly if target.any())])


def regime_label(clamped: Sequence[str]) -> str:
    """The name of the regime that clamps the given units."""
    return ";".join(clamped) or "observational"


def check_groups(groups: Sequence[Sequence[str]], names: Sequence[str]) -> None:
    """Refuses groups of units that are not recorded."""
    unknown = [name for group in groups for name in group if name not in names]
    if unknown:
        raise InvalidInputError(
            f"The 'groups' setting of RecordSettings names a unit '{unknown[0]}' that is not "
            f"recorded.{did_you_mean(unknown[0], names)}"
        )
