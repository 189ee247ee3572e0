"""How well a fitted model predicts: unseen samples, and what interventions do to the factors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ucad.claims.answers import Answer, Claim, figure, percent
from ucad.claims.samples import TestSamples
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.scm import Abstraction, FactorSCM, hard
from ucad.scm.bound import error_bound, propagation
from ucad.scm.factor_scm import VARIANCE_FLOOR

__all__ = ["abstraction_error", "exactness", "held_out_fit"]

SIGMAS = 3.0
"""How many standard errors a gain in likelihood must exceed."""

SMALL_EXCESS, LARGE_EXCESS = 0.05, 0.25
"""Shares of the factors' variance: Δ̂ beyond the noise is small up to the first, large above the
second. Right models fitted to 6,000 samples stay below .02."""

LOOSE = 100
"""A bound so many times the error is of no use."""

ROUNDING = 1e-8
"""Differences below this are rounding in double precision after several matrix products."""

MAX_SOLVED_ENTRIES = 400_000
"""Samples × variables that Δ̂ is measured on; every regime is solved level by level, so of large
models few regimes are. Exactness holds by construction and is tried on a tenth of it."""

MAX_ROWS_PER_REGIME = 200
"""Samples solved per regime: an error is known to 10 % then."""

MAX_INTERVENTIONS = 20
"""Interventions on which exactness is tried; it holds by construction."""

N_CONTEXTS = 30
"""Draws of the noise per intervention for exactness."""


def held_out_fit(samples: TestSamples) -> Claim:
    """Does the model predict better than one without factors?

    Without factors, every variable is Gaussian with its mean and variance over fitting rows.
    """
    scm, fold = samples.scm, samples.folds[0]
    x, free = samples.x[fold.test], ~samples.is_intervened[fold.test]
    noise = (scm.noise_scale**2).clamp_min(VARIANCE_FLOOR).detach().cpu().numpy()
    unit = np.log(samples.sd)  # densities are reported in the variables' own units
    model = (_log_density(samples.residual[fold.test], noise / samples.sd**2) - unit) * free
    mean, variance = _alone(samples.x[fold.fit], ~samples.is_intervened[fold.fit])
    alone = (_log_density(x - mean, variance) - unit) * free
    count = max(1, int(free.sum()))
    nll = {"model": -float(model.sum()) / count, "without_factors": -float(alone.sum()) / count}
    gain = (model - alone).sum(axis=1)
    size = max(1.0, float(np.abs(gain).max(initial=0.0)))  # an outlier's square may be too large
    error = size * float((gain / size).std()) / math.sqrt(max(1, len(gain)))
    made = scm.graph.R.any(axis=1)
    details = {
        "held_out": samples.held_out,
        "n_samples": len(x),
        "nll_per_variable": nll,
        "gain_per_sample": float(gain.mean()),
        "standard_error": error,
        "variables_with_parents": int(made.sum()),
        "of_them_better_predicted": int((((model - alone).sum(axis=0) > 0) & made).sum()),
    }
    return _fit_claim(details, bool(gain.mean() > SIGMAS * error))


def _fit_claim(details: dict[str, Any], better: bool) -> Claim:
    nll, unseen = details["nll_per_variable"], details["held_out"]
    numbers = (
        f"negative log-likelihood per variable {nll['model']:.3f} nats, against "
        f"{nll['without_factors']:.3f} without factors; {details['of_them_better_predicted']} of "
        f"{details['variables_with_parents']} variables that factors make are predicted better "
        "than by their mean"
    )
    where = "data it has not seen" if unseen else "the data it was fitted to"
    if not better:
        text = f"The factors do not help to predict {where}: {numbers}. Nothing may be claimed."
        answer = Answer.NO
    else:
        weak = "" if unseen else ", which is weak evidence"
        text = f"The factors help to predict {where}{weak}: {numbers}."
        answer = Answer.YES if unseen else Answer.PARTLY
    question = "Do the factors help to predict data the model has not seen?"
    return Claim(
        "fit", question, answer, text, 'The score S of section "Learning objective"', details
    )


def _alone(x: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    count = np.maximum(free.sum(axis=0), 1)
    mean = (x * free).sum(axis=0) / count
    return mean, np.maximum(((x - mean) ** 2 * free).sum(axis=0) / count, VARIANCE_FLOOR)


def _log_density(error: np.ndarray, variance: np.ndarray) -> np.ndarray:
    return np.asarray(-0.5 * (error**2 / variance + np.log(2 * np.pi * variance)))


def exactness(scm: FactorSCM, data: InterventionalData, seed: int) -> Claim:
    """Is ℋ, with τ and ω, an exact causal abstraction of ℒ, in the model itself?"""
    abstraction, context = Abstraction(scm), scm.draw_context(N_CONTEXTS, seed)
    size = float(scm.solve(context).z.abs().max()) if scm.graph.n_factors else 0.0
    most = min(MAX_INTERVENTIONS, 1 + MAX_SOLVED_ENTRIES // (10 * N_CONTEXTS * data.n_variables))
    targets = data.targets[np.unique(data.regime)][:most]
    gaps = [
        abstraction.gap(context, {data.variable_names[j]: 1.0 for j in np.flatnonzero(row)})
        for row in targets
    ]
    largest = max(gaps, default=0.0)
    commutes = largest <= ROUNDING * max(1.0, size)
    text = (
        "In the model, acting on variables and then reading the factors gives the same as acting "
        f"on the factors directly (largest difference {largest:.1e}, over {len(gaps)} of the "
        "interventions in the data)."
        if commutes
        else "The two levels of the model disagree about what an intervention does (by up to "
        f"{largest:.1e}). This should not happen; please report it."
    )
    return Claim(
        "exact",
        "Do the two levels of the model agree on what interventions do?",
        Answer.YES if commutes else Answer.NO,
        text,
        'Theorem "Uniform transformation"',
        {"largest_difference": largest, "n_interventions": len(gaps), "n_contexts": N_CONTEXTS},
    )


def abstraction_error(scm: FactorSCM, data: InterventionalData, seed: int) -> Claim:
    """Δ̂ beyond the noise that a true model has too, overall and for every intervention.

    Δ̂ = E ‖τ(x) − Solve(ℋ^ω(i); u)‖² with the noise of variables with parents at 0. A true model
    misses x by that noise as well: its part is E ‖Solve(ℋ^ω(i); u + e) − Solve(ℋ^ω(i); u)‖², with
    residuals e drawn from the data. The excess is the difference of the two.
    """
    question = "Does the small model predict what the interventions did to the factors?"
    statement = 'Theorem "Approximate transformation bound", less the noise of a true model'
    if not scm.graph.n_factors:
        text = "There are no factors to predict."
        return Claim("error", question, Answer.UNKNOWN, text, statement)
    rows = _errors_by_regime(scm, data, np.random.default_rng(seed))
    some = data.x[: MAX_SOLVED_ENTRIES // data.n_variables]
    variance = float(scm.state_map(some).var(dim=0, correction=0).sum()) if len(data) else 0.0
    if not rows or variance <= 0:
        text = "The factors do not vary, so an error has nothing to be compared with."
        return Claim("error", question, Answer.UNKNOWN, text, statement)
    weight = np.array([row["n_samples"] for row in rows], dtype=np.float64)
    overall = {
        name: float(np.average([row[name] for row in rows], weights=weight))
        for name in ("error", "noise")
    }
    overall["excess"] = (overall["error"] - overall["noise"]) / variance
    for row in rows:
        row["excess"] = (row["error"] - row["noise"]) / variance
    excess = overall["excess"]
    answer = Answer.YES if excess <= SMALL_EXCESS else Answer.PARTLY
    answer = Answer.NO if excess > LARGE_EXCESS else answer
    bound = _bound(scm, data)
    text = _error_text(overall, rows, bound, variance)
    if not scm.graph.factor_adjacency.any():
        answer = Answer.UNKNOWN
        text += (
            " No factor acts on another here, so that is true by construction: it shows nothing."
        )
    details = {
        "overall": overall,
        "bound": bound,
        "factor_variance": variance,
        "by_intervention": rows,
    }
    return Claim("error", question, answer, text, statement, details)


def _errors_by_regime(
    scm: FactorSCM, data: InterventionalData, rng: np.random.Generator
) -> list[dict[str, Any]]:
    abstraction, rows = Abstraction(scm), []
    data = data.select(rng.permutation(data.n_samples)[: MAX_SOLVED_ENTRIES // data.n_variables])
    residual = scm.abduct(data.x, data.is_intervened)
    has_parents = torch.from_numpy(scm.graph.R.any(axis=1))
    present = np.unique(data.regime)
    for label in present[: max(8, MAX_SOLVED_ENTRIES // (100 * data.n_variables))]:
        part = data.select(np.flatnonzero(data.regime == label)[:MAX_ROWS_PER_REGIME])
        x = scm.tensor(part.x)
        targets = np.flatnonzero(part.is_intervened[0])
        image = abstraction.intervention_map(
            hard({data.variable_names[j]: x[:, j] for j in targets})
        )
        context = abstraction.data_context(part)
        predicted = abstraction.high_level.solve(context, image)
        drawn = residual[torch.from_numpy(rng.integers(data.n_samples, size=len(x)))]
        noisy = abstraction.high_level.solve(context + drawn * has_parents.to(drawn), image)
        rows.append(
            {
                "intervention": data.regime_names[label],
                "n_samples": len(x),
                "error": _distance(scm.state_map(x), predicted),
                "noise": _distance(noisy, predicted),
            }
        )
    return rows


def _distance(one: Tensor, other: Tensor) -> float:
    return float(((one - other) ** 2).sum(dim=1).mean())


def _bound(scm: FactorSCM, data: InterventionalData) -> float | None:
    """What the theorem guarantees, if the Lipschitz constants are known."""
    try:
        some = data.select(np.arange(min(data.n_samples, MAX_SOLVED_ENTRIES // data.n_variables)))
        bound = error_bound(scm, some, growth=propagation(scm)).matrix
    except InvalidInputError:
        return None
    return bound if math.isfinite(bound) else None


def _error_text(
    overall: dict[str, float], rows: list[dict[str, Any]], bound: float | None, variance: float
) -> str:
    worst = max(rows, key=lambda row: row["excess"])
    loose = bound is None or bound > LOOSE * overall["error"]
    guaranteed = "no finite number" if bound is None else figure(bound)
    return (
        f"The error Δ̂ is {figure(overall['error'])}, {percent(overall['error'] / variance, 1)} "
        f"of the factors' total variance; a true model would have {figure(overall['noise'])} "
        f"from noise alone, so {percent(overall['excess'], 1)} of the variance is the model's "
        f"own. That is largest, {percent(worst['excess'], 1)}, in the regime "
        f"'{worst['intervention']}'. The theorem guarantees at most "
        f"{guaranteed}{', far too loose to be of use here' if loose else ''}."
    )
