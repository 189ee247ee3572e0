"""The training of one pair of layers: what counts as an error."""

import numpy as np
import torch

from ucad.data import InterventionalData
from ucad.solvers.layered.bottleneck import fit_bottleneck
from ucad.solvers.layered.layer_pairs import PairData, layer_pairs
from ucad.solvers.layered.pair_training import BottleneckConfig, PairTraining


def linear_pair(n=1000):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 4))
    y = x[:, :2] @ rng.normal(size=(2, 3))
    return InterventionalData.from_arrays(np.c_[x, y], layer_of=[0] * 4 + [1] * 3)


def trained(data, epochs):
    pair = layer_pairs(data, 2, None)[0]
    config = BottleneckConfig(epochs=epochs, batch_size=128, hidden=16)
    training = PairTraining(PairData.of(data, pair), 2, config, seed=0)
    stopped = training.run(None, "a pair")
    return training, stopped


def test_training_starts_from_the_directions_that_explain_most():
    """Reduced rank regression: the plane of a linear pair is there before the first step."""
    data = linear_pair()
    pair = layer_pairs(data, 2, None)[0]
    start = PairTraining(PairData.of(data, pair), 2, BottleneckConfig(), seed=0).factors()
    design = np.c_[start, np.ones(len(start))]
    left = data.x[:, 4:] - design @ np.linalg.lstsq(design, data.x[:, 4:], rcond=None)[0]
    assert np.abs(left).max() < 1e-4


def test_longer_training_leaves_smaller_errors():
    data = linear_pair()
    brief, _ = trained(data, 1)
    longer, stopped = trained(data, 15)
    assert not stopped
    assert longer.errors().mean() < 0.5 * brief.errors().mean()


def test_ctrl_c_ends_training_and_is_reported():
    data = linear_pair(200)
    pair = layer_pairs(data, 2, None)[0]

    def stop(_event):
        raise KeyboardInterrupt

    training = PairTraining(PairData.of(data, pair), 2, BottleneckConfig(hidden=4), seed=0)
    assert training.run(stop, "a pair")


def test_a_readout_makes_small_errors_count_and_its_weights_are_left_alone():
    """Three factors and room for two: the decision hangs on the one that moves its unit least."""
    rng = np.random.default_rng(5)
    z = rng.uniform(-1, 1, size=(4000, 3))
    y = np.c_[5 * z[:, :2], 0.5 * z[:, 2]]
    x = z @ rng.normal(size=(3, 4))
    data = InterventionalData.from_arrays(np.c_[x, y], layer_of=[0] * 4 + [1] * 3)
    network = torch.nn.Linear(3, 1)
    with torch.no_grad():
        network.weight.copy_(torch.tensor([[0.0, 0.0, 20.0]]))
        network.bias.zero_()
    kept = []
    for readouts in (None, (network,)):
        config = BottleneckConfig(
            epochs=20, batch_size=256, hidden=16, readouts=readouts, behaviour_weight=5.0
        )
        scm = fit_bottleneck(data, 2, config=config).scm
        decoded = scm.expected_variables(scm.state_map(data.x))[:, 6].numpy()
        kept.append(((decoded > 0) == (z[:, 2] > 0)).mean())
    assert kept[0] < 0.8
    assert kept[1] > 0.95
    assert network.weight.grad is None
