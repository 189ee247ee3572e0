"""Prior knowledge: consistency, matching and imposing."""

import numpy as np
import pytest

from ucad.errors import InvalidInputError, UcadError
from ucad.solvers.prior import PriorKnowledge, read_prior


def one_at(*places, shape=(4, 2)):
    array = np.zeros(shape, dtype=bool)
    for place in places:
        array[place] = True
    return array


def test_contradictions_are_refused():
    with pytest.raises(InvalidInputError, match="forbids"):
        PriorKnowledge(required_parent=one_at((0, 0)), forbidden_parent=one_at((0, 0)))
    with pytest.raises(InvalidInputError, match="both"):
        PriorKnowledge(required_parent=one_at((0, 0)), required_child=one_at((0, 0)))


def test_something_must_be_known():
    with pytest.raises(InvalidInputError, match="at least one"):
        PriorKnowledge()


def test_factors_are_matched_to_the_knowledge_about_them():
    prior = PriorKnowledge(required_parent=one_at((0, 1)))
    Q, R = one_at((0, 0), (1, 1)), one_at((2, 0), (3, 1))
    assert prior.relabelling(Q, R).tolist() == [1, 0]


def test_imposing_adds_required_edges_and_removes_forbidden_ones_only():
    prior = PriorKnowledge(required_parent=one_at((3, 0)), forbidden_child=one_at((2, 1)))
    Q, R = prior.imposed_on(one_at((0, 0)), one_at((3, 0), (2, 1), (1, 1)))
    assert (one_at((0, 0), (3, 0)) == Q).all()
    assert (one_at((1, 1)) == R).all()


def test_an_anchor_belongs_to_its_factor_and_to_no_other():
    prior = PriorKnowledge.with_anchors(one_at((0, 0)), one_at((3, 1)))
    Q, R = prior.imposed_on(one_at((0, 1)), one_at((3, 0)))
    assert (one_at((0, 0)) == Q).all()
    assert (one_at((3, 1)) == R).all()


NAMES = ("A", "B", "Z1")


def test_a_file_says_the_same_as_arrays(tmp_path):
    path = tmp_path / "prior.toml"
    path.write_text('required = ["A -> Z1"]\nforbidden = ["Z2->B"]\nanchors = ["Z2 -> A"]\n')
    prior = read_prior(path, NAMES, 2)
    assert set(prior.statements()) == {
        ("required_parent", 0, 0),
        ("required_child", 0, 1),
        ("forbidden_child", 1, 1),
        ("forbidden_child", 0, 0),
    }
    assert "required_parent[0, 0]" in repr(prior)


def test_a_variable_may_be_called_like_a_factor():
    prior = PriorKnowledge.from_edges(NAMES, 2, required=["Z1 -> Z2"])
    assert prior.statements() == (("required_parent", 2, 1),)
    with pytest.raises(InvalidInputError, match="one variable and one of the factors"):
        PriorKnowledge.from_edges(NAMES, 2, required=["Z1 -> Z1"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('required = ["AA -> Z2"]', "no variable 'AA'. Did you mean 'A'"),
        ('required = ["A -> Z3"]', "factors Z1 … Z2, as in 'A -> Z1'"),
        ('required = ["A to Z2"]', "as in 'A -> Z1'"),
        ('required = ["A -> B"]', "one variable and one of the factors"),
        ('requird = ["A -> Z2"]', "Did you mean 'required'"),
        ("required = [1]", "must hold texts"),
        ('required = "A -> Z2"', "must hold texts"),
        ("", "must say something"),
        ("required = [", "not a TOML file"),
        ('required = ["A -> Z2"]\nforbidden = ["A -> Z2"]', "also forbids"),
    ],
)
def test_a_file_with_a_mistake_is_refused_by_what_is_wrong(tmp_path, text, message):
    path = tmp_path / "prior.toml"
    path.write_text(text)
    with pytest.raises(UcadError, match=message):
        read_prior(path, NAMES, 2)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(UcadError, match="cannot be read"):
        read_prior(tmp_path / "none.toml", NAMES, 2)


def test_knowledge_of_another_shape_is_refused():
    prior = PriorKnowledge.from_edges(NAMES, 2, required=["A -> Z2"])
    prior.check_shape(3, 2)
    with pytest.raises(InvalidInputError, match="4 variables and 2 factors. Got 3 and 2"):
        prior.check_shape(4, 2)


def test_knowledge_of_few_factors_holds_among_more():
    prior = PriorKnowledge.from_edges(["A", "B"], 1, required=["A -> Z1"]).for_factors(3)
    assert prior.shape == (2, 3)
    assert prior.statements() == (("required_parent", 0, 0),)
    with pytest.raises(InvalidInputError, match="names 3 factors"):
        prior.for_factors(2)


def test_a_file_without_a_number_is_about_the_factors_it_names(tmp_path):
    file = tmp_path / "prior.toml"
    file.write_text('required = ["A -> Z1", "Z3 -> B"]')
    assert read_prior(file, ["A", "B"], None).shape == (2, 3)
