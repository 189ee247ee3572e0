"""Fitting with an observed context: samples are taken to its average, and its effect is estimated.

Any solver is given samples as they would have been at the average context, and knows nothing of
it; what the context does is estimated beside, and kept in the model.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Bool, Float

from ucad._types import VariableSamples
from ucad.data import InterventionalData, Scaling
from ucad.data.context import Context
from ucad.scm import ActsOn, ContextEffect, FactorSCM, at_average_context
from ucad.solvers.status import Fit, FitResult

__all__ = ["CONTEXT_CHOICES", "fit_in_context", "where_it_acts"]

AUTO = "auto"
CONTEXT_CHOICES = (AUTO, *map(str, ActsOn))
"""Where a context may be said to act; `auto` asks the clamped samples."""

MAX_ROUNDS = 3
"""Fits with a context that acts on mechanisms: what it does to a variable through others is known
only once there is a model. On the worlds `context-*` the second fit has the graph of the third."""

SETTLED = 0.02
"""Root mean square change of the samples, in standard deviations, below which they stay."""

MIN_EVIDENCE = 3.0
"""Nats below which clamped samples say nothing about where a context acts."""

MIN_AT_REST = 20
"""Samples per covariate in which nothing is acted on, for them alone to tell its total effect."""

SINGULAR = 1e-8
"""Share of the largest eigenvalue below which covariates are collinear, such as all indicators of
one column."""


def fit_in_context(
    data: InterventionalData, validation: InterventionalData, acts_on: str, fit: Fit
) -> FitResult:
    """Fits a model with a context: x = x° + C (w − w̄), or x_j = F_X(z)_j + C_j (w − w̄) + u_j.

    A context that acts on readings is taken off once: C is the slope of x on w within regimes.
    One that acts on mechanisms is taken off by the model of the round before, see
    `at_average_context`, and first by the slopes where nothing is acted on; then C is the slope of
    x_j − F_X(τ(x))_j on w, over samples in which j is free. In both cases the solver sees samples
    at w̄, so every solver takes a context.

    Args:
        data: samples with a context.
        validation: held-out samples, with the same context.
        acts_on: one of `CONTEXT_CHOICES`.
        fit: fits samples without a context.
    """
    context = data.context
    assert context is not None, "there is a context"
    place = where_it_acts(data) if acts_on == AUTO else ActsOn(acts_on)
    effect = _total_effect(data, context, place)
    if place is ActsOn.READINGS:
        result = _fitted(_readings_off(data, effect), _readings_off(validation, effect), fit)
        return _noted(replace(result, scm=replace(result.scm, context=effect)), data)
    parts = [_where_free(part, effect) for part in (data, validation)]
    for _ in range(MAX_ROUNDS):
        result = _fitted(parts[0], parts[1], fit)
        scm = replace(result.scm, context=_direct_effect(result.scm, data, context))
        after = [at_average_context(scm, part) for part in (data, validation)]
        change = float(np.sqrt(np.mean(((after[0].x - parts[0].x) / parts[0].x.std(axis=0)) ** 2)))
        parts = after
        if change < SETTLED or not result.status.converged:
            break
    return _noted(replace(result, scm=scm), data)


def where_it_acts(data: InterventionalData) -> ActsOn:
    """Whether what is read of clamped variables goes with the context, as that of free ones does.

    Over samples in which i is clamped, within regimes: Σ (x_i − γ_i w)² against Σ x_i², γ_i being
    the slope where i is free; in nats, over all i. A context that acts on mechanisms leaves clamped
    variables alone. Without evidence it acts on readings: for linear mechanisms the graph is then
    the same, and every factor is what it would be at the average context.
    """
    assert data.context is not None, "there is a context"
    effect = _total_effect(data, data.context, ActsOn.READINGS).weight.numpy()
    x, w = _within(data.x, data), _within(data.context.values, data)
    evidence = 0.0
    for i in np.flatnonzero(data.is_intervened.any(axis=0)):
        rows = data.is_intervened[:, i]
        as_read = float(((x[rows, i] - w[rows] @ effect[i]) ** 2).sum())
        as_set = float((x[rows, i] ** 2).sum())
        noise = max(min(as_read, as_set) / rows.sum(), 1e-6 * float(x[:, i].var()), 1e-300)
        evidence += (as_set - as_read) / (2 * noise)
    return ActsOn.MECHANISMS if evidence < -MIN_EVIDENCE else ActsOn.READINGS


def _noted(result: FitResult, data: InterventionalData) -> FitResult:
    """The result with a sentence on what the context does, for the report and the certificate."""
    effect = result.scm.context
    assert effect is not None
    assert data.context is not None
    share = effect.offset(data.context.values).numpy().var(axis=0) / data.x.var(axis=0)
    names = list(dict.fromkeys(name.partition("=")[0] for name in effect.names))
    most = int(np.argmax(share))
    note = (
        f"The context ({', '.join(names)}) acts on {effect.acts_on}; it makes "
        f"{np.median(share):.0%} of the variance of the median variable and {share[most]:.0%} of "
        f"that of {data.variable_names[most]}. Factors, effects and tests are at its average."
    )
    return result.with_notes(note)


def _fitted(data: InterventionalData, validation: InterventionalData, fit: Fit) -> FitResult:
    """The fit of samples without a context, whose variance may be a small part of what it was."""
    scaling = Scaling.of(data.x)
    result = fit(data.standardised(scaling), validation.standardised(scaling))
    return replace(result, scm=result.scm.in_original_units(scaling))


def _total_effect(data: InterventionalData, context: Context, place: ActsOn) -> ContextEffect:
    """The slopes of every variable on the context within regimes, where it is free.

    For a context that acts on mechanisms, only where nothing is acted on, if those samples are
    enough: a clamp of an ancestor changes the total effect.
    """
    free: Bool[np.ndarray, "samples variables"] = ~data.is_left_out
    at_rest: Bool[np.ndarray, " samples"] = np.logical_not(data.is_intervened.any(axis=1))
    if place is ActsOn.MECHANISMS and at_rest.sum() >= MIN_AT_REST * (len(context.names) + 1):
        free = np.broadcast_to(at_rest[:, None], free.shape)
    slopes = _slopes(_within(context.values, data), _within(data.x, data), free)
    return _effect(context, slopes, place)


def _direct_effect(scm: FactorSCM, data: InterventionalData, context: Context) -> ContextEffect:
    """The slopes of what the factors leave of every variable, where it is free."""
    left = scm.abduct(data.x).detach().cpu().numpy()
    w = context.values - context.values.mean(axis=0)
    return _effect(context, _slopes(w, left, ~data.is_left_out), ActsOn.MECHANISMS)


def _effect(
    context: Context, slopes: Float[np.ndarray, "variables covariates"], place: ActsOn
) -> ContextEffect:
    mean = torch.tensor(context.values.mean(axis=0))
    return ContextEffect(context.names, mean, torch.tensor(slopes), place)


def _slopes(
    w: Float[np.ndarray, "samples covariates"],
    y: VariableSamples,
    free: Bool[np.ndarray, "samples variables"],
) -> Float[np.ndarray, "variables covariates"]:
    """Least squares of every column of y on w and a constant, over its free samples.

    The smallest of all solutions where covariates are collinear. O(N n c²).
    """
    count = np.maximum(free.sum(axis=0), 1)
    slopes = np.zeros((y.shape[1], w.shape[1]))
    pairs = (w[:, :, None] * w[:, None, :]).reshape(len(w), -1)
    grams = (free.T.astype(np.float64) @ pairs).reshape(-1, w.shape[1], w.shape[1])
    means = free.T.astype(np.float64) @ w / count[:, None]
    for j in range(y.shape[1]):
        gram = grams[j] - count[j] * np.outer(means[j], means[j])
        own = np.where(free[:, j], y[:, j], 0.0)
        cross = w.T @ own - means[j] * own.sum()
        slopes[j] = np.linalg.pinv(gram, rcond=SINGULAR, hermitian=True) @ cross
    return slopes


def _within(values: np.ndarray, data: InterventionalData) -> np.ndarray:
    """Values minus the mean of their regime."""
    regimes, member = np.unique(data.regime, return_inverse=True)
    count = np.bincount(member.reshape(-1), minlength=len(regimes))
    sums = np.zeros((len(regimes), values.shape[1]))
    np.add.at(sums, member.reshape(-1), values)
    return np.asarray(values - (sums / count[:, None])[member.reshape(-1)])


def _readings_off(data: InterventionalData, effect: ContextEffect) -> InterventionalData:
    assert data.context is not None, "there is a context"
    w = data.context.aligned(effect.names).values
    return replace(data, x=data.x - effect.offset(w).numpy(), context=None, is_part=True)


def _where_free(data: InterventionalData, effect: ContextEffect) -> InterventionalData:
    """The same where a variable is free; clamped ones do not go with the context."""
    off = _readings_off(data, effect)
    return replace(off, x=np.where(data.is_intervened, data.x, off.x))
