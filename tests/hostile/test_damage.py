"""Tables to which several things have happened at once are read exactly or refused."""

import numpy as np
import pytest

import ucad
from tests.hostile.commands import cases, contents, run_soundly
from tests.hostile.damage import damaged_table
from ucad.errors import UcadError


@pytest.mark.parametrize("seed", cases(18, 500))
def test_a_table_with_several_damages_is_read_exactly_or_refused(tmp_path, monkeypatch, seed):
    path, table = damaged_table(seed, tmp_path)
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    is_refused = run_soundly("info", path, "--json").code == 2
    assert contents(tmp_path) == before
    if is_refused:
        with pytest.raises(UcadError):
            ucad.read(path)
        return
    data = ucad.read(path)
    assert np.isfinite(data.x).all(), table.done
    assert table.readable, (table.done, data.variable_names, data.x[:2])
    if table.faithful:
        check_read(table, data)


def check_read(table, data) -> None:
    """Names and numbers are those of the table."""
    assert data.variable_names == tuple(table.names), table.done
    expected = np.array([[float(cell) for cell in cells] for _, cells in table.columns]).T
    np.testing.assert_array_equal(data.x, expected, err_msg=str(table.done))
