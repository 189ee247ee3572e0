"""The table of docs/scale.md is that of the tracked rows."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def scale():
    spec = importlib.util.spec_from_file_location("scale", ROOT / "benchmarks" / "scale.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["scale"] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_the_tracked_rows(scale):
    rows = scale.rows_of(scale.EARLIER, scale.ROWS)
    text = scale.PAGE.read_text()
    assert scale.page(text, rows) == text
    assert scale.page(text, rows[1:]) != text
