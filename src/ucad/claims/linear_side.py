"""Whether the nonlinearity of one side of a factor could as well lie on the other side.

If z = ρ(a·x) for its parents x, then ρ can be moved into F_X; if all children are affine functions
of one ρ(z), it can be moved into F_Z. Both models have the same graph and the same likelihood, and
their factors differ by ρ: which side is linear is then a convention, not a finding.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from scipy.special import ndtri

from ucad.claims.adequacy import MIN_SHARE
from ucad.claims.edges import LEVEL, EdgeTests
from ucad.claims.samples import Rows, TestSamples

__all__ = ["acts_one_to_one", "could_be_the_other"]

ONE_SHAPE = 0.95
"""Share of the variance along one direction above which the curves of children count as one."""

N_PIECES = 15
"""Of the piecewise linear function of one direction: so many with equally many samples, cut by as
many of equal length, so that tails are followed, too."""

MAX_STEPS = 10
"""Of the search for the direction: it starts near, and three are usual."""

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
    """Whether z_k is g(a·x): but for 1 % of its variance, or as far as unseen samples tell.

    The paired comparison of log-likelihoods of its children, given z_k and given g(a·x).
    """
    parents = np.flatnonzero(samples.graph.Q[:, k])
    if len(parents) < 2:
        return True
    z = samples.z.copy()
    z[:, k] = _along_one_direction(samples.x[:, parents], z[:, k], _gradients(samples, k, parents))
    if np.var(samples.z[:, k] - z[:, k]) < MIN_SHARE:
        return True
    return bool(EdgeTests(samples).lost(k, z) <= -ndtri(LEVEL / samples.graph.n_factors))


def _gradients(samples: TestSamples, k: int, parents: Rows) -> Float[np.ndarray, "rows parents"]:
    """∇F_Z of one factor at some samples, per standard deviation of the parents."""
    rows = np.linspace(0, len(samples.x) - 1, min(MAX_ROWS, len(samples.x))).astype(np.int64)
    x = torch.tensor(samples.original(rows)).requires_grad_()
    z = samples.scm.factor_mechanism(x.to(samples.scm.noise_scale), torch.tensor([k]))
    (gradient,) = torch.autograd.grad(z.sum(), x)
    return np.asarray(gradient.numpy()[:, parents] * samples.sd[parents])


def _along_one_direction(
    x: Float[np.ndarray, "samples parents"],
    z: Float[np.ndarray, " samples"],
    gradients: Float[np.ndarray, "rows parents"],
) -> Float[np.ndarray, " samples"]:
    """g(a·x), the function of one direction that is nearest to z, g piecewise linear.

    a starts as the main direction of the gradients and follows Gauss-Newton steps: z − g(a·x) is
    regressed on g'(a·x) x, until that no longer helps.
    """
    a = np.linalg.svd(gradients, full_matrices=False)[2][0]
    nearest, least = np.full(len(z), z.mean()), np.inf
    even = np.linspace(0, 1, N_PIECES + 1)
    for _ in range(MAX_STEPS):
        t = x @ a
        knots = np.union1d(np.quantile(t, even), t.min() + even * np.ptp(t))
        if len(knots) < 2:
            break
        hats = np.stack([np.interp(t, knots, one) for one in np.eye(len(knots))], axis=1)
        w = np.linalg.lstsq(hats, z, rcond=None)[0]
        left = z - hats @ w
        if left @ left >= least:
            break
        nearest, least = hats @ w, float(left @ left)
        piece = np.clip(np.searchsorted(knots, t) - 1, 0, len(knots) - 2)
        slope = (np.diff(w) / np.diff(knots))[piece]
        a = a + np.linalg.lstsq(slope[:, None] * x, left, rcond=None)[0]
    return nearest


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
