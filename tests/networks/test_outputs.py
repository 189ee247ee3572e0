"""What counts of an output, wherever it lies."""

import pytest
import torch

from ucad.errors import InvalidInputError
from ucad.networks.outputs import output_reader, tensor_output

LOGITS, HIDDEN = torch.ones(2, 3), torch.arange(24.0).reshape(2, 4, 3)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (LOGITS, LOGITS),
        ((HIDDEN,), HIDDEN),
        ((None, HIDDEN, 3, torch.ones(2, dtype=torch.int64)), HIDDEN),
        ({"hidden": HIDDEN, "logits": LOGITS}, LOGITS),
        ({"only": HIDDEN, "note": "text"}, HIDDEN),
    ],
)
def test_logits_or_the_only_tensor_of_numbers_counts(output, expected):
    assert tensor_output(output) is expected


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ((LOGITS, HIDDEN), "tensors 0, 1"),
        ({"a": LOGITS, "b": LOGITS}, "e.g. 'a', or 'a@-1'"),
        ("text", "Got a str"),
        ({"ids": torch.ones(2, dtype=torch.int64)}, "Got a dict"),
    ],
)
def test_none_or_several_are_refused_with_what_to_write(output, message):
    with pytest.raises(InvalidInputError, match=message):
        tensor_output(output)


def test_keys_and_tokens_lead_to_a_part():
    output = ({"state": {"hidden": HIDDEN}}, LOGITS)
    assert torch.equal(output_reader("0/state/hidden@2")(output), HIDDEN[:, 2])
    assert torch.equal(output_reader("0/state/hidden@-4")(output), HIDDEN[:, 0])
    assert output_reader("1")(output) is LOGITS
    assert torch.equal(output_reader("@-1")(HIDDEN), HIDDEN[:, -1])
    assert output_reader("")(LOGITS) is LOGITS


def test_a_function_is_its_own_reader():
    assert output_reader(torch.abs) is torch.abs


@pytest.mark.parametrize(
    ("text", "output", "message"),
    [
        ("hidden@last", {"hidden": HIDDEN}, "then @token"),
        ("hidden@4", {"hidden": HIDDEN}, r"token 4. Got \(2, 4, 3\)"),
        ("hidden@-5", {"hidden": HIDDEN}, "token -5"),
        ("@0", LOGITS, "shape .rows, tokens"),
        ("hiden", {"hidden": HIDDEN}, "no element 'hiden', it has hidden"),
        ("0/1", (LOGITS,), "no element '1', it is a Tensor"),
    ],
)
def test_what_cannot_be_read_is_said(text, output, message):
    with pytest.raises(InvalidInputError, match=message):
        output_reader(text)(output)
