import numpy as np
import pytest
import torch

from ucad.errors import InvalidInputError
from ucad.networks import Above, AllLabels, OneLabel, decide_by, decision, swap_pairs
from ucad.networks.decisions import code_of, decision_loss, said_of

LOGITS = torch.tensor([[1.0, -1.0, 2.0], [-1.0, 3.0, -2.0]])


def test_labels_are_decided_together_or_one_by_one():
    assert AllLabels()(LOGITS).tolist() == [5, 2]
    assert OneLabel(2)(LOGITS).tolist() == [1, 0]
    assert decide_by("largest")(LOGITS).tolist() == decision(LOGITS).tolist() == [2, 1]
    assert code_of((LOGITS > 0).numpy()).tolist() == AllLabels()(LOGITS).tolist()
    for wrong in ("label", "label:x", "biggest"):
        with pytest.raises(InvalidInputError, match="'label:3'"):
            decide_by(wrong)
    with pytest.raises(InvalidInputError, match="3 labels, 0 to 2"):
        OneLabel(3)(LOGITS)
    with pytest.raises(InvalidInputError, match="At most 62 labels"):
        AllLabels()(torch.zeros(2, 63))


@pytest.mark.parametrize("decide", [decision, AllLabels(), OneLabel(1)])
def test_the_loss_is_smallest_at_the_networks_own_decisions(decide):
    own = decide(LOGITS)
    assert decision_loss(decide, LOGITS * 9, own) < 0.01
    assert decision_loss(decide, -LOGITS * 9, own) > 1


def test_pairs_take_sets_of_labels():
    labels = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    pairs = swap_pairs(
        labels, lambda base, source: labels[source, 0] + 2 * labels[base, 1], n_pairs=20
    )
    assert set(pairs.expected.tolist()) <= {0, 1, 2, 3}
    assert pairs.changes.sum() == 10


def test_a_regression_is_decided_by_the_values_that_are_named():
    output = torch.tensor([[0.2], [1.0], [4.0]])
    decide = decide_by("above:0.5,2")
    assert decide == Above((0.5, 2.0))
    assert decide(output).tolist() == decide(output[:, 0]).tolist() == [0, 1, 2]
    own = decision_loss(decide, output, decide(output))
    assert own < min(decision_loss(decide, output, torch.full((3,), k)) for k in range(3))
    with pytest.raises(InvalidInputError, match="ascending"):
        decide_by("above:2,1")
    with pytest.raises(InvalidInputError, match="'above:0.5,1.5'"):
        decide_by("above:much")
    with pytest.raises(InvalidInputError, match="one output"):
        decide(LOGITS)


def test_the_largest_of_a_matrix_of_outputs_is_no_decision():
    with pytest.raises(InvalidInputError, match="which token counts"):
        decision(torch.zeros(3, 5, 7))
    assert decision(torch.zeros(3, 1, 7)).tolist() == [0, 0, 0]


def test_what_is_taken_for_a_decision_is_said():
    one = torch.tensor([[2.5], [3.0], [4.0]])
    assert "above 0 on 100% of the inputs; it lies between 2.5 and 4" in said_of(decision, one)
    assert "--decide above:" in said_of(decision, one)
    assert "--decide labels" in said_of(decision, LOGITS)
    assert "all of 3 labels" in said_of(AllLabels(), LOGITS)
    assert "label 2 of 3" in said_of(OneLabel(2), LOGITS)
    assert "values 1, 2 " in said_of(Above((1.0, 2.0)), one)
    assert "of the caller" in said_of(lambda output: output[:, 0] > 7, one)
