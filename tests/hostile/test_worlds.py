"""Every world that can be simulated can be fitted and compared with what is true of it."""

import numpy as np
import pytest

import ucad
from tests.hostile.commands import only_full, run_soundly
from ucad.metrics import abstraction_error
from ucad.simulate.worlds import WORLDS

QUICK = ("genes", "independent", "relu")
"""A world without true factors, one without any effect, one with other mechanisms."""


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("world", [*QUICK, *(only_full(w) for w in WORLDS if w not in QUICK)])
def test_a_run_on_any_world_is_compared_with_the_truth(tmp_path, monkeypatch, world):
    monkeypatch.chdir(tmp_path)
    if world not in QUICK:  # what these errors cost, half a minute, is most of the test
        monkeypatch.setattr(abstraction_error, "is_available", lambda: False)
    assert run_soundly("simulate", world, "-o", "data").code == 0
    data = next(path for path in (tmp_path / "data").glob("train.*") if path.suffix != ".json")
    ucad.UCAD(
        n_factors=2, solver="search", factor_mechanism="linear", variable_mechanism="linear"
    ).fit(_some(ucad.read(data))).save("run")
    words = ["evaluate", "run", "--truth", "data", "--metrics", "mcc_pearson"]
    said = run_soundly(*words)
    assert said.code == 0, said
    assert "nll_observational" in said.out
    assert "mcc_pearson" in said.out or "no true factors" in said.out


def _some(data):
    """At most 300 samples: what is tested is what comes after the fit."""
    return data.select(np.arange(min(300, data.n_samples)))
