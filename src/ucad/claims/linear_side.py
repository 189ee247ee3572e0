"""Whether the nonlinearity of one side of a factor could as well lie on the other side.

If z = ρ(a·x) for its parents x, then ρ can be moved into F_X; if all children are affine functions
of one ρ(z), it can be moved into F_Z. Both models have the same graph and the same likelihood, and
their factors differ by ρ: which side is linear is then a convention, not a finding.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float

from ucad.claims.samples import TestSamples

__all__ = ["could_be_the_other"]

ONE_SHAPE = 0.95
"""Share of the variance along one direction above which gradients or curves count as one."""

MAX_ROWS = 500
"""Samples at which gradients are looked at: their second moments are known to a few per cent."""

GRID = 41
"""Points along a factor, from −2 to 2 standard deviations, at which its children are compared."""


def could_be_the_other(samples: TestSamples, k: int) -> bool:
    """Whether the affine side of factor k and the other could change places.

    Asked only where one side is affine and the other is not.
    """
    if samples.scm.variable_mechanism.is_affine:
        return _is_function_of_one_direction(samples, k)
    return _children_share_one_curve(samples, k)


def _is_function_of_one_direction(samples: TestSamples, k: int) -> bool:
    """Whether ∇F_Z has one direction: E[∇ ∇ᵀ] has one large eigenvalue."""
    parents = np.flatnonzero(samples.graph.Q[:, k])
    if len(parents) < 2:
        return True
    rows = np.linspace(0, len(samples.x) - 1, min(MAX_ROWS, len(samples.x))).astype(np.int64)
    x = torch.tensor(samples.original(rows)).requires_grad_()
    z = samples.scm.factor_mechanism(x.to(samples.scm.noise_scale), torch.tensor([k]))
    (gradient,) = torch.autograd.grad(z.sum(), x)
    return _is_one(gradient.numpy()[:, parents] * samples.sd[parents])


def _children_share_one_curve(samples: TestSamples, k: int) -> bool:
    """Whether all children of the factor alone follow one curve that is not a straight line."""
    scm, graph = samples.scm, samples.graph
    children = np.flatnonzero(graph.R[:, k])
    z = torch.tensor(samples.z_mean).repeat(GRID, 1).to(scm.noise_scale)
    along = np.linspace(-2.0, 2.0, GRID)
    scale = samples.z_sd[k] if np.isfinite(samples.z_sd[k]) else 0.0
    z[:, k] += torch.tensor(along * scale).to(z)
    curves = scm.variable_mechanism(z, torch.from_numpy(children)).detach().numpy()
    curves = (curves - curves.mean(axis=0)) / samples.sd[children]
    if not _is_one(curves):
        return False
    straight = np.outer(along, along @ curves / (along @ along))
    left = ((curves - straight) ** 2).sum() / max(float((curves**2).sum()), 1e-300)
    return bool(left > 1 - ONE_SHAPE)


def _is_one(rows: Float[np.ndarray, "rows columns"]) -> bool:
    values = np.linalg.svd(rows, compute_uv=False) ** 2
    return bool(values[0] > ONE_SHAPE * max(float(values.sum()), 1e-300))
