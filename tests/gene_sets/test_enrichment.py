"""Enrichment against counting, and on genes without any structure."""

from math import comb

import numpy as np
import pytest

from ucad.errors import InvalidInputError
from ucad.gene_sets.enrichment import enrichment
from ucad.gene_sets.files import GeneSet
from ucad.graph import FactorGraph


def graph():
    """20 genes; the factor is made from the first and drives the next five."""
    Q, R = np.zeros((2, 20, 1), dtype=bool)
    Q[0], R[1:6] = True, True
    return FactorGraph(Q, R, tuple(f"G{j}" for j in range(20)))


def gene_set(name, *numbers):
    return GeneSet(name, frozenset(f"G{j}" for j in numbers))


def test_the_probability_is_that_of_drawing_so_many_or_more():
    found = enrichment(graph(), [gene_set("right", 1, 2, 3, 4, 9), gene_set("wrong", 10, 11, 12)])
    (hit,) = found.hits
    ways = sum(comb(5, i) * comb(15, 5 - i) for i in (4, 5))
    assert hit.p == pytest.approx(ways / comb(20, 5))
    assert (hit.factor, hit.side, hit.gene_set) == ("Z1", "children", "right")
    assert hit.shared == ("G1", "G2", "G3", "G4")
    assert found.n_tests == 4
    assert found.names == {"Z1": "right"}
    assert found.permuted < 0.5


def test_one_shared_gene_names_nothing():
    assert enrichment(graph(), [gene_set("one", 1, 10)]).hits == ()


def test_sets_of_other_names_are_refused():
    with pytest.raises(InvalidInputError, match="same names, such as 'G0'"):
        enrichment(graph(), [GeneSet("mouse", frozenset({"g1", "g2"}))])
