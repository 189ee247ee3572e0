"""Held-out regimes: functions fitted without an intervention, and what they then predict of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from ucad.claims.answers import Answer, Claim
from ucad.claims.ridge import Ridge, curves
from ucad.claims.samples import Rows, TestSamples

__all__ = ["held_out_regimes"]

MIN_REGIMES = 8
"""Regimes that it takes: two in each of four groups."""

MIN_ROWS = 20
"""Samples that a regime must have."""

N_GROUPS = 4
"""Groups of regimes that are left out in turn."""

MAX_ROWS = 100
"""Regimes that it takes, samples of each, groups that are left out in turn, samples looked at."""

MAX_VARIABLES = 100
"""Above it the functions are not fitted again: it would take longer than the rest together."""

GOOD, POOR = 0.8, 0.4
"""Explained shares of what interventions change: predictions are good from the first on."""

MIN_EFFECT = 0.02
"""Interventions that change less than this share of variance show nothing."""


def held_out_regimes(samples: TestSamples, seed: int) -> Claim:
    """Do functions fitted without an intervention predict what it does?

    The share explained is 1 − (E_model − E_noise) / (E_none − E_noise): mean squared errors of the
    free variables below the targets, of the model, of a true model (residuals drawn anew), and
    of a prediction of no change. Beside it stands a graph whose variables are permuted.
    """
    question = "Are interventions predicted that the functions were fitted without?"
    statement = 'The definition "Approximate transformation", on regimes left out'
    tests = _RegimeTests(samples)
    if samples.n_variables > MAX_VARIABLES or len(tests.regimes) < MIN_REGIMES:
        text = (
            f"Not tested: it takes {MIN_REGIMES} regimes of {MIN_ROWS} samples with something "
            f"below their targets, and at most {MAX_VARIABLES} variables."
        )
        return Claim("regimes", question, Answer.UNKNOWN, text, statement)
    errors = tests.errors(np.random.default_rng(seed))
    effect = errors["no_change"] - errors["noise"]
    if effect < MIN_EFFECT:
        text = "The interventions change too little below their targets to show anything."
        return Claim("regimes", question, Answer.UNKNOWN, text, statement, errors)
    explained = 1 - max(errors["model"] - errors["noise"], 0.0) / effect
    permuted = 1 - max(errors["permuted"] - errors["noise"], 0.0) / effect
    answer = Answer.YES if explained >= GOOD else Answer.PARTLY
    is_no_better = tests.is_permuted_another_graph and explained <= permuted
    answer = Answer.NO if explained < POOR or is_no_better else answer
    text = (
        f"Of what {len(tests.regimes)} interventions change below their targets, functions fitted "
        f"without them predict {explained:.0%} beyond noise; no change at all would be 0 %, a "
        f"graph with permuted variables {permuted:.0%}."
    )
    details = {**errors, "explained": explained, "explained_by_permuted": permuted}
    return Claim("regimes", question, answer, text, statement, details)


@dataclass(frozen=True, eq=False)
class _RegimeTests:
    samples: TestSamples

    @cached_property
    def regimes(self) -> list[int]:
        """The regimes that act on something that has effects, with enough samples."""
        found = []
        for label in range(len(self.samples.regime_names)):
            rows = np.flatnonzero(self.samples.regime == label)
            if len(rows) >= MIN_ROWS and len(self._below(rows)):
                found.append(label)
        return found

    @property
    def is_permuted_another_graph(self) -> bool:
        """Whether permuting the children changes the graph: not if all have the same factors."""
        R = self.samples.graph.R
        return len(np.unique(R[R.any(axis=1)], axis=0)) > 1

    def errors(self, rng: np.random.Generator) -> dict[str, float]:
        """Mean squared errors over all regimes, in units of the variables' variance."""
        sums = dict.fromkeys(("model", "noise", "no_change", "permuted"), 0.0)
        count = 0
        order = rng.permutation(self.regimes)
        for group in np.array_split(order, N_GROUPS):
            functions = self._functions(~np.isin(self.samples.regime, group))
            for label in group:
                rows = np.flatnonzero(self.samples.regime == label)[:MAX_ROWS]
                below = self._below(rows)
                sizes = self._regime_errors(functions, rows, below, rng)
                for name, size in sizes.items():
                    sums[name] += size * len(below)
                count += len(below)
        return {name: total / max(count, 1) for name, total in sums.items()}

    def _below(self, rows: Rows) -> Rows:
        """The free variables below the targets of a regime."""
        acted = self.samples.is_intervened[rows[0]]
        below = self.samples.is_descendant[acted].any(axis=0) & ~acted
        return np.flatnonzero(below)

    def _regime_errors(
        self, functions: _Functions, rows: Rows, below: Rows, rng: np.random.Generator
    ) -> dict[str, float]:
        samples = self.samples
        acted = samples.is_intervened[rows]
        truth = samples.x[rows]
        predicted = functions.solve(truth, acted, 0.0)
        drawn = functions.residual[rng.integers(len(functions.residual), size=len(rows))]
        noisy = functions.solve(truth, acted, drawn)
        unchanged = functions.solve(np.where(acted, 0.0, truth), np.zeros_like(acted), 0.0)
        made = np.flatnonzero(samples.graph.R.any(axis=1))
        shuffled = predicted.copy()
        shuffled[:, made] = predicted[:, rng.permutation(made)]
        pairs = {
            "model": (truth, predicted),
            "noise": (noisy, predicted),
            "no_change": (truth, unchanged),
            "permuted": (truth, shuffled),
        }
        return {
            name: float(((one - other)[:, below] ** 2).mean())
            for name, (one, other) in pairs.items()
        }

    def _functions(self, is_fitted: np.ndarray) -> _Functions:
        """x_j ≈ s_j(z_pa(j)), fitted on some of the samples."""
        samples = self.samples
        weights: list[tuple[Ridge, np.ndarray, float] | None] = []
        residual = np.zeros_like(samples.x[is_fitted])
        for j in range(samples.n_variables):
            rows = np.flatnonzero(is_fitted & ~samples.is_intervened[:, j])
            if len(samples.factors_of[j]) == 0 or len(rows) < MIN_ROWS:
                weights.append(None)
                continue
            ridge = Ridge(curves(samples.z[np.ix_(rows, samples.factors_of[j])], n_random=20))
            y = samples.x[rows, j]
            w = ridge.weights(y[:, None])[:, 0]
            weights.append((ridge, w, float(y.mean())))
            e = y - y.mean() - ridge.X @ w
            residual[:, j] = np.random.default_rng(j).choice(e, len(residual))
        return _Functions(samples, weights, residual)


@dataclass(frozen=True, eq=False)
class _Functions:
    samples: TestSamples
    weights: list[tuple[Ridge, np.ndarray, float] | None]
    residual: Float[np.ndarray, "samples variables"]

    def solve(
        self,
        x: Float[np.ndarray, "rows variables"],
        acted: np.ndarray,
        noise: Float[np.ndarray, "rows variables"] | float,
    ) -> Float[np.ndarray, "rows variables"]:
        """The variables in topological order; roots and what is acted on stay as they are in x."""
        samples, graph = self.samples, self.samples.graph
        values = x.copy()
        added = np.zeros_like(x) + noise
        for level in range(1, int(graph.variable_level.max(initial=0)) + 1):
            z = self._factors(values)
            for j in np.flatnonzero(graph.variable_level == level):
                function = self.weights[j]
                if function is None:
                    continue
                ridge, w, mean = function
                columns = curves(z[:, samples.factors_of[j]], n_random=20)
                new = mean + ridge.standardised(columns) @ w + added[:, j]
                values[:, j] = np.where(acted[:, j], values[:, j], new)
        return values

    def _factors(self, values: np.ndarray) -> np.ndarray:
        samples = self.samples
        raw = samples.scm.state_map(samples.mean + samples.sd * values).detach().cpu().numpy()
        return (raw - samples.z_mean) / samples.z_sd
