"""What is really there comes back, what is not does not, and it survives being stored."""

import json

import pytest

import ucad
from ucad.consensus.consensus import together
from ucad.consensus.running import cost_sentence
from ucad.errors import FormatError, InvalidInputError
from ucad.simulate import paper_problem

LINEAR = {"factor_mechanism": "linear", "variable_mechanism": "linear"}


@pytest.fixture(scope="module")
def problem():
    return paper_problem("a", "16-3", seed=0, n_samples=1500)


@pytest.fixture(scope="module")
def model(problem):
    return ucad.UCAD(3, n_runs=10, **LINEAR).fit(problem.train)


def test_the_true_graph_comes_back_and_is_the_consensus(model, problem):
    support = model.support_
    assert all(one.stability == 1 and one.in_consensus for one in support.factors)
    assert all(edge.support == 1 for edge in support.edges if edge.in_model)
    assert model.consensus_.scm.graph.is_same_up_to_relabelling(problem.scm.graph)
    assert support.n_halves == 8
    assert len(support.fits) == 10


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
