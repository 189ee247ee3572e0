"""The transformer that tells multiples of 6, in a shortened form."""

import numpy as np
import torch

from experiments.transformer import SITES, DigitTransformer, tokens_of, train
from ucad.networks import RecordSettings, record


def test_tokens_are_the_digits_with_the_ones_last():
    numbers = np.array([0, 7, 40_312])
    assert (tokens_of(numbers).numpy() @ 10 ** np.arange(5)[::-1] == numbers).all()


def test_training_depends_on_the_seed_alone():
    first, second, other = (train(seed, n_steps=3, width=8)[0] for seed in (0, 0, 1))
    tokens = tokens_of(np.arange(20))
    assert torch.equal(first(tokens), second(tokens))
    assert not torch.equal(first(tokens), other(tokens))


def test_the_decision_depends_on_every_digit():
    model = DigitTransformer(8)
    base = model(tokens_of(np.array([11_111])))
    for place in range(5):
        assert not torch.equal(model(tokens_of(np.array([11_111 + 10**place]))), base)


def test_the_residual_stream_has_two_layers_at_the_last_token():
    inputs = tokens_of(np.arange(50))
    recording = record(DigitTransformer(8), inputs, SITES, settings=RecordSettings(per_clamp=2))
    assert recording.data.n_variables == 16
    assert np.unique(recording.data.layer_of).tolist() == [0, 1]
