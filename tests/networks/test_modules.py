"""Modules by name, with something put around the model or taken off it."""

import pytest
from torch import nn

from ucad.errors import InvalidInputError
from ucad.networks.modules import find_module


def encoder():
    layers = nn.ModuleList([nn.Identity(), nn.Tanh()])
    return nn.ModuleDict({"encoder": nn.ModuleDict({"layer": layers}), "pooler": nn.Linear(2, 2)})


def test_the_full_name_comes_first():
    model = nn.ModuleDict({"a": nn.Identity(), "b": nn.ModuleDict({"a": nn.Tanh()})})
    assert find_module(model, "a") is model["a"]
    assert find_module(model, "b.a") is model["b"]["a"]
    assert find_module(model, "") is model


def test_a_wrapper_changes_no_names():
    model = encoder()
    wrapped = nn.Sequential(nn.ModuleDict({"base": model}), nn.Linear(2, 2))
    assert find_module(wrapped, "encoder.layer.1") is model["encoder"]["layer"][1]
    assert find_module(wrapped, "pooler") is model["pooler"]


def test_a_wrapper_that_was_taken_off_changes_no_names():
    model = encoder()
    assert find_module(model, "base.model.encoder.layer.0") is model["encoder"]["layer"][0]


def test_a_number_alone_is_no_name_inside_something_else():
    with pytest.raises(InvalidInputError, match="no module 'blocks.1'"):
        find_module(nn.Sequential(nn.Identity(), nn.Tanh()), "blocks.1")


def test_one_module_under_two_names_is_one():
    shared = nn.Linear(2, 2)
    model = nn.ModuleDict({"a": nn.ModuleDict({"x": shared}), "b": nn.ModuleDict({"x": shared})})
    assert find_module(model, "x") is shared


def test_several_that_could_be_meant_are_listed():
    model = nn.ModuleDict({n: nn.ModuleDict({"x": nn.Identity()}) for n in "ab"})
    with pytest.raises(InvalidInputError, match=r"several modules that end in 'x': a\.x, b\.x"):
        find_module(model, "x")


def test_a_misspelt_name_gets_a_suggestion_and_a_short_list():
    with pytest.raises(InvalidInputError, match="Did you mean 'pooler'"):
        find_module(encoder(), "poler")
    many = nn.Sequential(*(nn.Identity() for _ in range(30)))
    with pytest.raises(InvalidInputError, match=r"Its modules are 0, .*, 11, …\.$"):
        find_module(many, "head")
