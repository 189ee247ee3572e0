"""A fitted estimator as a run that can be written, and back."""

from __future__ import annotations

from inspect import signature
from typing import Any

from ucad.about_fit import plain_settings
from ucad.data.duplicates import Columns
from ucad.data.transforms import Reads
from ucad.runs import Run
from ucad.solvers import FitResult

__all__ = ["restore", "run_of", "settings_of"]

NOT_SAVED = {"prior": None, "progress": None, "readouts": None}
"""Parameters of an estimator that no file holds."""


def run_of(model: Any) -> Run:
    """All of a fitted estimator that a run folder holds."""
    return Run(
        scm=model.scm_,
        status=model.status_,
        certificate=model.certificate_,
        sample=model.sample_,
        consensus=model.consensus_,
        settings=plain_settings(_parameters_of(model)),
        history=model.history_,
        data=model.data_,
        seconds=model.fit_seconds_,
        factors=model.path_,
    )


def _parameters_of(model: Any) -> dict[str, Any]:
    """The parameters of an estimator, as it was made or changed since."""
    return {name: getattr(model, name) for name in signature(type(model)).parameters}


def settings_of(run: Run, known: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the estimator that made a run, those of other versions left out."""
    return {name: value for name, value in run.settings.items() if name in known} | NOT_SAVED


def restore(model: Any, run: Run) -> None:
    """Gives an estimator all that it had when the run was saved."""
    history = tuple(map(dict, run.history))
    model._keep(FitResult(run.scm, run.status, float("nan"), history, run.seconds), run.scm)
    model.certificate_, model.data_, model.sample_ = run.certificate, dict(run.data), run.sample
    model.path_ = None if run.factors is None else dict(run.factors)
    model.consensus_ = run.consensus
    model.support_ = None if run.consensus is None else run.consensus.support
    model.columns_ = Columns.from_json(run.data, run.scm.graph.n_variables)
    model.reads_ = Reads.from_json(run.data, run.scm.graph.n_variables)
    model.n_features_in_ = len(model.columns_.variable)
