"""Many independent fits on this machine or a cluster, a row each in a table that survives."""

from __future__ import annotations

from ucad.sweep.backends import Backend, LocalProcesses, Outcome, ThisProcess
from ucad.sweep.costs import Budget, Costs
from ucad.sweep.engine import SweepReport, run_sweep
from ucad.sweep.grid import Grid, read_grid
from ucad.sweep.ray_backend import RayCluster
from ucad.sweep.table import ResultTable, Row, drop_failed, read_rows, row_key

__all__ = [
    "Backend",
    "Budget",
    "Costs",
    "Grid",
    "LocalProcesses",
    "Outcome",
    "RayCluster",
    "ResultTable",
    "Row",
    "SweepReport",
    "ThisProcess",
    "drop_failed",
    "read_grid",
    "read_rows",
    "row_key",
    "run_sweep",
]
