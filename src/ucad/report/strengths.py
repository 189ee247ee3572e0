"""How strongly every edge of a factor graph acts, in units that can be compared."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ucad.data import InterventionalData
from ucad.scm import FactorSCM, Mechanism

__all__ = ["EdgeStrengths", "edge_strengths", "some_rows"]

MOST_SAMPLES = 500
"""Samples at which slopes are taken: their mean is then known to a twentieth of their spread."""


class EdgeStrengths(NamedTuple):
    """Signed strengths of the edges of Q and R, and which of them change their sign.

    Attributes:
        into: variable i → factor k, variables × factors.
        out_of: factor k → variable j, variables × factors.
        into_mixed: where the factor goes up with the variable in some samples and down in others.
        out_of_mixed: the same for factors acting on variables.
    """

    into: Float[np.ndarray, "variables factors"]
    out_of: Float[np.ndarray, "variables factors"]
    into_mixed: Bool[np.ndarray, "variables factors"]
    out_of_mixed: Bool[np.ndarray, "variables factors"]


def edge_strengths(scm: FactorSCM, data: InterventionalData) -> EdgeStrengths:
    """The root mean square of the standardised slope, with the sign of the mean slope.

    For an edge a → b: s_t = ∂b/∂a (sample t) · sd(a) / sd(b), strength = sign(mean s) · rms s: by
    how many standard deviations b moves when a moves by one. For a linear edge that is its
    standardised weight. Exact derivatives; one pass a factor for each of Q and R.
    """
    Q, R = scm.graph.Q, scm.graph.R
    if not scm.graph.n_factors:
        return EdgeStrengths(Q.astype(np.float64), R.astype(np.float64), Q, R)
    x = scm.tensor(data.x[some_rows(data, MOST_SAMPLES)])
    z = scm.state_map(x)
    sd_x, sd_z = _spread(scm.tensor(data.x)), _spread(scm.state_map(data.x))
    into = [
        _slopes_into(scm.factor_mechanism, x, k) * sd_x / sd_z[k]
        for k in range(scm.graph.n_factors)
    ]
    out_of = [_slopes_out_of(scm, z, k) * sd_z[k] / sd_x for k in range(scm.graph.n_factors)]
    (into_strength, into_mixed), (out_strength, out_mixed) = (_signed(s) for s in (into, out_of))
    return EdgeStrengths(into_strength * Q, out_strength * R, into_mixed & Q, out_mixed & R)


def some_rows(data: InterventionalData, most: int) -> np.ndarray:
    """At most so many rows, evenly over the samples, so over the regimes."""
    if data.n_samples <= most:
        return np.arange(data.n_samples)
    return np.linspace(0, data.n_samples - 1, most).astype(np.int64)


def _slopes_into(
    F_Z: Mechanism, x: Float[Tensor, "samples variables"], factor: int
) -> Float[Tensor, "samples variables"]:
    x = x.detach().requires_grad_()
    (slopes,) = torch.autograd.grad(F_Z(x, torch.tensor([factor])).sum(), x)
    return slopes


def _slopes_out_of(
    scm: FactorSCM, z: Float[Tensor, "samples factors"], factor: int
) -> Float[Tensor, "samples variables"]:
    """Slopes of the factor's children along it; zero for other variables."""
    children = torch.from_numpy(np.flatnonzero(scm.graph.R[:, factor]))
    along, slopes = torch.zeros_like(z), z.new_zeros(len(z), scm.graph.n_variables)
    along[:, factor] = 1.0
    # The derivative of a vector–Jacobian product by its vector is a Jacobian–vector product. The
    # forward mode of torch would import its compiler for that, which takes seconds; so would a
    # vector that is handed to `grad` instead of being multiplied with.
    z = z.detach().requires_grad_()
    moved = scm.variable_mechanism(z, children)
    vector = torch.zeros_like(moved, requires_grad=True)
    (product,) = torch.autograd.grad((moved * vector).sum(), z, create_graph=True)
    (slopes[:, children],) = torch.autograd.grad((product * along).sum(), vector)
    return slopes


def _spread(values: Float[Tensor, "samples columns"]) -> Float[Tensor, " columns"]:
    """Standard deviations; a constant column counts as 1."""
    spread = values.detach().std(dim=0, correction=0)
    return torch.where(spread > 0, spread, 1.0)


def _signed(slopes: list[Tensor]) -> tuple[np.ndarray, np.ndarray]:
    """Strengths and mixed signs, variables × factors."""
    stacked = torch.stack(slopes, dim=2)
    mean, rms = stacked.mean(dim=0), stacked.square().mean(dim=0).sqrt()
    strength = torch.where(mean < 0, -rms, rms)
    mixed = (stacked > 0).any(dim=0) & (stacked < 0).any(dim=0) & (mean.abs() < 0.9 * rms)
    return strength.cpu().numpy().astype(np.float64), mixed.cpu().numpy()
