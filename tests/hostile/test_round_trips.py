"""What is written is read back exactly, or refused by name."""

import numpy as np
import pytest

import ucad
from tests.hostile.commands import cases
from tests.hostile.names import ODD, UNWRITABLE, odd_names
from ucad.data import InterventionalData
from ucad.data.targets import join_targets, split_targets
from ucad.errors import InvalidInputError

FORMATS = ["data.csv", "data.tsv", "data.parquet", "data.npz", "data.h5ad", "folder"]


def odd_data(seed: int) -> InterventionalData:
    """A small data set with odd names, regimes, precision and sizes of numbers."""
    rng = np.random.default_rng(seed)
    n_samples, n_variables = int(rng.integers(3, 12)), int(rng.integers(1, 6))
    names = odd_names(seed, n_variables)
    x = rng.normal(size=(n_samples, n_variables)) * 10.0 ** rng.integers(-300, 300, n_variables)
    x[0, 0] = rng.choice([-0.0, 5e-324, 1.7976931348623157e308, 0.1, 1e-310])
    with np.errstate(over="ignore"):
        x = x.astype(np.float32) if rng.random() < 0.3 else x
    x = np.where(np.isfinite(x), x, 1.0).astype(x.dtype)
    clamps = rng.random((n_samples, n_variables)) < 0.3
    clamps[int(rng.integers(n_samples))] = False
    regimes = {row.tobytes(): number for number, row in enumerate(np.unique(clamps, axis=0), 1)}
    free = np.zeros(n_variables, dtype=bool).tobytes()
    regime = np.array([0 if row.tobytes() == free else regimes[row.tobytes()] for row in clamps])
    n_regimes = int(regime.max()) + 1
    given = tuple(f"{name} {number}" for number, name in enumerate(odd_names(seed + 1, n_regimes)))
    data = InterventionalData(
        x,
        clamps,
        regime,
        names,
        layer_of=rng.integers(0, 3, n_variables) if rng.random() < 0.5 else None,
        regime_names=given if rng.random() < 0.5 else (),
        is_part=True,
    )
    return data.standardised() if rng.random() < 0.2 and float(np.abs(x).max()) < 1e30 else data


@pytest.mark.parametrize("file", FORMATS)
@pytest.mark.parametrize("seed", cases(4, 60))
def test_a_data_set_with_odd_names_is_read_back_exactly(tmp_path, seed, file):
    data = odd_data(seed)
    ucad.write(data, tmp_path / file)
    back = ucad.read(tmp_path / file)
    assert back.variable_names == data.variable_names
    assert back.regime_names == data.regime_names
    assert back.fingerprint == data.fingerprint
    assert back.is_part
    if data.scaling is not None:
        for ours, theirs in zip(data.scaling, back.scaling, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    assert not [path.name for path in tmp_path.rglob("*") if path.name.endswith(".part")]


@pytest.mark.parametrize("file", FORMATS)
@pytest.mark.parametrize("name", UNWRITABLE)
def test_a_name_that_cannot_be_written_is_refused_and_nothing_is_written(tmp_path, name, file):
    x = np.arange(6.0).reshape(3, 2)
    data = InterventionalData.from_arrays(x, variable_names=(name, "b"))
    with pytest.raises(InvalidInputError, match="cannot be written"):
        ucad.write(data, tmp_path / file)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("seed", cases(20, 300))
def test_targets_that_are_joined_are_split_again(seed):
    names = odd_names(seed, 1 + seed % 5)
    assert split_targets(join_targets(names)) == list(names)


@pytest.mark.parametrize("name", ODD)
def test_every_odd_name_alone_survives_as_a_target(tmp_path, name):
    x = np.arange(6.0).reshape(3, 2)
    other = "other" if name != "other" else "b"
    data = InterventionalData.from_arrays(x, [[0, 0], [1, 0], [1, 1]], variable_names=(name, other))
    ucad.write(data, tmp_path / "data.csv")
    assert ucad.read(tmp_path / "data.csv").fingerprint == data.fingerprint


def test_a_file_beside_the_table_that_is_not_ours_is_not_overwritten(tmp_path):
    (tmp_path / "data.csv.json").write_text('{"mine": 1}')
    with pytest.raises(InvalidInputError, match="is not ucad's"):
        ucad.write(odd_data(0), tmp_path / "data.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv.json"]
    assert (tmp_path / "data.csv.json").read_text() == '{"mine": 1}'


def test_a_table_that_was_changed_since_is_said_to_be(tmp_path, caplog):
    data = InterventionalData.from_arrays(np.arange(8.0).reshape(4, 2))
    ucad.write(data, tmp_path / "data.csv")
    text = (tmp_path / "data.csv").read_text()
    (tmp_path / "data.csv").write_text(text.replace("7.0", "9.0"))
    assert ucad.read(tmp_path / "data.csv").x[3, 1] == 9.0
    assert "was changed since" in caplog.text
