"""`ucad simulate`: the paper's problems and worlds beside them, as files."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ucad.cli.options import Count, Seed
from ucad.errors import InvalidInputError, did_you_mean

if TYPE_CHECKING:
    import numpy as np

    from ucad.simulate import Problem
    from ucad.simulate.worlds import WorldProblem

__all__ = ["simulate"]

FORMATS = ("csv", "parquet", "npz", "h5ad")
"""The kinds of files that data sets are written to."""

PAPER_SAMPLES = 10_000
"""The samples for training and validation in the paper's settings, as in the paper."""


def simulate(
    setting: str = "",
    size: str = "",
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    seed: Seed = 0,
    samples: Count | None = None,
    changes: Annotated[list[str] | None, Parameter(name="--set", negative="")] = None,
    list_worlds: Annotated[bool, Parameter(name="--list", negative="")] = False,
    format: str = "csv",  # noqa: A002 - the option is called --format
    force: bool = False,
) -> None:
    """Write data of a simulated system whose truth is known.

    The system is one of the paper's settings, or a world of another shape.

    Parameters
    ----------
    setting
        The letter of the paper's setting, a to i, or the name of a world (see --list).
    size
        Variables-factors, for the paper's settings: 16-3, 64-6 or 128-8.
    output
        The folder to write: train, validation and test data, the true factors of the test data,
        and the true model in truth/; for a world also world.json and truth.npz.
    seed
        Random seed of the problem.
    samples
        How many samples there are for training and validation together; 10000 in the paper's
        settings, the world's own number elsewhere.
    changes
        A setting of a world, as name=value. May be given several times.
    list_worlds
        Show all worlds, and write nothing.
    format
        The kind of file for the data: csv, parquet, npz or h5ad.
    force
        Write into a folder that exists.
    """
    from ucad.simulate import SETTINGS
    from ucad.simulate.worlds import world_problem

    if list_worlds:
        _list_worlds()
        return
    folder = _checked_output(output, format, force)
    if setting in SETTINGS:
        problem = _paper_problem(setting, size, seed, samples, changes)
        _tell(f"Setting {setting} ({size}, seed {seed})", problem)
        with _folder(folder) as inside:
            written = _write(problem, inside, format)
    else:
        settings = _world_settings(setting, size, samples, changes)
        world = world_problem(setting, seed, **settings)
        _tell(f"World {setting} (seed {seed})", world)
        with _folder(folder) as inside:
            written = _write(world, inside, format) + _write_world(world, settings, inside)
    print(f"Written to {folder}: {', '.join(written)}")


def _folder(output: Path) -> contextlib.AbstractContextManager[Path]:
    """A new folder is whole or not there; in an old one every file takes its place by itself."""
    from ucad.files import replacing_folder

    return contextlib.nullcontext(output) if output.exists() else replacing_folder(output)


def _checked_output(output: Path | None, file_format: str, force: bool) -> Path:
    if output is None:
        raise InvalidInputError("Name the folder to write with --output (-o).")
    if file_format not in FORMATS:
        raise InvalidInputError(f"--format must be csv, parquet, npz or h5ad. Got '{file_format}'.")
    if output.exists() and not force:
        raise InvalidInputError(f"'{output}' exists. Choose another folder, or add --force.")
    return output


def _list_worlds() -> None:
    from ucad.simulate.worlds import WORLDS

    width = max(map(len, WORLDS))
    for name, world in WORLDS.items():
        print(f"{name:{width}}  {world.description}")
    print("\nSettings, which --set name=value changes:")
    for kind in dict.fromkeys(type(world.settings) for world in WORLDS.values()):
        first = next(name for name, world in WORLDS.items() if type(world.settings) is kind)
        print(f"{first} and its like: {', '.join(kind.__dataclass_fields__)}")


def _paper_problem(
    setting: str, size: str, seed: int, samples: int | None, changes: list[str] | None
) -> Problem:
    from ucad.simulate import SIZES, paper_problem

    if not size:
        raise InvalidInputError(f"Setting {setting} needs a size: {', '.join(SIZES)}.")
    if changes:
        raise InvalidInputError("--set changes worlds; the paper's settings are as they are.")
    n_samples = PAPER_SAMPLES if samples is None else samples
    return paper_problem(setting, size, seed, n_samples=n_samples)


def _world_settings(
    name: str, size: str, samples: int | None, changes: list[str] | None
) -> dict[str, object]:
    """The settings of a world that were given, by name."""
    from ucad.simulate.worlds import changes_from_text

    _check_name(name)
    if size:
        raise InvalidInputError(f"World '{name}' has no size: change its settings with --set.")
    settings = changes_from_text(changes or [])
    return settings if samples is None else settings | {"n_samples": samples}


def _check_name(name: str) -> None:
    from ucad.simulate import SETTINGS
    from ucad.simulate.worlds import WORLDS

    if name not in WORLDS:
        raise InvalidInputError(
            f"The setting must be one of {', '.join(SETTINGS)} or the name of a world. Got "
            f"'{name}' instead.{did_you_mean(name, WORLDS)} All worlds are shown by: ucad simulate "
            "--list"
        )


def _write(problem: Problem | WorldProblem, output: Path, file_format: str) -> list[str]:
    """Writes the data, the true factors and the true model, and returns what it wrote."""
    import numpy as np

    from ucad.data.formats import write
    from ucad.files import replacing
    from ucad.scm import save_scm

    for name in ("train", "validation", "test"):
        write(getattr(problem, name), output / f"{name}.{file_format}")
    written = [f"train, validation and test (.{file_format})", "factors.npy"]
    with replacing(output / "factors.npy") as beside, beside.open("wb") as file:
        np.save(file, problem.factors)
    if problem.scm is not None:
        save_scm(problem.scm, output / "truth")
        written.append("truth/")
    return written


def _write_world(problem: WorldProblem, settings: dict[str, object], output: Path) -> list[str]:
    """Writes what is true of a world and what is known of its samples beside the variables."""
    import json
    from dataclasses import asdict

    from ucad.files import replacing
    from ucad.simulate.worlds import WORLDS, with_changes

    world = WORLDS[problem.name]
    about = {
        "world": problem.name,
        "description": world.description,
        "seed": problem.seed,
        "settings": asdict(with_changes(world.settings, settings)),
        "n_factors": problem.n_factors,
        "asked_factors": problem.asked_factors,
        "violates": problem.violates,
        "kind_of_intervention": problem.kind_of_intervention,
    }
    with replacing(output / "world.json") as beside:
        beside.write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", "utf-8")
    graph = problem.graph
    edges = {} if graph is None else {"Q": graph.Q, "R": graph.R}
    _write_arrays(output / "truth.npz", {"adjacency": problem.adjacency, **edges})
    parts = {f"{part}_covariates.npz": known for part, known in problem.covariates.items() if known}
    for name, known in parts.items():
        _write_arrays(output / name, known)
    return ["world.json", "truth.npz", *parts]


def _write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    import numpy as np

    from ucad.files import replacing

    named: dict[str, Any] = dict(arrays)
    with replacing(path) as beside, beside.open("wb") as file:
        np.savez(file, **named)


def _tell(what: str, problem: Problem | WorldProblem) -> None:
    from ucad.cli.output import say

    say(
        f"{what}: {problem.train.n_samples} training, {problem.validation.n_samples} validation "
        f"and {problem.test.n_samples} test samples of {problem.train.n_variables} variables and "
        f"{problem.n_factors} factors."
    )
    violates = getattr(problem, "violates", ())
    if violates:
        say(f"Of the assumptions of an f-SCM it breaks: {', '.join(violates)}.")
