"""No option and no settings file ends in a traceback, and nothing foreign is ever written over."""

import tomllib

import numpy as np
import pytest

import ucad
from tests.hostile.commands import cases, contents, copied, run, run_soundly
from tests.hostile.names import ODD
from tests.hostile.settings import hostile_words
from ucad.cli.settings import FitSettings, resolve
from ucad.errors import InvalidInputError


@pytest.mark.parametrize("seed", cases(30, 300))
def test_odd_options_are_refused_and_nothing_is_written(tmp_path, monkeypatch, run_folder, seed):
    words = hostile_words(seed, tmp_path)
    if words[0] == "predict":
        copied(run_folder, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    said = run_soundly(*words)
    if said.code == 2:
        assert contents(tmp_path) == before, words
    else:
        assert words[0] in ("predict", "evaluate") or "--print-config" in words, (words, said)


@pytest.mark.parametrize("name", ODD)
def test_settings_are_printed_so_that_they_can_be_read_again(tmp_path, name):
    settings = FitSettings(
        factors=2, control=name, ignore=(name, "b"), indicators={name: name}, target=name
    )
    (tmp_path / "s.toml").write_text(settings.to_toml(), encoding="utf-8")
    assert tomllib.loads(settings.to_toml())["control"] == name
    assert resolve(tmp_path / "s.toml", {}) == settings


@pytest.mark.parametrize("solver", ["auto", "search", "gradient", "gradient-paper", "rectified"])
@pytest.mark.parametrize("device", ["banana", "meta", "cuda:99", ""])
def test_a_device_that_is_not_here_is_refused_by_every_solver(solver, device):
    x = np.random.default_rng(0).normal(size=(30, 4))
    with pytest.raises(InvalidInputError, match="'device'"):
        ucad.UCAD(n_factors=1, solver=solver, device=device, layers=[0, 0, 1, 1]).fit(x)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x * 1e200, "beyond 1e\\+100"),
        (lambda x: x * 1e-200, "vary by less than 1e-100"),
        (lambda x: x + 1j, "omplex"),
        (lambda x: x[:1], "minimum of 2|at least 2"),
        (lambda x: np.where(x == x[3, 1], np.nan, x), "NaN|missing"),
    ],
)
def test_what_cannot_be_fitted_is_said_in_the_users_words(change, message):
    x = np.random.default_rng(0).normal(size=(30, 4))
    with pytest.raises(ValueError, match=message):
        ucad.UCAD(n_factors=1, solver="search").fit(change(x))


@pytest.mark.parametrize("n_samples", [6, 50])
@pytest.mark.parametrize("share", [0.999999, 1.0, -0.1, float("nan")])
def test_a_share_that_leaves_nothing_to_learn_from_is_refused(share, n_samples):
    x = np.random.default_rng(0).normal(size=(n_samples, 4))
    with pytest.raises(InvalidInputError, match="validation_share"):
        ucad.UCAD(n_factors=1, solver="search", validation_share=share).fit(x)


@pytest.mark.parametrize("seed", [-1, 2**32, 10**30])
def test_a_seed_out_of_range_is_refused(seed):
    x = np.random.default_rng(0).normal(size=(50, 4))
    with pytest.raises(InvalidInputError, match="random_state"):
        ucad.UCAD(n_factors=1, solver="search", random_state=seed).fit(x)


def test_a_demo_leaves_other_folders_called_data_and_run_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("data", "run"):
        (tmp_path / "mine" / name).mkdir(parents=True)
        (tmp_path / "mine" / name / "thesis.txt").write_text("mine")
    before = contents(tmp_path)
    assert run("demo", "-o", "mine").code == 2
    assert contents(tmp_path) == before
