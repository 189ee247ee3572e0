"""Swaps of linear parts of a site's units, against their formula."""

import numpy as np
import pytest
import torch
from torch import nn

from ucad.networks.sites import Site
from ucad.networks.subspaces import SubspaceSwap, orthonormal

MODEL = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
SITE = Site("1", units=(0, 1, 2, 3))
GENERATOR = torch.Generator().manual_seed(0)
BASE, SOURCE = (torch.randn(7, 3, generator=GENERATOR, dtype=torch.float64) for _ in range(2))
D = orthonormal(torch.randn(4, 2, generator=GENERATOR, dtype=torch.float64))


def units(inputs):
    return MODEL[1](MODEL[0](inputs)).detach()


def test_a_basis_is_orthonormal_and_spans_the_same():
    matrix = torch.randn(5, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    basis = orthonormal(matrix)
    torch.testing.assert_close(basis.T @ basis, torch.eye(2, dtype=torch.float64))
    torch.testing.assert_close(basis @ (basis.T @ matrix), matrix)


@pytest.mark.parametrize("scale", [None, torch.tensor([1.0, 2.0, 0.5, 3.0], dtype=torch.float64)])
def test_the_part_of_the_source_in_the_subspace_is_taken_over(scale):
    """h′ = h + S D Dᵀ S⁻¹ (h_source − h), of every pair in turn."""
    found = SubspaceSwap(MODEL, SITE, D, scale)(BASE, SOURCE)
    S = np.diag(np.ones(4) if scale is None else scale.numpy())
    P = S @ D.numpy() @ D.numpy().T @ np.linalg.inv(S)
    for row, (h, other) in enumerate(zip(units(BASE), units(SOURCE), strict=True)):
        h, other = h.numpy(), other.numpy()
        expected = MODEL[2](torch.tensor(h + P @ (other - h))).detach()
        torch.testing.assert_close(found[row], expected)


def test_no_directions_change_nothing_and_all_take_over_everything():
    nothing = SubspaceSwap(MODEL, SITE, torch.zeros(4, 0, dtype=torch.float64))
    torch.testing.assert_close(nothing(BASE, SOURCE), MODEL(BASE).detach())
    everything = SubspaceSwap(MODEL, SITE, torch.eye(4, dtype=torch.float64))
    torch.testing.assert_close(everything(BASE, SOURCE), MODEL(SOURCE).detach())


@pytest.mark.parametrize("batch_size", [1, 3, 7, 100])
def test_batches_make_no_difference(batch_size):
    swap = SubspaceSwap(MODEL, SITE, D, batch_size=batch_size)
    torch.testing.assert_close(swap(BASE, SOURCE), SubspaceSwap(MODEL, SITE, D)(BASE, SOURCE))
    torch.testing.assert_close(swap.units_of(BASE), units(BASE))


def test_gradients_reach_the_directions_through_the_patched_network():
    free = D.clone().requires_grad_()
    SubspaceSwap(MODEL, SITE, free).patched(BASE, units(SOURCE)).sum().backward()
    step = torch.zeros_like(D)
    step[1, 0] = 1e-6
    with torch.no_grad():
        up, down = (
            SubspaceSwap(MODEL, SITE, D + sign * step).patched(BASE, units(SOURCE)).sum()
            for sign in (1, -1)
        )
    assert float(free.grad[1, 0]) == pytest.approx(float(up - down) / 2e-6, rel=1e-5)


def test_the_network_keeps_its_mode():
    MODEL.train()
    SubspaceSwap(MODEL, SITE, D)(BASE, SOURCE)
    assert MODEL.training
