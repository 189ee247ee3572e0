import pytest
from hypothesis import given
from hypothesis import strategies as st

from ucad.errors import InvalidInputError
from ucad.networks import Pooling, Site
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


def test_sites_that_contradict_themselves_are_refused():
    with pytest.raises(InvalidInputError, match="not both"):
        Site("m", position=0, pooling=Pooling.MAX)
    with pytest.raises(InvalidInputError, match="different and at least 0"):
        Site("m", units=(1, 1))
    with pytest.raises(InvalidInputError, match=r"site\[unit\]"):
        sites_of_names(["X1"])
