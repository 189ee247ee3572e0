"""Every regime as a model predicts it, beside what was measured and what simple rules predict."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from ucad.data import InterventionalData
from ucad.effects.baselines import Regressions, mean_of_others, no_change
from ucad.effects.measured import MeasuredChanges, measured_changes
from ucad.effects.prior import (
    evidence_share,
    evidence_weights,
    expected_change,
    expected_of_others,
    judges_of,
)
from ucad.scm import FactorSCM, at_average_context, hard

__all__ = ["METHODS", "RegimePredictions", "predict_regimes"]

METHODS = {
    "ucad": "all evidence, weighed",
    "model": "the model alone",
    "none": "no change",
    "mean": "mean of the other regimes",
    "linear": "regression on the target",
}
"""The predictions that are compared, as columns of the table."""

MAX_CONTROLS = 1_000
"""Control samples that the model is solved for: a mean is then known to 3% of a spread."""

Z_NOISE = 3.0
"""Standard deviations above noise from which on a regime is said to change something: by chance
one regime in several hundred."""

Z_95 = 1.96
"""Standard errors on either side of an interval of 95 %."""


@dataclass(frozen=True, eq=False)
class RegimePredictions:
    """Predicted and measured changes of every regime, in standard deviations of the controls.

    Attributes:
        changes: what was measured.
        predicted: method → regimes × variables; rows of NaN where a method has nothing to say.
        factors: predicted and measured changes of the factors and the error of the latter,
            3 × regimes × factors, in standard deviations of a factor in the controls.
        is_seen: whether the model was fitted to samples of the regime.
        weight: the share of each prediction that is the regime's own evidence, the rest being
            what the other regimes let expect.
        variable_names: one per variable.
        factor_names: one per factor.
    """

    changes: MeasuredChanges
    predicted: dict[str, Float[np.ndarray, "regimes variables"]]
    factors: Float[np.ndarray, "3 regimes factors"]
    is_seen: Bool[np.ndarray, " regimes"]
    weight: Float[np.ndarray, " regimes"]
    variable_names: tuple[str, ...]
    factor_names: tuple[str, ...]

    @cached_property
    def spread(self) -> Float[np.ndarray, "regimes variables"]:
        """How far measured changes were from predictions in the other regimes: RMS per variable.

        Half of it is that of all variables together, so that few regimes do not mislead.
        """
        missed = (self.predicted["ucad"] - self.changes.change) ** 2
        missed = np.where(self.changes.targets, np.nan, missed)
        rows = []
        for row in range(len(missed)):
            rest = missed[self.changes.others(row)]
            pooled = np.nanmean(rest) if rest.size else 0.0
            own = np.where(np.isnan(rest), pooled, rest).mean(axis=0) if rest.size else pooled
            rows.append(np.sqrt((own + pooled) / 2) + 0 * self.changes.error[row])
        return np.maximum(np.stack(rows), self.changes.error)

    @property
    def scoreboard(self) -> list[dict[str, Any]]:
        """A row per regime: the error of each method over all variables but the targets.

        The error is √(mean over variables of (predicted − measured)²), and `noise` is what a
        perfect prediction would have. `r` is the correlation over the same variables.
        """
        return [self._scores(row) for row in range(len(self.changes.names))]

    def _scores(self, row: int) -> dict[str, Any]:
        free, measured = ~self.changes.targets[row], self.changes.change[row]
        noise = self.changes.error[row][free]
        errors, r = {}, {}
        for method, values in self.predicted.items():
            value = values[row]
            known = np.isfinite(value).all() and free.any()
            missed = float(np.sqrt(np.mean((value - measured)[free] ** 2))) if known else None
            errors[method] = missed
            r[method] = _correlation(value[free], measured[free]) if known else None
        simple = [e for name in ("none", "mean", "linear") if (e := errors[name]) is not None]
        return {
            "regime": self.changes.names[row],
            "n_samples": int(self.changes.n_samples[row]),
            "held_out": not bool(self.is_seen[row]),
            "measured_target": bool(self.changes.targets[row].any()),
            "weight": float(self.weight[row]),
            "noise": float(np.sqrt((noise**2).sum() / max(len(noise), 1))),
            "error": errors,
            "r": r,
            "changes": self._changes(row),
            "beats_all": errors["ucad"] is not None and errors["ucad"] < min(simple),
        }

    def _changes(self, row: int) -> bool:
        """Whether any of a regime's changes can be told from noise, its targets left out.

        Under noise alone Σ_j (change_j / error_j)² has mean n and variance 2 n.
        """
        free = ~self.changes.targets[row] & (self.changes.error[row] > 0)
        square = (self.changes.change[row][free] / self.changes.error[row][free]) ** 2
        return bool(square.sum() > free.sum() + Z_NOISE * np.sqrt(2 * free.sum()))

    def rows(self, regime: str) -> list[dict[str, Any]]:
        """What is predicted and was measured in one regime, of every factor and variable."""
        row = self.changes.names.index(regime)
        table = [
            {
                "kind": "factor",
                "name": name,
                "predicted": float(self.factors[0, row, k]),
                "measured": float(self.factors[1, row, k]),
                "measured_error": float(self.factors[2, row, k]),
            }
            for k, name in enumerate(self.factor_names)
        ]
        low_high = Z_95 * self.spread[row]
        for j, name in enumerate(self.variable_names):
            predicted = float(self.predicted["ucad"][row, j])
            table.append(
                {
                    "kind": "target" if self.changes.targets[row, j] else "variable",
                    "name": name,
                    "predicted": predicted,
                    "low": predicted - float(low_high[j]),
                    "high": predicted + float(low_high[j]),
                    "measured": float(self.changes.change[row, j]),
                    "measured_error": float(self.changes.error[row, j]),
                }
            )
        return table

    @property
    def coverage(self) -> float:
        """The share of measured changes that lie in the interval of their prediction."""
        free = ~self.changes.targets
        missed = np.abs(self.predicted["ucad"] - self.changes.change)
        return float((missed <= Z_95 * self.spread)[free].mean()) if free.any() else 1.0

    @property
    def verdicts(self) -> list[str]:
        """What the scoreboard comes to, in sentences."""
        rows = self.scoreboard
        held_out = [row for row in rows if row["held_out"]]
        judged = [row for row in held_out or rows if row["changes"]]
        best = [row["regime"] for row in judged if row["beats_all"]]
        others = [row["regime"] for row in judged if not row["beats_all"]]
        n_asked = len(held_out or rows)
        which = "held-out regimes" if held_out else "regimes, all of which the model was fitted to"
        told = [
            f"Of {n_asked} {which}, {len(judged)} change the means of other variables by more than "
            f"noise. The model beats every simple prediction in {len(best)} of them."
        ]
        if not judged:
            told = [
                f"Of {n_asked} {which}, none changes the mean of another variable by more than "
                "noise, so means cannot tell good predictions from bad ones here; single samples "
                "can (see the claims)."
            ]
        if others:
            more = f" and {len(others) - 8} more" if len(others) > 8 else ""
            told.append(f"It does not in: {', '.join(others[:8])}{more}.")
        share = f"{self.coverage:.0%} of the measured changes lie in the predicted 95% interval."
        return [*told, share]

    def to_json(self) -> dict[str, Any]:
        """Everything, as JSON holds it."""
        names = self.changes.names
        return {
            "methods": METHODS,
            "scoreboard": self.scoreboard,
            "coverage": self.coverage,
            "regimes": {name: self.rows(name) for name in names},
        }


def predict_regimes(
    scm: FactorSCM, data: InterventionalData, seen: Collection[str] = ()
) -> RegimePredictions:
    """Predicts what every regime of the data changes, and compares with what it did.

    The model's own prediction takes the controls, sets the targets to the values that they had in
    the regime (that is what was done), and lets the model work out the rest. Beside it stands the
    regression of every variable on the target, alone where the model was not fitted to the regime
    and lets its targets move nothing, and the mean change of the other regimes. How much each
    counts is learned from the other regimes, each predicted as if it were new; without a measured
    target that mean stands alone. A context that the model knows is taken off first.

    Args:
        scm: the model, in the units of the data.
        data: controls and regimes, seen or not.
        seen: the names of regimes that the model was fitted to.
    """
    data = at_average_context(scm, data)
    changes = measured_changes(data)
    own, factors = _by_model(scm, data, changes)
    regressions = Regressions(data, changes)
    predicted = {name: np.full(changes.change.shape, np.nan) for name in METHODS}
    weight, is_seen = np.zeros(len(own)), np.isin(changes.names, list(seen))
    for row in range(len(own)):
        linear = regressions.change(row)
        predicted["model"][row], predicted["none"][row] = own[row], no_change(changes)
        predicted["mean"][row] = mean_of_others(changes, row)
        expected = expected_change(changes, row)
        if linear is not None:
            predicted["linear"][row] = linear
            # A model that was shown what acting on the target does says that it does nothing.
            is_silent = not is_seen[row] and not own[row][~changes.targets[row]].any()
            weights = _weights(changes, regressions, own, row, is_silent=is_silent)
            evidence = weights[:2] @ np.stack([own[row], linear])
            expected = weights[2] * expected
            weight[row] = evidence_share(evidence, expected)
            expected = expected + evidence
        predicted["ucad"][row] = np.where(changes.targets[row], changes.change[row], expected)
    return RegimePredictions(
        changes,
        predicted,
        factors,
        is_seen,
        weight,
        data.variable_names,
        scm.graph.factor_names,
    )


def _weights(
    changes: MeasuredChanges,
    regressions: Regressions,
    own: Float[np.ndarray, "regimes variables"],
    row: int,
    *,
    is_silent: bool,
) -> Float[np.ndarray, " kinds"]:
    """How much the model, the regression and what to expect count, judged by other regimes.

    Beforehand the model is believed, unless it is silent. Where no evidence can be judged it
    counts alone, or what to expect if it is silent.
    """
    judges = judges_of(changes, row)
    linear = [regressions.change(int(one), row) for one in judges]
    known = [np.zeros(own.shape[1]) if one is None else one for one in linear]
    models = np.zeros_like(own[judges]) if is_silent else own[judges]
    evidence = np.stack([models, np.reshape(known, models.shape)])
    believed = None if is_silent else np.array([1.0, 0.0, 0.0])
    if not evidence.any():
        return np.array([0.0, 0.0, 1.0]) if believed is None else believed
    kinds = np.concatenate([evidence, expected_of_others(changes, row, judges)[None]])
    return evidence_weights(changes, judges, kinds, believed)


def _by_model(
    scm: FactorSCM, data: InterventionalData, changes: MeasuredChanges
) -> tuple[np.ndarray, np.ndarray]:
    """What the model alone predicts of variables, and of factors beside what was measured."""
    rest = data.select(changes.control[:MAX_CONTROLS])
    context = scm.abduct(rest.x, rest.is_left_out)
    before = scm.solve(context)
    z_rest = scm.state_map(data.x[changes.control]).detach().cpu().numpy()
    z_mean, z_sd = z_rest.mean(axis=0), z_rest.std(axis=0)
    z_sd = np.where(z_sd > 1e-12, z_sd, 1.0)
    own, factors = np.zeros(changes.change.shape), []
    for row, number in enumerate(changes.regimes.tolist()):
        x = data.x[data.regime == number]
        drawn = np.arange(len(rest)) % len(x)
        targets = np.flatnonzero(changes.targets[row])
        values = {data.variable_names[j]: scm.tensor(x[drawn][:, [j]])[:, 0] for j in targets}
        after = scm.solve(context, hard(values))
        own[row] = (after.x - before.x).mean(dim=0).detach().cpu().numpy() / changes.sd
        z = scm.state_map(x).detach().cpu().numpy()
        expected = (after.z - before.z).mean(dim=0).detach().cpu().numpy() / z_sd
        error = np.sqrt(z.var(axis=0) / len(z) / z_sd**2 + 1 / len(z_rest))
        factors.append([expected, (z.mean(axis=0) - z_mean) / z_sd, error])
    return own, np.swapaxes(np.array(factors).reshape(len(own), 3, -1), 0, 1)


def _correlation(one: np.ndarray, other: np.ndarray) -> float | None:
    if len(one) < 3 or one.std() <= 1e-12 or other.std() <= 1e-12:
        return None
    return float(np.corrcoef(one, other)[0, 1])
