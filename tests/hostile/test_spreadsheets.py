"""However a spreadsheet saved a table, its numbers and names are read exactly."""

import numpy as np
import pytest

import ucad
from tests.hostile.commands import cases
from tests.hostile.spreadsheets import spreadsheet, written_for_people
from ucad.errors import InvalidInputError


@pytest.mark.parametrize("seed", cases(20, 200))
def test_a_table_is_read_exactly_however_it_was_saved(tmp_path, seed):
    path, names, x = spreadsheet(seed, tmp_path)
    data = ucad.read(path)
    assert data.variable_names == names
    np.testing.assert_array_equal(data.x, x)


@pytest.mark.parametrize("seed", cases(12, 120))
def test_numbers_as_people_write_them_are_refused_and_never_taken_for_an_index(tmp_path, seed):
    path, name = written_for_people(seed, tmp_path)
    with pytest.raises(InvalidInputError, match=f"Column '{name}' must hold numbers"):
        ucad.read(path)
