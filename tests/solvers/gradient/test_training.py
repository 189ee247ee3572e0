from copy import copy
from dataclasses import replace

import pytest
import torch

from tests.solvers.gradient.conftest import start_of, with_training
from ucad.solvers.gradient.checkpoint import Checkpoint
from ucad.solvers.gradient.problem import Constraints, Evaluation, RelaxedProblem
from ucad.solvers.gradient.training import Run, train


def run_training(learner, run, **settings):
    config, learner = with_training(learner.config, **settings), copy(learner)
    object.__setattr__(learner, "config", config)
    grid = config.training.grid(seed=0)
    return train(learner, start_of(learner, [one.seed for one in grid]), grid, run)


def same(a, b) -> bool:
    return all(torch.equal(a.parameters[name], b.parameters[name]) for name in a.parameters)


def test_the_same_seed_gives_the_same_result_and_another_one_does_not(learner):
    first, again, other = (run_training(learner, Run(seed)) for seed in (0, 0, 1))
    assert same(first, again)
    assert not same(first, other)


def without_constraints(learner: RelaxedProblem) -> RelaxedProblem:
    """Every graph is feasible, so that the NLL alone decides."""
    return replace(learner, constraints=Anything(learner.constraints.settings))


def test_training_lowers_the_nll(learner):
    learner = without_constraints(learner)
    early, late = (run_training(learner, Run(0), epochs=epochs) for epochs in (4, 60))
    assert (late.nll < early.nll - 0.1).all()


@pytest.mark.parametrize("stop_after", [5, 8])
def test_a_resumed_run_ends_as_if_it_had_never_stopped(learner, tmp_path, monkeypatch, stop_after):
    monkeypatch.setattr("ucad.solvers.gradient.training.SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    whole = run_training(learner, Run(0))
    run = Run(0, checkpoint=Checkpoint(tmp_path / "state.safetensors", {"data": "same"}))
    # A run that dies between two looks: nothing after the last checkpoint counts.
    dying = Dying(**vars(learner), after=4 * stop_after + 1)
    with pytest.raises(RuntimeError, match="died"):
        run_training(dying, run)
    resumed = run_training(learner, run)
    assert resumed.about_checkpoint in [f"Training was resumed after {n} epochs." for n in (4, 8)]
    assert same(whole, resumed)
    assert torch.equal(whole.nll, resumed.nll)


def test_ctrl_c_keeps_the_best_so_far(learner):
    interrupting = Interrupting(**vars(learner), after=30)
    trained = run_training(interrupting, Run(0))
    assert trained.interrupted
    assert trained.epochs == 7
    assert trained.nll.isfinite().all()


def test_ctrl_c_writes_a_checkpoint_from_which_the_run_ends_as_if_never_stopped(learner, tmp_path):
    whole = run_training(learner, Run(0))
    run = Run(0, checkpoint=Checkpoint(tmp_path / "state.safetensors"))
    stopped = run_training(Interrupting(**vars(learner), after=30), run)
    assert stopped.interrupted
    resumed = run_training(learner, run)
    assert resumed.about_checkpoint == "Training was resumed after 7 epochs."  # whole ones
    assert same(whole, resumed)
    assert resumed.history == whole.history


def test_gains_below_the_least_do_not_renew_patience(learner):
    learner = without_constraints(learner)
    looks = {"epochs": 40, "evaluate_every": 1, "patience": 5}
    greedy = run_training(learner, Run(0), **looks)
    content = run_training(learner, Run(0), min_gain=10.0, **looks)
    assert greedy.epochs > 6
    assert content.epochs == 7  # the first look, five epochs of patience, and out


def test_constraints_missed_by_less_than_the_slack_count_as_met(learner):
    assert (run_training(learner, Run(0)).violation > 0).all()
    assert (run_training(learner, Run(0), slack=10.0).violation == 0).all()


def test_a_configuration_whose_values_are_not_finite_leaves_the_others_alone(learner):
    breaking = Breaking(**vars(learner), after=9)
    trained = run_training(breaking, Run(0))
    whole = run_training(learner, Run(0))
    assert trained.notes == ("1 configurations left, since values were not finite.",)
    assert all(value.isfinite().all() for value in trained.parameters.values())
    assert trained.history[-1]["active"] == 1
    torch.testing.assert_close(trained.parameters["logits"][1], whole.parameters["logits"][1])


def test_a_fit_whose_values_are_never_finite_ends_where_it_began(learner):
    broken = Breaking(**vars(learner), after=0, rows=slice(None))
    trained = run_training(broken, Run(0))
    assert trained.epochs == 1
    grid = learner.config.training.grid(seed=0)
    start = start_of(learner, [one.seed for one in grid])
    assert torch.equal(trained.parameters["logits"], start["logits"])


def test_configurations_out_of_patience_leave_and_do_not_disturb_the_others(learner):
    learner = without_constraints(learner)
    looks = {"epochs": 30, "evaluate_every": 1, "learning_rates": (0.1,)}
    patient = run_training(learner, Run(0), patience=1000, **looks)
    hasty = run_training(learner, Run(0), patience=1, **looks)
    assert patient.history[-1]["active"] == 2
    assert hasty.history[-1]["epoch"] < 30 or hasty.history[-1]["active"] < 2
    assert (patient.nll <= hasty.nll).all()


def test_progress_is_reported_with_the_time_that_is_left(learner):
    events = []
    run_training(learner, Run(0, progress=events.append))
    assert [event.done for event in events] == [4, 8, 12]
    assert all(event.total == 12 for event in events)
    assert "s left" in events[0].message


class Anything(Constraints):
    def violations(self, *arguments):
        return super().violations(*arguments) * 0 - 1


class Counting(RelaxedProblem):
    """A problem that does something after so many evaluations."""

    def __init__(self, *, after: int, **parts) -> None:
        super().__init__(**parts)
        object.__setattr__(self, "left", after)

    def evaluate(self, *arguments) -> Evaluation:
        object.__setattr__(self, "left", self.left - 1)
        evaluation = super().evaluate(*arguments)
        return self.act(evaluation) if self.left < 0 else evaluation


class Dying(Counting):
    def act(self, evaluation):
        raise RuntimeError("died")


class Interrupting(Counting):
    def act(self, evaluation):
        raise KeyboardInterrupt


class Breaking(Counting):
    """The first configuration, or others, have an infinite NLL."""

    def __init__(self, *, after: int, rows=0, **parts) -> None:
        super().__init__(after=after, **parts)
        object.__setattr__(self, "rows", rows)

    def act(self, evaluation):
        nll = evaluation.nll.clone()
        if len(nll) == 2:  # nobody has left yet
            nll[self.rows] = torch.inf
        return evaluation._replace(nll=nll)
