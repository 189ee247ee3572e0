import numpy as np
import pytest

import ucad
from ucad.data import InterventionalData
from ucad.data.duplicates import (
    Columns,
    find_variable,
    merge_duplicates,
    merged_as,
    near_duplicates,
)
from ucad.errors import FormatError, InvalidInputError
from ucad.simulate.worlds import world_problem
from ucad.solvers.prior import PriorKnowledge


def doubled(layer_of=None) -> InterventionalData:
    x = np.random.default_rng(0).normal(size=(40, 3))
    labels = ["", "d", "a", "b"] * 10
    return InterventionalData.from_targets(
        x[:, [0, 1, 2, 0]], labels, variable_names=("a", "b", "c", "d"), layer_of=layer_of
    )


def test_identical_columns_become_one_variable_with_both_names(caplog):
    data, columns = merge_duplicates(doubled())
    assert data.variable_names == ("a|d", "b", "c")
    assert columns.variable.tolist() == [0, 1, 2, 0]
    assert "'a|d'" in caplog.text


def test_what_acts_on_a_copy_acts_on_the_variable():
    data, _ = merge_duplicates(doubled())
    acted = dict(zip(data.regime_names, data.targets[:, 0].tolist(), strict=True))
    assert acted == {"observational": False, "d": True, "a": True, "b": False}


def test_columns_of_different_layers_stay_apart():
    data = doubled(layer_of=[0, 0, 1, 1])
    assert merge_duplicates(data)[0] is data


def test_data_without_duplicates_are_left_alone():
    data = doubled().select_variables(np.array([0, 1, 2]))
    merged, columns = merge_duplicates(data)
    assert merged is data
    assert columns.is_plain
    assert columns.to_json() == {}


def test_near_duplicates_are_named_and_others_are_not():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 4))
    x[:, 1] = 5 - 2 * x[:, 0] + 1e-3 * rng.normal(size=300)
    x[:, 2] = x[:, 0] + 0.2 * x[:, 3]
    assert near_duplicates(x, "abcd") == [("a", "b")]
    assert near_duplicates(1e300 * x, "abcd") == [("a", "b")]
    assert near_duplicates(1e-300 * x, "abcd") == [("a", "b")]


def test_data_are_brought_into_the_shape_of_a_model():
    data = doubled()
    assert merged_as(data, ("a|d", "b", "c")).x.shape == (40, 3)
    assert merged_as(data, ("a|e", "b", "c", "d")).variable_names[0] == "a|e"
    assert merged_as(data, data.variable_names) is data
    assert find_variable("d", ("a|d", "b")) == "a|d"
    for names in (("a|d", "b"), ("a|d", "b", "c", "x")):
        with pytest.raises(InvalidInputError, match="the variables of the model"):
            merged_as(data, names)


def test_columns_that_name_no_variable_are_refused():
    assert Columns.from_json({"columns": [0, 1, 0]}, 2).variable.tolist() == [0, 1, 0]
    with pytest.raises(FormatError, match="must name each variable"):
        Columns.from_json({"columns": [0, 2, 0]}, 2)


def test_prior_knowledge_of_a_copy_is_knowledge_of_the_variable():
    prior = PriorKnowledge.from_edges(list("abcd"), 2, required=["d -> Z2"])
    merged = prior.merged(np.array([0, 1, 2, 0]))
    assert merged.shape == (3, 2)
    assert merged.required_parent.tolist() == [[False, True], [False, False], [False, False]]


def test_three_duplicated_columns_cost_nothing(tmp_path):
    problem = world_problem("duplicates", 0)
    linear = {"factor_mechanism": "linear", "variable_mechanism": "linear"}
    model = ucad.UCAD(problem.asked_factors, solver="search", **linear).fit(problem.train)
    z = model.transform(problem.test.x)
    r = np.abs(np.corrcoef(z.T, problem.factors.T)[:3, 3:])
    assert r.max(axis=0).min() > 0.99
    assert model.inverse_transform(z).shape == problem.test.x.shape
    model.save(tmp_path / "run")
    again = ucad.load(tmp_path / "run")
    np.testing.assert_array_equal(again.transform(problem.test.x), z)
    np.testing.assert_array_equal(again.transform(problem.test), z)
    assert again.score(problem.test) == pytest.approx(model.score(problem.test.x))
