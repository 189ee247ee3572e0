"""The blocks of docs/extending.md run, in order and in one module."""

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ucad.data import formats
from ucad.solvers.registry import SOLVERS

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"


@pytest.fixture(scope="module")
def page():
    """The module that the blocks make; the lists they add to are as before afterwards."""
    lists = (SOLVERS, formats._READERS, formats._WRITERS, formats._APPLIES)
    before = [dict(one) for one in lists]
    module = ModuleType("extending")
    sys.modules["extending"] = module
    text = PAGE.read_text(encoding="utf-8")
    for found in re.finditer(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        line = text[: found.start(1)].count("\n")
        code = compile("\n" * line + found[1], str(PAGE), "exec")
        exec(code, module.__dict__)
    yield module
    del sys.modules["extending"]
    for one, old in zip(lists, before, strict=True):
        one.clear()
        one.update(old)


def test_every_block_runs_and_every_kind_of_part_is_there(page):
    assert page.FOLD.name == "fold"
    assert "one-parent" in SOLVERS
    assert page.better.score > page.model.score
    assert page.table["sign"].value > 0.9
    assert ".jsonl" in formats._READERS


def test_the_family_of_the_page_is_a_family(page):
    """The claims that a reader of the page relies on; all of them are in tests/scm/families."""
    x = np.random.default_rng(1).standard_normal((50, 3))
    start = page.FOLD.start(np.array([0, 2]), x[:, [0, 2]], x[:, 1], np.ones(50), 0)
    function = start.with_weights(np.array([1.0, -2.0, 0.5, 1.5, 0.3]))
    step = 1e-6
    for at, i in enumerate(function.parents):
        moved = x.copy()
        moved[:, i] += step
        slope = (function.values(moved) - function.values(x)) / step
        np.testing.assert_allclose(function.gradient(x)[:, at], slope, atol=1e-4)
    read = x.copy()
    read[:, 2] = -2 * x[:, 2] + 0.3
    np.testing.assert_allclose(function.with_input(1, -2.0, 0.3).values(x), function.values(read))
    mechanism = page.FOLD.mechanism([function], 3)
    made = mechanism(page.torch.from_numpy(x)).numpy()[:, 0]
    np.testing.assert_allclose(made, function.values(x))
    assert ((mechanism.uses().numpy() != 0) == [[True, False, True]]).all()


def test_a_page_whose_block_fails_would_be_noticed():
    with pytest.raises(AssertionError):
        exec(compile("assert 1 == 2", "page", "exec"), {})
