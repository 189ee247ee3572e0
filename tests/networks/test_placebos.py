from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.networks.models import Transformer, exact_inputs, exact_network, exact_scm, mlp
from ucad.errors import InvalidInputError
from ucad.networks import (
    RecordSettings,
    Steering,
    SubspaceSettings,
    SubspaceSwap,
    expected_by_lookup,
    factor_swap,
    interchange_score,
    learn_subspace,
    placebo_score,
    random_direction_swaps,
    random_factor_swaps,
    random_linear_factors,
    random_live_units,
    random_rotations,
    record,
    rotated_factor_swaps,
    swap_pairs,
    untrained_like,
)
from ucad.networks.placebos import factors_of_the_same_gap
from ucad.networks.sites import Site

INPUTS = exact_inputs()
BITS = (INPUTS > 0.5).numpy()
BOTH = BITS.all(axis=1)
STEERING = Steering(exact_network(), exact_scm())
PAIRS = swap_pairs(
    BOTH,
    expected_by_lookup({"a": BITS[:, 0], "b": BITS[:, 1]}, BOTH, "a"),
    bases=np.flatnonzero(BOTH),
    n_pairs=200,
)


def test_factors_of_one_gap_make_units_of_the_same_sites():
    assert factors_of_the_same_gap(STEERING, "Z1") == ("Z1", "Z2")
    assert factors_of_the_same_gap(STEERING, "Z3") == ("Z3",)


def test_placebos_are_near_chance_where_the_known_factor_is_perfect():
    assert interchange_score(factor_swap(STEERING, "Z1"), INPUTS, PAIRS).mean == 1.0
    n = 6
    kinds = {
        "rotated": rotated_factor_swaps(STEERING, ["Z1", "Z2"], n_draws=n),
        "directions": random_direction_swaps(STEERING, "Z3", INPUTS, n_draws=n),
        "untrained": [
            factor_swap(replace(STEERING, model=untrained_like(STEERING.model, k)), "Z1")
            for k in range(n)
        ],
    }
    for swaps in kinds.values():
        found = placebo_score(swaps, INPUTS, PAIRS)
        assert found.n_draws == n
        assert found.mean < 0.8
        assert found.mean <= found.largest


def test_random_factors_keep_the_graph_and_explain_the_children_linearly():
    from ucad.networks.placebos import _with_random_factors

    x = STEERING.standard(STEERING.run(INPUTS).x)
    placebo = _with_random_factors(STEERING, x, np.random.default_rng(0))
    assert placebo.scm.graph == STEERING.scm.graph
    made = placebo.scm.expected_variables(placebo.scm.state_map(x))
    # Z1 has the parents a and 2a, so any sum of them explains its children; Z3's do not suffice.
    torch.testing.assert_close(made[:, 4:8], x[:, 4:8], atol=1e-4, rtol=0)
    assert (made[:, 8] - x[:, 8]).abs().max() > 0.1
    swaps = random_factor_swaps(STEERING, "Z1", INPUTS, n_draws=2)
    assert placebo_score(swaps, INPUTS, PAIRS).mean == 1.0


def test_the_whole_space_of_a_site_is_the_source_and_the_right_direction_is_learned():
    model = exact_network()
    site = Site("1", units=(0, 1, 2, 3))
    whole = SubspaceSwap(model, site, torch.eye(4))
    torch.testing.assert_close(whole(INPUTS[:200], INPUTS[200:]), model(INPUTS[200:]).detach())
    train, test = PAIRS.halves()
    settings = SubspaceSettings(n_steps=60, batch_size=100, learning_rate=0.05)
    learned = learn_subspace(model, "1", INPUTS, train, 1, settings)
    assert interchange_score(learned, INPUTS, test).mean > 0.95
    assert all(p.grad is None for p in model.parameters())
    torch.testing.assert_close(learned.directions.T @ learned.directions, torch.eye(1))
    with pytest.raises(InvalidInputError, match="between 1 and the number of units, 4"):
        learn_subspace(model, "1", INPUTS, train, 5)


@pytest.mark.parametrize("make", [mlp, Transformer])
def test_an_untrained_network_has_the_shape_and_new_weights(make):
    model = make()
    state = torch.random.get_rng_state()
    fresh, again = untrained_like(model, 3), untrained_like(model, 3)
    assert torch.equal(torch.random.get_rng_state(), state)
    for name, weight in model.state_dict().items():
        assert fresh.state_dict()[name].shape == weight.shape
        assert torch.equal(fresh.state_dict()[name], again.state_dict()[name])
    weights = [name for name, p in model.named_parameters() if p.ndim > 1]
    assert all(not torch.equal(fresh.get_parameter(n), model.get_parameter(n)) for n in weights)


def test_placebo_factors_are_units_sums_and_rotations():
    x = record(mlp(), torch.randn(100, 5), ["1"], settings=RecordSettings(per_clamp=0)).data.x
    units = random_live_units(x, 2, n_draws=3)
    assert all(any(np.array_equal(z[:, 0], column) for column in x.T) for z in units)
    rank = np.linalg.matrix_rank(np.c_[np.ones(100), x, random_linear_factors(x, 2)[0]])
    assert rank == np.linalg.matrix_rank(np.c_[np.ones(100), x])
    z = x[:, :2]
    turned = random_rotations(z, n_draws=1)[0]
    standard = (z - z.mean(axis=0)) / z.std(axis=0)
    np.testing.assert_allclose(np.linalg.norm(turned, axis=1), np.linalg.norm(standard, axis=1))
    with pytest.raises(InvalidInputError, match="at least 99 units"):
        random_live_units(x, 99)
