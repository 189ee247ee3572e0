"""Runs the fits of a consensus: here, on these cores or on Ray; what is finished is kept."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import NamedTuple

from ucad._types import Progress, ProgressEvent
from ucad.consensus.counting import Fit
from ucad.consensus.fits import FIT_PART, store, task_of, unpacked
from ucad.consensus.resampling import Draw
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.solvers.registry import SolveSettings
from ucad.sweep import Backend, Costs, Grid, LocalProcesses, RayCluster, ThisProcess, run_sweep
from ucad.sweep.table import row_key

__all__ = ["Fits", "RunOptions", "cost_sentence", "fits_folder", "run_fits"]

LOCAL, RAY = "local", "ray"
STAGE = "consensus"
TABLE = "fits.jsonl"


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Where the fits of a consensus run.

    Attributes:
        n_jobs: fits at a time; None is one, here, without another process; −1 is one per CPU.
        on: `local`, `ray`, or the address of a Ray cluster such as `ray://head:10001` or
            `head:6379`, whose machines must see `folder`.
        folder: where the data and the finished fits are kept, so that the same call resumes; a
            temporary folder if None.
    """

    n_jobs: int | None = None
    on: str = LOCAL
    folder: Path | None = None

    def __post_init__(self) -> None:
        is_whole = isinstance(self.n_jobs, Integral) and not isinstance(self.n_jobs, bool)
        if self.n_jobs is not None and not (is_whole and (self.n_jobs == -1 or self.n_jobs >= 1)):
            raise InvalidInputError(
                f"'n_jobs' must be at least 1, −1 for all CPUs, or None. Got {self.n_jobs}."
            )
        on = self.on if isinstance(self.on, str) else ""
        if on not in (LOCAL, RAY, "auto") and ":" not in on:
            raise InvalidInputError(
                f"Fits run on 'local', on 'ray', or on a Ray cluster by its address, such as "
                f"'ray://head:10001'. Got '{self.on}' instead."
            )

    @property
    def n_workers(self) -> int | None:
        """Fits at a time; None where Ray is to say."""
        if self.n_jobs == -1:
            return None if self.on != LOCAL else os.cpu_count() or 1
        return self.n_jobs or 1

    def backend(self) -> Backend:
        """What runs the fits."""
        if self.on != LOCAL:
            address = None if self.on == RAY else self.on
            return RayCluster(self.n_workers, address=address)
        return ThisProcess() if self.n_workers == 1 else LocalProcesses(self.n_workers)


class Fits(NamedTuple):
    """What the fits came to.

    Attributes:
        done: those that ended well, in the order of the plan.
        errors: what went wrong in the others.
        n_left: fits that were not done, since somebody interrupted.
    """

    done: tuple[Fit, ...]
    errors: tuple[str, ...]
    n_left: int


def cost_sentence(n_runs: int, seconds_of_first: float, n_workers: int | None) -> str:
    """What it will cost, from what the first fit cost; a fit on half the samples takes .6 to 1.1.

    >>> cost_sentence(50, 6.0, 2)
    '50 fits of about 6 s, 2 at a time: about 2.5 min'
    """
    total = n_runs * seconds_of_first / (n_workers or 1)
    time = f"{total:.0f} s" if total < 90 else f"{total / 60:.3g} min"
    at_a_time = f"{n_workers} at a time: about" if n_workers else "at most, on one CPU,"
    return f"{n_runs} fits of about {seconds_of_first:.2g} s, {at_a_time} {time}"


def fits_folder(checkpoint: Path | None) -> Path | None:
    """Where finished fits are kept, beside the checkpoint of the fit to all samples."""
    return None if checkpoint is None else checkpoint.with_name(f"{checkpoint.name}.fits")


def run_fits(
    data: InterventionalData,
    settings: SolveSettings,
    draws: Sequence[Draw],
    options: RunOptions,
    *,
    standardise: bool = True,
    progress: Progress | None = None,
) -> Fits:
    """Full searches, one per draw; those in the folder's table are not done again."""
    with _folder(options.folder) as folder:
        store(data, folder)
        tasks = [task_of(folder, data, settings, draw, standardise=standardise) for draw in draws]
        report = run_sweep(
            Grid(tuple(tasks), FIT_PART),
            folder / TABLE,
            options.backend(),
            costs=Costs(),
            progress=None if progress is None else _renamed(progress),
        )
    rows = {row_key(FIT_PART, row["task"]): row for row in report.rows}
    done = []
    for draw, task in zip(draws, tasks, strict=True):
        row = rows.get(row_key(FIT_PART, task))
        if row is not None and row["error"] is None:
            done.append(Fit(draw, unpacked(row["result"]["model"])))
    return Fits(tuple(done), tuple(row["error"] for row in report.failed), len(report.left_out))


def _renamed(progress: Progress) -> Progress:
    def tell(event: ProgressEvent) -> None:
        progress(event._replace(stage=STAGE))

    return tell


@contextlib.contextmanager
def _folder(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="ucad-consensus-") as made:
        yield Path(made)
