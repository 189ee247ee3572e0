import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ucad.errors import InvalidInputError
from ucad.networks import Pooling, Site
from ucad.networks.sites import columns_of, layers_of, sites_of_names, variable_names

SITES = st.builds(
    Site,
    module=st.sampled_from(["", "layers.1", "blocks.0.mlp"]),
    position=st.none() | st.integers(-3, 5),
    units=st.none() | st.lists(st.integers(0, 9), min_size=1, unique=True).map(tuple),
    output=st.none() | st.integers(0, 3) | st.just("hidden"),
    call=st.none() | st.integers(0, 3),
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
    values = site.read(maps)
    torch.testing.assert_close(site.write(maps, values), maps)
    moved = site.write(maps, values + 1.5)
    torch.testing.assert_close(moved[:, [0, 2]], maps[:, [0, 2]] + 1.5)
    assert torch.equal(moved[:, 1], maps[:, 1])
    which = torch.tensor([[True, False]]).expand(6, 2)
    held = site.write(maps, torch.where(which, 7.0, values), which)
    assert (held[:, 0] == 7.0).all()
    torch.testing.assert_close(held[:, 1:], maps[:, 1:])


def test_writing_leaves_the_original_alone_and_touches_only_its_units():
    stream = torch.randn(5, 4, 3)
    before = stream.clone()
    changed = Site("block", position=2, units=(1,)).write(stream, torch.zeros(5, 1))
    assert torch.equal(stream, before)
    assert (changed[:, 2, 1] == 0).all()
    assert int((changed != stream).sum()) == 5


@pytest.mark.parametrize(
    ("site", "output", "message"),
    [
        (Site("m"), "text", "Got str instead"),
        (Site("m", output=0), torch.zeros(3, 2), "for output=0. Got Tensor instead"),
        (Site("m"), torch.zeros(3, 2, dtype=torch.int64), "Got torch.int64 instead"),
        (Site("m"), torch.zeros(3, 2, 2), "a 'position' or a 'pooling'"),
        (Site("m", pooling=Pooling.MEAN), torch.zeros(3, 2), "for pooling"),
        (Site("m", position=4), torch.zeros(3, 2, 5), "with a token 4"),
        (Site("m", output="x"), {"y": torch.zeros(3, 2)}, "no output 'x'; it gives \\['y'\\]"),
    ],
)
def test_outputs_that_do_not_fit_are_refused_with_the_modules_name(site, output, message):
    with pytest.raises(InvalidInputError, match=message) as refused:
        site.pick(output)
    assert "'m'" in str(refused.value)


def test_sites_that_contradict_themselves_are_refused():
    with pytest.raises(InvalidInputError, match="not both"):
        Site("m", position=0, pooling=Pooling.MAX)
    with pytest.raises(InvalidInputError, match="different and at least 0"):
        Site("m", units=(1, 1))
    with pytest.raises(InvalidInputError, match=r"site\[unit\]"):
        sites_of_names(["X1"])
