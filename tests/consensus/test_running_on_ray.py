"""Resampled fits on a cluster of two nodes, one of which is lost half-way."""

import os
import sys

import pytest

from ucad.consensus.resampling import plan
from ucad.consensus.running import RunOptions, run_fits
from ucad.simulate import paper_problem
from ucad.solvers.registry import SolveSettings


@pytest.fixture
def cluster(monkeypatch):
    pytest.importorskip("ray", reason="the extra 'ray' is not installed")
    if " " in sys.executable:
        pytest.skip("a cluster that Ray starts by itself takes no Python whose path has a space")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    for name, value in {
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }.items():
        monkeypatch.setenv(name, value)
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield made
    made.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_node_lost_half_way_changes_no_result(cluster, tmp_path):
    node = cluster.add_node(num_cpus=1)
    problem = paper_problem("a", "16-3", seed=0, n_samples=300)
    linear = {"factor_mechanism": "linear", "variable_mechanism": "linear"}
    settings = SolveSettings(n_factors=3, **linear)
    draws = plan(6, problem.train.regime, 0)
    lost = []

    def lose_a_node(event):
        if event.done >= 2 and not lost:
            lost.append(node)
            cluster.remove_node(node, allow_graceful=False)

    options = RunOptions(n_jobs=2, on=cluster.address, folder=tmp_path / "ray")
    on_ray = run_fits(problem.train, settings, draws, options, progress=lose_a_node)
    here = run_fits(problem.train, settings, draws, RunOptions(folder=tmp_path / "here"))
    assert lost
    assert not on_ray.errors
    assert len(on_ray.done) == len(here.done) == 6
    for one, other in zip(on_ray.done, here.done, strict=True):
        assert (one.scm.graph.Q == other.scm.graph.Q).all()
        assert (one.scm.graph.R == other.scm.graph.R).all()
        x = problem.test.x[:50]
        assert one.scm.state_map(x).numpy() == pytest.approx(other.scm.state_map(x).numpy())
