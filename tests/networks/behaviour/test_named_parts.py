"""Parts of inputs that the user names, such as halves of an image, are asked for as a whole."""

import numpy as np
import pytest
import torch
from torch import nn

from ucad.errors import InvalidInputError
from ucad.networks import NetworkSettings, fit_network
from ucad.networks.own_answers import found_concepts, own_pairs

PARTS = {"left": ["input[:,:3]"], "right": ["input[:,3:]"]}


class Halves(nn.Module):
    """Whether one half of an image, and only one, is bright."""

    def __init__(self):
        super().__init__()
        self.sums, self.steps = nn.Identity(), nn.Identity()

    def forward(self, image):
        sums = self.sums(torch.stack([image[..., :3].sum((1, 2)), image[..., 3:].sum((1, 2))], 1))
        a, b = self.steps(torch.sigmoid(20 * sums)).unbind(dim=1)
        return (a + b - 2 * a * b - 0.5)[:, None]


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    bright = np.repeat(rng.choice([-1.0, 1.0], size=(1500, 1, 2)), 3, axis=2)
    return (bright + 0.2 * rng.standard_normal((1500, 2, 6))).astype(np.float32)


def test_halves_of_an_image_are_concepts_where_pixels_cannot_be_exchanged(images):
    with pytest.raises(InvalidInputError, match="depend on each other"):
        fit_network(Halves(), images, ["sums", "steps"], NetworkSettings(solver="behaviour"))
    model = Halves()
    found = fit_network(model, images, ["sums", "steps"], NetworkSettings(parts=PARTS))
    lines = found.gaps[0].factors
    assert [line.concept for line in lines] == ["left", "right"]
    assert all(line.is_certified and line.n_classes == 2 for line in lines)
    pairs, left_out = own_pairs(
        found.steering(model), images, found_concepts(found.gaps), n_pairs=100, parts=PARTS
    )
    assert not left_out
    assert set(pairs) == {"left", "right"}


def test_a_part_that_the_network_does_not_sum_up_is_no_concept():
    x = np.random.default_rng(0).uniform(-1, 1, size=(1500, 4)).astype(np.float32)
    model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 1))
    with torch.no_grad():
        for layer, weight in zip(model, (torch.ones(3, 4), torch.ones(1, 3)), strict=True):
            layer.weight.copy_(weight)
            layer.bias.zero_()
    parts = {"first": ["input[:2]"], "second": ["input[2:]"]}
    settings = NetworkSettings(solver="behaviour", parts=parts)
    with pytest.raises(InvalidInputError, match="no concepts"):
        fit_network(model, x, ["0", "1"], settings)
