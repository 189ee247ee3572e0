"""`ucad fit recording/ --model …`: factors of a network, with the network at hand."""

from __future__ import annotations

import json as json_module
import logging
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ucad.cli.network_files import (
    load_model,
    load_reader,
    noted_inputs,
    read_blocks,
    read_inputs,
    told_if_the_model_fails,
)
from ucad.errors import InvalidInputError
from ucad.interrupts import deferred

if TYPE_CHECKING:
    from ucad.cli.fit_options import NetworkOptions
    from ucad.cli.settings import FitSettings
    from ucad.networks import NetworkFit
    from ucad.networks.cost import FitCost

__all__ = ["asks_network", "fit_recording", "is_recording"]

DONE, UNFINISHED = 0, 1
"""Exit codes of a fit."""

ANOTHER = (
    "'%s' was not recorded from this network on these inputs: only its sites are used, and what "
    "follows is about the network and the inputs that are named here."
)

_logger = logging.getLogger(__name__)

KEPT_SAMPLES = 1000
"""Samples that a run folder keeps for its report."""


def is_recording(path: Path) -> bool:
    """Whether a folder was written by `ucad record`."""
    return path.is_dir() and (path / "recording.json").exists()


def asks_network(path: Path, settings: FitSettings, asked: NetworkOptions) -> bool:
    """Whether the fit is one of those that run the network itself.

    Raises:
        InvalidInputError: the network is given for a file that is no recording, or is missing.
    """
    if not is_recording(path):
        if asked.model is None:
            return False
        raise InvalidInputError(
            f"--model is for a folder that ucad record has written. '{path}' is none."
        )
    if asked.model is None and settings.solver == "behaviour":
        raise InvalidInputError(
            "A recorded network is fitted with the network itself: add --model script.py:name (and "
            "--inputs FILE), as for ucad record, or name another solver and --factors."
        )
    from ucad.networks.fitting import NETWORK_SOLVERS

    return asked.model is not None and settings.solver in NETWORK_SOLVERS


def fit_recording(
    path: Path,
    settings: FitSettings,
    output: Path,
    asked: NetworkOptions,
    *,
    quiet: bool,
    json: bool,
    force: bool,
) -> int:
    """Fits a recorded network, writes the run folder with its report, and tells."""
    from ucad.cli.progress import shown_progress
    from ucad.networks import NetworkSettings, decide_by, fit_network, load_recording
    from ucad.networks.cost import fit_cost
    from ucad.networks.sameness import is_recorded

    reference = asked.model
    assert reference is not None, "asks_network has looked"
    where = asked.inputs or noted_inputs(path)
    number = settings.factors if isinstance(settings.factors, int) else None
    recording, parts = load_recording(path), read_blocks(asked.parts)
    network, inputs = load_model(reference), read_inputs(where)
    with told_if_the_model_fails():
        cost = fit_cost(network, inputs, recording.sites)
        if not is_recorded(recording, network, inputs):
            _logger.warning(ANOTHER, path)
    options = NetworkSettings(
        solver=settings.solver,
        n_factors=number,
        decide=decide_by(asked.decide),
        read_output=load_reader(asked.read_output),
        parts=parts,
        seed=settings.seed,
        max_seconds=cost.budget if settings.budget is None else settings.budget,
    )
    if not quiet and not json:
        print(_expected(cost, options.max_seconds), flush=True)
    with shown_progress(quiet=quiet or json) as progress, told_if_the_model_fails():
        found = fit_network(network, inputs, recording, options, progress)
    about = {"path": path.name, "model": reference, "inputs": str(where)}
    page = _save(found, output, _kept_settings(found, asked, parts), about, force=force)
    _tell(found, output, page, json=json)
    if not json:
        print(_next_step(path, output, asked, where))
    return DONE if found.status.converged and page is not None else UNFINISHED


def _kept_settings(
    found: NetworkFit, asked: NetworkOptions, parts: Mapping[str, Sequence[str]]
) -> dict[str, object]:
    """What steering the run needs to know of its fit."""
    from ucad.networks.own_answers import found_concepts

    kept: dict[str, object] = {
        "solver": found.solver,
        "decide": asked.decide,
        "replaces": found.replaces,
    }
    if found.solver == "behaviour":
        kept["concepts"] = [asdict(one) for one in found_concepts(found.gaps)]
    if parts:
        kept["parts"] = parts
    if asked.read_output is not None:
        kept["read_output"] = asked.read_output
    return kept


def _expected(cost: FitCost, max_seconds: float | None) -> str:
    if max_seconds is None:
        return str(cost)
    return f"{cost} It ends after about {max_seconds:g} s with the best so far (--budget)."


def _next_step(recording: Path, output: Path, asked: NetworkOptions, inputs: Path) -> str:
    """The line that steers the run, which can be pasted as it is, and one about labels."""
    words = ["ucad", "steer", str(output), "--model", str(asked.model), "--inputs", str(inputs)]
    words += ["--recording", str(recording)]
    if asked.read_output is not None and ".py:" in asked.read_output:
        words += ["--read-output", asked.read_output]
    return (
        f"Next:       {shlex.join(words)}\n"
        "            (--labels FILE judges concepts of your own instead)"
    )


def _save(
    found: NetworkFit,
    output: Path,
    settings: dict[str, object],
    about: dict[str, str],
    *,
    force: bool,
) -> Path | None:
    """Writes the run folder and its report; returns where that is, if it could be written."""
    import numpy as np

    from ucad.cli.inspect import report_beside
    from ucad.runs import Run, save_run

    rows = np.arange(min(KEPT_SAMPLES, found.data.n_samples))
    run = Run(
        scm=found.scm,
        status=found.status,
        sample=found.data.select(rows),
        settings=settings,
        history=found.history,
        data=about,
        seconds=found.seconds,
    )
    with deferred() as request:
        save_run(run, output, force=force)
    return report_beside(output, request)


def _tell(found: NetworkFit, output: Path, page: Path | None, *, json: bool) -> None:
    graph = found.scm.graph
    if json:
        result = {
            "run": str(output),
            "report": None if page is None else str(page),
            "solver": found.solver,
            "status": found.status.to_json(),
            "seconds": round(found.seconds, 3),
            "factors": list(graph.factor_names),
            "gaps": [gap.to_json() for gap in found.gaps],
            "diagnosis": json_module.loads(found.diagnosis.to_json()),
        }
        print(json_module.dumps(result))
        return
    print(f"{found.diagnosis}\n\n{found}\n")
    print(f"Run folder: {output}\nReport:     {'not written' if page is None else page}")
