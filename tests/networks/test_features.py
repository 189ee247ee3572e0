"""Features of inputs: one-hot codes stay whole, hybrids and contexts are read by name."""

import numpy as np
import pytest
import torch

from ucad.errors import InvalidInputError
from ucad.networks import covariates_of, features_of, hybrid
from ucad.networks.features import covariate_names, named_features


def one_hot_digits(rng, n=50):
    digits = rng.integers(3, size=(n, 2))
    return np.eye(3)[digits].reshape(n, 6)


def test_a_one_hot_code_is_one_feature():
    rng = np.random.default_rng(0)
    names = [feature.name for feature in features_of(one_hot_digits(rng))]
    assert names == ["input[0-2]", "input[3-5]"]


def test_independent_bits_are_features_of_their_own():
    bits = np.random.default_rng(0).integers(2, size=(80, 2, 2)).astype(np.float32)
    assert [f.name for f in features_of(bits)] == [
        f"input[{t},{b}]" for t in (0, 1) for b in (0, 1)
    ]


def test_entries_that_belong_together_can_be_named():
    names = [f.name for f in features_of(torch.rand(9, 3), [["input[0]", "input[1]"]])]
    assert names == ["input[0-1]", "input[2]"]


def test_a_hybrid_leaves_its_parents_alone():
    base, source = (
        {"a": torch.zeros(3, 2), "b": torch.zeros(3)},
        {"a": torch.ones(3, 2), "b": torch.ones(3)},
    )
    features = features_of({"a": torch.rand(9, 2), "b": torch.rand(9)})
    mixed = hybrid(base, source, [features[0], features[2]])
    assert mixed["a"].tolist() == [[1.0, 0.0]] * 3
    assert mixed["b"].tolist() == [1.0] * 3
    assert not base["a"].any()


def test_the_context_of_tokens_is_their_indicators():
    tokens = np.arange(40).reshape(20, 2) % 5
    names = covariate_names(features_of(tokens)[1], tokens)
    assert names == tuple(f"input[1]={level}" for level in range(5))
    assert (covariates_of(tokens, names).argmax(axis=1) == tokens[:, 1]).all()


@pytest.mark.parametrize("name", ["batch", "other[0]", "input[7]"])
def test_a_context_that_is_no_entry_of_the_inputs_is_refused(name):
    with pytest.raises(InvalidInputError, match="input"):
        covariates_of(np.zeros((3, 2)), [name])


def test_parts_are_written_as_slices_of_one_tensor():
    images = np.zeros((3, 2, 4))
    left, right = named_features(
        images, {"left": ["input[:,:2]"], "right": ["input[0,3]", "input[1,2]"]}
    )
    assert (left.places, right.places) == ((0, 1, 4, 5), (3, 6))
    assert (left.name, right.name) == ("left", "right")
    (whole,) = named_features({"a": images, "b": images}, {"second": ["b"]})
    assert (whole.part, len(whole.places)) == ("b", 8)


@pytest.mark.parametrize(
    "parts",
    [
        {"one": ["other[0]"]},
        {"one": ["input[9,9]"]},
        {"one": ["input[0,0,0]"]},
        {"one": ["input[x]"]},
        {"one": ["input[5:,:]"]},
        {"one": ["input[0]"], "two": ["input[:,0]"]},
    ],
)
def test_parts_that_are_no_entries_or_shared_are_refused(parts):
    with pytest.raises(InvalidInputError):
        named_features(np.zeros((3, 2, 4)), parts)
