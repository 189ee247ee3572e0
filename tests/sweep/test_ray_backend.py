"""Tasks on a Ray cluster: the same rows as here, and a hint where Ray is missing."""

import sys

import pytest

from tests.sweep.tasks import grid_of, what_came_out
from ucad.errors import MissingDependencyError
from ucad.sweep import Grid, LocalProcesses, RayCluster, run_sweep
from ucad.sweep.recovery import canonical


def test_both_backends_give_the_same_rows(tmp_path, functions):
    """One real fit, one failure and one worker that dies once, here and on a Ray cluster."""
    pytest.importorskip("ray", reason="the extra 'ray' is not installed")
    real = Grid(
        tuple(
            canonical(
                {"setting": "b", "size": "16-3", "seed": seed, "n_samples": 600, "metrics": "fast"}
            )
            for seed in range(2)
        )
    )
    failing = grid_of("double", *({"x": x, "bad": 1} for x in range(3)))
    (tmp_path / "marks").mkdir()
    dying = grid_of(
        "die", *({"x": x, "folder": str(tmp_path / "marks"), "times": 2} for x in range(2))
    )
    with RayCluster(2) as cluster:
        kept = _Kept(cluster)
        for number, grid in enumerate((real, failing, dying)):
            on_ray = run_sweep(grid, tmp_path / f"ray{number}.jsonl", kept)
            for mark in (tmp_path / "marks").iterdir():
                mark.unlink()
            here = run_sweep(grid, tmp_path / f"local{number}.jsonl", LocalProcesses(1))
            assert what_came_out(on_ray.rows) == what_came_out(here.rows)
            assert len(here.rows) == len(grid.tasks)


class _Kept:
    """A backend that stays open from sweep to sweep."""

    def __init__(self, backend):
        self.backend, self.capacity = backend, backend.capacity
        self.start, self.finished = backend.start, backend.finished
        self.cancel = backend.cancel

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        pass


def test_without_ray_it_says_what_to_install(tmp_path, functions, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ucad\[ray\]'"):
        run_sweep(grid_of("double", {"x": 1}), tmp_path / "t.jsonl", RayCluster(1))
