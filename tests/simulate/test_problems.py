import hashlib

import numpy as np
import pytest

from ucad.errors import InvalidInputError
from ucad.scm import LinearMechanism, MLPMechanism
from ucad.simulate import (
    SETTINGS,
    Variation,
    paper_problem,
)


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_is_what_its_row_says(setting):
    row = SETTINGS[setting]
    problem = paper_problem(setting, "16-3", seed=5, n_samples=2000)
    scm, train = problem.scm, problem.train
    assert scm.graph.has_anchors
    assert isinstance(scm.factor_mechanism, LinearMechanism if row.linear_factors else MLPMechanism)
    assert isinstance(
        scm.variable_mechanism, LinearMechanism if row.linear_variables else MLPMechanism
    )
    assert (train.layer_of is not None) == row.layered
    if row.layered:
        assert np.bincount(train.layer_of).tolist() == [4, 8, 4]
        assert scm.graph.respects_layers(train.layer_of)
    child = scm.graph.R.any(axis=1)
    assert (scm.noise_scale.numpy()[child] > 0).all() == (row.noise_scale > 0)
    assert train.is_intervened.any() == (not row.observational_only)
    np.testing.assert_allclose(train.x.std(axis=0), 1.0)
    np.testing.assert_array_equal(scm.state_map(problem.test.x).numpy(), problem.factors)


@pytest.mark.parametrize("setting", ["a", "d"])
def test_noiseless_data_obey_the_true_equations(setting):
    problem = paper_problem(setting, "64-6", seed=2, n_samples=1000)
    for data in (problem.train, problem.validation, problem.test):
        residual = problem.scm.abduct(data.x, data.is_intervened).numpy()
        assert np.abs(residual[:, problem.scm.graph.R.any(axis=1)]).max() < 1e-9


def test_the_test_set_is_observational_except_for_unseen_regimes():
    assert not paper_problem("b", "16-3", seed=0, n_samples=500).test.is_intervened.any()
    problem = paper_problem("i", "64-6", seed=0)
    present = [set(np.unique(p.regime)) for p in (problem.train, problem.validation, problem.test)]
    assert [len(regimes) for regimes in present] == [47, 6, 12]
    assert not set.intersection(*present)


def test_the_same_seed_makes_the_same_problem_and_another_does_not():
    one, two = (paper_problem("e", "16-3", seed=4, n_samples=300) for _ in range(2))
    assert one.train.fingerprint == two.train.fingerprint
    other = paper_problem("e", "16-3", seed=5, n_samples=300)
    assert other.train.fingerprint != one.train.fingerprint


def test_at_least_two_parents_can_be_asked_for():
    problem = paper_problem("b", "64-6", seed=0, n_samples=300, min_parents=2)
    assert problem.scm.graph.Q.sum(axis=0).min() >= 2


def test_unknown_settings_get_a_suggestion():
    with pytest.raises(InvalidInputError, match="one of a, b, c"):
        paper_problem("z", "16-3", seed=0)
    with pytest.raises(InvalidInputError, match="Did you mean '64-6'"):
        paper_problem("a", "64-5", seed=0)


MADE_BEFORE = {
    "a 16-3": ("b7d8fb45b9bd6f95", 2.166522265, -0.1307368744, 0.2752374791, 0.1927077372),
    "a 64-6": ("b09257de44f9ee29", 0.3504603176, -1.073074138, -0.8066127865, 0.7103623134),
    "b 16-3": ("c0f9c3f185161bfc", 0.9640282201, -0.1191216721, 1.232887837, -0.5089350314),
    "b 64-6": ("0b3cea32d1b6c7fe", -0.6638972511, -1.497273713, 2.179942289, 0.8317499551),
    "c 16-3": ("dcf31cb57a9f8deb", 1.470663116, 1.00751189, -0.7076026068, -0.1524394311),
    "c 64-6": ("d3d995aa0e1fab9c", -2.16734933, 0.462683765, -1.579854151, -0.5764061373),
    "d 16-3": ("5e0bf8968f3735fe", -0.3305166528, -1.071789901, 1.320676022, -0.1789710432),
    "d 64-6": ("8af581954cadc2a7", 1.015006442, 0.1403819109, -1.603012929, 2.526195477),
    "e 16-3": ("22d016bc98c50502", 1.097032751, -0.06301915792, 1.275347507, -4.439670725),
    "e 64-6": ("65c11017e9fa74b9", 0.4103681183, -1.700746042, 0.5977403658, -1.001588422),
    "f 16-3": ("7edca94a4c114935", -0.3987426388, 0.2942192334, 1.012541242, 0.0630063065),
    "f 64-6": ("74dcd70cd7d54a95", -1.239850007, -0.03898444443, -0.6214655287, 0.280517105),
    "g 16-3": ("02a8a6f4e4eed4c6", 1.077865765, -0.04221348511, -0.4961966319, 0.2049489083),
    "g 64-6": ("3ac140a46a55fae8", 0.02434518113, 1.24438134, 1.208796992, 0.1226747641),
    "h 16-3": ("7bae26c29bb84c33", -0.6052329555, 0.9802751117, 0.1876571473, -0.2629409868),
    "h 64-6": ("de070809315cca21", 0.8388924042, -0.1787292901, -0.7490918975, -0.8658125177),
    "i 16-3": ("b8e1c89614fe5072", -0.2429040719, -0.6484339159, -0.7603730659, 2.562820955),
    "i 64-6": ("e3cbacdb1bf32106", 0.7138196191, 0.464124943, 0.9416570684, -0.5234849522),
}
"""Seed 7, 400 samples: a hash of Q and R, and one value of x in every part and of the factors,
printed by the simulator when the first results were reported."""


@pytest.mark.parametrize("name", MADE_BEFORE)
def test_a_seed_makes_the_problem_it_always_made(name):
    setting, size = name.split()
    problem = paper_problem(setting, size, 7, n_samples=400)
    edges = np.packbits(np.stack([problem.scm.graph.Q, problem.scm.graph.R])).tobytes()
    graph, *values = MADE_BEFORE[name]
    assert hashlib.sha256(edges).hexdigest()[:16] == graph
    train, validation, test = problem.train.x, problem.validation.x, problem.test.x
    made = [train[3, 1], validation[-1, -1], test[5, 2], problem.factors[7, -1]]
    np.testing.assert_allclose(made, values, rtol=1e-8)


@pytest.mark.parametrize("missing", [1, 2])
def test_so_many_factors_as_asked_for_lack_an_anchor(missing):
    variation = Variation(n_unanchored=missing)
    graph = paper_problem("b", "16-3", 0, n_samples=300, variation=variation).scm.graph
    whole = graph.in_anchors.any(axis=0) & graph.out_anchors.any(axis=0)
    assert (~whole).sum() == missing


def test_noise_and_regimes_vary_on_the_same_graph():
    plain = paper_problem("e", "16-3", 0, n_samples=300)
    loud = paper_problem("e", "16-3", 0, n_samples=300, variation=Variation(noise_scale=2.0))
    few = paper_problem("e", "16-3", 0, n_samples=300, variation=Variation(n_regimes=2))
    assert plain.scm.graph == loud.scm.graph == few.scm.graph
    assert loud.scm.noise_scale.mean() > plain.scm.noise_scale.mean()
    assert set(np.unique(few.train.regime)) == {0, 1, 2}


def test_impossible_variations_are_refused():
    with pytest.raises(InvalidInputError, match="'noise_scale' of Variation must be at least 0"):
        Variation(noise_scale=-1.0)
    with pytest.raises(InvalidInputError, match="'n_unanchored' must be from 0"):
        paper_problem("b", "16-3", 0, variation=Variation(n_unanchored=4))
