"""`Learner`: all of a fit but what scikit-learn asks of an estimator, which is slow to import."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, no_type_check

import numpy as np
from numpy.typing import NDArray

from ucad._types import Progress
from ucad.about_fit import about_data, sample_of
from ucad.conclusion import Conclusion, conclude
from ucad.consensus.auto_fit import factor_path, fit_auto, fit_known, with_number
from ucad.consensus.consensus import Consensus, find_consensus, noted
from ucad.consensus.path import FactorPath
from ucad.consensus.resampling import check_n_runs
from ucad.consensus.running import RunOptions, fits_folder
from ucad.consensus.support import Support
from ucad.data import InterventionalData
from ucad.data.context import take_context
from ucad.data.duplicates import merged_as
from ucad.data.given import finite_values, take_column
from ucad.inputs import as_data, check_no_target, clamped, samples_and_context
from ucad.interrupts import Request, deferred
from ucad.parameters import as_callable, as_path
from ucad.preparation import Prepared, prepare
from ucad.runs import save_run
from ucad.saving import run_of
from ucad.scm import Abstraction, FactorSCM
from ucad.solvers import FitResult, FitStatus
from ucad.solvers.registry import AUTO, Readout

if TYPE_CHECKING:
    from ucad.solvers.prior import PriorKnowledge

__all__ = ["Learner"]


class Learner:
    """What `UCAD` is without scikit-learn; its parameters and attributes are described there."""

    n_factors: int | str
    solver: str
    factor_mechanism: str
    variable_mechanism: str
    layers: Sequence[int] | NDArray[np.int64] | None
    prior: PriorKnowledge | None
    context_acts_on: str
    unmeasured: str
    standardise: bool
    validation_share: float
    max_seconds: float | None
    measurement: str
    measurement_noise: float | Sequence[float] | None
    noise: str
    reads: str
    random_state: int | np.random.RandomState | None
    device: str
    progress: Progress | None
    path_: dict[str, Any] | None
    n_runs: int
    n_jobs: int | None
    runs_on: str
    readouts: Sequence[Readout] | None
    status_: FitStatus
    support_: Support | None
    consensus_: Consensus | None

    @no_type_check  # it only stores; `fit` looks at what was stored
    def __init__(  # noqa: PLR0913 - scikit-learn's contract: every parameter by its own name
        self,
        n_factors: int | str = "auto",
        *,
        solver: str = "auto",
        factor_mechanism: str = "auto",
        variable_mechanism: str = "auto",
        layers: Sequence[int] | NDArray[np.int64] | None = None,
        prior: PriorKnowledge | None = None,
        context_acts_on: str = "auto",
        unmeasured: str = "keep",
        standardise: bool = True,
        validation_share: float = 0.2,
        max_seconds: float | None = None,
        measurement: str = "none",
        measurement_noise: float | Sequence[float] | None = None,
        noise: str = "auto",
        reads: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
        device: str = "cpu",
        progress: Progress | None = None,
        n_runs: int = 0,
        n_jobs: int | None = None,
        runs_on: str = "local",
        readouts: Sequence[Readout] | None = None,
    ) -> None:
        self.n_factors = n_factors
        self.solver = solver
        self.factor_mechanism = factor_mechanism
        self.variable_mechanism = variable_mechanism
        self.layers = layers
        self.prior = prior
        self.context_acts_on = context_acts_on
        self.unmeasured = unmeasured
        self.standardise = standardise
        self.validation_share = validation_share
        self.max_seconds = max_seconds
        self.measurement = measurement
        self.measurement_noise = measurement_noise
        self.noise = noise
        self.reads = reads
        self.random_state = random_state
        self.device = device
        self.progress = progress
        self.n_runs = n_runs
        self.n_jobs = n_jobs
        self.runs_on = runs_on
        self.readouts = readouts

    def fit(
        self,
        X: Any,
        y: Any = None,
        interventions: Any = None,
        *,
        context: Any = None,
        checkpoint: str | Path | None = None,
    ) -> Learner:
        """Learns the factors; says in `status_`, without a warning, how that ended."""
        check_no_target(X, y)
        check_n_runs(self.n_runs)
        state = None if checkpoint is None else as_path(checkpoint, "checkpoint")
        runs = RunOptions(n_jobs=self.n_jobs, on=self.runs_on, folder=fits_folder(state))
        ready = self._prepared(X, interventions, context)
        train, validation = ready.standardised
        fit = fit_auto if self.n_factors == AUTO else fit_known
        result, self.path_ = fit(
            train,
            ready.settings,
            validation=validation,
            progress=as_callable(self.progress, "progress"),
            checkpoint=state,
        )
        with deferred() as request:  # what was found is not lost to a request that comes now
            self.data_ = about_data(ready.data) | self.columns_.to_json() | self.reads_.to_json()
            self.sample_, self.acts_on_ = sample_of(ready.data, ready.settings.seed), result.acts_on
            found = conclude(result.with_notes(self.reads_.note), ready)
            result, self.certificate_ = found.result, found.certificate
            self._keep(result, found.scm)
        if self.n_runs and self.graph_.n_factors:
            self._support(found, ready, runs, request)
        request.answer()
        return self

    def factor_path(
        self,
        X: Any,
        interventions: Any = None,
        *,
        context: Any = None,
        first: int = 0,
        last: int | None = None,
    ) -> FactorPath:
        """What held-out samples say of every number of factors, and which to use; fits no model.

        Args:
            X: as for `fit`.
            interventions: as for `fit`.
            context: as for `fit`.
            first: the smallest number of factors.
            last: the largest; 12 or half as many as variables if not given.
        """
        ready = self._prepared(X, interventions, context)
        train, validation = ready.standardised
        return factor_path(train, validation, ready.settings, (first, last), self.progress)

    def _support(self, fit: Conclusion, ready: Prepared, runs: RunOptions, asked: Request) -> None:
        self.consensus_ = found = find_consensus(
            fit.result,
            fit.scm,
            fit.known,
            with_number(ready.settings, self.graph_.n_factors),
            n_runs=self.n_runs,
            certificate=self.certificate_,
            options=runs,
            standardise=self.standardise,
            progress=self.progress,
            request=asked,
        )
        self.support_ = found.support
        if found.note:
            self.status_ = noted(self.status_, found)

    def score(self, X: Any, y: Any = None, interventions: Any = None) -> float:  # noqa: ARG002
        """The mean log-likelihood of a sample, clamped variables left out."""
        self._check_is_fitted()
        if isinstance(interventions, str):
            X, interventions = take_column(X, interventions)
        x, w = samples_and_context(self, X)
        own = isinstance(X, InterventionalData) and merged_as(X, self.graph_.variable_names)
        left_out = own.is_left_out if own else clamped(self, len(x), interventions)
        return float(finite_values(self.scm_.log_likelihood(x, left_out, w).cpu().numpy()).mean())

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Writes a run folder: safetensors and JSON, read back by `ucad.load`."""
        self._check_is_fitted()
        save_run(run_of(self), as_path(folder, "folder"), force=force)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "scm_")

    def _check_is_fitted(self) -> None:
        """Refuses in scikit-learn's words what needs a fit."""
        if not self.__sklearn_is_fitted__():
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )

    def _keep(self, result: FitResult, scm: FactorSCM) -> None:
        self.scm_ = scm
        self.graph_ = scm.graph
        self.abstraction_ = Abstraction(scm)
        self.status_ = result.status
        self.history_ = result.history
        self.fit_seconds_ = result.seconds
        self.support_ = self.consensus_ = None

    def _as_data(self, X: Any, interventions: Any) -> InterventionalData:
        return as_data(self, X, interventions)

    def _prepared(self, X: Any, interventions: Any, context: Any) -> Prepared:
        X, covariates = take_context(X, context)
        data = self._as_data(X, interventions)
        ready = prepare(self, data if covariates is None else data.with_context(covariates))
        self.columns_, self.reads_ = ready.columns, ready.reads
        return ready
