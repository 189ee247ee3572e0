import numpy as np
import pandas as pd
import pytest

import ucad
from ucad.data import Context, InterventionalData
from ucad.data.context import take_context
from ucad.errors import InvalidInputError

X = np.arange(12.0).reshape(6, 2) ** 2


def test_texts_and_codes_become_indicators_and_numbers_stay():
    columns = {"lab": list("aabbcc"), "batch": [1, 1, 2, 2, 3, 3], "depth": np.arange(6) / 7}
    context = Context.from_columns(columns)
    assert context.names == (
        *("lab=a", "lab=b", "lab=c"),
        *("batch=1", "batch=2", "batch=3"),
        "depth",
    )
    assert context.values[:, :3].sum(axis=1).tolist() == [1.0] * 6
    np.testing.assert_array_equal(context.values[:, 6], np.arange(6) / 7)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"batch": ["a", "", "b", "b"]}, "must be known in every sample"),
        ({"age": [0.5, np.nan, 1.5, 2.5]}, "must be known in every sample"),
        ({"cell": list("abcdefgh")}, "looks like a name of the samples"),
        ({"a": [0.5, 1.5], "b": [0.5, 1.5, 2.5]}, "same number of samples"),
    ],
)
def test_what_is_no_context_is_refused(columns, message):
    with pytest.raises(InvalidInputError, match=message):
        Context.from_columns(columns)


def test_a_context_goes_with_its_samples_and_changes_the_fingerprint():
    plain = InterventionalData.from_arrays(X)
    data = plain.with_context({"batch": list("aabbcc")})
    assert data.fingerprint != plain.fingerprint
    np.testing.assert_array_equal(data.select(np.array([5, 0])).covariates, [[0, 0, 1], [1, 0, 0]])
    assert "context batch=a, batch=b, batch=c" in repr(data)
    with pytest.raises(InvalidInputError, match="one row per sample"):
        plain.with_context({"batch": list("aabb")})


def test_texts_that_do_not_occur_are_zero_and_new_ones_are_refused():
    names = ("batch=a", "batch=b", "age")
    some = Context.from_columns({"age": [0.5, 1.5], "batch": ["b", "b"]}).aligned(names)
    np.testing.assert_array_equal(some.values, [[0, 1, 0.5], [0, 1, 1.5]])
    with pytest.raises(InvalidInputError, match="must have the covariates"):
        Context.from_columns({"age": [0.5, 1.5], "batch": ["z", "z"]}).aligned(names)
    with pytest.raises(InvalidInputError, match="must have the covariates"):
        Context.from_columns({"batch": ["b", "b"]}).aligned(names)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "npz", "h5ad", ""])
def test_every_format_gives_a_context_back(tmp_path, ending):
    pytest.importorskip({"parquet": "pyarrow", "h5ad": "anndata"}.get(ending, "numpy"))
    data = InterventionalData.from_arrays(X).with_context({"batch": list("aabbcc")})
    path = tmp_path / (f"data.{ending}" if ending else "data")
    ucad.write(data, path)
    back = ucad.read(path)
    assert back.fingerprint == data.fingerprint
    assert back.context.names == data.context.names


def test_a_column_of_a_table_is_read_as_context(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(batch=list("ppqqrr"), target="")
    frame.to_csv(tmp_path / "data.csv", index=False)
    data = ucad.read(tmp_path / "data.csv", context=["batch"])
    assert data.variable_names == ("a", "b")
    assert data.context.names == ("batch=p", "batch=q", "batch=r")
    with pytest.raises(InvalidInputError, match="Did you mean 'batch'"):
        ucad.read(tmp_path / "data.csv", context=["batsh"])


def test_obs_of_an_h5ad_file_is_read_as_context(tmp_path):
    anndata = pytest.importorskip("anndata")
    obs = pd.DataFrame({"gene": "", "replicate": list("ppqqrr")}, index=list("123456"))
    var = pd.DataFrame(index=["a", "b"])
    anndata.AnnData(X=X, obs=obs, var=var).write_h5ad(tmp_path / "data.h5ad")
    data = ucad.read(tmp_path / "data.h5ad", target="gene", context=["replicate"])
    assert data.context.names == ("replicate=p", "replicate=q", "replicate=r")


def test_the_context_of_a_fit_may_be_columns_a_frame_or_an_array():
    frame = pd.DataFrame({"a": [0.5, 1.0], "b": [1.0, 2.5], "age": [0.5, 0.7]})
    rest, by_name = take_context(frame, "age")
    assert list(rest.columns) == ["a", "b"]
    for given in (frame[["age"]], {"age": [0.5, 0.7]}, by_name):
        _, context = take_context(X, given)
        assert context.names == ("age",)
    assert take_context(X, np.array([0.5, 0.7]))[1].names == ("context1",)
    with pytest.raises(InvalidInputError, match="X has no such columns"):
        take_context(frame, ["size"])
