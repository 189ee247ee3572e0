import numpy as np
import pytest
import torch

from ucad.errors import InvalidInputError
from ucad.networks import AllLabels, OneLabel, decide_by, decision, swap_pairs
from ucad.networks.decisions import code_of, decision_loss

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
