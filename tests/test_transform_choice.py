"""Whether factors read logarithms."""

import numpy as np

from ucad.data import InterventionalData
from ucad.transform_choice import choose_reads


def sheet(x: np.ndarray) -> InterventionalData:
    return InterventionalData.from_arrays(x)


def planted(rng: np.random.Generator) -> np.ndarray:
    roots = rng.standard_normal((1200, 4))
    z = roots.sum(axis=1, keepdims=True) / 2
    return np.hstack([roots, z * [1, -1, 0.8, 0.7] + 0.5 * rng.standard_normal((1200, 4))])


def test_exponentials_are_read_as_logarithms_and_plain_values_as_they_are():
    x = planted(np.random.default_rng(1))
    assert choose_reads(sheet(np.exp(x)), "auto", 1, 0).kinds == ("log",) * 8
    assert choose_reads(sheet(x), "auto", 1, 0).is_plain
    assert choose_reads(sheet(x + 10), "auto", 1, 0).is_plain


def test_skewed_values_that_are_linear_in_each_other_are_read_as_they_are():
    rng = np.random.default_rng(2)
    roots = rng.exponential(size=(1200, 4)) + 0.05
    children = roots.sum(axis=1, keepdims=True) * [1, 2, 0.5, 1.5]
    x = np.hstack([roots, children + 0.3 * rng.exponential(size=(1200, 4))])
    assert choose_reads(sheet(x), "auto", 1, 0).is_plain
