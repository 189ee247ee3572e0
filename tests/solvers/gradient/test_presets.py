"""The two presets."""

import pytest

from ucad.errors import InvalidInputError
from ucad.solvers.gradient import (
    fast,
    paper,
    preset,
)


def test_the_papers_preset_has_the_papers_grid():
    training = paper().training
    assert len(training.grid(seed=0)) == 30
    assert max(training.learning_rates) == 2e-3
    assert paper().constraints.sparsity_tolerance == 0.2


def test_an_unknown_preset_is_refused_with_a_suggestion():
    assert preset("fast", 16) == fast(16)
    with pytest.raises(InvalidInputError, match="Did you mean 'paper'"):
        preset("papr", 16)
