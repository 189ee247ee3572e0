"""Random graphs, models and interventions for property tests."""

import numpy as np
import torch
from hypothesis import strategies as st

from ucad.graph import FactorGraph
from ucad.scm import FactorSCM, Intervention, hard
from ucad.simulate import MechanismRecipe, random_factor_scm

seeds = st.integers(0, 2**31 - 1)


def planted_graph(
    n_variables: int, n_factors: int, density: float, rng: np.random.Generator
) -> FactorGraph:
    """An anchored f-DAG by construction: one in-anchor and one out-anchor a factor are planted.

    Factors are in causal order; an out-anchor may feed later factors, other variables sit at a
    random place of the order.
    """
    factors = np.arange(n_factors)
    place = rng.integers(0, n_factors + 1, size=n_variables)
    drawn = rng.random((n_variables, n_factors)) < density
    Q, R = drawn & (factors >= place[:, None]), drawn & (factors < place[:, None])
    for k in factors:
        Q[k], R[k] = factors == k, False
        Q[n_factors + k] = drawn[n_factors + k] & (factors > k)
        R[n_factors + k] = factors == k
    shuffled = rng.permutation(n_variables)
    return FactorGraph(Q[shuffled], R[shuffled]).relabelled(rng.permutation(n_factors))


@st.composite
def anchored_graphs(draw, max_factors: int = 4, max_extra: int = 8) -> FactorGraph:
    n_factors = draw(st.integers(1, max_factors))
    n_variables = 2 * n_factors + draw(st.integers(0, max_extra))
    density = draw(st.sampled_from([0.1, 0.3, 0.6]))
    graph = planted_graph(n_variables, n_factors, density, np.random.default_rng(draw(seeds)))
    return FactorGraph(graph.Q, graph.R)


@st.composite
def factor_scms(draw, linear_factors=None, linear_variables=None, noise=None) -> FactorSCM:
    """f-SCMs of every kind: linear or not, noisy or not."""
    graph = draw(anchored_graphs())
    recipe = MechanismRecipe(
        linear_factors=draw(st.booleans()) if linear_factors is None else linear_factors,
        linear_variables=draw(st.booleans()) if linear_variables is None else linear_variables,
        noise_scale=draw(st.sampled_from([0.0, 0.4])) if noise is None else noise,
    )
    return random_factor_scm(graph, recipe, np.random.default_rng(draw(seeds)))


@st.composite
def hard_interventions(draw, scm: FactorSCM, min_size: int = 0) -> Intervention:
    names = draw(
        st.lists(st.sampled_from(scm.graph.variable_names), unique=True, min_size=min_size)
    )
    values = st.floats(-3, 3, allow_nan=False)
    return hard({name: draw(values) for name in names})


def contexts(scm: FactorSCM, seed: int, n_samples: int = 20) -> torch.Tensor:
    """Any context will do, not only likely ones: uniformity is over all distributions."""
    generator = torch.Generator().manual_seed(seed)
    shape = (n_samples, scm.graph.n_variables)
    return 2 * torch.randn(shape, generator=generator, dtype=torch.float64)
