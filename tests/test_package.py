import subprocess
import sys

import pytest

import ucad


@pytest.mark.parametrize("name", ucad._PARTS)
def test_parts_need_no_import_of_their_own(name):
    code = f"import ucad, sys; assert 'torch' not in sys.modules; print(ucad.{name}.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == (f"ucad.{name}", "")


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ucad.nothing
