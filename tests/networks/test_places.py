"""Where units lie in tensors: what is read is what was written, and nothing else changes."""

from dataclasses import dataclass
from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ucad.errors import InvalidInputError
from ucad.networks import Pooling, Site
from ucad.networks.places import Rows, elements, pick, put, read, write

SHAPES = st.sampled_from(
    [
        (Site("m"), (4, 6)),
        (Site("m", head=(1, 3)), (4, 6)),
        (Site("m", position=-1), (4, 3, 6)),
        (Site("m", position="last"), (4, 3, 6)),
        (Site("m", pooling=Pooling.MEAN), (4, 3, 6)),
        (Site("m", pooling=Pooling.CHANNEL_MEAN), (4, 6, 3)),
        (Site("m", pooling=Pooling.MEAN), (4, 6, 2, 2)),
        (Site("m", pooling=Pooling.MAX), (4, 6, 2, 2)),
    ]
)


@pytest.mark.parametrize("pooling", list(Pooling))
def test_a_pooled_channel_moves_as_a_whole_and_is_clamped_as_a_whole(pooling):
    maps = torch.randn(6, 3, 4, 4, dtype=torch.float64)
    site = Site("conv", pooling=pooling, units=(0, 2))
    values = read(site, maps, Rows())
    torch.testing.assert_close(write(site, maps, values, Rows()), maps)
    moved = write(site, maps, values + 1.5, Rows())
    torch.testing.assert_close(moved[:, [0, 2]], maps[:, [0, 2]] + 1.5)
    assert torch.equal(moved[:, 1], maps[:, 1])
    which = torch.tensor([[True, False]]).expand(6, 2)
    held = write(site, maps, torch.where(which, 7.0, values), Rows(), which)
    assert (held[:, 0] == 7.0).all()
    torch.testing.assert_close(held[:, 1:], maps[:, 1:])


def test_writing_leaves_the_original_alone_and_touches_only_its_units():
    stream = torch.randn(5, 4, 3)
    before = stream.clone()
    site = Site("block", position=2, units=(1,))
    changed = write(site, stream, torch.zeros(5, 1), Rows())
    assert torch.equal(stream, before)
    assert (changed[:, 2, 1] == 0).all()
    assert int((changed != stream).sum()) == 5


@pytest.mark.parametrize(
    ("site", "output", "message"),
    [
        (Site("m"), "text", "Got str instead"),
        (Site("m", output=0), torch.zeros(3, 2), "for output=0. Got Tensor instead"),
        (Site("m"), torch.zeros(3, 2, dtype=torch.int64), "Got torch.int64 instead"),
        (Site("m"), torch.zeros(3, 2, 2), "a 'position' \\(@-1\\) or a 'pooling'"),
        (Site("m", pooling=Pooling.MEAN), torch.zeros(3, 2), "to pool"),
        (Site("m", position=4), torch.zeros(3, 2, 5), "with a token 4"),
        (Site("m", output="x"), {"y": torch.zeros(3, 2)}, "no output 'x'; it gives \\['y'\\]"),
    ],
)
def test_outputs_that_do_not_fit_are_refused_with_the_modules_name(site, output, message):
    with pytest.raises(InvalidInputError, match=message) as refused:
        pick(site, output)
    assert "'m'" in str(refused.value)


def test_a_mean_over_tokens_has_a_unit_per_feature_and_leaves_out_masked_tokens():
    stream = torch.randn(4, 5, 3, dtype=torch.float64)
    mask = torch.tensor([[1, 1, 0, 0, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 0], [1, 1, 1, 0, 0]]) != 0
    for pooling in (Pooling.MEAN, Pooling.MAX):
        site, rows = Site("block", pooling=pooling), Rows(mask)
        values = read(site, stream, rows)
        assert values.shape == (4, 3)
        kept = stream[0, :2]
        wanted = kept.mean(dim=0) if pooling is Pooling.MEAN else kept.amax(dim=0)
        torch.testing.assert_close(values[0], wanted)
        moved = write(site, stream, values + 2.0, rows)
        torch.testing.assert_close(read(site, moved, rows), values + 2.0)
        assert torch.equal(moved[~mask], stream[~mask])
        held = write(site, stream, values, rows, torch.ones_like(values, dtype=torch.bool))
        torch.testing.assert_close(held[1], values[1].expand(5, 3))
    assert read(Site("block", pooling=Pooling.CHANNEL_MEAN), stream, Rows()).shape == (4, 5)
    with pytest.raises(InvalidInputError, match="as many tokens as the module's output, 5"):
        read(Site("block", pooling=Pooling.MEAN), stream, Rows(mask[:, :4]))


def test_positions_differ_from_row_to_row_and_last_follows_the_mask():
    stream = torch.randn(3, 4, 2)
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]]) != 0
    rows = Rows(mask, {"subject": torch.tensor([0, -1, 2])})
    torch.testing.assert_close(
        read(Site("b", position="last"), stream, rows),
        torch.stack([stream[0, 1], stream[1, 3], stream[2, 0]]),
    )
    site = Site("b", position="subject", units=(1,))
    changed = write(site, stream, torch.full((3, 1), 9.0), rows)
    assert changed[[0, 1, 2], [0, 3, 2], 1].tolist() == [9.0, 9.0, 9.0]
    assert int((changed != stream).sum()) == 3
    torch.testing.assert_close(read(Site("b", position="last"), stream, Rows()), stream[:, -1])
    with pytest.raises(InvalidInputError, match="an array of the inputs named '@sbject'"):
        read(Site("b", position="sbject"), stream, rows)
    with pytest.raises(InvalidInputError, match="must be tokens"):
        read(Site("b", position="far"), stream, Rows(positions={"far": torch.tensor([0, 4, 1])}))


def test_a_head_is_its_part_of_the_features():
    features = torch.arange(12.0).reshape(2, 6)
    assert read(Site("dense", head=(1, 3)), features, Rows()).tolist() == [[2, 3], [8, 9]]
    changed = write(Site("dense", head=(2, 3), units=(0,)), features, torch.zeros(2, 1), Rows())
    assert changed[:, 4].tolist() == [0, 0]
    with pytest.raises(InvalidInputError, match="multiple of the number of heads"):
        pick(Site("dense", head=(0, 4)), features)
    with pytest.raises(InvalidInputError, match="one of 3, counted from 0"):
        Site("dense", head=(3, 3))


@given(SHAPES, st.none() | st.sampled_from([(0,), (1, 0)]), st.integers(0, 1000))
def test_what_is_written_is_read_back_and_other_units_stay(made, units, seed):
    where, shape = made
    site = Site(where.module, where.position, where.pooling, units, head=where.head)
    generator = torch.Generator().manual_seed(seed)
    tensor = torch.randn(shape, generator=generator, dtype=torch.float64)
    before = tensor.clone()
    values = read(site, tensor, Rows())
    new = torch.randn(values.shape, generator=generator, dtype=torch.float64)
    changed = write(site, tensor, new, Rows())
    torch.testing.assert_close(read(site, changed, Rows()), new)
    torch.testing.assert_close(write(site, changed, values, Rows()), before)
    assert torch.equal(tensor, before)
    if units is not None:
        whole = Site(where.module, where.position, where.pooling, head=where.head)
        width = read(whole, tensor, Rows()).shape[1]
        others = [unit for unit in range(width) if unit not in units]
        torch.testing.assert_close(
            read(whole, changed, Rows())[:, others], read(whole, before, Rows())[:, others]
        )


class Pair(NamedTuple):
    hidden: torch.Tensor
    count: object


@dataclass
class Output:
    logits: torch.Tensor
    state: object = None


X, Y = torch.arange(6.0).reshape(3, 2), torch.arange(3.0).reshape(3, 1)


@pytest.mark.parametrize(
    ("site", "value"),
    [
        (Site("m"), X),
        (Site("m", output=1), (Y, X)),
        (Site("m", output=0), [X, Y]),
        (Site("m", output="a"), {"a": X, "b": Y}),
        (Site("m", output="logits"), Output(X)),
        (Site("m", output=0), Pair(X, 3)),
        (Site("m"), (X, None)),
        (Site("m"), {"a": X, "count": 3}),
        (Site("m"), Output(X)),
    ],
)
def test_a_part_is_replaced_in_a_new_object_of_the_same_kind(site, value):
    assert torch.equal(pick(site, value), X)
    changed = put(site, value, X + 1)
    assert type(changed) is type(value)
    assert torch.equal(pick(site, changed), X + 1)
    assert torch.equal(pick(site, value), X)
    before, after = elements(value) or {}, elements(changed) or {}
    assert before.keys() == after.keys()
    assert sum(after[key] is not before[key] for key in before) == (1 if before else 0)


def test_tensors_of_rows_and_units_are_one_state_side_by_side():
    state = pick(Site("m"), (X, Y))
    assert state.shape == (3, 3)
    again = put(Site("m"), (X, Y), state * 2)
    assert isinstance(again, tuple)
    assert torch.equal(again[0], 2 * X)
    assert torch.equal(again[1], 2 * Y)


def test_of_several_parts_that_are_no_state_one_must_be_said():
    with pytest.raises(InvalidInputError, match="gives a tuple of 2: say which element"):
        pick(Site("m"), (X, Y[:2]))
    with pytest.raises(InvalidInputError, match="takes a dict of 2: .* 'm/a'"):
        pick(Site("m", is_input=True), {"a": X, "b": Y})


def test_units_beyond_the_width_are_refused():
    with pytest.raises(InvalidInputError, match="below 2. Got 5"):
        pick(Site("m", units=(0, 5)), X)
