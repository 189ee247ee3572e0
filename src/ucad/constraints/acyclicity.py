"""Acyclicity of a relaxed graph: every form the paper describes, zero exactly on DAGs."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

__all__ = [
    "Acyclicity",
    "acyclicity_violation",
    "bipartite_spectral_radius",
    "layer_violation",
    "matrix_power_trace",
    "relaxed_factor_adjacency",
    "relaxed_variable_adjacency",
    "spectral_radius",
    "trace_exponential",
]

N_ITERATIONS = 32
"""Power iterations of the spectral forms: a second eigenvalue of 0.8 of the first has come down to
a thousandth by then. The learner takes fewer, two more than there are factors."""


class Acyclicity(Enum):
    """The forms of the paper's table "Per-gradient-step cost", by formula and matrix."""

    TRACE_EXPONENTIAL_ON_VARIABLES = "trace_exponential_on_variables"
    TRACE_EXPONENTIAL_ON_FACTORS = "trace_exponential_on_factors"
    MATRIX_POWER_ON_VARIABLES = "matrix_power_on_variables"
    MATRIX_POWER_ON_FACTORS = "matrix_power_on_factors"
    SPECTRAL_RADIUS_ON_VARIABLES = "spectral_radius_on_variables"
    SPECTRAL_RADIUS_ON_FACTORS = "spectral_radius_on_factors"
    BIPARTITE_SPECTRAL_RADIUS = "bipartite_spectral_radius"


def acyclicity_violation(
    Q: Float[Tensor, "*batch variables factors"],
    R: Float[Tensor, "*batch variables factors"],
    form: Acyclicity = Acyclicity.BIPARTITE_SPECTRAL_RADIUS,
    n_iterations: int = N_ITERATIONS,
) -> Float[Tensor, "*batch"]:
    """Returns h(Q, R) ≥ 0 in the chosen form; zero if and only if the graph is a DAG.

    One form serves for all three levels: G is acyclic ⟺ G_X is ⟺ G_Z is (the paper's lemma after
    Lopez et al.), so A = Q Rᵀ, B = Rᵀ Q and the bipartite matrix itself may each be tested.

    >>> Q = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> R = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> [acyclicity_violation(Q, R, form).item() for form in Acyclicity]
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    if form is Acyclicity.BIPARTITE_SPECTRAL_RADIUS:
        return bipartite_spectral_radius(Q, R, n_iterations)
    on_variables = form.value.endswith("on_variables")
    adjacency = (relaxed_variable_adjacency if on_variables else relaxed_factor_adjacency)(Q, R)
    if form.value.startswith("trace_exponential"):
        return trace_exponential(adjacency)
    if form.value.startswith("matrix_power"):
        return matrix_power_trace(adjacency)
    return spectral_radius(adjacency, n_iterations)


def relaxed_variable_adjacency(
    Q: Float[Tensor, "*batch variables factors"], R: Float[Tensor, "*batch variables factors"]
) -> Float[Tensor, "*batch variables variables"]:
    """Returns A = Q Rᵀ, positive where some factor has i as parent and j as child. O(n² m)."""
    return Q @ R.mT


def relaxed_factor_adjacency(
    Q: Float[Tensor, "*batch variables factors"], R: Float[Tensor, "*batch variables factors"]
) -> Float[Tensor, "*batch factors factors"]:
    """Returns B = Rᵀ Q, positive where some variable is a child of k and a parent of l. O(n m²)."""
    return R.mT @ Q


def trace_exponential(adjacency: Float[Tensor, "*batch d d"]) -> Float[Tensor, "*batch"]:
    """Returns h_exp(A) = tr(e^A) − d for a non-negative matrix. O(d³)."""
    return (torch.matrix_exp(adjacency).diagonal(dim1=-2, dim2=-1) - 1).sum(dim=-1)


def matrix_power_trace(adjacency: Float[Tensor, "*batch d d"]) -> Float[Tensor, "*batch"]:
    """Returns h_pow(A) = tr[(I + A/d)^d] − d for a non-negative matrix. O(d³ log d)."""
    d = adjacency.shape[-1]
    identity = torch.eye(d, dtype=adjacency.dtype, device=adjacency.device)
    power: Tensor = torch.linalg.matrix_power(identity + adjacency / d, d)
    return (power.diagonal(dim1=-2, dim2=-1) - 1).sum(dim=-1)


def spectral_radius(
    adjacency: Float[Tensor, "*batch d d"], n_iterations: int = N_ITERATIONS
) -> Float[Tensor, "*batch"]:
    """Returns ρ(A), the largest eigenvalue of a non-negative matrix, by power iteration.

    x ← A x and y ← Aᵀ y, normalised, T times from vectors of ones; then ρ = yᵀ A x / yᵀ x and
    ∇ρ = y xᵀ / yᵀ x. Before normalisation yᵀ x = 1ᵀ A²ᵀ 1 counts the walks of length 2T, so it is
    positive on every cyclic graph, and x is exactly zero on a DAG whose paths are shorter than T:
    ρ and its gradient are then zero. On a graph in which every cycle has a length divisible by
    p > 1 the iteration does not settle, and the value is a mean over p steps, still positive.

    Cost: O(T d²).
    """
    apply: Callable[[Tensor, int], Tensor] = _SquareRadius.apply
    return apply(adjacency, n_iterations)


def bipartite_spectral_radius(
    Q: Float[Tensor, "*batch variables factors"],
    R: Float[Tensor, "*batch variables factors"],
    n_iterations: int = N_ITERATIONS,
) -> Float[Tensor, "*batch"]:
    """Returns ρ(M) for M = [[0, Q], [Rᵀ, 0]] without ever forming a square matrix.

    x_f ← Rᵀ x_v, x_v ← Q x_f; y_f ← Qᵀ y_v, y_v ← R y_f, normalised, T times from ones; then

        ρ = (y_vᵀ Q x_f + y_fᵀ Rᵀ x_v) / (y_fᵀ x_f + y_vᵀ x_v),
        ∇_Q ρ = y_v x_fᵀ / (…),  ∇_R ρ = x_v y_fᵀ / (…),

    the paper's "Spectral radius adapted for the bipartite structure". With each half normalised
    by itself, (x_v, x_f) is an eigenvector only up to the ratio of its halves, so we balance them
    first (‖Q x_f‖ / ‖x_v‖ = ‖Rᵀ x_v‖ / ‖x_f‖ = ρ, likewise for y): without it neither the value
    nor the gradient is that of ρ. Exactly zero, with gradient zero, on a DAG if T ≥ m.

    Cost: O(T n m) time, O(n m) memory. ρ(M)² = ρ(A) = ρ(B).
    """
    apply: Callable[[Tensor, Tensor, int], Tensor] = _BipartiteRadius.apply
    return apply(Q, R, n_iterations)


def layer_violation(
    Q: Float[Tensor, "*batch variables factors"],
    R: Float[Tensor, "*batch variables factors"],
    layer_of: Int[Tensor, " variables"],
    *,
    normalised: bool = False,
    epsilon: float = 1e-8,
) -> Float[Tensor, "*batch factors"]:
    """Returns b_k = Σ_{l_p ≥ l_c} q_{k,l_p} r_{k,l_c}, 0 iff k's parents precede its children.

    q and r are the masses of Q and R by layer; with r̄ the cumulative sum of r over layers,
    b_k = Σ_l q_{k,l} r̄_{k,l}. Normalised: b̄_k = b_k / ((Σ_l q_{k,l}) (Σ_l r_{k,l}) + ε).

    Cost: O(n m + m L). Source: the paper's "Layered DAG constraint".

    >>> layer_of = torch.tensor([0, 0, 1])
    >>> Q, R = torch.tensor([[1.0], [0.0], [0.0]]), torch.tensor([[0.0], [0.0], [1.0]])
    >>> layer_violation(Q, R, layer_of), layer_violation(R, Q, layer_of)
    (tensor([0.]), tensor([1.]))
    """
    n_layers = int(layer_of.max()) + 1
    empty = Q.new_zeros((*Q.shape[:-2], n_layers, Q.shape[-1]))
    q = empty.index_add(-2, layer_of, Q)
    r = empty.index_add(-2, layer_of, R)
    b = (q * r.cumsum(dim=-2)).sum(dim=-2)
    return b / (q.sum(dim=-2) * r.sum(dim=-2) + epsilon) if normalised else b


# Eigenvectors are kept as rows: torch multiplies a row with a tall matrix ten times faster than
# the matrix with a column.


class _SquareRadius(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, adjacency: Tensor, n_iterations: int) -> Tensor:
        x = y = adjacency.new_ones((*adjacency.shape[:-2], 1, adjacency.shape[-1]))
        for _ in range(n_iterations):
            x = _unit(x @ adjacency.mT)
            y = _unit(y @ adjacency)
        overlap = (y * x).sum(dim=(-2, -1))
        ctx.save_for_backward(x, y, overlap)
        return _safe_ratio((y * (x @ adjacency.mT)).sum(dim=(-2, -1)), overlap)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:
        x, y, overlap = ctx.saved_tensors
        return _safe_ratio(upstream, overlap)[..., None, None] * (y.mT @ x), None


class _BipartiteRadius(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, Q: Tensor, R: Tensor, n_iterations: int) -> Tensor:
        # Both eigenvectors advance in one product: entry 0 of the stack is x, entry 1 is y. One
        # batch axis, since `matmul` takes twice as long as `bmm` to arrange several.
        to_factors = torch.stack([R, Q]).flatten(0, -3)
        to_variables = torch.stack([Q, R]).flatten(0, -3).mT
        v = Q.new_ones(len(to_factors), 1, Q.shape[-2])
        for iteration in range(1, n_iterations + 1):
            v = torch.bmm(torch.bmm(v, to_factors), to_variables)
            # Two steps shrink v by no more than ρ⁴: nothing underflows, at half the divisions.
            if iteration % 2 == 0 or iteration == n_iterations:
                v = _unit(v)
        f = torch.bmm(v, to_factors)
        rho = torch.bmm(f, to_variables).norm(dim=-1, keepdim=True).sqrt()
        f = _safe_ratio(f, rho)  # now ‖f‖ and ‖v‖ are in the ratio of the eigenvector's halves
        x_v, y_v = v.reshape(2, *Q.shape[:-2], 1, Q.shape[-2]).unbind()
        x_f, y_f = f.reshape(2, *Q.shape[:-2], 1, Q.shape[-1]).unbind()
        overlap = (y_f * x_f).sum(dim=(-2, -1)) + (y_v * x_v).sum(dim=(-2, -1))
        ctx.save_for_backward(x_v, x_f, y_v, y_f, overlap)
        walks = (y_v * (x_f @ Q.mT)).sum(dim=(-2, -1)) + (y_f * (x_v @ R)).sum(dim=(-2, -1))
        return _safe_ratio(walks, overlap)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, Tensor, None]:
        x_v, x_f, y_v, y_f, overlap = ctx.saved_tensors
        scale = _safe_ratio(upstream, overlap)[..., None, None]
        return (scale * y_v).mT * x_f, (scale * x_v).mT * y_f, None


def _unit(vector: Tensor) -> Tensor:
    """Returns a row vector divided by its norm, or zero where it is zero."""
    smallest = torch.finfo(vector.dtype).tiny
    return vector / vector.norm(dim=-1, keepdim=True).clamp_min(smallest)


def _safe_ratio(numerator: Tensor, denominator: Tensor) -> Tensor:
    """Returns numerator / denominator, and 0 where the denominator is 0 (a nilpotent matrix)."""
    vanishes = denominator <= torch.finfo(denominator.dtype).tiny
    return (numerator / denominator.masked_fill(vanishes, 1)).masked_fill(vanishes, 0)
