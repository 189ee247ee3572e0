"""A network under study, against running its layers by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from ucad.errors import InvalidInputError
from ucad.networks.subject import Subject
from ucad.solvers.budget import Budget, BudgetEndedError

X = torch.randn(23, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


class Skipping(nn.Module):
    """The first layer reaches the output also past the second."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(3, 4).double(), nn.Linear(4, 2).double()
        self.past = nn.Linear(4, 2).double()

    def forward(self, x):
        h = self.first(x)
        return self.second(h) + self.past(h)


@pytest.fixture
def subject():
    return replace(Subject.of(Skipping(), X, ["first", "second"]), batch_size=5)


def test_units_and_decisions_do_not_depend_on_batches(subject):
    whole = replace(subject, batch_size=1000)
    model = subject.model
    first, second = subject.units(X)
    np.testing.assert_allclose(first, model.first(X).detach())
    np.testing.assert_allclose(second, model.second(model.first(X)).detach())
    expected = model(X).argmax(dim=1).numpy()
    np.testing.assert_array_equal(subject.decisions(X), expected)
    np.testing.assert_array_equal(whole.decisions(X), expected)
    np.testing.assert_allclose(subject.outputs(X), model(X).detach())


def test_each_input_gets_its_own_replacement(subject):
    model, new = subject.model, np.random.default_rng(0).normal(size=(23, 4))
    h = torch.tensor(new)
    expected = (model.second(h) + model.past(h)).argmax(dim=1)
    np.testing.assert_array_equal(subject.decisions(X, 0, new), expected.numpy())
    first, second = subject.units(X, 0, new)
    np.testing.assert_allclose(first, new)
    np.testing.assert_allclose(second, model.second(h).detach())


def test_an_edge_carries_what_the_next_site_gets_and_nothing_past_it(subject):
    """Put at the second site, the values meet the first as the inputs make it."""
    model, new = subject.model, np.random.default_rng(1).normal(size=(23, 4))
    carried = subject.edge_values(X, 0, new)
    np.testing.assert_allclose(carried, model.second(torch.tensor(new)).detach())
    by_edge = subject.decisions(X, 1, carried)
    expected = (torch.tensor(carried) + model.past(model.first(X))).argmax(dim=1)
    np.testing.assert_array_equal(by_edge, expected.numpy())


def test_rows_are_drawn_without_repetition_where_there_are_enough(subject):
    rng = np.random.default_rng(0)
    assert len(set(subject.draw(23, rng))) == 23
    assert len(set(subject.draw(10, rng))) == 10
    many = subject.draw(100, rng)
    assert len(many) == 100
    assert set(many) <= set(range(23))
    assert torch.equal(subject.rows(np.array([3, 1])), X[[3, 1]])


def test_some_sites_can_be_left_out(subject):
    (second,) = subject.at(1).units(X)
    np.testing.assert_allclose(second, subject.units(X)[1])


def test_no_pass_begins_when_the_budget_is_over(subject):
    ended = replace(subject, budget=Budget(1e-9))
    for run in (ended.decisions, ended.units, ended.outputs):
        with pytest.raises(BudgetEndedError):
            run(X)


def test_one_input_is_no_study():
    with pytest.raises(InvalidInputError, match="at least 2 inputs"):
        Subject.of(Skipping(), X[:1], ["first"])
