"""`UCAD`: fit, transform and score, as scikit-learn has it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, no_type_check

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

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
from ucad.data.given import as_factors, finite_values, take_column
from ucad.effects import RegimePredictions, predict_regimes
from ucad.inputs import as_data, check_has_regimes, check_no_target, clamped, samples_and_context
from ucad.interrupts import Request, deferred
from ucad.parameters import as_callable, as_path
from ucad.preparation import Prepared, prepare
from ucad.report.plots import Plots
from ucad.runs import load_run, save_run
from ucad.saving import restore, run_of, settings_of
from ucad.scm import Abstraction, FactorSCM, estimated_state
from ucad.solvers import FitResult, FitStatus
from ucad.solvers.registry import AUTO, Readout

if TYPE_CHECKING:
    from ucad.solvers.prior import PriorKnowledge

__all__ = ["UCAD", "load"]


class UCAD(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Learns a few latent factors and their causal model from measurements of many variables.

    Args:
        n_factors: how many factors to find (the paper's m), or `auto`: as few as leave nothing
            that held-out samples can show, and none where the data show none.
        solver: `auto` and `search` (regressions and the theory of anchors), `gradient`,
            `gradient-paper`; for dense layers of units, as in networks, `bottleneck`, `switch` or
            `rectified`.
        factor_mechanism: how factors are made of variables: `linear`, `mlp`, `spline`, or `auto`:
            linear unless held-out samples show that something is left.
        variable_mechanism: how variables are made of factors, the same.
        layers: the layer of every variable, where causes lie in earlier layers than effects.
        prior: edges that are known to be there, or not to be.
        context_acts_on: where the context of the samples acts: on `mechanisms`, on `readings` (what
            is measured of a variable, clamped or not), or `auto`: clamped samples tell.
        unmeasured: what is done about regimes whose targets are not measured: `keep` their samples
            as they are, `infer` what they act on (`acts_on_`), or `drop` them.
        standardise: fit on variables of mean 0 and variance 1; the model comes back in your units.
        validation_share: the part of the samples held out to choose between models.
        max_seconds: the time a fit may take; the best model found until then is returned, with a
            status that says so. None for no limit.
        measurement: how variables were read: `none` for without noise, `gaussian`, `counts`, or
            `auto` (counts where the values are counts); the linear search alone knows of noise.
        measurement_noise: the standard deviation of a `gaussian` reading, in the units of X, for
            all variables or for each.
        noise: the law of a variable given its factors: `gaussian`, `student`, `counts` (negative
            binomial), or `auto`: the one that held-out samples prefer.
        reads: what factors read of the values: themselves (`none`), their `log`, `log1p` or
            `rank` (normal scores), or `auto`: logarithms where held-out samples prefer them.
        random_state: random seed.
        device: where to compute; the gradient solvers alone use others than the CPU.
        progress: called with every `ProgressEvent`.
        n_runs: how many fits on parts of the samples tell what comes back (`support_`); 0 for none.
        n_jobs: how many of those at a time; −1 for one per CPU.
        runs_on: where: `local`, `ray`, or the address of a Ray cluster.
        readouts: for recordings of a network, by `bottleneck` and `switch`: the rest of the network
            after every layer but the first, from `ucad.networks.readouts`; not saved.

    Attributes:
        scm_: the fitted `FactorSCM`, in the units of the data.
        graph_: its `FactorGraph`.
        abstraction_: the low-level and the high-level model with τ and ω.
        status_: how the fit ended.
        certificate_: what may be claimed.
        history_: what happened on the way.
        support_: how often each factor and edge came back, None without `n_runs`.
        consensus_: that, the model of what is stable, and the models of all fits.
        columns_: which columns of X are which variables; identical ones are one variable.
        reads_: what factors read of each variable; the model is in these units.
        path_: with `n_factors="auto"`, what was found for every number of factors, as plain data;
            see `factor_path`.

    >>> import ucad
    >>> problem = ucad.paper_problem("a", "16-3", seed=0, n_samples=2000)
    >>> model = UCAD(n_factors=3, solver="search", factor_mechanism="linear",
    ...              variable_mechanism="linear").fit(problem.train)
    >>> model.transform(problem.test.x).shape
    (2000, 3)
    """

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
    ) -> UCAD:
        """Learns the factors.

        Args:
            X: an `InterventionalData`, or samples × variables (array or frame).
            y: ignored.
            interventions: what was clamped: a boolean matrix like X, the target(s) of every
                sample (a name, several joined by `;` or as a list, nothing for none), or the name
                of a column of X that holds them.
            context: what else is known of every sample, such as its batch: columns by name, an
                array, or the names of columns of X. It is never abstracted.
            checkpoint: a file for the state of a long fit, from which the same call resumes.
        """
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
        if not (result.status.converged and result.status.feasible):
            warnings.warn(str(result.status), ConvergenceWarning, stacklevel=2)
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
            warnings.warn(found.note, ConvergenceWarning, stacklevel=3)

    def transform(self, X: Any, context: Any = None) -> NDArray[np.float64]:
        """τ: the factors of given samples, at their context or at the average one.

        Of noisy readings it is a posterior mean (`ucad.scm.estimated_state`).
        """
        check_is_fitted(self)
        x, w = samples_and_context(self, X, context)
        return finite_values(estimated_state(self.scm_, x, w).z.cpu().numpy())

    def inverse_transform(self, Z: ArrayLike) -> NDArray[np.float64]:
        """F_X: the variables expected from given factors."""
        check_is_fitted(self)
        z = as_factors(Z, self.graph_.n_factors)
        x = finite_values(self.scm_.expected_variables(z).cpu().numpy())
        return self.columns_.expanded(self.reads_.measured(x))

    def score(self, X: Any, y: Any = None, interventions: Any = None) -> float:  # noqa: ARG002
        """The mean log-likelihood of a sample, clamped variables left out."""
        check_is_fitted(self)
        if isinstance(interventions, str):
            X, interventions = take_column(X, interventions)
        x, w = samples_and_context(self, X)
        own = isinstance(X, InterventionalData) and merged_as(X, self.graph_.variable_names)
        left_out = own.is_left_out if own else clamped(self, len(x), interventions)
        return float(finite_values(self.scm_.log_likelihood(x, left_out, w).cpu().numpy()).mean())

    def predict_regimes(self, X: InterventionalData) -> RegimePredictions:
        """What every regime of the data changes, predicted beside measured, with a scoreboard."""
        check_is_fitted(self)
        check_has_regimes(X)
        seen = {self.sample_.regime_names[r] for r in np.unique(self.sample_.regime)}
        data = merged_as(X, self.graph_.variable_names)
        data = data if X is self.sample_ else self.reads_.of(data)
        return predict_regimes(self.scm_, data, seen)

    @property
    def plot(self) -> Plots:
        """Figures of the fitted model: `graph()`, `heat_map()`, `factors()`, `predictions()`."""
        check_is_fitted(self)
        return Plots(self.scm_, self.sample_, self.support_, self.path_)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002
        """The names of the factors."""
        check_is_fitted(self)
        return np.array(self.graph_.factor_names, dtype=object)

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Writes a run folder: safetensors and JSON, read back by `ucad.load`."""
        check_is_fitted(self)
        save_run(run_of(self), as_path(folder, "folder"), force=force)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "scm_")

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


def load(folder: str | Path) -> UCAD:
    """Reads a fitted model from a run folder; runs no code from it."""
    run = load_run(as_path(folder, "folder"))
    model = UCAD(**settings_of(run, UCAD().get_params(deep=False)))
    restore(model, run)
    return model
