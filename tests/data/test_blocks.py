from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse

from ucad.data import blocks
from ucad.data.blocks import StoredRows, gather, scan


def matrix(has_gaps=False):
    rng = np.random.default_rng(0)
    x = rng.poisson(0.4, size=(50, 7)).astype(float)
    x[:, 2] = 0
    if has_gaps:
        x[3, 1] = x[20, 4] = np.nan
    return x


@pytest.fixture(autouse=True)
def few_rows_per_block(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 8 * 7 * 9)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix, scipy.sparse.csc_matrix])
@pytest.mark.parametrize("has_gaps", [False, True])
def test_one_pass_tells_what_the_dense_matrix_does(kind, has_gaps):
    x = matrix(has_gaps)
    found = scan(StoredRows(lambda: nullcontext(kind(x))))
    np.testing.assert_array_equal(found.n_values, (~np.isnan(x)).sum(axis=0))
    np.testing.assert_allclose(found.total, np.nansum(x, axis=0))
    np.testing.assert_array_equal(found.low, np.nanmin(x, axis=0))
    np.testing.assert_array_equal(found.high, np.nanmax(x, axis=0))
    np.testing.assert_allclose(found.depth, np.nansum(x, axis=1))


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix, scipy.sparse.csc_matrix])
def test_gathered_rows_and_columns_are_those_of_the_matrix(kind):
    x, rows, columns = matrix(), np.array([0, 3, 8, 9, 10, 49]), np.array([1, 5])
    found = gather(StoredRows(lambda: nullcontext(kind(x))), rows, columns)
    np.testing.assert_array_equal(found, x[np.ix_(rows, columns)])
    changed = gather(
        StoredRows(lambda: nullcontext(kind(x))), rows, columns, lambda v, at: v + at[:, None]
    )
    np.testing.assert_array_equal(changed, x[np.ix_(rows, columns)] + rows[:, None])


def test_blocks_hold_every_row_once():
    starts = [
        (start, block.shape[0])
        for start, block in StoredRows(
            lambda: nullcontext(scipy.sparse.csr_matrix(matrix()))
        ).blocks()
    ]
    assert sum(n for _, n in starts) == 50
    assert [start for start, _ in starts] == list(range(0, 50, 9))
