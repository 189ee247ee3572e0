"""The transformer that adds, in a shortened form."""

import numpy as np
import torch

from experiments.transformer import SITES, AddingTransformer, all_sums, tens_digit, train
from ucad.networks import RecordSettings, record


def test_the_tens_digit_follows_the_carry():
    tokens = all_sums().numpy()
    a, b = tokens[:, 0] * 10 + tokens[:, 1], tokens[:, 2] * 10 + tokens[:, 3]
    assert (tens_digit(tokens) == (a + b) // 10 % 10).all()
    swapped = tens_digit(tokens, np.ones(len(tokens), dtype=bool))
    assert (swapped == (a // 10 + b // 10 + 1) % 10).all()


def test_training_depends_on_the_seed_alone():
    first, second, other = (train(seed, n_steps=3, width=8)[0] for seed in (0, 0, 1))
    tokens = all_sums()[:20]
    assert torch.equal(first(tokens), second(tokens))
    assert not torch.equal(first(tokens), other(tokens))


def test_the_residual_stream_has_two_layers_at_the_last_token():
    recording = record(
        AddingTransformer(8), all_sums()[:50], SITES, settings=RecordSettings(per_clamp=2)
    )
    assert recording.data.n_variables == 16
    assert np.unique(recording.data.layer_of).tolist() == [0, 1]
