"""What lies behind noisy readings, drawn from the model, so that every test holds as it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ucad.claims.samples import MAX_VARIABLES_IN_FULL
from ucad.data import InterventionalData
from ucad.scm import FactorSCM
from ucad.scm.measurement import own_variance, weights_of

__all__ = ["drawn_behind", "has_noisy_readings", "without_reading_noise"]

Vector = Float[Tensor, " variables"]


def has_noisy_readings(scm: FactorSCM) -> bool:
    """Whether the model was told of noise in readings, and is small enough to draw behind them."""
    return scm.reading_noise is not None and scm.graph.n_variables <= MAX_VARIABLES_IN_FULL


def without_reading_noise(scm: FactorSCM) -> FactorSCM:
    """The model of the variables themselves: noise √Ψ, and readings that are the variables."""
    return replace(scm, noise_scale=own_variance(scm).sqrt(), reading_noise=None)


def drawn_behind(scm: FactorSCM, data: InterventionalData, seed: int) -> InterventionalData:
    """Draws x ~ p(x | y) = N(y − D S⁻¹ (y − μ), D − D S⁻¹ D) in place of every reading y = x + e.

    If the model is right, draws given readings have the law of the variables: residuals are
    independent again, and a test of variables is a test of draws. What is wrong shows in draws as
    far as readings tell it, and less the noisier they are. S = (I − M)⁻¹ Ψ (I − M)⁻ᵀ + D and μ are
    those of the samples with the same targets in the same regime: M = B A without the rows of
    targets, whose mean and variance are those of their readings, less D. O(regimes · variables³).
    """
    rng, x = np.random.default_rng(seed), data.x.copy()
    kinds = np.column_stack([data.regime, data.is_intervened])
    label = np.unique(kinds, axis=0, return_inverse=True)[1].reshape(-1)
    for one in range(int(label.max(initial=-1)) + 1):
        rows = np.flatnonzero(label == one)
        y = scm.tensor(data.x[rows])
        shrink, mean, root = _posterior(scm, y, data.is_intervened[rows[0]])
        noise = torch.from_numpy(rng.standard_normal(y.shape)).to(y)
        x[rows] = (y - (y - mean) @ shrink.T + noise @ root.T).cpu().numpy()
    return replace(data, x=x)


def _posterior(
    scm: FactorSCM, y: Float[Tensor, "rows variables"], acted: Bool[np.ndarray, " variables"]
) -> tuple[Float[Tensor, "n n"], Vector, Float[Tensor, "n n"]]:
    """D S⁻¹, μ and a root of D − D S⁻¹ D."""
    assert scm.reading_noise is not None
    A, B = weights_of(scm)
    D, is_set = scm.reading_noise**2, torch.tensor(acted, device=y.device)
    start = scm.expected_variables(scm.state_map(torch.zeros_like(y[:1])))[0]
    start = torch.where(is_set, y.mean(dim=0), start)
    spread = (y.var(dim=0, correction=0) - D).clamp_min(0.0)
    own = torch.where(is_set, spread, own_variance(scm))
    M = (B @ A) * (~is_set)[:, None]
    inverse = torch.linalg.inv(torch.eye(len(D)).to(y) - M)
    shrink = torch.linalg.solve((inverse * own) @ inverse.T + D.diag(), D.diag()).T
    values, vectors = torch.linalg.eigh(D.diag() - shrink * D)
    return shrink, inverse @ start, vectors * values.clamp_min(0.0).sqrt()
