"""Arrays under their own names, as somebody else's script saves them."""

import numpy as np
import pytest

import ucad
from ucad.errors import FormatError, InvalidInputError

X = np.random.default_rng(0).normal(size=(8, 3))
CLAMPS = np.zeros((8, 3), dtype=bool)
CLAMPS[4:6, 1] = CLAMPS[6:, 2] = True


def saved(tmp_path, **arrays):
    np.savez(tmp_path / "data.npz", **arrays)
    return tmp_path / "data.npz"


def test_an_npz_with_pickled_objects_is_refused(tmp_path):
    np.savez(tmp_path / "bad.npz", x=np.array([object()]))
    with pytest.raises(FormatError, match="plain arrays"):
        ucad.read(tmp_path / "bad.npz")


def test_a_matrix_alone_is_observational_with_numbered_variables(tmp_path):
    data = ucad.read(saved(tmp_path, x=X))
    np.testing.assert_array_equal(data.x, X)
    assert data.variable_names == ("X1", "X2", "X3")
    assert data.n_regimes == 1


def test_every_set_of_clamped_variables_is_a_regime(tmp_path):
    data = ucad.read(saved(tmp_path, x=X, is_intervened=CLAMPS, variable_names=["a", "b", "c"]))
    assert data.regime.tolist() == [0, 0, 0, 0, 1, 1, 2, 2]
    assert data.regime_names == ("observational", "b", "c")
    np.testing.assert_array_equal(data.is_intervened, CLAMPS)


def test_whole_numbers_become_floats_and_a_context_is_an_array_of_its_name(tmp_path):
    batch = np.repeat(["u", "v"], 4)
    counts = np.arange(24).reshape(8, 3)
    data = ucad.read(saved(tmp_path, x=counts, batch=batch), context=["batch"])
    np.testing.assert_array_equal(data.x, counts.astype(float))
    column = data.context.values[:, 0]
    assert len(set(column[:4])) == len(set(column[4:])) == 1
    assert column[0] != column[4]


def test_columns_that_are_left_out_take_their_clamps_names_and_layers_along(tmp_path):
    x = X.copy()
    x[:, 1] = 0.0
    names, layers = ["a", "b", "c"], np.array([0, 0, 1])
    path = saved(tmp_path, x=x, is_intervened=CLAMPS, variable_names=names, layer_of=layers)
    data = ucad.read(path, drop_constant=True)
    assert data.variable_names == ("a", "c")
    np.testing.assert_array_equal(data.x, x[:, [0, 2]])
    np.testing.assert_array_equal(data.is_intervened, CLAMPS[:, [0, 2]])
    assert data.layer_of.tolist() == [0, 1]


def test_rows_with_gaps_take_their_clamps_along(tmp_path):
    x = X.copy()
    x[4, 0] = np.nan
    data = ucad.read(saved(tmp_path, x=x, is_intervened=CLAMPS), missing="drop")
    np.testing.assert_array_equal(data.is_intervened, np.delete(CLAMPS, 4, axis=0))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": X}, "must hold an array 'x'. It holds y"),
        ({"x": X, "is_intervened": CLAMPS[:3]}, "is_intervened"),
        ({"x": X, "variable_names": ["a", "b"]}, "variable_names|names"),
        ({"x": X, "layer_of": np.array([0, 1])}, "layer"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, arrays, message):
    with pytest.raises((FormatError, InvalidInputError), match=message):
        ucad.read(saved(tmp_path, **arrays))


def test_a_context_that_is_not_there_gets_a_suggestion(tmp_path):
    with pytest.raises(InvalidInputError, match="Did you mean 'batch'"):
        ucad.read(saved(tmp_path, x=X, batch=np.arange(8)), context=["bacth"])
