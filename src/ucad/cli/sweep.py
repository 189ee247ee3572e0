"""`ucad sweep`: a grid of fits, one row per fit."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from ucad.sweep import Backend, SweepReport

__all__ = ["sweep"]

DONE, UNFINISHED, INTERRUPTED = 0, 1, 130
"""Exit codes of a sweep: all tasks done, some failed or left, stopped by Ctrl-C (128 + SIGINT)."""

_logger = logging.getLogger(__name__)


def sweep(
    grid: Path,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    on: Literal["local", "ray"] = "local",
    workers: int | None = None,
    address: str | None = None,
    budget: float | None = None,
    task_minutes: float | None = None,
    retry_failed: bool = False,
    allow_code: bool = False,
    quiet: bool = False,
) -> int:
    """Run many fits; each adds a row to a table as it finishes.

    Stopped or killed, it is resumed by the same command: finished rows are kept, and a larger grid
    only adds to them. Exit code 0: every task has a result. 1: some failed or were left out.

    Parameters
    ----------
    grid
        A TOML file with tables [[grid]], in which a list is an axis: setting, size, seed, solver
        and the other options of a task; or data, a file of your own, with the settings of
        `ucad fit`.
    output
        The table: a .jsonl file.
    on
        local: processes on this machine. ray: a Ray cluster.
    workers
        How many fits at a time; as many as there are CPUs if not given.
    address
        The Ray cluster to join; one is started on this machine if not given.
    budget
        Minutes the sweep may take; what does not fit in is left out.
    task_minutes
        Minutes one fit may take; one that takes longer is ended and becomes a row with an error.
    retry_failed
        Try the rows that hold an error again.
    allow_code
        Let the grid name a function of its own: its module is imported and run.
    quiet
        Show no progress.
    """
    from ucad.cli.progress import shown_progress
    from ucad.errors import InvalidInputError
    from ucad.sweep import Budget, drop_failed, read_grid, run_sweep

    for name, minutes in (("--budget", budget), ("--task-minutes", task_minutes)):
        if minutes is not None and not minutes > 0:
            raise InvalidInputError(f"{name} must be a number of minutes above 0. Got {minutes}.")
    backend = _backend(on, workers, address)
    tasks = read_grid(grid, allow_code=allow_code)
    if retry_failed:
        drop_failed(output)
    try:
        with shown_progress(quiet=quiet) as progress:
            report = run_sweep(
                tasks,
                output,
                backend,
                budget=None if budget is None else Budget(60 * budget),
                max_seconds=None if task_minutes is None else 60 * task_minutes,
                progress=progress,
            )
    except OSError as error:
        return _kept_so_far(output, error)
    return _tell(report, output)


def _backend(on: str, workers: int | None, address: str | None) -> Backend:
    from ucad.errors import InvalidInputError
    from ucad.sweep import LocalProcesses, RayCluster

    if on == "ray":
        return RayCluster(workers, address=address)
    if address is not None:
        raise InvalidInputError("--address names a Ray cluster: it needs --on ray.")
    return LocalProcesses(workers)


def _kept_so_far(output: Path, error: OSError) -> int:
    """Says what a full disk has left of a table; raises the error if that is nothing."""
    from ucad.sweep import read_rows

    n_rows = len(read_rows(output))
    if not n_rows:
        raise error
    text = "%s: '%s' holds the %d rows that were finished, and the same command does the others."
    _logger.warning(text, error.strerror or error, output, n_rows)
    return UNFINISHED


def _tell(report: SweepReport, output: Path) -> int:
    n_old = len(report.rows) - report.n_new
    before = f", {n_old} of them from before" if n_old else ""
    print(f"{len(report.rows)} rows in {output}{before}.")
    for row in report.failed[:5]:
        print(f"Failed: {row['task']}: {row['error']}")
    if len(report.failed) > 5:
        print(f"… and {len(report.failed) - 5} more. Try them again with --retry-failed.")
    if report.left_out:
        n_left = len(report.left_out)
        left = "1 fit is left; the same command does it." if n_left == 1 else ""
        print(left or f"{n_left} fits are left; the same command does them.")
    if report.interrupted:
        return INTERRUPTED
    return UNFINISHED if report.failed or report.left_out else DONE
