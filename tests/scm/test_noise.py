"""Claims about noise families: one test drives all of them."""

import numpy as np
import pytest
import torch

from ucad.errors import FormatError, InvalidInputError
from ucad.graph import FactorGraph
from ucad.scm import (
    GAUSSIAN,
    NOISES,
    CountMechanism,
    FactorSCM,
    LinearMechanism,
    NegativeBinomial,
    StudentT,
    load_scm,
    save_scm,
)
from ucad.scm.families import AffineMap

Q = np.array([[True], [True], [False], [False]])
R = np.array([[False], [False], [True], [True]])


def model(name: str) -> FactorSCM:
    """Two roots, one factor, two children."""
    weight = torch.tensor([[0.0], [0.0], [0.8], [-0.5]], dtype=torch.float64)
    bias, ones = torch.tensor([0.5, 1.0, 0.3, 1.2]).double(), torch.ones(4).double()
    F_Z = LinearMechanism(torch.tensor([[1.0, -1.0, 0, 0]]).double(), torch.zeros(1).double())
    F_X, noise = LinearMechanism(weight, bias), GAUSSIAN
    if name == "student":
        noise = StudentT(3.0 * ones, np.sqrt(1 / 3) * ones)
    if name == "counts":
        F_X, noise = CountMechanism(weight, bias, 0.3 * ones, ones, 0 * ones), NegativeBinomial()
    return FactorSCM(FactorGraph(Q, R), F_Z, F_X, 0.7 * ones, noise=noise)


names = pytest.mark.parametrize("name", [family.name for family in NOISES])


@names
def test_samples_have_the_mean_that_f_x_says(name):
    x, z = model(name).sample(40_000)
    left = x - model(name).expected_variables(z)
    assert left.mean(dim=0).abs().max() < 0.03
    design = torch.stack([z[:, 0], torch.ones(len(z))], dim=1).double()
    slope = torch.linalg.lstsq(design, left[:, 2:]).solution
    assert slope.abs().max() < 0.03


@names
def test_quantile_residuals_are_normal_under_the_law_and_not_under_another(name):
    scm = model(name)
    x = scm.sample(4000).x
    e = scm.quantile_residuals(x).numpy()
    spread = e.std(axis=0)
    assert (np.abs(e.mean(axis=0)) < 0.1).all()
    assert (spread < 1.1).all()
    assert (spread > (0.8 if name == "counts" else 0.93)).all()
    far = scm.quantile_residuals(x + 1.0).numpy()
    assert far.mean() > 0.4


@names
def test_its_own_samples_are_likelier_than_moved_ones(name):
    scm = model(name)
    x = scm.sample(2000).x
    moved = x.clone()
    moved[:, 2] = torch.log1p(torch.expm1(x[:, 2]).clamp_min(0).round() + 2)
    assert scm.log_likelihood(x).mean() > scm.log_likelihood(moved).mean() + 0.3


@names
def test_a_model_comes_back_from_disk(name, tmp_path):
    scm = model(name)
    save_scm(scm, tmp_path)
    again, x = load_scm(tmp_path), scm.sample(50).x
    assert again.noise.name == name
    torch.testing.assert_close(again.log_likelihood(x), scm.log_likelihood(x))
    torch.testing.assert_close(again.sample(20, 3).x, scm.sample(20, 3).x)


def test_an_unknown_noise_on_disk_is_refused(tmp_path):
    save_scm(model("gaussian"), tmp_path)
    path = tmp_path / "model.json"
    path.write_text(path.read_text().replace('"gaussian"', '"pink"'))
    with pytest.raises(FormatError, match="one of gaussian, student, counts. Got 'pink'"):
        load_scm(tmp_path)


@names
def test_the_context_that_is_drawn_gives_the_samples_that_are_drawn(name):
    scm = model(name)
    torch.testing.assert_close(scm.solve(scm.draw_context(30, 5)).x, scm.sample(30, 5).x)


@names
def test_clamping_a_parent_moves_its_children_alone(name):
    scm = model(name)
    before, after = scm.sample(4000), scm.do({"X1": 4.0}).sample(4000)
    torch.testing.assert_close(before.x[:, 1], after.x[:, 1])
    assert after.x[:, 2].mean() > before.x[:, 2].mean() + 0.5
    assert after.x[:, 3].mean() < before.x[:, 3].mean() - 0.3


def test_units_of_counts_change_nothing_but_units():
    F = model("counts").variable_mechanism
    z = torch.linspace(-2, 2, 7, dtype=torch.float64)[:, None]
    units = AffineMap(torch.full((4,), 2.0).double(), torch.full((4,), 1.0).double())
    torch.testing.assert_close(F.after(units)(z), 2 * F(z) + 1)
    one = AffineMap(torch.tensor([3.0]).double(), torch.tensor([0.5]).double())
    torch.testing.assert_close(F.before(one)(z), F(3 * z + 0.5))


def test_counts_without_a_mechanism_of_counts_and_tails_without_a_variance_are_refused():
    ones = torch.ones(4).double()
    with pytest.raises(InvalidInputError, match="at least 2.1"):
        StudentT(2 * ones, ones)
    plain = model("gaussian")
    wrong = FactorSCM(
        plain.graph,
        plain.factor_mechanism,
        plain.variable_mechanism,
        plain.noise_scale,
        noise=NegativeBinomial(),
    )
    with pytest.raises(InvalidInputError, match="CountMechanism"):
        wrong.sample(3)
