"""Every parameter of the estimator: a value that nobody foresaw is refused or used."""

import inspect

import pytest

import ucad
from tests.hostile.commands import only_full
from tests.hostile.parameters import try_all
from tests.processes import call

QUICK = ("prior", "runs_on")


@pytest.mark.parametrize(
    "name",
    [n if n in QUICK else only_full(n) for n in inspect.signature(ucad.UCAD).parameters],
)
def test_an_odd_parameter_is_refused_in_our_words_or_used(tmp_path, name):
    """In a process without checks of types, as users have it."""
    assert call(try_all, name, str(tmp_path / "wrong")) == 0, (tmp_path / "wrong").read_text()
