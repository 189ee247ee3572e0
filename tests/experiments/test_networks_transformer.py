"""The transformer that adds, in a shortened form."""

import numpy as np

from experiments.transformer import SITES, AddingTransformer, all_sums, tens_digit, train
from ucad.networks import RecordSettings, record


def test_the_tens_digit_follows_the_carry():
    tokens = all_sums().numpy()
    a, b = tokens[:, 0] * 10 + tokens[:, 1], tokens[:, 2] * 10 + tokens[:, 3]
    assert (tens_digit(tokens) == (a + b) // 10 % 10).all()
    swapped = tens_digit(tokens, np.ones(len(tokens), dtype=bool))
    assert (swapped == (a // 10 + b // 10 + 1) % 10).all()


def test_a_short_training_beats_chance():
    _, accuracy = train(0, n_steps=60, width=16)
    assert accuracy > 0.13


def test_the_residual_stream_has_two_layers_at_the_last_token():
    recording = record(
        AddingTransformer(8), all_sums()[:50], SITES, settings=RecordSettings(per_clamp=2)
    )
    assert recording.data.n_variables == 16
    assert np.unique(recording.data.layer_of).tolist() == [0, 1]
