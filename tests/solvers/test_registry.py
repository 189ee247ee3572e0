"""Every solver in the registry, driven through the same claims: a new one is tested by its name."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.graph import topological_levels
from ucad.scm.families import FAMILIES, family_named
from ucad.solvers import PriorKnowledge, SolveSettings, gradient, registry, solve
from ucad.solvers.gradient import solver as gradient_solver
from ucad.solvers.layered import solver as layered_solver
from ucad.solvers.registry import SOLVERS, families_asked_for, solver_named

EACH = pytest.mark.parametrize("name", SOLVERS)
EPOCHS = 2
"""Of training; the claims here are not about how well it goes."""


@pytest.fixture(autouse=True, scope="module")
def _short_training():
    """Solvers that train do so once and for a few epochs."""
    patch = pytest.MonkeyPatch()
    original, bottleneck = gradient.preset, layered_solver.BottleneckConfig

    def short(*arguments):
        config = original(*arguments)
        one = {
            name: getattr(config.training, name)[:1]
            for name in ("learning_rates", "penalty_growths", "warm_up_epochs")
        }
        return replace(
            config,
            training=replace(config.training, epochs=EPOCHS, n_seeds=1, **one),
            refit_steps=EPOCHS,
        )

    patch.setattr(gradient_solver, "preset", short)
    patch.setattr(
        layered_solver, "BottleneckConfig", lambda **kw: bottleneck(**kw, epochs=EPOCHS, hidden=8)
    )
    yield
    patch.undo()


def layered_data(seed=0, n_samples=120):
    """Two layers of three, a factor between them, inputs clamped in some samples."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_samples, 6))
    x[:, 3:] = x[:, [0]] + 0.5 * x[:, [1]] + 0.2 * x[:, 3:]
    clamped = np.zeros(x.shape, dtype=bool)
    clamped[: n_samples // 5, 0] = clamped[n_samples // 5 : n_samples // 3, 1] = True
    layers = np.array([0, 0, 0, 1, 1, 1])
    return InterventionalData.from_arrays(x, clamped, layer_of=layers).standardised()


def dense_data():
    """Rectified units that are dense functions of the layer before: every solver has work to do."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((100, 3))
    y = np.maximum(0, x @ rng.standard_normal((3, 3)) + 0.2)
    return InterventionalData.from_arrays(np.c_[x, y], layer_of=[0] * 3 + [1] * 3).standardised()


def fitted(name, data, n_factors=1, **changes):
    asked = SolveSettings(**{"n_factors": n_factors, "solver": name} | changes)
    return solve(data, asked, validation=data)


def check(result, data, n_factors):
    """A DAG with as many factors as asked for, and finite numbers throughout."""
    graph = result.scm.graph
    assert graph.n_factors == n_factors
    assert topological_levels(graph.factor_adjacency) is not None
    assert topological_levels(graph.variable_adjacency) is not None
    assert np.isfinite(result.validation_nll)
    assert bool(torch.isfinite(result.scm.state_map(data.x)).all())
    assert result.status.reason.endswith(".")
    assert result.status.reason in str(result.status)


@EACH
@pytest.mark.parametrize("n_factors", [1, 2])
def test_a_solver_returns_a_finite_model_of_a_dag_and_the_same_one_again(name, n_factors):
    data = layered_data()
    one, other = (fitted(name, data, n_factors, seed=3) for _ in range(2))
    check(one, data, n_factors)
    assert one.scm.graph.respects_layers(data.layer_of)
    assert one.validation_nll == other.validation_nll
    assert "budget" not in one.status.reason
    assert torch.equal(one.scm.state_map(data.x), other.scm.state_map(data.x))


@EACH
def test_a_budget_that_ends_gives_a_model_and_says_so(name):
    data = dense_data()
    short = fitted(name, data, 2, max_seconds=1e-6)
    check(short, data, 2)
    assert not short.status.converged
    assert short.status.reason == "The budget of 1e-06 s ended."
    assert "max_seconds" in str(short.status)


@EACH
def test_prior_knowledge_is_used_or_refused(name):
    data = layered_data()
    forbidden = np.zeros((6, 1), dtype=bool)
    forbidden[0] = True
    prior = PriorKnowledge(forbidden_parent=forbidden)
    if not SOLVERS[name].takes_prior:
        with pytest.raises(InvalidInputError, match=f"'{name}' takes no prior knowledge"):
            fitted(name, data, prior=prior)
        return
    assert not fitted(name, data, prior=prior).scm.graph.Q[0].any()


@EACH
def test_layers_are_asked_for_where_they_are_needed(name):
    plain = replace(layered_data(), layer_of=None)
    if SOLVERS[name].needs_layers:
        with pytest.raises(InvalidInputError, match=f"'{name}' needs the layer of every variable"):
            fitted(name, plain)
    else:
        check(fitted(name, plain), plain, 1)


@EACH
def test_another_device_is_refused_by_solvers_of_the_cpu(name):
    if SOLVERS[name].uses_device:
        assert SolveSettings(n_factors=1, solver=name, device="cuda").device == "cuda"
    else:
        with pytest.raises(InvalidInputError, match=f"'{name}' takes no device 'cuda'"):
            SolveSettings(n_factors=1, solver=name, device="cuda")


@EACH
def test_a_solver_says_which_families_it_makes(name):
    solver = solver_named(name)
    classes = solver.classes("auto", "auto")
    assert classes
    made = 0
    for family in FAMILIES:
        try:
            asked = solver.classes(family.name, "auto")
        except InvalidInputError:
            continue
        made += 1
        assert {F_Z for F_Z, _ in asked} == {family}
    assert made


@EACH
@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), n=st.integers(3, 6), N=st.integers(2, 40))
def test_tiny_random_arrays_are_fitted(name, seed, n, N):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((N, n))
    x = np.round(x) if seed % 3 == 0 else x
    x[:2] = [[0.0], [1.0]]  # no column is constant
    clamped = rng.random(x.shape) < 0.2 if seed % 2 else np.zeros(x.shape, dtype=bool)
    clamped[:2] = False
    layers = (np.arange(n) * 2) // n
    data = InterventionalData.from_arrays(x, clamped, layer_of=layers).standardised()
    if not SOLVERS[name].needs_layers and seed % 5:
        data = replace(data, layer_of=None)
    check(fitted(name, data), data, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"solver": "grad"}, "must be one of auto, search, gradient, gradient-paper"),
        ({"solver": "serach"}, "Did you mean 'search'"),
        ({"factor_mechanism": "liner"}, "Did you mean 'linear'"),
        ({"max_seconds": 0.0}, "'max_seconds' parameter must be a finite number above 0"),
        ({"device": "gpu"}, "must name a device of torch"),
    ],
)
def test_unknown_choices_are_refused(changes, message):
    with pytest.raises(InvalidInputError, match=message):
        SolveSettings(**{"n_factors": 1} | changes)


def test_all_pairs_of_families_are_tried_simple_ones_first():
    linear, network = FAMILIES[:2]
    both = ((linear, network), (linear,))
    assert families_asked_for("auto", "auto", both) == ((linear, linear), (network, linear))
    assert families_asked_for("mlp", "mlp", both) == ((network, network),)
    with pytest.raises(InvalidInputError, match="'variable_mechanism' parameter must be linear"):
        families_asked_for("auto", "mlp", both, both)


@pytest.mark.parametrize(
    ("found", "again"), [(("mlp", "linear"), 2), (("linear", "linear"), 4), (("spline", "mlp"), 4)]
)
def test_later_rounds_try_the_class_of_the_first_and_the_simplest(found, again, monkeypatch):
    """What the kind of a regime changes is not the shape of mechanisms: a whole search is saved."""
    data, asked = layered_data(), []
    first = fitted("search", data, factor_mechanism=found[0], variable_mechanism=found[1])

    class Solver:
        def classes(self, factor, variable):
            both = family_named("linear"), family_named("mlp")
            return families_asked_for(factor, variable, (both, both))

        def fit(self, problem, classes, aid):
            asked.append(classes)
            return first

    def twice(train, held_out, fit):
        fit(train, held_out)
        return fit(train, held_out)

    monkeypatch.setattr(registry, "solver_named", lambda _: Solver())
    monkeypatch.setattr(registry, "fit_by_kind", twice)
    fitted("search", data)
    assert [len(classes) for classes in asked] == [4, again]
    assert asked[1][0] == asked[0][0]


def test_importing_the_package_imports_no_solver():
    code = (
        "import sys, ucad.solvers; from ucad.solvers.registry import solver_named; "
        "parts = ('search', 'gradient', 'layered'); "
        "found = lambda: [p for p in parts if f'ucad.solvers.{p}' in sys.modules]; "
        "print(found()); solver_named('search'); print(found())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['search']"]
