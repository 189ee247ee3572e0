import numpy as np
import pytest
import scipy.sparse

import ucad
from ucad.data import rest
from ucad.data.rest import rows_within
from ucad.errors import InvalidInputError


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(rest, "MIN_ROWS", 100)
    monkeypatch.setattr(rest, "MIN_PER_REGIME", 10)


def cells(path, *, sparse=scipy.sparse.csr_matrix, n_cells=600):
    """Counts with a perturbation, a batch and a cell without a name of the control."""
    import anndata
    import pandas as pd

    rng = np.random.default_rng(0)
    counts = rng.poisson(2.0, size=(n_cells, 5)).astype(np.float32)
    target = np.resize(["NT", "NT", "NT", "g1", "g2"], n_cells)
    obs = pd.DataFrame(
        {"gene": target, "batch": np.resize(["u", "v"], n_cells)},
        index=[f"c{i}" for i in range(n_cells)],
    )
    var = pd.DataFrame(index=[f"g{j}" for j in range(5)])
    table = anndata.AnnData(X=sparse(counts), obs=obs, var=var)
    table.write_h5ad(path) if path.suffix == ".h5ad" else table.write_zarr(path)
    return counts, target


def test_all_rows_are_taken_where_they_fit():
    np.testing.assert_array_equal(rows_within(["a"] * 7, 3, 1.0), np.arange(7))


def test_a_part_of_every_regime_is_taken_and_small_regimes_are_spared(small_parts):
    groups = ["big"] * 5000 + ["small"] * 12 + ["tiny"] * 3
    rows = rows_within(groups, 100, 0.005)
    assert 100 <= (rows < 5000).sum() < 600
    assert ((rows >= 5000) & (rows < 5012)).sum() == 10
    assert (rows >= 5012).sum() == 3
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(rows, rows_within(groups, 100, 0.005))


@pytest.mark.parametrize("memory", [0.0, -1.0, float("nan")])
def test_what_is_no_memory_is_refused(tmp_path, memory):
    cells(tmp_path / "c.h5ad")
    with pytest.raises(InvalidInputError, match="GiB above 0"):
        ucad.read(tmp_path / "c.h5ad", target="gene", memory=memory)


@pytest.mark.parametrize("name", ["c.h5ad", "c.zarr"])
@pytest.mark.parametrize("sparse", [scipy.sparse.csr_matrix, scipy.sparse.csc_matrix, np.asarray])
@pytest.mark.filterwarnings("ignore")
def test_a_part_and_its_rest_are_the_whole(tmp_path, small_parts, name, sparse):
    counts, target = cells(tmp_path / name, sparse=sparse)
    options = {"target": "gene", "control": "NT", "context": ["batch"]}
    whole = ucad.read(tmp_path / name, **options)
    assert whole.rest is None
    np.testing.assert_array_equal(whole.x, counts)
    part = ucad.read(tmp_path / name, **options, memory=1e-5)
    assert part.n_samples < 150
    assert "at random within regimes" in part.notes[-1]
    taken = part.rest.taken
    np.testing.assert_array_equal(part.x, counts[taken])
    rows = [taken]
    for numbers, left in part.rest.parts():
        rows.append(numbers)
        np.testing.assert_array_equal(left.x, counts[numbers])
        regimes = [left.regime_names[r] for r in left.regime]
        expected = ["observational" if t == "NT" else t for t in target[numbers]]
        assert regimes == expected
        np.testing.assert_array_equal(left.context.values, whole.context.values[numbers])
    np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.arange(len(counts)))


def test_logarithms_of_a_part_are_those_of_the_whole(tmp_path, small_parts):
    cells(tmp_path / "c.h5ad")
    options = {"target": "gene", "control": "NT", "log_counts": True, "min_mean": 1.0}
    whole = ucad.read(tmp_path / "c.h5ad", **options)
    part = ucad.read(tmp_path / "c.h5ad", **options, memory=1e-5)
    np.testing.assert_array_equal(part.x, whole.x[part.rest.taken])
    for numbers, left in part.rest.parts():
        np.testing.assert_array_equal(left.x, whole.x[numbers])


def test_a_mapped_matrix_is_read_with_the_table_beside_it(tmp_path, small_parts):
    x = np.random.default_rng(0).normal(size=(400, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    assert ucad.read(tmp_path / "x.npy").n_regimes == 1
    lines = ["target,batch", *(f"{['', 'X2'][i % 2]},{'uv'[i % 3 == 0]}" for i in range(400))]
    (tmp_path / "x.obs.csv").write_text("\n".join(lines) + "\n")
    whole = ucad.read(tmp_path / "x.npy", context=["batch"])
    np.testing.assert_array_equal(whole.x, x.astype(float))
    assert whole.regime.tolist() == [i % 2 for i in range(400)]
    part = ucad.read(tmp_path / "x.npy", memory=1e-6)
    np.testing.assert_array_equal(part.x, x[part.rest.taken])
