"""`UCAD`: fit, transform and score, as scikit-learn has it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning

from ucad.data import InterventionalData
from ucad.data.duplicates import merged_as
from ucad.data.given import as_factors, finite_values
from ucad.effects import RegimePredictions, predict_regimes
from ucad.inputs import check_has_regimes, samples_and_context
from ucad.learner import Learner
from ucad.parameters import as_path
from ucad.report.plots import Plots
from ucad.runs import load_run
from ucad.saving import restore, settings_of
from ucad.scm import estimated_state

__all__ = ["UCAD", "load"]


class UCAD(Learner, TransformerMixin, BaseEstimator):  # type: ignore[misc]
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
        super().fit(X, y, interventions, context=context, checkpoint=checkpoint)
        status, note = self.status_, "" if self.consensus_ is None else self.consensus_.note
        if note:
            warnings.warn(note, ConvergenceWarning, stacklevel=2)
        if not (status.converged and status.feasible) and status.reason != note:
            warnings.warn(str(status), ConvergenceWarning, stacklevel=2)
        return self

    def transform(self, X: Any, context: Any = None) -> NDArray[np.float64]:
        """τ: the factors of given samples, at their context or at the average one.

        Of noisy readings it is a posterior mean (`ucad.scm.estimated_state`).
        """
        self._check_is_fitted()
        x, w = samples_and_context(self, X, context)
        return finite_values(estimated_state(self.scm_, x, w).z.cpu().numpy())

    def inverse_transform(self, Z: ArrayLike) -> NDArray[np.float64]:
        """F_X: the variables expected from given factors."""
        self._check_is_fitted()
        z = as_factors(Z, self.graph_.n_factors)
        x = finite_values(self.scm_.expected_variables(z).cpu().numpy())
        return self.columns_.expanded(self.reads_.measured(x))

    def predict_regimes(self, X: InterventionalData) -> RegimePredictions:
        """What every regime of the data changes, predicted beside measured, with a scoreboard."""
        self._check_is_fitted()
        check_has_regimes(X)
        seen = {self.sample_.regime_names[r] for r in np.unique(self.sample_.regime)}
        data = merged_as(X, self.graph_.variable_names)
        data = data if X is self.sample_ else self.reads_.of(data)
        return predict_regimes(self.scm_, data, seen)

    @property
    def plot(self) -> Plots:
        """Figures of the fitted model: `graph()`, `heat_map()`, `factors()`, `predictions()`."""
        self._check_is_fitted()
        return Plots(self.scm_, self.sample_, self.support_, self.path_)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002
        """The names of the factors."""
        self._check_is_fitted()
        return np.array(self.graph_.factor_names, dtype=object)


def load(folder: str | Path) -> UCAD:
    """Reads a fitted model from a run folder; runs no code from it."""
    run = load_run(as_path(folder, "folder"))
    model = UCAD(**settings_of(run, UCAD().get_params(deep=False)))
    restore(model, run)
    return model
