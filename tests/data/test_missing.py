import numpy as np
import pytest

import ucad
from ucad.data import InterventionalData
from ucad.data.missing import without_missing
from ucad.errors import InvalidInputError

NAN = float("nan")


def test_the_mean_of_the_regime_is_filled_in_and_marked():
    x = np.array([[1.0, 0.0], [3.0, NAN], [NAN, 5.0], [10.0, 7.0], [NAN, 9.0]])
    filled = without_missing(x, ["a", "b"], ["", "", "", "b", "b"], "mean")
    np.testing.assert_array_equal(filled.x, [[1, 0], [3, 2.5], [2, 5], [10, 7], [10, 9]])
    np.testing.assert_array_equal(filled.is_missing, np.isnan(x))
    assert "3 missing values" in filled.notes[0]


def test_a_regime_without_a_value_gets_the_mean_of_all():
    filled = without_missing(np.array([[1.0], [4.0], [NAN]]), ["a"], ["", "", "elsewhere"], "mean")
    assert filled.x[2, 0] == 2.5


def test_dropping_leaves_out_the_samples_with_gaps():
    x = np.array([[1.0, 2.0], [NAN, 2.0], [3.0, 4.0]])
    filled = without_missing(x, ["a", "b"], [""] * 3, "drop")
    assert filled.rows.tolist() == [0, 2]
    assert filled.is_missing is None
    assert filled.notes == ("1 of 3 samples are left out: they have missing values.",)


def test_complete_data_are_left_alone():
    x = np.arange(6.0).reshape(3, 2)
    for policy in ("error", "drop", "mean"):
        filled = without_missing(x, ["a", "b"], [""] * 3, policy)
        assert filled.x is x
        assert filled.is_missing is None
        assert filled.notes == ()


@pytest.mark.parametrize(
    ("x", "policy", "message"),
    [
        ([[1.0, NAN], [2.0, NAN], [3.0, NAN]], "mean", "no value at all: 'b'"),
        ([[1.0, NAN], [NAN, 2.0], [3.0, NAN]], "drop", "leaves 0 of 3"),
        ([[1.0, np.inf], [NAN, 2.0], [3.0, 1.0]], "mean", "1 value.* infinite"),
        ([[1.0, 2.0]], "maen", "one of error, drop, mean. Got 'maen' instead. Did you mean 'mean'"),
    ],
)
def test_what_cannot_be_mended_is_refused(x, policy, message):
    with pytest.raises(InvalidInputError, match=message):
        without_missing(np.array(x), ["a", "b"], [""] * len(x), policy)


def table_with_gaps(path, share=0.2):
    rng = np.random.default_rng(0)
    lines = ["a,b,c,target"]
    for row in range(60):
        cells = ["" if rng.random() < share else f"{rng.normal():.3f}" for _ in range(3)]
        lines.append(",".join([*cells, "b" if row % 3 == 0 else ""]))
    path.write_text("\n".join(lines))
    return path


def test_the_message_counts_rows_and_columns_and_names_the_option(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n1,,3\n2,2,\n4,3,5\n")
    with pytest.raises(
        InvalidInputError, match=r"in 2 of 3 rows and 2 of 3 columns.*--missing drop"
    ):
        ucad.read(path)


@pytest.mark.parametrize("name", ["d.csv", "d.parquet", "d.npz", "d.h5ad", "d"])
def test_what_was_filled_in_survives_writing(tmp_path, name):
    data = ucad.read(table_with_gaps(tmp_path / "t.csv"), missing="mean")
    assert data.is_missing is not None
    ucad.write(data, tmp_path / name)
    back = ucad.read(tmp_path / name)
    assert back.fingerprint == data.fingerprint
    assert back.notes == data.notes
    np.testing.assert_array_equal(back.is_missing, data.is_missing)


@pytest.mark.parametrize("kind", ["npz", "folder", "h5ad"])
def test_every_format_takes_the_option(tmp_path, kind):
    rng = np.random.default_rng(1)
    x, clamps = rng.normal(size=(30, 3)), np.zeros((30, 3), dtype=bool)
    data = InterventionalData.from_arrays(x, clamps)
    x[3, 1] = NAN
    if kind == "npz":
        path = tmp_path / "d.npz"
        np.savez(path, x=x)
    elif kind == "folder":
        path = tmp_path / "d"
        ucad.write(data, path)
        (path / "ucad.json").unlink()
        np.save(path / "data_interv1.npy", x)
    else:
        import anndata
        import pandas as pd

        path = tmp_path / "d.h5ad"
        obs = pd.DataFrame({"target": [""] * 30}, index=[str(row) for row in range(30)])
        anndata.AnnData(x, obs=obs).write_h5ad(path)
    with pytest.raises(InvalidInputError, match="1 value.* --missing mean"):
        ucad.read(path)
    assert ucad.read(path, missing="drop").n_samples == 29
    filled = ucad.read(path, missing="mean")
    assert filled.x[3, 1] == pytest.approx(np.delete(x[:, 1], 3).mean())
    assert filled.is_missing.sum() == 1


def test_a_filled_in_entry_counts_in_no_likelihood_and_is_no_intervention(tmp_path):
    data = ucad.read(table_with_gaps(tmp_path / "t.csv"), missing="mean")
    np.testing.assert_array_equal(data.is_left_out, data.is_intervened | data.is_missing)
    assert data.targets.sum() == 1
    assert data.complete.n_samples == (~data.is_missing.any(axis=1)).sum()
    part = data.select(np.arange(10)).select_variables(np.array([0, 2]))
    np.testing.assert_array_equal(part.is_missing, data.is_missing[:10, [0, 2]])
    j = 2
    seen = ~data.is_missing[:, j] & ~data.is_intervened[:, j]
    assert data.moments.of(j).n_samples == seen.sum()


def test_a_model_is_found_though_values_are_missing(tmp_path):
    problem = ucad.paper_problem("a", "16-3", seed=0, n_samples=3000)
    x = np.array(problem.train.x)
    x[np.random.default_rng(0).random(x.shape) < 0.02] = NAN
    np.savez(tmp_path / "d.npz", x=x, is_intervened=problem.train.is_intervened)
    data = ucad.read(tmp_path / "d.npz", missing="mean")
    linear = {"factor_mechanism": "linear", "variable_mechanism": "linear"}
    model = ucad.UCAD(3, solver="search", **linear).fit(data)
    z = model.transform(problem.test.x)
    r = np.abs(np.corrcoef(z.T, problem.factors.T)[:3, 3:])
    assert r.max(axis=0).min() > 0.97
