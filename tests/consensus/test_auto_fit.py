"""A fit that finds the number of its factors."""

import numpy as np
import pytest

import ucad
from ucad.claims import Answer
from ucad.errors import InvalidInputError
from ucad.metrics import mean_correlation

LINEAR = {"factor_mechanism": "linear", "variable_mechanism": "linear"}


@pytest.fixture(scope="module")
def noise():
    return np.random.default_rng(0).standard_normal((300, 5))


def test_auto_gives_the_model_of_the_number_that_is_found():
    problem = ucad.paper_problem("b", "16-3", seed=1, n_samples=3000)
    model = ucad.UCAD(n_factors="auto", **LINEAR).fit(problem.train)
    assert model.graph_.n_factors == 3
    assert mean_correlation(problem.factors, model.transform(problem.test.x)).mean > 0.99
    assert model.path_["n_factors"] == 3
    assert model.status_.notes[0].startswith("The number of factors was looked for: 3")


def knock_down_screen(seed):
    """Two factors in a chain; every variable is once turned down to 30 % of what it would be."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(0.6, 1.4, (2, 2)), rng.uniform(0.8, 1.3, (2, 3))
    parts, labels = [], []
    for target in [None, *range(9)]:
        x = np.zeros((600 if target is None else 60, 9))
        down = np.where(np.arange(9) == target, 0.3, 1.0)
        x[:, :3] = rng.standard_normal((len(x), 3)) * down[:3]
        for children, parents, factor in ((slice(3, 6), [0, 1], 0), (slice(6, 9), [2, 3], 1)):
            z = x[:, parents] @ a[factor]
            noise = 0.6 * rng.standard_normal((len(x), 3))
            x[:, children] = (z[:, None] * b[factor] + noise) * down[children]
        parts.append(x)
        labels += ["" if target is None else f"X{target + 1}"] * len(x)
    return ucad.InterventionalData.from_targets(np.vstack(parts), labels)


@pytest.mark.parametrize("seed", [0, 1])
def test_factors_are_found_where_nobody_says_that_targets_were_only_turned_down(seed):
    model = ucad.UCAD(**LINEAR).fit(knock_down_screen(seed))
    assert model.graph_.n_factors == 2
    assert model.graph_.Q.sum() == 4
    assert model.graph_.R.sum() == 6
    assert any("may not have clamped" in note for note in model.status_.notes)
    assert model.certificate_.may_claim("graph").answer is not Answer.YES  # kinds were found


def test_data_without_structure_give_a_model_of_no_factors(noise, tmp_path):
    model = ucad.UCAD().fit(noise)
    assert model.transform(noise).shape == (300, 0)
    assert model.inverse_transform(np.zeros((2, 0))).shape == (2, 5)
    assert "no low-rank structure" in str(model.status_)
    assert model.certificate_.verdict.startswith("The model has no factors")
    assert not model.certificate_.may_claim("graph")
    model.save(tmp_path / "run")
    again = ucad.load(tmp_path / "run")
    assert again.path_ == model.path_
    assert again.score(noise) == pytest.approx(model.score(noise))


def test_a_known_number_leaves_no_path(noise):
    assert ucad.UCAD(n_factors=1, **LINEAR).fit(noise).path_ is None


def test_dense_layers_need_a_number(noise):
    with pytest.raises(InvalidInputError, match="Say how many factors"):
        ucad.UCAD(solver="bottleneck", layers=[0, 0, 0, 1, 1]).fit(noise)


def test_any_other_word_than_auto_is_refused(noise):
    with pytest.raises(InvalidInputError, match="or 'auto'"):
        ucad.UCAD(n_factors="some").fit(noise)
