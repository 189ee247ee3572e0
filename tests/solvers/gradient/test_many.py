"""Many data sets in one tensor program."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from ucad.data import Split
from ucad.errors import InvalidInputError
from ucad.simulate import paper_problem
from ucad.solvers.gradient import (
    MechanismKind,
    ModelSettings,
    fast,
    fit_gradient,
    fit_gradients,
)
from ucad.solvers.gradient.mechanisms import initial_parameters
from ucad.solvers.gradient.moment_objective import MomentObjective, StackedMoments
from ucad.solvers.gradient.relaxed_graph import RelaxedGraph


def split_of(setting, seed):
    problem = paper_problem(setting, "16-3", seed, n_samples=600)
    return Split(problem.train, problem.validation, problem.test)


@pytest.fixture(scope="module")
def splits():
    return [split_of("b", seed) for seed in range(3)]


@pytest.fixture(scope="module")
def stacked(splits):
    parts = tuple(MomentObjective.from_data(split.train, 1e-4) for split in splits)
    return StackedMoments(parts, (2, 3, 1))


@pytest.fixture(scope="module")
def model():
    parameters = initial_parameters(ModelSettings(), 16, 3, list(range(6)), torch.float64)
    generator = torch.Generator().manual_seed(0)
    Q, R = torch.rand((2, 6, 16, 3), generator=generator, dtype=torch.float64)
    return parameters, RelaxedGraph(Q, R)


def rows_of(model, rows):
    parameters, graph = model
    own = {name: value[rows] for name, value in parameters.items()}
    return own, RelaxedGraph(*(part[rows] for part in graph))


def test_stacked_data_sets_have_the_likelihoods_of_each_alone(stacked, model):
    together = stacked.nll(*model, torch.empty(0))
    alone = [
        part.nll(*rows_of(model, rows), torch.empty(0))
        for part, rows in zip(stacked.parts, torch.arange(6).split([2, 3, 1]), strict=True)
    ]
    torch.testing.assert_close(together, torch.cat(alone))


def test_stacked_data_sets_have_the_factor_moments_of_each_alone(stacked, model):
    together = stacked.factor_moments(*model)
    for part, rows in zip(stacked.parts, torch.arange(6).split([2, 3, 1]), strict=True):
        alone = part.factor_moments(*rows_of(model, rows))
        torch.testing.assert_close(together.inputs[rows], alone.inputs)
        torch.testing.assert_close(together.targets[rows], alone.targets)


def test_configurations_keep_their_data_when_others_leave(stacked, model):
    staying = torch.tensor([1, 3, 4, 5])
    left = stacked.of_rows(staying)
    assert left.sizes == (1, 2, 1)
    torch.testing.assert_close(
        left.nll(*rows_of(model, staying), torch.empty(0)),
        stacked.nll(*model, torch.empty(0))[staying],
    )


def test_a_data_set_may_lose_all_its_configurations(stacked, model):
    staying = torch.tensor([0, 1, 5])
    left = stacked.of_rows(staying)
    torch.testing.assert_close(
        left.residual_variance(*rows_of(model, staying)),
        stacked.residual_variance(*model)[staying],
    )


def test_one_data_set_is_fitted_as_by_fit_gradient(splits):
    config = fast(16)
    training = replace(config.training, epochs=40, warm_up_epochs=(10,), n_seeds=2)
    few = replace(config.replace_factor, rounds=1, epochs=20)
    config = replace(config, training=training, replace_factor=few)
    alone = fit_gradient(splits[0].train, 3, config=config, validation=splits[0].validation, seed=7)
    (together,) = fit_gradients(splits[:1], 3, config=config, seeds=[7])
    assert together.validation_nll == alone.validation_nll
    assert together.status == alone.status


def test_a_resumed_fit_of_many_ends_the_same(splits, tmp_path):
    config = fast(16)

    def fit(epochs, checkpoint):
        training = replace(config.training, epochs=epochs, n_seeds=2, warm_up_epochs=(5,))
        own = replace(
            config, training=training, replace_factor=replace(config.replace_factor, rounds=0)
        )
        return fit_gradients(splits[:2], 3, config=own, seeds=[1, 2], checkpoint=checkpoint)

    whole = fit(30, None)
    path = tmp_path / "state"

    def stop_once(event):
        if event.stage == "training" and event.done == 20:
            raise KeyboardInterrupt

    training = replace(config.training, epochs=30, n_seeds=2, warm_up_epochs=(5,))
    own = replace(
        config, training=training, replace_factor=replace(config.replace_factor, rounds=0)
    )
    stopped = fit_gradients(
        splits[:2], 3, config=own, seeds=[1, 2], checkpoint=path, progress=stop_once
    )
    assert all(one.status.interrupted for one in stopped)
    resumed = fit(30, path)
    assert [one.validation_nll for one in resumed] == [one.validation_nll for one in whole]


def test_data_sets_with_other_layers_are_refused(splits):
    with pytest.raises(InvalidInputError, match="same variables and layers"):
        fit_gradients([splits[0], split_of("a", 0)], 3, seeds=[0, 1])


def test_networks_are_not_stacked(splits):
    config = fast(16, ModelSettings(factor_mechanism=MechanismKind.MLP))
    with pytest.raises(InvalidInputError, match="both mechanisms are linear"):
        fit_gradients(splits, 3, config=config, seeds=[0, 1, 2])


def test_every_data_set_needs_a_seed(splits):
    with pytest.raises(InvalidInputError, match="as many seeds"):
        fit_gradients(splits, 3, seeds=[0])
