"""What interventions did, beside what the model and functions fitted without them predict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import torch
from jaxtyping import Float

from ucad.claims.answers import Answer, Claim, percent
from ucad.claims.explained import Effect, effect_of, explained_answer, pooled
from ucad.claims.ridge import Ridge, curves
from ucad.claims.samples import Rows, TestSamples

__all__ = ["held_out_regimes", "predicted_effects"]

MIN_REGIMES = 8
"""Regimes that it takes to leave some out: two in each of four groups."""

MIN_ROWS = 20
"""Samples that a regime must have."""

N_GROUPS = 4
"""Groups of regimes that are left out in turn."""

MAX_ROWS = 200
"""Samples of a regime that are looked at: an effect is known to a tenth of a spread then."""

MAX_ENTRIES = 4_000_000
"""Samples × variables that are predicted, at most: of large models some regimes only."""

MAX_VARIABLES = 100
"""Above it the functions are not fitted again: it would take longer than the rest together."""

N_RANDOM_FEATURES = 20
"""Random tanh features of the functions that are fitted again."""

Samples = Float[np.ndarray, "_ _"]
Function = Callable[[Samples, Rows], Samples]
"""From standardised factors and the variables wanted to these, standardised."""


def predicted_effects(samples: TestSamples, seed: int) -> Claim:
    """Does the model predict what interventions do to all variables, in unseen samples?

    The share explained is 1 − missed / signal over all regimes (see `effect_of`): no effect at all
    is 0 %. Every variable that was free counts, whether or not the model has it below the targets,
    and nothing that the model calls noise is taken off; so the size of F_X is tested as well.
    """
    question = "Does the model predict what interventions do to the variables?"
    statement = 'The definition "Approximate transformation", at the low level, in unseen samples'
    tests = _RegimeTests(samples, np.concatenate([fold.test for fold in samples.folds]), seed)
    if not tests.regimes:
        text = f"Not tested: no regime acts on something in {MIN_ROWS} unseen samples or more."
        return Claim("effects", question, Answer.UNKNOWN, text, statement)
    return tests.claim("effects", question, statement, tests.effects(tests.own, tests.regimes))


def held_out_regimes(samples: TestSamples, seed: int) -> Claim:
    """Do functions fitted without an intervention predict what it does?

    The regimes are left out in four groups, F_X is fitted to the others as smooth functions of the
    factors, and the share explained is that of `predicted_effects`.
    """
    question = "Are interventions predicted that the functions were fitted without?"
    statement = 'The definition "Approximate transformation", on regimes left out'
    tests = _RegimeTests(samples, np.arange(len(samples.x)), seed)
    if samples.n_variables > MAX_VARIABLES or len(tests.regimes) < MIN_REGIMES:
        text = (
            f"Not tested: it takes {MIN_REGIMES} regimes of {MIN_ROWS} samples that act on "
            f"something, and at most {MAX_VARIABLES} variables."
        )
        return Claim("regimes", question, Answer.UNKNOWN, text, statement)
    order = np.random.default_rng(seed).permutation(tests.regimes)
    effects = []
    for group in np.array_split(order, N_GROUPS):
        function = tests.fitted(~np.isin(samples.regime, group))
        effects += tests.effects(function, [int(label) for label in group])
    return tests.claim("regimes", question, statement, effects)


@dataclass(frozen=True, eq=False)
class _RegimeTests:
    """Regimes over some of the samples."""

    samples: TestSamples
    rows: Rows
    seed: int

    @cached_property
    def rows_of(self) -> dict[int, Rows]:
        """The samples of every regime that acts on something, if they are enough."""
        regime, found = self.samples.regime[self.rows], {}
        for label in range(len(self.samples.regime_names)):
            rows = self.rows[regime == label]
            if len(rows) >= MIN_ROWS and self.samples.is_intervened[rows[0]].any():
                found[label] = rows[:MAX_ROWS]
        return found

    @cached_property
    def regimes(self) -> list[int]:
        """The regimes that are looked at."""
        budget = MAX_ENTRIES // self.samples.n_variables
        labels = np.array(list(self.rows_of), dtype=np.int64)
        order = np.random.default_rng(self.seed).permutation(labels)
        counts = np.cumsum([len(self.rows_of[int(label)]) for label in order])
        return sorted(int(label) for label in order[counts <= budget])

    def baseline(self, label: int) -> Float[np.ndarray, " variables"]:
        """The mean of every variable where it is free, over all other regimes."""
        samples = self.samples
        free = ~samples.is_intervened & (samples.regime != label)[:, None]
        return (samples.x * free).sum(axis=0) / np.maximum(free.sum(axis=0), 1)

    @property
    def is_permuted_another_graph(self) -> bool:
        """Whether permuting the children changes the graph: not if all have the same factors."""
        R = self.samples.graph.R
        return len(np.unique(R[R.any(axis=1)], axis=0)) > 1

    @cached_property
    def own(self) -> Function:
        """The model's F_X."""
        samples, scm = self.samples, self.samples.scm
        z_sd = np.where(np.isfinite(samples.z_sd), samples.z_sd, 0.0)

        def function(z: Samples, wanted: Rows) -> Samples:
            values = scm.variable_mechanism(
                scm.tensor(samples.z_mean + z_sd * z), torch.from_numpy(wanted)
            )
            return (values.detach().cpu().numpy() - samples.mean[wanted]) / samples.sd[wanted]

        return function

    def fitted(self, is_fitted: np.ndarray) -> Function:
        """x_j ≈ s_j(z_pa(j)), fitted on some of the samples."""
        samples = self.samples
        smooth = partial(curves, n_random=N_RANDOM_FEATURES)
        found: dict[int, tuple[Ridge, np.ndarray, float]] = {}
        for j, factors in enumerate(samples.factors_of):
            rows = np.flatnonzero(is_fitted & ~samples.is_intervened[:, j])
            if len(factors) and len(rows) >= MIN_ROWS:
                ridge, y = Ridge(smooth(samples.z[np.ix_(rows, factors)])), samples.x[rows, j]
                found[j] = ridge, ridge.weights(y[:, None])[:, 0], float(y.mean())

        def function(z: Samples, wanted: Rows) -> Samples:
            values = np.zeros((len(z), len(wanted)))
            for at, j in enumerate(wanted):
                if int(j) in found:
                    ridge, w, mean = found[int(j)]
                    columns = smooth(z[:, samples.factors_of[j]])
                    values[:, at] = mean + ridge.standardised(columns) @ w
            return values

        return function

    def effects(self, function: Function, labels: Sequence[int]) -> list[Effect]:
        """What each of the regimes did, and what is predicted of it."""
        samples, rng = self.samples, np.random.default_rng(self.seed)
        parts = [self.rows_of[label] for label in labels]
        rows = np.concatenate(parts)
        predicted = self.solve(function, rows, rng)
        made = np.flatnonzero(samples.graph.R.any(axis=1))
        order = np.arange(samples.n_variables)
        order[made] = np.roll(made, max(1, len(made) // 2))
        ends = np.cumsum([len(part) for part in parts])
        return [
            effect_of(
                samples.x[part],
                predicted[end - len(part) : end],
                self.baseline(label),
                samples.is_intervened[part[0]],
                order,
            )
            for label, part, end in zip(labels, parts, ends, strict=True)
        ]

    def solve(self, function: Function, rows: Rows, rng: np.random.Generator) -> Samples:
        """The variables in topological order; only what is acted on stays as it is.

        Every other variable gets a residual of another sample, drawn anew. Its own must not be
        kept: that holds whatever the intervention did to it and the model does not know.
        """
        samples, graph = self.samples, self.samples.graph
        acted = samples.is_intervened[rows]
        values = np.where(acted, samples.x[rows], 0.0)
        for level in range(int(graph.variable_level.max(initial=0)) + 1):
            own = samples.scm.state_map(samples.mean + samples.sd * values)
            z = (own.detach().cpu().numpy() - samples.z_mean) / samples.z_sd
            wanted = np.flatnonzero(graph.variable_level == level)
            new = function(z, wanted)
            for at, j in enumerate(wanted):
                free = np.flatnonzero(~samples.is_intervened[:, j])
                if len(free):
                    new[:, at] += samples.residual[rng.choice(free, len(rows)), j]
            values[:, wanted] = np.where(acted[:, wanted], values[:, wanted], new)
        return values

    def claim(self, key: str, question: str, statement: str, effects: list[Effect]) -> Claim:
        """The answer, and what it rests on."""
        total = pooled(effects)
        answer = explained_answer(effects, is_permuted_another=self.is_permuted_another_graph)
        details = {
            "n_interventions": len(effects),
            "signal": total.signal,
            "missed": total.missed,
            "explained": total.explained if total.is_seen else None,
            "standard_error": total.error if total.is_seen else None,
            "explained_by_permuted": total.explained_by_permuted if total.is_seen else None,
            "n_missed_by_half": sum(one.is_missed for one in effects),
        }
        if not total.is_seen:
            text = "The interventions change too little to show anything."
            if answer is Answer.NO:
                text = "Interventions of which effects are predicted do nothing that could be seen."
        else:
            text = (
                f"The model predicts {percent(min(total.explained, 1.0))} "
                f"(± {percent(2 * total.error)}) of what {len(effects)} interventions do to all "
                "other variables, beyond noise. Predicting no effect scores 0%; the same graph "
                f"with permuted variables, {percent(total.explained_by_permuted)}."
            )
            missed = details["n_missed_by_half"]
            if missed:
                text += f" Of {missed}, less than half is predicted."
        return Claim(key, question, answer, text, statement, details)
