"""Factors are judged on all pairs, and on those away from the network's thresholds."""

import numpy as np
import torch
from torch import nn

from tests.networks.concept_networks import dense_bits, dense_or
from ucad.networks import fit_network


class Thresholds(nn.Module):
    """(x₀ + x₁ > 0) ∨ (x₂ + x₃ > 0) of continuous inputs."""

    def __init__(self):
        super().__init__()
        self.sums, self.steps = nn.Identity(), nn.Identity()

    def forward(self, x):
        sums = self.sums(torch.stack([x[:, 0] + x[:, 1], x[:, 2] + x[:, 3]], dim=1))
        return self.steps(torch.sigmoid(20 * sums)).sum(dim=1, keepdim=True) - 0.5


def test_thresholds_of_sums_of_continuous_inputs_are_concepts():
    x = np.random.default_rng(0).uniform(-1, 1, size=(3000, 4)).astype(np.float32)
    found = fit_network(Thresholds(), x, ["sums", "steps"])
    lines = found.gaps[0].factors
    assert [line.concept for line in lines] == ["input[0] input[1]", "input[2] input[3]"]
    assert all(line.n_classes == 2 and line.agreement > 0.98 for line in lines)


def test_too_few_inputs_certify_nothing():
    found = fit_network(dense_or(), dense_bits(n=100), ["1", "3"])
    lines = found.gaps[0].factors
    assert len(lines) == 2
    assert not any(line.is_certified for line in lines)
    assert "none is certified" in str(found.status)
