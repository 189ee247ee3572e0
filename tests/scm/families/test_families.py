"""Every family of mechanisms, driven through the same claims: a new one is tested by its name."""

import warnings

import numpy as np
import pytest
import torch

import ucad
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.graph import FactorGraph
from ucad.report import ReportContent, write_report
from ucad.scm import FactorSCM, load_scm, save_scm
from ucad.scm.families import AFFINE, FAMILIES, AffineMap, family_named, family_of
from ucad.solvers.regression.fitting import ROUGH, Fitter, Regression

N_VARIABLES = 5
PARENTS = np.array([0, 2, 3])
EACH = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)

STEP = 1e-2
"""Of central differences: functions may be in single precision, whose rounding it has to exceed."""

CLOSE = {"rtol": 3e-3, "atol": 3e-3}
"""Of such differences: STEP² times a third derivative, and rounding over STEP."""


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(0).standard_normal((300, N_VARIABLES))


def target(x):
    return np.sin(x[:, 0]) + 0.5 * x[:, 2] - 0.3 * x[:, 3] ** 2


def fitted(family, x, seed=0):
    """A function with weights that are neither zero nor special."""
    fitter = Fitter(family=family, effort=ROUGH, floor=1e-3, penalty=10.0, seed=seed)
    return fitter.fit(x, PARENTS, Regression(target(x), np.ones(len(x))))


def moved(x, variable, by):
    other = x.copy()
    other[:, variable] += by
    return other


def difference(ahead, behind):
    return (ahead - behind) / (2 * STEP)


@EACH
def test_the_gradient_is_the_numerical_derivative_in_every_input(family, x):
    function = fitted(family, x)
    gradient = function.gradient(x)
    assert gradient.shape == (len(x), len(PARENTS))
    for at, i in enumerate(PARENTS):
        ahead, behind = (function.values(moved(x, i, h)) for h in (STEP, -STEP))
        np.testing.assert_allclose(gradient[:, at], difference(ahead, behind), **CLOSE)


@EACH
def test_the_jacobian_is_the_numerical_derivative_in_every_weight(family, x):
    function = fitted(family, x)
    jacobian, weights = function.jacobian(x), function.weights
    assert jacobian.shape == (len(x), len(weights))
    for at, unit in enumerate(np.eye(len(weights))):
        ahead, behind = (function.with_weights(weights + h * unit).values(x) for h in (STEP, -STEP))
        np.testing.assert_allclose(jacobian[:, at], difference(ahead, behind), **CLOSE)


@EACH
def test_growth_is_the_jacobian_of_one_more_parent_without_weight(family, x):
    function = fitted(family, x)
    wider = function.with_parents(np.append(PARENTS, 4))
    grown = function.growth(x)(x[:, 4])
    everything = wider.jacobian(x)
    missing = [c for c in grown.T if not any(np.allclose(c, d, atol=1e-5) for d in everything.T)]
    assert not missing
    assert grown.shape[1] == len(wider.weights) - len(function.weights)


@EACH
def test_growth_depends_on_the_new_input(family, x):
    growth = fitted(family, x).growth(x)
    assert not np.allclose(growth(x[:, 4]), growth(x[:, 1]))


@EACH
def test_weights_go_round(family, x):
    function = fitted(family, x)
    weights = np.random.default_rng(1).standard_normal(len(function.weights))
    again = function.with_weights(weights)
    np.testing.assert_allclose(again.weights, weights)
    assert not np.allclose(again.values(x), function.values(x))
    np.testing.assert_array_equal(
        again.with_weights(function.weights).values(x), function.values(x)
    )


@EACH
def test_an_affine_map_of_a_function_is_one_of_its_values(family, x):
    function = fitted(family, x)
    expected = 2.5 * function.values(x) - 0.7
    np.testing.assert_allclose(function.affine(2.5, -0.7).values(x), expected, atol=1e-5)


@EACH
@pytest.mark.parametrize("scale", [2.0, -0.5])
def test_another_unit_of_an_input_is_read_in_its_place(family, x, scale):
    function = fitted(family, x)
    changed = x.copy()
    changed[:, 2] = scale * x[:, 2] + 0.3
    read = function.with_input(1, scale, 0.3)
    np.testing.assert_allclose(read.values(x), function.values(changed), atol=1e-4)
    assert not np.allclose(read.values(x), function.values(x), atol=1e-2)


@EACH
def test_new_parents_change_nothing_and_parents_left_out_are_not_read(family, x):
    function = fitted(family, x)
    wider = function.with_parents(np.array([0, 1, 2, 3]))
    np.testing.assert_allclose(wider.values(x), function.values(x), atol=1e-5)
    fewer = function.with_parents(np.array([0, 2]))
    np.testing.assert_array_equal(fewer.values(x), fewer.values(moved(x, 3, 5.0)))
    assert not np.allclose(function.values(x), function.values(moved(x, 3, 5.0)))


@EACH
def test_a_renamed_function_reads_the_same_columns_elsewhere(family, x):
    function = fitted(family, x)
    order = np.array([4, 3, 2, 1, 0])
    renamed = function.renamed(np.argsort(order)[PARENTS])
    np.testing.assert_array_equal(renamed.values(x[:, order]), function.values(x))


@EACH
def test_a_fit_lowers_the_error_of_its_start_and_of_the_mean(family, x):
    regression = Regression(target(x), np.ones(len(x)))
    start = family.start(PARENTS, x[:, PARENTS], regression.target, np.ones(len(x)), 0)
    after = regression.error(fitted(family, x), x)
    assert after < regression.error(start, x)
    assert after < regression.target.var()


@EACH
def test_only_what_is_linear_in_its_weights_says_so(family, x):
    function = fitted(family, x)
    other = np.random.default_rng(2).standard_normal(len(function.weights))
    middle = function.with_weights((function.weights + other) / 2).values(x)
    ends = (function.values(x) + function.with_weights(other).values(x)) / 2
    assert np.allclose(middle, ends, atol=1e-3) == family.is_linear_in_weights


@EACH
def test_only_what_is_affine_in_its_inputs_says_so(family, x):
    gradient = fitted(family, x).gradient(x)
    assert np.allclose(gradient, gradient[0]) == family.is_affine


@EACH
def test_features_follow_a_function_of_one_variable(family, x):
    """At least the variable itself; a family that is not affine follows bends, too."""
    features = family.features(x)
    assert features.shape[:2] == x.shape
    bent = np.tanh(2 * x[:, 0]) + x[:, 0] ** 2
    design = np.column_stack([features[:, 0], np.ones(len(x))])
    left = bent - design @ np.linalg.lstsq(design, bent, rcond=None)[0]
    assert (left.var() < 0.1 * bent.var()) == (not family.is_affine)


def stacked(family, x):
    """Two functions of the family, an affine one and a constant as one mechanism."""
    straight = AFFINE.start(np.array([1]), x[:, [1]], x[:, 0], np.ones(len(x)), 0)
    straight = straight.with_weights(np.array([1.5, 0.2]))
    constant = straight.with_parents(np.array([], dtype=np.int64))
    functions = [fitted(family, x), fitted(family, x, seed=3), straight, constant]
    return functions, family.mechanism(functions, N_VARIABLES)


@EACH
def test_a_mechanism_has_the_values_of_its_functions(family, x):
    functions, mechanism = stacked(family, x)
    expected = np.stack([function.values(x) for function in functions], axis=1)
    found = mechanism(torch.from_numpy(x))
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-4)
    some = mechanism(torch.from_numpy(x), torch.tensor([2, 0]))
    np.testing.assert_allclose(some.numpy(), found.numpy()[:, [2, 0]])
    assert mechanism.is_affine == family.is_affine
    assert family_of(mechanism) is family


@EACH
def test_a_family_refuses_functions_of_others(family, x):
    strange = next(other for other in FAMILIES if other not in (family, AFFINE))
    with pytest.raises(InvalidInputError):
        family.mechanism([fitted(strange, x)], N_VARIABLES)


@EACH
def test_the_lipschitz_constant_bounds_every_pair_and_half_of_it_does_not(family, x):
    _, mechanism = stacked(family, x)
    one, other = torch.randn(2, 4000, N_VARIABLES, dtype=torch.float64, generator=seeded())
    other = torch.cat([other[:2000], one[2000:] + 0.01 * other[2000:]])
    change = (mechanism(one) - mechanism(other)).abs()
    bound = mechanism.lipschitz() * (one - other).norm(dim=1, keepdim=True)
    assert bool((change <= bound * (1 + 1e-6) + 1e-9).all())
    straight = 2  # the affine function, whose bound is attained along its one parent
    along = torch.zeros(2, N_VARIABLES, dtype=torch.float64)
    along[1, 1] = 1.0
    made = mechanism(along)[:, straight]
    assert (made[1] - made[0]).abs() > 0.5 * mechanism.lipschitz()[straight]


def seeded():
    return torch.Generator().manual_seed(0)


@EACH
def test_uses_is_zero_exactly_where_there_is_no_parent(family, x):
    functions, mechanism = stacked(family, x)
    expected = np.array([np.isin(np.arange(N_VARIABLES), f.parents) for f in functions])
    assert ((mechanism.uses().numpy() != 0) == expected).all()
    assert bool((mechanism.uses() >= 0).all())


@EACH
def test_units_change_before_and_after_a_mechanism(family, x):
    _, mechanism = stacked(family, x)
    rng = np.random.default_rng(4)
    inner = AffineMap(*torch.from_numpy(rng.uniform(0.5, 2.0, (2, N_VARIABLES))))
    outer = AffineMap(*torch.from_numpy(rng.uniform(-2.0, 2.0, (2, 4))))
    u = torch.from_numpy(x)
    after, before = mechanism.after(outer)(u), mechanism.before(inner)(u)
    torch.testing.assert_close(after, outer.scale * mechanism(u) + outer.shift)
    torch.testing.assert_close(before, mechanism(inner.scale * u + inner.shift))
    back = mechanism.before(inner).before(inner.inverse())(u)
    torch.testing.assert_close(back, mechanism(u))


@EACH
def test_a_model_of_the_family_survives_storage(family, x, tmp_path):
    Q = np.array([[True, False], [True, True], [False, False], [False, False]])
    R = np.array([[False, False], [False, False], [True, False], [True, True]])
    names = [np.flatnonzero(column) for column in Q.T], [np.flatnonzero(row) for row in R]

    def function(parents, at):
        fitter = Fitter(family=family, effort=ROUGH, floor=1e-3, penalty=10.0, seed=at)
        return fitter.fit(x, parents, Regression(target(x), np.ones(len(x))))

    sides = [[function(parents, at) for at, parents in enumerate(each)] for each in names]
    scm = FactorSCM(
        FactorGraph(Q, R),
        family.mechanism(sides[0], 4),
        family.mechanism(sides[1], 2),
        torch.ones(4, dtype=torch.float64),
    )
    save_scm(scm, tmp_path)
    back = load_scm(tmp_path)
    assert type(back.factor_mechanism) is family.mechanism_type
    assert torch.equal(back.state_map(x[:, :4]), scm.state_map(x[:, :4]))
    z = scm.state_map(x[:, :4])
    assert torch.equal(back.expected_variables(z), scm.expected_variables(z))


@EACH
def test_the_estimator_fits_certifies_and_reports_a_model_of_the_family(family, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 5))
    z = np.tanh(x[:, 0]) + 0.5 * x[:, 1]
    x[:, 2:4] = z[:, None] + 0.2 * x[:, 2:4]
    clamped = np.zeros(x.shape, dtype=bool)
    for i in range(2):
        clamped[80 * i : 80 * (i + 1), i] = True
    data = InterventionalData.from_arrays(x, clamped)
    model = ucad.UCAD(n_factors=1, factor_mechanism=family.name, variable_mechanism="linear")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data)
    assert type(model.scm_.factor_mechanism) is family.mechanism_type
    assert model.graph_.Q[:, 0].tolist() == [True, True, False, False, False]
    assert model.certificate_.verdict
    content = ReportContent(
        title=family.name, scm=model.scm_, data=data, certificate=model.certificate_
    )
    write_report(content, tmp_path / "report.html")
    assert family.name in (tmp_path / "report.html").read_text(encoding="utf-8")
    model.save(tmp_path / "run")
    again = ucad.load(tmp_path / "run")
    np.testing.assert_array_equal(again.transform(data), model.transform(data))


class Sine:
    """A mechanism of no family."""

    is_affine = False

    def __call__(self, inputs, targets=slice(None)):
        return inputs.sin()[:, targets]

    def lipschitz(self):
        return torch.ones(1)

    def uses(self):
        return torch.ones(1, 1)


def test_families_have_different_names_and_are_found_by_them():
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)
    for family in FAMILIES:
        assert family_named(family.name) is family
    with pytest.raises(InvalidInputError, match="Did you mean 'linear'"):
        family_named("liner")
    with pytest.raises(InvalidInputError, match="No family makes mechanisms"):
        family_of(Sine())
