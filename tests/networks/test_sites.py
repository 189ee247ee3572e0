import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ucad.errors import InvalidInputError
from ucad.networks import Pooling, Site
from ucad.networks.places import Rows, pick, read, write
from ucad.networks.sites import columns_of, layers_of, sites_of_names, variable_names

SITES = st.builds(
    Site,
    module=st.sampled_from(["", "layers.1", "blocks.0.mlp"]),
    position=st.none() | st.integers(-3, 5) | st.sampled_from(["last", "subject"]),
    units=st.none() | st.lists(st.integers(0, 9), min_size=1, unique=True).map(tuple),
    output=st.none() | st.integers(0, 3) | st.just("hidden"),
    call=st.none() | st.integers(0, 3),
    is_input=st.booleans(),
    head=st.none() | st.just((1, 4)),
)


@given(SITES)
def test_a_site_is_read_back_from_its_text(site):
    assert Site.parse(str(site)) == site


@given(st.lists(SITES.filter(lambda site: site.units is not None), min_size=1, max_size=4))
def test_sites_are_read_back_from_the_names_of_their_units(sites):
    different = list({site.name: site for site in sites}.values())
    names = variable_names(different)
    assert sites_of_names(names) == tuple(different)
    assert len(layers_of(different)) == len(names) == columns_of(different)[-1].stop


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


def test_sites_that_contradict_themselves_are_refused():
    with pytest.raises(InvalidInputError, match="not both"):
        Site("m", position=0, pooling=Pooling.MAX)
    with pytest.raises(InvalidInputError, match="different and at least 0"):
        Site("m", units=(1, 1))
    with pytest.raises(InvalidInputError, match=r"site\[unit\]"):
        sites_of_names(["X1"])


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
