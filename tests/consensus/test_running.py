"""Where the fits of a consensus run, what they cost, and that finished ones are kept."""

import os
from types import SimpleNamespace

import numpy as np
import pytest

from tests.consensus.made_fits import CHAIN
from ucad._types import ProgressEvent
from ucad.consensus import fits
from ucad.consensus.resampling import plan, rows_of
from ucad.consensus.running import RunOptions, cost_sentence, fits_folder, run_fits
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.solvers.registry import SolveSettings
from ucad.sweep import LocalProcesses, RayCluster, ThisProcess

LINEAR = {"factor_mechanism": "linear", "variable_mechanism": "linear"}
SETTINGS = SolveSettings(n_factors=2, **LINEAR)
DATA = InterventionalData.from_arrays(CHAIN.sample(60, seed=3).x.numpy())
DRAWS = plan(4, DATA.regime, 0)


def fitted(monkeypatch, *, interrupted=lambda: False, fails=lambda _part: False):
    """Puts a model made by hand in the place of every search; returns the samples of each."""
    seen = []

    def fit(part, _settings, *, standardise):
        assert standardise
        seen.append(part.x)
        if fails(part):
            raise InvalidInputError("there is nothing in it")
        status = SimpleNamespace(interrupted=interrupted(), converged=True, reason="")
        return SimpleNamespace(status=status), CHAIN

    monkeypatch.setattr(fits, "fit_scaled", fit)
    return seen


@pytest.fixture
def asked(monkeypatch):
    """The samples of every fit that was really done."""
    return fitted(monkeypatch)


def test_every_fit_gets_the_samples_of_its_own_draw(asked, tmp_path):
    found = run_fits(DATA, SETTINGS, DRAWS, RunOptions(folder=tmp_path))
    assert [fit.draw for fit in found.done] == list(DRAWS)
    assert (found.errors, found.n_left) == ((), 0)
    wanted = [DATA.x[rows_of(draw, DATA.regime)] for draw in DRAWS]
    assert sorted(x.tolist() for x in asked) == sorted(x.tolist() for x in wanted)


def test_finished_fits_are_not_done_again_and_other_settings_are(asked, tmp_path):
    options = RunOptions(folder=tmp_path)
    first = run_fits(DATA, SETTINGS, DRAWS[:2], options)
    again = run_fits(DATA, SETTINGS, DRAWS, options)
    assert (len(first.done), len(again.done), len(asked)) == (2, 4, 4)
    run_fits(DATA, SolveSettings(n_factors=1, **LINEAR), DRAWS, options)
    assert len(asked) == 8


def test_without_a_folder_nothing_is_kept(asked):
    for _ in range(2):
        run_fits(DATA, SETTINGS, DRAWS[:2], RunOptions())
    assert len(asked) == 4


def test_the_order_is_that_of_the_plan_and_a_failed_fit_is_told(monkeypatch, tmp_path):
    second = DATA.x[rows_of(DRAWS[1], DATA.regime)]
    fitted(monkeypatch, fails=lambda part: np.array_equal(part.x, second))
    found = run_fits(DATA, SETTINGS, DRAWS, RunOptions(folder=tmp_path))
    assert [fit.draw for fit in found.done] == [DRAWS[0], DRAWS[2], DRAWS[3]]
    assert found.errors == ("InvalidInputError: there is nothing in it",)
    assert found.n_left == 0


def test_an_interrupted_fit_is_left_to_be_done(monkeypatch, tmp_path):
    """Half a search is not a fit, and what came before it is kept."""
    done = fitted(monkeypatch, interrupted=lambda: len(done) == 3)
    found = run_fits(DATA, SETTINGS, DRAWS, RunOptions(folder=tmp_path))
    assert (len(found.done), found.n_left) == (2, 2)


def test_progress_is_that_of_the_consensus_and_ends_with_all_fits(asked):
    told = []
    run_fits(DATA, SETTINGS, DRAWS, RunOptions(), progress=told.append)
    assert {event.stage for event in told} == {"consensus"}
    assert isinstance(told[-1], ProgressEvent)
    assert (told[-1].done, told[-1].total, len(asked)) == (4, 4, 4)


@pytest.mark.parametrize(
    ("options", "backend", "n_workers"),
    [
        ({}, ThisProcess, 1),
        ({"n_jobs": 1}, ThisProcess, 1),
        ({"n_jobs": 3}, LocalProcesses, 3),
        ({"on": "ray", "n_jobs": 2}, RayCluster, 2),
        ({"on": "ray://head:10001", "n_jobs": -1}, RayCluster, None),
    ],
)
def test_options_choose_what_runs_the_fits_and_how_many_at_a_time(options, backend, n_workers):
    chosen = RunOptions(**options)
    made = chosen.backend()
    assert type(made) is backend
    assert chosen.n_workers == n_workers
    assert made.capacity == (n_workers or 1)


def test_minus_one_is_every_cpu_of_this_machine():
    assert RunOptions(n_jobs=-1).n_workers == os.cpu_count()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_jobs": 0}, "'n_jobs' must be at least 1.*Got 0"),
        ({"n_jobs": -2}, "'n_jobs'"),
        ({"on": "mars"}, "Got 'mars' instead"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        RunOptions(**options)


@pytest.mark.parametrize(
    ("n_runs", "seconds", "n_workers", "told"),
    [
        (10, 2.0, 1, "10 fits of about 2 s, 1 at a time: about 20 s"),
        (50, 6.0, 2, "50 fits of about 6 s, 2 at a time: about 2.5 min"),
        (4, 1.0, None, "4 fits of about 1 s, at most, on one CPU, 4 s"),
    ],
)
def test_the_cost_is_that_of_all_fits_over_those_at_a_time(n_runs, seconds, n_workers, told):
    assert cost_sentence(n_runs, seconds, n_workers) == told


def test_fits_are_kept_beside_the_checkpoint(tmp_path):
    assert fits_folder(tmp_path / "run.checkpoint") == tmp_path / "run.checkpoint.fits"
    assert fits_folder(None) is None
