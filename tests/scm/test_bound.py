import numpy as np
import torch

from ucad.scm import LinearMechanism, error_bound
from ucad.scm.bound import propagation_matrices
from ucad.simulate import paper_problem


def test_the_matrices_are_those_of_the_proof():
    scm = paper_problem("b", "16-3", seed=0, n_samples=200).scm
    M, N = propagation_matrices(scm)
    assert isinstance(scm.factor_mechanism, LinearMechanism)
    for k in range(3):
        L = scm.factor_mechanism.weight[k].norm()
        for i in range(16):
            torch.testing.assert_close(M[k, i], 2 * L**2 * bool(scm.graph.Q[i, k]))
    assert ((N != 0).numpy() == scm.graph.R).all()


def test_the_sum_over_paths_ends_because_the_factor_graph_is_acyclic():
    scm = paper_problem("e", "64-6", seed=0, n_samples=200).scm
    M, N = propagation_matrices(scm)
    assert not torch.linalg.matrix_power(M @ N, scm.graph.n_factors).any()


def test_the_matrix_bound_is_the_resolvent_of_the_proof():
    problem = paper_problem("e", "64-6", seed=0, n_samples=2000)
    scm, data = problem.scm, problem.validation
    M, N = propagation_matrices(scm)
    residual = (data.x - scm.expected_variables(scm.state_map(data.x)).numpy()) ** 2
    residual = np.where(data.is_intervened, 0.0, residual).mean(axis=0)
    residual[~scm.graph.R.any(axis=1)] = 0.0
    D = torch.linalg.solve(torch.eye(6).double() - M @ N, M @ torch.tensor(residual))
    np.testing.assert_allclose(error_bound(scm, data).matrix, float(D.sum()))
