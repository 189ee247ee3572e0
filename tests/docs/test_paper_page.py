"""The page that leads from the paper to the code names things that exist."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "paper.md").read_text("utf-8")
NAMES = sorted(set(re.findall(r"`(ucad(?:\.\w+)+)`", PAGE)))
FILES = sorted(set(re.findall(r"`((?:tests|benchmarks)/[\w/]+\.py)`", PAGE)))


def exists(name):
    """Whether a dotted name is a module, or an attribute of one."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        for part in parts[n:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def test_the_page_names_enough_to_be_worth_checking():
    assert len(NAMES) > 60
    assert len(FILES) > 25


@pytest.mark.parametrize("name", NAMES)
def test_every_name_can_be_imported(name):
    assert exists(name)


@pytest.mark.parametrize("path", FILES)
def test_every_test_is_there(path):
    assert (ROOT / path).is_file()


def test_every_file_on_the_theory_is_on_the_page():
    theory = {f"tests/theory/{path.name}" for path in (ROOT / "tests/theory").glob("test_*.py")}
    assert theory <= set(FILES)


def test_names_that_do_not_exist_are_noticed():
    assert not exists("ucad.graph.no_such_function")
    assert not exists("ucad.no_such_module.thing")
