"""An odd table in any format, read with any option, is fitted soundly or refused in our words."""

import numpy as np
import pytest

import ucad
from tests.hostile.commands import cases, contents, run_soundly
from tests.hostile.frames import FORMATS, odd_frame, options_of, write_frame

FIT = ["--factors", "1", "--solver", "search", "--quiet", "-o", "run"]


@pytest.mark.parametrize("seed", cases(7, 420))
def test_an_odd_frame_is_fitted_or_refused(tmp_path, monkeypatch, seed):
    rng, path = np.random.default_rng(seed), tmp_path / FORMATS[seed % len(FORMATS)]
    monkeypatch.chdir(tmp_path)
    frame = odd_frame(rng)
    try:
        write_frame(frame, path, rng)
    except Exception as error:  # noqa: BLE001 - whatever pandas cannot write
        pytest.skip(f"no other program writes it: {error}")
    options, before = options_of(rng, path), contents(tmp_path)
    said = run_soundly("fit", path.name, *options, *FIT)
    if said.code == 2:
        assert contents(tmp_path) == before, (options, said)
        return
    model = ucad.load(tmp_path / "run")
    assert np.isfinite(model.scm_.state_map(run_data(tmp_path).x).numpy()).all()
    for words in (
        ["certify", "run", "--json"],
        ["predict", "run", "Z1=1", "--json"],
        ["report", "run"],
    ):
        run_soundly(*words)


def run_data(folder):
    from ucad.runs import load_run

    return load_run(folder / "run").sample
