"""However a spreadsheet saved a table, its numbers and names are read exactly."""

import numpy as np
import pytest

import ucad
from tests.hostile.commands import cases
from tests.hostile.spreadsheets import spreadsheet


@pytest.mark.parametrize("seed", cases(20, 200))
def test_a_table_is_read_exactly_however_it_was_saved(tmp_path, seed):
    path, names, x = spreadsheet(seed, tmp_path)
    data = ucad.read(path)
    assert data.variable_names == names
    np.testing.assert_array_equal(data.x, x)
