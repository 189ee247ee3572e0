"""The search with measurement noise: attenuation is undone, and means over regimes decide."""

from __future__ import annotations

import numpy as np
import pytest

from ucad.data import MaskedMoments
from ucad.errors import InvalidInputError
from ucad.graph import transitive_closure
from ucad.scm.families import AFFINE
from ucad.simulate.worlds import world_problem
from ucad.solvers.registry import SolveSettings, solve
from ucad.solvers.regression.fitting import THOROUGH, Fitter, Regression
from ucad.solvers.regression.moments import MIN_SIGNAL, local_moments, without_noise
from ucad.solvers.status import FitResult


def _noisy(n: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    """y = x₀ − x₁ of correlated inputs, which are read with noise of variance 0.5."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])
    y = x @ [1.0, -1.0] + 0.1 * rng.standard_normal(n)
    return x + np.sqrt(0.5) * rng.standard_normal(x.shape), y


def test_attenuation_is_undone() -> None:
    x, y = _noisy()
    noise = 0.5 * np.eye(2)
    regression = Regression(y, np.ones(len(y)))
    for known, weight in ((noise, 1.0), (None, 0.45)):
        fitter = Fitter(family=AFFINE, effort=THOROUGH, floor=1e-3, penalty=1.0, noise=known)
        fitted = fitter.fit(x, np.arange(2), regression)
        np.testing.assert_allclose(fitted.weights[:2], [weight, -weight], atol=0.03)


def test_local_moments_are_those_of_what_is_read() -> None:
    x, y = _noisy()
    clamps = np.zeros((len(x), 1), dtype=bool)
    shared = MaskedMoments(x, clamps)
    moments = local_moments(
        shared, np.array([0]), [np.arange(2)], 0.0, y=y[:, None], noise=0.5 * np.eye(2)
    )
    np.testing.assert_allclose(moments.gram[0, :2, :2], [[1.0, 0.6], [0.6, 1.0]], atol=0.05)


def test_enough_signal_is_left_however_much_noise_is_claimed() -> None:
    gram = np.array([[1.0, 0.9], [0.9, 1.0]])
    left = without_noise(gram, np.eye(2))
    assert np.linalg.eigvalsh(np.linalg.solve(gram, left)).min() == pytest.approx(MIN_SIGNAL)


def _read_noise(measured: bool) -> tuple[float, float]:
    """Precision and recall of the ancestor pairs in the world of noisy readings."""
    problem = world_problem("read-noise", seed=2)
    noise = [0.25] * problem.train.n_variables if measured else None
    settings = SolveSettings(n_factors=3, noise=noise, **dict.fromkeys(_SIDES, "linear"))
    fit: FitResult = solve(problem.train, settings, validation=problem.validation)
    found = transitive_closure(np.asarray(fit.scm.graph.variable_adjacency))
    true = transitive_closure(problem.adjacency)
    both = (found & true).sum()
    return both / found.sum(), both / true.sum()


_SIDES = ("factor_mechanism", "variable_mechanism")


def test_siblings_are_no_parents_once_the_noise_is_known() -> None:
    assert _read_noise(measured=True) == (1.0, 1.0)
    precision, _ = _read_noise(measured=False)
    assert precision < 0.7


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "gradient"}, "takes no measurement noise"),
        ({"variable_mechanism": "mlp"}, "mechanisms must be linear"),
    ],
)
def test_what_knows_no_noise_is_refused(settings: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        SolveSettings(n_factors=2, noise=[1.0] * 3, **settings)  # type: ignore[arg-type]
