"""From stored rows to a data set: what is kept, turned into logarithms, and left for later."""

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from ucad.data import rest
from ucad.data.blocks import StoredRows
from ucad.data.formats.options import ReadOptions
from ucad.data.formats.stored import StoredSamples, dataset_of
from ucad.errors import InvalidInputError

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson([4.0, 0.0, 9.0, 0.3], size=(60, 4)).astype(float)
LABELS = ["", "g1", "g3"] * 20
NAMES = ["g1", "g2", "g3", "g4"]


def stored(x=COUNTS, labels=LABELS, kind=np.asarray, **known):
    source = StoredRows(lambda: nullcontext(kind(x)))
    return StoredSamples(source, NAMES, labels, known, Path("screen"))


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix, scipy.sparse.csc_matrix])
def test_means_and_constants_decide_which_variables_stay(kind):
    data = dataset_of(stored(kind=kind), ReadOptions(drop_constant=True))
    assert data.variable_names == ("g1", "g3", "g4")
    np.testing.assert_array_equal(data.x, COUNTS[:, [0, 2, 3]])
    assert data.is_intervened.sum(axis=0).tolist() == [20, 20, 0]
    assert dataset_of(stored(kind=kind), ReadOptions(min_mean=1.0)).variable_names == ("g1", "g3")


def test_logarithms_are_taken_of_ten_thousand_counts_per_sample_of_all_variables():
    """The total counts variables that are left out, too."""
    data = dataset_of(stored(), ReadOptions(log_counts=True, min_mean=1.0))
    expected = np.log1p(1e4 * COUNTS / COUNTS.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(data.x, expected[:, [0, 2]])


def test_kept_counts_are_over_the_median_depth_and_the_depth_can_be_a_context():
    data = dataset_of(stored(), ReadOptions(counts=True, min_mean=1.0, context=["log_depth"]))
    total = COUNTS.sum(axis=1)
    expected = np.log1p(COUNTS / (total / np.median(total))[:, None])
    np.testing.assert_allclose(data.x, expected[:, [0, 2]])
    np.testing.assert_allclose(data.context.values[:, 0], np.log(total))


def test_a_table_that_has_the_depth_is_believed():
    told = np.linspace(1, 2, 60)
    options = ReadOptions(counts=True, min_mean=1.0, context=["log_depth"])
    data = dataset_of(stored(log_depth=told), options)
    np.testing.assert_allclose(data.context.values[:, 0], told)


def test_gaps_drop_their_rows_with_labels_and_context():
    x = COUNTS + RNG.random(COUNTS.shape)
    x[[3, 7], [0, 2]] = np.nan
    batch = np.arange(60.0)
    data = dataset_of(stored(x, batch=batch), ReadOptions(missing="drop", context=["batch"]))
    kept = np.delete(np.arange(60), [3, 7])
    np.testing.assert_array_equal(data.x, x[kept])
    np.testing.assert_array_equal(data.context.values[:, 0], kept)
    assert [data.regime_names[r] for r in data.regime] == [
        LABELS[row] or "observational" for row in kept
    ]


def test_gaps_are_told_before_means_are_taken_of_them():
    x = COUNTS.copy()
    x[3, 2] = np.nan
    with pytest.raises(InvalidInputError, match="1 of 4 columns: 'g3'"):
        dataset_of(stored(x), ReadOptions(min_mean=1.0))


def test_negative_counts_are_refused_even_in_columns_that_are_left_out():
    x = COUNTS.copy()
    x[0, 3] = -1
    with pytest.raises(InvalidInputError, match="at least 0"):
        dataset_of(stored(x), ReadOptions(log_counts=True, min_mean=1.0))


def test_what_does_not_fit_is_left_for_later_and_read_as_the_same_data_set(monkeypatch):
    monkeypatch.setattr(rest, "MIN_ROWS", 10)
    monkeypatch.setattr(rest, "MIN_PER_REGIME", 2)
    x, labels = np.tile(COUNTS, (10, 1)) + np.arange(600)[:, None], LABELS * 10
    batch = np.resize(["u", "v", "w"], 600)
    options = ReadOptions(memory=1e-6, context=["batch"])
    data = dataset_of(stored(x, labels, batch=batch), options)
    whole = dataset_of(stored(x, labels, batch=batch), ReadOptions(context=["batch"]))
    assert 0 < data.n_samples < 300
    seen = [data.rest.taken]
    np.testing.assert_array_equal(data.x, x[data.rest.taken])
    for rows, part in data.rest.parts():
        seen.append(rows)
        np.testing.assert_array_equal(part.x, whole.x[rows])
        np.testing.assert_array_equal(part.is_intervened, whole.is_intervened[rows])
        np.testing.assert_array_equal(part.context.values, whole.context.values[rows])
    assert sorted(np.concatenate(seen)) == list(range(600))
