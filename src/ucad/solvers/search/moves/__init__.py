"""The moves of the search: a new one is a file here and an entry in `moves_for`."""

from __future__ import annotations

from collections.abc import Sequence

from ucad.scm.families import Function
from ucad.solvers.search.improve import Move
from ucad.solvers.search.moves.change_edges import ChangeEdges
from ucad.solvers.search.moves.refit_from_another_start import RefitFromAnotherStart
from ucad.solvers.search.moves.replace_factor import ReplaceFactor
from ucad.solvers.search.moves.separate_factors import SeparateFactors

__all__ = ["moves_for"]


def moves_for(pool: Sequence[Function]) -> tuple[Move, ...]:
    """All moves, in the order in which they are tried; `pool` are candidate factors."""
    return (RefitFromAnotherStart(), ChangeEdges(), SeparateFactors(), ReplaceFactor(tuple(pool)))
