"""Regimes whose targets are not measured: kept, left out, or asked about."""

from dataclasses import replace

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.data.kinds import RegimeKind
from ucad.solvers.registry import SolveSettings, solve
from ucad.solvers.unmeasured import fit_with_unmeasured


@pytest.fixture(scope="module")
def data():
    """x0, x1 → z → x2, x3; regime 2 acts on something that moves x1 and was not measured."""
    rng = np.random.default_rng(0)
    regime = np.repeat([0, 1, 2], [400, 100, 100])
    x = rng.standard_normal((600, 4))
    x[regime == 2, 1] += 2.0
    x[:, 2:] = (x[:, :1] + x[:, 1:2]) + 0.3 * x[:, 2:]
    clamped = np.zeros(x.shape, dtype=bool)
    clamped[regime == 1, 0] = True
    made = InterventionalData(x, clamped, regime, tuple("ABCD"))
    kinds = (RegimeKind.AUTO, RegimeKind.AUTO, RegimeKind.UNMEASURED)
    return replace(made, kinds=kinds).standardised()


@pytest.mark.parametrize(("choice", "n_seen"), [("keep", 600), ("drop", 500)])
def test_samples_are_kept_or_left_out_as_told(data, choice, n_seen):
    class SeenError(Exception):
        """Says what a fit was given."""

    def fit(train, held_out):
        raise SeenError(train.n_samples, held_out.n_samples)

    with pytest.raises(SeenError) as seen:
        fit_with_unmeasured(data, data, choice, fit)
    assert seen.value.args == (n_seen, n_seen)


def test_what_they_act_on_is_inferred_and_said(data):
    asked = SolveSettings(
        n_factors=1, factor_mechanism="linear", variable_mechanism="linear", unmeasured="infer"
    )
    result = solve(data, asked, validation=data)
    assert {action.regime for action in result.acts_on} == {data.regime_names[2]}
    assert any("unmeasured target" in note for note in result.status.notes)
