"""Claims about how well a fitted model predicts: variables, and what interventions do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.scm.abstraction import Abstraction, RegimeError
from ucad.scm.certificate.claims import Answer, Claim, figure
from ucad.scm.factor_scm import VARIANCE_FLOOR, FactorSCM

__all__ = ["abstraction_error", "exactness", "held_out_fit"]

SIGMAS = 3.0
"""How many standard errors a gain in likelihood must exceed."""

SMALL_ERROR, LARGE_ERROR = 0.1, 0.5
"""Shares of the factors' variance: Δ̂ up to the first is small, above the second large."""

LOOSE = 100
"""A bound so many times the error is of no use."""

ROUNDING = 1e-8
N_PERMUTATIONS = 10
MOST_INTERVENTIONS = 20
N_CONTEXTS = 30


def held_out_fit(
    scm: FactorSCM, data: InterventionalData, held_out: InterventionalData | None, seed: int
) -> Claim:
    """Does the model predict better than one without factors, and than on permuted data?

    Without factors: every variable Gaussian with its mean and variance in `data`. Permuted: the
    values of every variable, where it is not clamped, against the predictions from the factors.
    """
    test = data if held_out is None else held_out
    x, free = test.x, ~test.is_intervened
    variance = (scm.noise_scale**2).clamp_min(VARIANCE_FLOOR).detach().cpu().numpy()
    predicted = scm.expected_variables(scm.state_map(x)).detach().cpu().numpy()
    mean_alone, variance_alone = _alone(data)
    model = _log_density(x, predicted, variance) * free
    alone = _log_density(x, mean_alone, variance_alone) * free
    rng = np.random.default_rng(seed)
    permuted = [
        float((_log_density(_permuted(x, free, rng), predicted, variance) * free).sum())
        for _ in range(N_PERMUTATIONS)
    ]
    count = max(1, int(free.sum()))
    nll = {
        "model": -float(model.sum()) / count,
        "without_factors": -float(alone.sum()) / count,
        "permuted": -float(np.mean(permuted)) / count,
    }
    gain = (model - alone).sum(axis=1)
    error = float(gain.std()) / math.sqrt(max(1, len(gain)))
    better = bool(gain.mean() > SIGMAS * error) and nll["model"] < nll["permuted"]
    better_for = (model - alone).sum(axis=0) > 0
    made = scm.graph.R.any(axis=1)
    details = {
        "held_out": held_out is not None,
        "n_samples": test.n_samples,
        "nll_per_variable": nll,
        "gain_per_sample": float(gain.mean()),
        "standard_error": error,
        "variables_with_parents": int(made.sum()),
        "of_them_better_predicted": int((better_for & made).sum()),
    }
    return _fit_claim(details, better)


def _fit_claim(details: dict[str, Any], better: bool) -> Claim:
    nll, unseen = details["nll_per_variable"], details["held_out"]
    numbers = (
        f"negative log-likelihood per variable {nll['model']:.3f}, against "
        f"{nll['without_factors']:.3f} without factors and {figure(nll['permuted'])} on permuted "
        f"data; {details['of_them_better_predicted']} of {details['variables_with_parents']} "
        "variables that factors make are predicted better than by their mean"
    )
    where = "data it has not seen" if unseen else "the data it was fitted to"
    if not better:
        text = f"The factors do not help to predict {where}: {numbers}. Nothing may be claimed."
        answer = Answer.NO
    elif unseen:
        text, answer = f"The factors help to predict {where}: {numbers}.", Answer.YES
    else:
        text = f"The factors help to predict {where}, which is weak evidence: {numbers}."
        answer = Answer.PARTLY
    question = "Do the factors help to predict data the model has not seen?"
    return Claim(
        "fit", question, answer, text, 'The score S of section "Learning objective"', details
    )


def _alone(
    data: InterventionalData,
) -> tuple[Float[np.ndarray, " variables"], Float[np.ndarray, " variables"]]:
    free = ~data.is_intervened
    count = np.maximum(free.sum(axis=0), 1)
    mean = (data.x * free).sum(axis=0) / count
    variance = ((data.x - mean) ** 2 * free).sum(axis=0) / count
    return mean, np.maximum(variance, VARIANCE_FLOOR)


def _log_density(x: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    return np.asarray(-0.5 * ((x - mean) ** 2 / variance + np.log(2 * np.pi * variance)))


def _permuted(x: np.ndarray, free: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Permutes every column among the samples in which the variable is not clamped."""
    shuffled = x.copy()
    for j in range(x.shape[1]):
        rows = np.flatnonzero(free[:, j])
        shuffled[rows, j] = x[rng.permutation(rows), j]
    return shuffled


def exactness(scm: FactorSCM, data: InterventionalData, seed: int) -> Claim:
    """Is ℋ, with τ and ω, an exact causal abstraction of ℒ, in the model itself?"""
    abstraction, context = Abstraction(scm), scm.draw_context(N_CONTEXTS, seed)
    size = float(scm.solve(context).z.abs().max()) if scm.graph.n_factors else 0.0
    targets = data.targets[np.unique(data.regime)][:MOST_INTERVENTIONS]
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


def abstraction_error(scm: FactorSCM, data: InterventionalData) -> Claim:
    """Δ̂ and its bound, overall and for every intervention, beside the factors' variance."""
    question = "Does the small model predict what the interventions did to the factors?"
    statement = 'Theorem "Approximate transformation bound"'
    try:
        found = Abstraction(scm).error(data)
    except InvalidInputError as error:
        text = f"Not known: {error}"
        return Claim("error", question, Answer.UNKNOWN, text, statement)
    variance = float(scm.state_map(data.x).var(dim=0, correction=0).sum())
    overall = _error_row(found.overall, variance)
    rows = [
        {"intervention": name, **_error_row(error, variance)}
        for name, error in found.by_regime.items()
    ]
    relative = overall["relative"]
    if relative is None:
        answer = Answer.UNKNOWN
    else:
        answer = Answer.YES if relative <= SMALL_ERROR else Answer.PARTLY
        answer = Answer.NO if relative > LARGE_ERROR else answer
    text = _error_text(overall, rows, answer)
    if not scm.graph.factor_adjacency.any():
        text += (
            " No factor acts on another here, so that is true by construction and shows nothing."
        )
    details = {"overall": overall, "factor_variance": variance, "by_intervention": rows}
    return Claim("error", question, answer, text, statement, details)


def _error_row(error: RegimeError, variance: float) -> dict[str, float | None]:
    return {
        "error": _finite(error.error),
        "relative": _finite(error.error / variance) if variance > 0 else None,
        "bound": _finite(error.bound.matrix),
        "bound_by_norms": _finite(error.bound.norm),
        "bound_by_score": _finite(error.bound.score),
    }


def _error_text(
    overall: dict[str, float | None], rows: Sequence[dict[str, Any]], answer: Answer
) -> str:
    error, relative, bound = (overall[name] for name in ("error", "relative", "bound"))
    if error is None or relative is None:
        return "The factors do not vary, so an error has nothing to be compared with."
    worst = max(rows, key=lambda row: row["relative"] or 0.0)
    means = {
        Answer.YES: "small: predictions at the level of factors may be relied on, on average",
        Answer.PARTLY: "moderate: predictions at the level of factors are right in tendency only",
        Answer.NO: "large: predictions at the level of factors may not be relied on",
    }[answer]
    if relative < ROUNDING:
        return f"The error Δ̂ is {error:.1g}, no more than rounding."
    loose = bound is None or bound > LOOSE * error
    return (
        f"The error Δ̂ is {figure(error)}, {relative:.1%} of the factors' total variance, {means}. "
        f"It is largest, {worst['relative']:.1%}, in the regime '{worst['intervention']}'. The "
        f"theorem guarantees at most {'no finite number' if bound is None else figure(bound)}"
        f"{', far too loose to be of use here' if loose else ''}."
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
