"""What `ucad sweep` does with a task that names a data file: one fit, judged on unseen samples."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from ucad.cli.settings import FitSettings, check_kinds, resolve
from ucad.errors import InvalidInputError, did_you_mean

__all__ = ["HELD_OUT", "canonical", "fit_own"]

HELD_OUT = 0.2
"""The share of every regime that no fit of a sweep sees, the same for all rows of a file."""


def canonical(task: Mapping[str, Any]) -> dict[str, Any]:
    """The task without what is left at its default; a misspelt setting is refused.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     canonical({"data": file.name, "factors": 3, "seed": 0})["factors"]
    3
    """
    known = ["data", *(field.name for field in fields(FitSettings))]
    for name in task:
        if name not in known:
            raise InvalidInputError(
                f"A task on a data file has no option '{name}'.{did_you_mean(name, known)} Known "
                f"are {', '.join(known)}."
            )
    if not isinstance(task["data"], str):
        raise InvalidInputError(f"'data' must be the path of a file. Got {task['data']} instead.")
    if not Path(task["data"]).exists():
        raise InvalidInputError(f"There is no data file '{task['data']}'.")
    settings, defaults = asdict(_settings(task)), asdict(FitSettings())
    changed = {name: value for name, value in settings.items() if value != defaults[name]}
    return {"data": task["data"]} | changed


def fit_own(task: Mapping[str, Any]) -> dict[str, Any]:
    """Fits four fifths of the samples and says what was found, and how likely the rest is."""
    from ucad.cli.reading import estimator_for, read_data

    settings = _settings(task)
    data = read_data(Path(task["data"]), settings)
    seen = data.split(1 - HELD_OUT, 0.0, HELD_OUT, seed=0)
    started = time.process_time()
    model = estimator_for(settings, data.variable_names).fit(seen.train)
    seconds = time.process_time() - started
    likelihood = model.score(seen.test)
    graph, certificate = model.graph_, model.certificate_
    return {
        "n_factors": graph.n_factors,
        "n_edges": int(graph.Q.sum() + graph.R.sum()),
        "log_likelihood": likelihood if math.isfinite(likelihood) else None,
        "converged": model.status_.converged,
        "feasible": model.status_.feasible,
        "status": str(model.status_),
        "verdict": certificate.verdict,
        "may_claim": {one.what: one.answer.value for one in certificate.permissions},
        "factors": {
            name: {"made_from": list(graph.parents(name)), "drives": list(graph.children(name))}
            for name in graph.factor_names
        },
        "fingerprint": data.fingerprint,
        "about": {"fit_seconds": model.fit_seconds_, "fit_cpu_seconds": seconds},
    }


def _settings(task: Mapping[str, Any]) -> FitSettings:
    """The settings of a task; a single name stands for a list of one."""
    values = {name: value for name, value in task.items() if name != "data"}
    for name in ("ignore", "context"):
        given = values.get(name, [])
        values |= {name: [given] if isinstance(given, str) else _plain(given)} if given else {}
    check_kinds(values, "A task on a data file")
    return resolve(None, values)


def _plain(names: Any) -> Any:
    """A tuple, as settings hold it, is a list, as files do."""
    return list(names) if isinstance(names, tuple) else names
