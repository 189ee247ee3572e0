"""What is really there comes back, what is not does not, and it survives being stored."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest

import ucad
from ucad.claims import Answer
from ucad.consensus.consensus import summarise, together
from ucad.consensus.consensus_model import consensus_graph
from ucad.consensus.counting import Fit, count
from ucad.consensus.resampling import plan
from ucad.consensus.running import RunOptions, cost_sentence
from ucad.consensus.support import Graph, Support
from ucad.errors import FormatError, InvalidInputError
from ucad.graph import FactorGraph
from ucad.scm import FactorSCM
from ucad.simulate import paper_problem
from ucad.solvers.prior import PriorKnowledge

LINEAR = {"factor_mechanism": "linear", "variable_mechanism": "linear"}


@pytest.fixture(scope="module")
def problem():
    return paper_problem("a", "16-3", seed=0, n_samples=1500)


@pytest.fixture(scope="module")
def model(problem):
    return ucad.UCAD(3, n_runs=10, **LINEAR).fit(problem.train)


def without_edge(scm, graph, variable, factor):
    """The model without one edge."""
    Q, R = scm.graph.Q.copy(), scm.graph.R.copy()
    (Q if graph == "Q" else R)[variable, factor] = False
    F_Z, F_X = scm.factor_mechanism, scm.variable_mechanism
    F_Z = replace(F_Z, weight=F_Z.weight * ucad_tensor(Q.T))
    F_X = replace(F_X, weight=F_X.weight * ucad_tensor(R))
    names = (scm.graph.variable_names, scm.graph.factor_names)
    return FactorSCM(FactorGraph(Q, R, *names), F_Z, F_X, scm.noise_scale)


def ucad_tensor(mask):
    import torch

    return torch.tensor(mask, dtype=torch.float64)


def made_up(scm, found_in):
    """Ten fits, of which `found_in` have the first edge of R."""
    variable, factor = np.argwhere(scm.graph.R)[0]
    lost = without_edge(scm, "R", variable, factor)
    draws = plan(10, np.zeros(20, dtype=int), 0)
    return [Fit(draw, scm if n < found_in else lost) for n, draw in enumerate(draws)]


def test_the_true_graph_comes_back_and_is_the_consensus(model, problem):
    support = model.support_
    assert all(one.stability == 1 and one.in_consensus for one in support.factors)
    assert all(edge.support == 1 for edge in support.edges if edge.in_model)
    assert model.consensus_.scm.graph.is_same_up_to_relabelling(problem.scm.graph)
    assert support.n_halves == 8
    assert len(support.fits) == 10


def test_support_is_claimed_only_where_the_model_passed(model):
    rows = model.support_.rows()
    assert any(row["is_stable"] for row in rows)
    assert any(row["may_be_claimed"] for row in rows) == model.support_.may_be_claimed
    refuted = replace(model.support_, adequacy=Answer.NO)
    assert not any(row["may_be_claimed"] for row in refuted.rows())


def test_a_consensus_is_stored_and_read_back_and_nothing_is_lost(model, tmp_path):
    model.save(tmp_path / "run")
    again = ucad.load(tmp_path / "run")
    assert again.support_ == model.support_
    assert again.consensus_.scm.graph == model.consensus_.scm.graph
    assert [s.graph for s in again.consensus_.fits] == [s.graph for s in model.consensus_.fits]
    again.save(tmp_path / "copy")
    assert ucad.load(tmp_path / "copy").support_ == model.support_


@pytest.mark.parametrize(
    "change",
    [
        {"factors": []},
        {"threshold": "high"},
        {"adequacy": "perhaps"},
        {"schema_version": 99},
        {"edges": [{"graph": "Q"}]},
    ],
)
def test_a_damaged_support_is_refused(model, tmp_path, change):
    model.save(tmp_path / "run")
    path = tmp_path / "run" / "support.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(FormatError):
        ucad.load(tmp_path / "run")


def test_a_run_folder_without_a_consensus_is_read(problem, tmp_path):
    model = ucad.UCAD(3, **LINEAR).fit(problem.train)
    model.save(tmp_path / "run")
    assert ucad.load(tmp_path / "run").support_ is None


def test_support_is_shown_in_a_line(model):
    shown = repr(model.support_)
    assert f"{model.support_.n_halves} half-samples" in shown
    assert f"of {len(model.support_.edges)} edges" in shown
    assert len(shown) < 200


def test_the_table_is_a_table(model):
    rows = model.support_.rows()
    assert {"kind", "support", "low", "high", "is_stable"} <= set(rows[0])
    assert len(model.support_.to_csv().splitlines()) == len(rows) + 1
    assert len(model.support_.to_frame()) == len(rows)
    assert Support.from_json(model.support_.to_json()) == model.support_


@pytest.mark.parametrize(("found_in", "stays"), [(10, True), (9, True), (8, False), (0, False)])
def test_an_edge_is_in_the_consensus_if_it_comes_back_often_enough(problem, found_in, stays):
    scm, x = problem.scm, problem.train.x
    counts = count(scm, made_up(scm, found_in), x)
    variable, factor = np.argwhere(scm.graph.R)[0]
    graph = consensus_graph(counts, problem.train)
    name = (scm.graph.factor_names[factor], scm.graph.variable_names[variable])
    assert (name[1] in graph.children(name[0])) == stays
    support = summarise(counts, graph, None)
    edge = support.edge(Graph.R, *name)
    assert edge.support == found_in / 10
    assert edge.in_consensus == stays
    assert support.is_stable("R", *name) == stays


def test_prior_knowledge_overrules_what_comes_back(problem):
    scm = problem.scm
    counts = count(scm, made_up(scm, 0), problem.train.x)
    variable, factor = np.argwhere(scm.graph.R)[0]
    required = np.zeros(scm.graph.R.shape, dtype=bool)
    required[variable, factor] = True
    forbidden = np.asarray(scm.graph.Q) & (np.arange(3) == 2)
    prior = PriorKnowledge(required_child=required, forbidden_parent=forbidden)
    graph = consensus_graph(counts, problem.train, prior)
    assert graph.variable_names[variable] in graph.children(scm.graph.factor_names[factor])
    assert scm.graph.factor_names[2] not in graph.factor_names


def test_a_consensus_of_fits_that_contradict_each_other_is_a_dag(problem):
    """Half of the fits have every edge the other way round, so nothing is stable."""
    scm = problem.scm
    Q, R = np.asarray(scm.graph.Q), np.asarray(scm.graph.R)
    counts = count(scm, made_up(scm, 10), problem.train.x)
    assert consensus_graph(counts, problem.train) is not None
    counts.partner[::2] = -1
    assert consensus_graph(counts, problem.train) is None
    assert (Q & R).sum() == 0


def test_a_factor_that_only_the_fits_find_gets_a_name_of_its_own(problem):
    scm = problem.scm
    smaller = ucad.UCAD(2, **LINEAR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        smaller.fit(problem.train)
    counts = count(smaller.scm_, made_up(scm, 10), problem.train.x)
    support = summarise(counts, None, None)
    assert [one.name for one in support.factors] == ["Z1", "Z2", "Z3"]
    assert [one.in_model for one in support.factors] == [True, True, False]
    assert support.factors[2].stability == 1


def test_an_interrupted_consensus_is_resumed(problem, tmp_path, monkeypatch):
    from ucad.consensus import fits

    done = []
    original = fits.fit_scaled

    def stops(*args, **options):
        if len(done) == 6:
            raise KeyboardInterrupt
        done.append(1)
        return original(*args, **options)

    estimator = ucad.UCAD(3, n_runs=10, **LINEAR)
    monkeypatch.setattr(fits, "fit_scaled", stops)
    with pytest.warns(match="interrupted after 6 of 10"):
        estimator.fit(problem.train, checkpoint=tmp_path / "run.checkpoint")
    assert estimator.status_.interrupted
    assert estimator.support_.n_halves == 6
    done.clear()
    monkeypatch.setattr(fits, "fit_scaled", lambda *a, **o: done.append(1) or original(*a, **o))
    estimator.fit(problem.train, checkpoint=tmp_path / "run.checkpoint")
    assert len(done) == 4
    assert len(estimator.support_.fits) == 10


def test_fits_that_fail_are_counted_and_the_model_is_kept(problem, monkeypatch):
    from ucad.consensus import fits

    def fails(*args, **options):
        raise InvalidInputError("there is nothing in it")

    monkeypatch.setattr(fits, "fit_scaled", fails)
    with pytest.warns(match="10 of 10 fits failed; the first error: .*nothing in it"):
        model = ucad.UCAD(3, n_runs=10, **LINEAR).fit(problem.train)
    assert model.support_ is None
    assert model.graph_.n_factors == 3


def test_the_parts_of_a_data_set_are_put_together(problem):
    split = problem.train.split(0.5, 0.5)
    both = together(split.train, split.validation)
    assert sorted(both.x[:, 0]) == sorted(problem.train.x[:, 0])
    assert together(both, both) is both


def test_the_cost_is_told_before_it_starts(problem):
    told = []
    ucad.UCAD(3, n_runs=4, progress=told.append, **LINEAR).fit(problem.train)
    first = next(event for event in told if event.stage == "consensus")
    assert first.done == 0
    assert "4 fits of about" in first.message
    assert "on one CPU" in cost_sentence(4, 1.0, None)


@pytest.mark.parametrize("options", [{"n_jobs": 0}, {"on": "mars"}])
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(InvalidInputError):
        RunOptions(**options)
