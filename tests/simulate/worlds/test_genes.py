import numpy as np
import pytest

from ucad.errors import InvalidInputError
from ucad.simulate.worlds import Genes, genes_problem

FEW = {"n_control": 600, "n_knockouts": 14, "samples_per_regime": 60}


@pytest.fixture(scope="module")
def exact():
    return genes_problem(5, **FEW)


def test_a_knocked_out_regulator_is_gone_and_its_direct_targets_move(exact):
    data, graph = exact.train.unstandardised(), exact.graph
    control = data.x[data.regime == 0]
    reachable = np.linalg.matrix_power(np.eye(80) + graph.variable_adjacency, 80) > 0
    below_effects, other_effects = [], []
    for v in np.flatnonzero(graph.Q.any(axis=1)):
        there = data.x[data.is_intervened[:, v]]
        assert np.median(there[:, v]) < 0.05 * np.median(control[:, v])
        error = np.sqrt(there.var(axis=0) / len(there) + control.var(axis=0) / len(control))
        moved = np.abs(there.mean(axis=0) - control.mean(axis=0)) / error
        below_effects.extend(moved[graph.variable_adjacency[v]])
        other_effects.extend(moved[~reachable[v]])
    assert np.mean(np.array(below_effects) > 3) > 0.8
    assert np.mean(np.array(other_effects) > 3) < 0.02


def test_programmes_are_read_from_their_regulators(exact):
    for k, z in enumerate(exact.factors.T):
        A = np.column_stack([exact.test.x[:, exact.graph.Q[:, k]], np.ones(len(z))])
        fitted = A @ np.linalg.lstsq(A, z, rcond=None)[0]
        assert np.corrcoef(fitted, z)[0, 1] > 0.95


def test_counts_hide_what_exact_readings_show(exact):
    counted = genes_problem(5, counts=2.7, **FEW)
    depth = np.exp(counted.covariates["test"]["log_depth"])[:, None]
    counts = np.expm1(counted.test.unstandardised().x) * depth
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-6)
    assert 2 < counts.mean() < 3.5

    def clearest(problem):
        correlation = np.corrcoef(problem.test.x.T, problem.factors.T)[:80, 80:]
        return np.abs(correlation[problem.graph.R]).mean()

    assert clearest(counted) < 0.8 * clearest(exact)


def test_impossible_networks_are_refused():
    with pytest.raises(InvalidInputError, match="'n_knockouts' setting must be from 0 to 80"):
        Genes(n_knockouts=81)
    with pytest.raises(InvalidInputError, match="'targets' setting must be at least 14, two per"):
        Genes(targets=10, n_knockouts=5)
