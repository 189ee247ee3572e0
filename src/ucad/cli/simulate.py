"""`ucad simulate`: the paper's problems, as files."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ucad.cli.options import Count, Seed

if TYPE_CHECKING:
    from ucad.simulate import Problem

__all__ = ["simulate"]


def simulate(
    setting: str,
    size: str,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    seed: Seed = 0,
    samples: Count = 10_000,
    format: str = "csv",  # noqa: A002 - the option is called --format
    force: bool = False,
) -> None:
    """Write one of the paper's synthetic problems with its truth.

    Parameters
    ----------
    setting
        The letter of the paper's setting, a to i.
    size
        Variables-factors: 16-3, 64-6 or 128-8.
    output
        The folder to write: train, validation and test data, the true factors of the test data,
        and the true model in truth/.
    seed
        What makes the problem.
    samples
        How many samples there are for training and validation together.
    format
        The kind of file for the data: csv, parquet, npz or h5ad.
    force
        Write into a folder that exists.
    """
    from ucad.errors import InvalidInputError
    from ucad.simulate import paper_problem

    if format not in ("csv", "parquet", "npz", "h5ad"):
        raise InvalidInputError(f"--format must be csv, parquet, npz or h5ad. Got '{format}'.")
    if output.exists() and not force:
        raise InvalidInputError(f"'{output}' exists. Choose another folder, or add --force.")
    problem = paper_problem(setting, size, seed, n_samples=samples)
    _write(problem, output, format)
    graph = problem.scm.graph
    print(
        f"Setting {setting} ({size}, seed {seed}): {problem.train.n_samples} training, "
        f"{problem.validation.n_samples} validation and {problem.test.n_samples} test samples of "
        f"{graph.n_variables} variables and {graph.n_factors} factors."
    )
    print(f"Written to {output}: train, validation and test (.{format}), factors.npy, truth/")


def _write(problem: Problem, output: Path, ending: str) -> None:
    """Writes the problem; a new folder is whole or not there."""
    import numpy as np

    from ucad.data.formats import write
    from ucad.files import replacing, replacing_folder
    from ucad.scm import save_scm

    # With --force, what else lies in the folder stays: every file takes its place by itself.
    with contextlib.nullcontext(output) if output.exists() else replacing_folder(output) as folder:
        for name in ("train", "validation", "test"):
            write(getattr(problem, name), folder / f"{name}.{ending}")
        with replacing(folder / "factors.npy") as beside, beside.open("wb") as file:
            np.save(file, problem.factors)
        save_scm(problem.scm, folder / "truth")
