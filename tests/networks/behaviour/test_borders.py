"""Values of continuous features at which a network is about to decide otherwise."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from ucad.networks.behaviour import borders as module
from ucad.networks.behaviour.borders import border_values, rows_away_from_borders
from ucad.networks.features import features_of
from ucad.networks.subject import Subject

changes = st.lists(st.floats(0, 1), min_size=1, max_size=30).map(np.array)


@given(changes)
def test_a_border_holds_four_fifths_of_all_changes_in_the_fewest_steps(change):
    found = border_values(change)
    order = np.sort(change)[::-1]
    if not found.any():
        few = int(module.MAX_BORDER * len(change))
        assert order[:few].sum() <= module.BORDER_CHANGE * change.sum() + 1e-9
        return
    assert change[found].sum() >= module.BORDER_CHANGE * change.sum() - 1e-9
    assert order[: found.sum() - 1].sum() <= module.BORDER_CHANGE * change.sum() + 1e-9
    assert found.sum() <= module.MAX_BORDER * len(change)


def test_where_nothing_changes_there_is_no_border():
    assert not border_values(np.zeros(10)).any()


class Decides(nn.Module):
    """One layer that sees the inputs, and a rule on what it gives."""

    def __init__(self, rule):
        super().__init__()
        self.layer, self.rule = nn.Identity(), rule

    def forward(self, x):
        return self.rule(self.layer(x))[:, None]


def left(rule, n=1500):
    x = torch.rand(n, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 2 - 1
    subject = Subject.of(Decides(rule), x, ["layer"])
    return x.numpy(), rows_away_from_borders(subject, features_of(x))


def test_inputs_near_a_threshold_are_left_out_and_no_others():
    x, rows = left(lambda h: h[:, 0])
    distance = np.abs(x[:, 0])
    out = np.setdiff1d(np.arange(len(x)), rows)
    assert 0 < len(out) < 0.15 * len(x)
    assert distance[out].max() < 0.12
    assert distance[rows].min() > 0


def test_a_feature_that_acts_gradually_has_no_border():
    """x0 + x1 > 0 changes at another x0 in every context."""
    x, rows = left(lambda h: h[:, 0] + h[:, 1])
    assert len(rows) == len(x)


def test_if_too_few_inputs_would_be_left_all_are_used(monkeypatch):
    monkeypatch.setattr(module, "MIN_ROWS", 1490)
    x, rows = left(lambda h: h[:, 0])
    assert len(rows) == len(x)


@pytest.mark.parametrize("n_values", [2, 5])
def test_discrete_features_have_no_borders(n_values):
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.integers(n_values, size=(800, 2)) - 0.5)
    subject = Subject.of(Decides(lambda h: h[:, 0]), x, ["layer"])
    assert len(rows_away_from_borders(subject, features_of(x))) == 800
