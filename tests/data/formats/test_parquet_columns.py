"""Tables in blocks of samples."""

import numpy as np
import pytest

import ucad
from ucad.data.formats import parquet_columns

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    columns = {
        "a": rng.standard_normal(100),
        "n": rng.integers(9, size=100),
        "target": np.where(np.arange(100) % 5, "", "a"),
        "c": rng.standard_normal(100).astype(np.float32),
        "batch": np.arange(100) % 2,
    }
    parquet.write_table(pa.table(columns), tmp_path / "table.parquet", row_group_size=30)
    return tmp_path / "table.parquet"


def test_a_parquet_table_is_the_same_however_many_samples_are_decoded_at_a_time(path, monkeypatch):
    whole = ucad.read(path, context=["batch"])
    monkeypatch.setattr(parquet_columns, "ROWS_AT_ONCE", 7)
    parts = ucad.read(path, context=["batch"])
    assert whole.variable_names == parts.variable_names == ("a", "n", "c")
    np.testing.assert_array_equal(whole.x, parts.x)
    np.testing.assert_array_equal(whole.regime, parts.regime)
    assert whole.x[:, 1].tolist() == parquet.read_table(path).column("n").to_pylist()


def test_whole_numbers_that_name_regimes_stay_whole(path):
    data = ucad.read(path, target="batch", control="1", ignore=["target"])
    assert "0" in " ".join(map(str, data.regime_names or ()))
    assert "0.0" not in " ".join(map(str, data.regime_names or ()))
