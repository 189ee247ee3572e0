"""Every public method: an argument that nobody foresaw is refused in our words, or used."""

import pytest

from tests.hostile.commands import only_full
from tests.hostile.misuse import try_method
from tests.processes import call

NAMES = [
    *("fit X", "fit y", "fit interventions", "fit context", "fit checkpoint", "transform"),
    *("transform context", "inverse_transform", "score", "score interventions", "predict_regimes"),
    *("save", "load", "read", "read target", "read ignore", "may_claim", "do", "do a"),
    *("intervention_map", "parents", "children", "sample", "paper_problem", "paper_problem size"),
    "paper_problem seed",
]
QUICK = ("fit interventions", "load")


@pytest.mark.parametrize("name", [n if n in QUICK else only_full(n) for n in NAMES])
def test_an_odd_argument_is_refused_in_our_words_or_used(tmp_path, monkeypatch, name):
    """In a process without checks of types, as users have it."""
    monkeypatch.chdir(tmp_path)
    assert call(try_method, name, str(tmp_path / "wrong")) == 0, (tmp_path / "wrong").read_text()
