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

__all__ = ["acts_one_to_one", "could_be_the_other"]

ONE_SHAPE = 0.95
"""Share of the variance along one direction above which gradients or curves count as one."""

MAX_ROWS = 500
"""Samples at which gradients are looked at: their second moments are known to a few per cent."""

NEARLY_STRAIGHT = 0.975
"""The correlation of a factor with its curve above which it hardly matters on which side the curve
lies: values up to scale and shift promise .95, and half of the loss is left for how they are
fitted. A sine with a slope, 1 − r² = .03 along ±2 standard deviations, was claimed at .944."""

STEP_OF_CURVE = 0.1
"""Standard deviations of a child's curve below which two of its values count as the same."""

ONE_TO_ONE_SHARE = 0.9
"""The share of a factor's variance that its children must tell: a correlation of .95."""


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
    along, curves = _curves(samples, k)
    if not _is_one(curves):
        return False
    main = np.linalg.svd(curves, full_matrices=False)[0][:, 0]
    size = float(np.linalg.norm(along) * np.linalg.norm(main))
    return bool(abs(float(along @ main)) < NEARLY_STRAIGHT * size)


def acts_one_to_one(samples: TestSamples, k: int) -> bool:
    """Whether the children of factor k, with all other factors at their means, tell its value.

    The share of Var z_k between groups of samples whose children all lie within a tenth of a
    standard deviation must be .9. If z = max(a·x, 0) is the truth, a·x with a bent F_X is as good a
    model, and no one-to-one map leads from a·x to z.
    """
    along, curves = _curves(samples, k)
    spread = curves.std(axis=0)
    seen = curves[:, spread > 0] / spread[spread > 0]
    group = np.unique(np.round(seen / STEP_OF_CURVE), axis=0, return_inverse=True)[1].reshape(-1)
    count = np.bincount(group)
    between = (np.bincount(group, weights=along) ** 2 / np.maximum(count, 1)).sum()
    return bool(between >= ONE_TO_ONE_SHARE * max(float(along @ along), 1e-300))


def _curves(
    samples: TestSamples, k: int
) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, "points children"]]:
    """Values of a factor, and what its children are there with all others at their means."""
    scm, children = samples.scm, np.flatnonzero(samples.graph.R[:, k])
    rows = np.linspace(0, len(samples.z) - 1, min(MAX_ROWS, len(samples.z))).astype(np.int64)
    along = samples.z[rows, k] - samples.z[rows, k].mean()
    z = torch.tensor(samples.z_mean).repeat(len(rows), 1).to(scm.noise_scale)
    z[:, k] = scm.tensor(samples.original_factors(rows))[:, k]
    curves = scm.variable_mechanism(z, torch.from_numpy(children)).detach().cpu().numpy()
    return along, (curves - curves.mean(axis=0)) / samples.sd[children]


def _is_one(rows: Float[np.ndarray, "rows columns"]) -> bool:
    values = np.linalg.svd(rows, compute_uv=False) ** 2
    return bool(values[0] > ONE_SHAPE * max(float(values.sum()), 1e-300))
