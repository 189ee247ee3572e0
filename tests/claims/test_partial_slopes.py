"""Slopes of residuals on variables, where these are acted on and where they are free."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.claims.models import SMALL, System, direct_edge, samples_of
from ucad.claims.partial_slopes import linear_and_curved, partial_slope


@pytest.mark.parametrize("acted", [True, False])
def test_the_partial_slope_is_that_of_a_regression_on_all_parents(acted):
    system = System(
        scm=SMALL, targets=((4,),), direct=direct_edge(4, 3, strength=0.8, n_variables=5)
    )
    samples = samples_of(SMALL, system, n_samples=1000)
    slope, error = partial_slope(samples, 4, 3, acted=acted)
    rows = samples.is_intervened[:, 4] == acted
    columns = np.column_stack([samples.x[rows][:, [4, 0, 1]], np.ones(rows.sum())])
    w = np.linalg.lstsq(columns, samples.residual[rows, 3], rcond=None)[0]
    assert slope == pytest.approx(w[0])
    assert abs(slope) > 10 * error > 0


def test_a_slope_takes_enough_samples():
    samples = samples_of(SMALL, System(scm=SMALL, targets=((4,),)), n_samples=30)
    assert partial_slope(samples, 4, 3, acted=True) is None
    assert partial_slope(samples, 0, 3, acted=True) is None


@pytest.mark.parametrize(
    ("left", "is_linear"),
    [(lambda x: x[:, 0] - x[:, 1], True), (lambda x: (x[:, 0] - x[:, 1]) ** 2, False)],
)
def test_the_linear_part_tells_a_missing_factor_from_a_missing_curve(left, is_linear):
    data = System(scm=SMALL, targets=()).draw(1500)
    x = data.x.copy()
    x[:, 3] += 0.5 * left(x)

    class Changed(System):
        def draw(self, n_samples=1500, seed=0):
            return replace(data, x=x)

    samples = samples_of(SMALL, Changed(scm=SMALL, targets=()), n_samples=1500)
    linear, curved = linear_and_curved(samples, 3)
    assert linear > 10 * curved if is_linear else curved > 10 * linear
    assert max(linear, curved) > 0.05
    assert linear_and_curved(samples, 0) == (0.0, 0.0)


def test_what_is_no_parent_bears_on_a_variable_only_if_it_is_asked():
    samples = samples_of(SMALL, System(scm=SMALL, targets=()), n_samples=1500)
    samples.residual[:, 3] += 0.5 * samples.x[:, 4] ** 2
    assert max(linear_and_curved(samples, 3)) < 0.05
    linear, curved = linear_and_curved(samples, 3, [4])
    assert curved > 0.2 > 10 * linear
