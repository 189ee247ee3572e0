"""A task of a sweep on a file of one's own: its settings are those of a fit, and checked."""

import numpy as np
import pytest

from ucad.cli.own_data import canonical, fit_own
from ucad.errors import InvalidInputError


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 4))
    x[:, 2:] += x[:, :1]
    path = tmp_path / "table.csv"
    np.savetxt(path, x, delimiter=",", header="a,b,c,d", comments="")
    return str(path)


def test_defaults_are_left_out_and_a_single_name_is_a_list_of_one(table):
    task = {"data": table, "factors": 2, "seed": 0, "ignore": "d", "noise": "auto"}
    assert canonical(task) == {"data": table, "factors": 2, "ignore": ("d",)}
    assert canonical(canonical(task)) == canonical(task)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"factrs": 2}, "no option 'factrs'. Did you mean 'factors'?"),
        ({"factors": [1, 2]}, "'factors'"), ({"budget": "long"}, "'budget'"),
        ({"standardise": 3}, "'standardise'"), ({"ignore": [3]}, "'ignore"),
        ({"seed": -1}, "seed must be"), ({"data": 3}, "'data' must be the path"),
        ({"data": "nope.csv"}, "no data file 'nope.csv'"),
    ],
)  # fmt: skip
def test_a_setting_that_makes_no_sense_is_refused_before_any_work(table, wrong, message):
    with pytest.raises(InvalidInputError, match=message):
        canonical({"data": table} | wrong)


def test_a_row_says_what_was_found_and_how_likely_the_rest_is(table):
    linear = {"factor_mechanism": "linear", "variable_mechanism": "linear", "noise": "gaussian"}
    row = fit_own({"data": table, "factors": 1, "transform": "none"} | linear)
    assert row["n_factors"] == 1
    assert np.isfinite(row["log_likelihood"])
    assert set(row["factors"]) == {"Z1"}
    assert row["n_edges"] == sum(len(ends) for ends in row["factors"]["Z1"].values())
