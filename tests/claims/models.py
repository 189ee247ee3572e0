"""A small system of two factors, and ways to break what a certificate assumes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from ucad.claims import certify
from ucad.claims.samples import TestSamples
from ucad.data import InterventionalData
from ucad.graph import FactorGraph
from ucad.scm import FactorSCM, LinearMechanism

N = 6000
Q = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [0, 0], [0, 0], [0, 0]], dtype=bool)
R = np.array([[0, 0], [0, 0], [0, 0], [0, 0], [1, 0], [1, 0], [0, 1], [0, 1]], dtype=bool)
GRAPH = FactorGraph(Q, R)
"""X1, X2 → Z1 → X5, X6 and X3, X4, X5 → Z2 → X7, X8."""


def linear_scm(Q, R, *, noise=0.4, weight=0.8):
    """A linear model with equal weights on the given edges; roots have variance 1."""
    graph = FactorGraph(np.array(Q, dtype=bool), np.array(R, dtype=bool))
    n, m = graph.Q.shape
    F_Z = LinearMechanism(weight * torch.tensor(graph.Q.T).double(), torch.zeros(m).double())
    F_X = LinearMechanism(weight * torch.tensor(graph.R).double(), torch.zeros(n).double())
    roots = torch.from_numpy(~graph.R.any(axis=1)).double()
    return FactorSCM(graph, F_Z, F_X, noise + (1 - noise) * roots)


SCM = linear_scm(Q, R)
SMALL = linear_scm([[1], [1], [0], [0], [0]], [[0], [0], [1], [1], [0]])
"""X1, X2 → Z1 → X3, X4, and X5 on its own."""


@dataclass(frozen=True, eq=False)
class Formula:
    """A mechanism that is no affine map, with one formula per target."""

    formulas: tuple[Callable[[torch.Tensor], torch.Tensor], ...]
    mask: np.ndarray
    is_affine: bool = False

    def __call__(self, inputs, targets=slice(None)):
        chosen = torch.arange(len(self.formulas))[targets].tolist()
        columns = [self.formulas[t](inputs) + 0 * inputs[:, 0] for t in chosen]
        return torch.stack(columns, dim=1) if columns else inputs[:, :0]

    def lipschitz(self):
        return torch.full((len(self.formulas),), torch.inf)

    def uses(self):
        return torch.tensor(self.mask).double()


@dataclass(frozen=True, kw_only=True)
class System:
    """How samples are made: x = shape(F_X(τ(x))) + noise + x · direct + hidden · loading."""

    scm: FactorSCM = SCM
    direct: np.ndarray | None = None
    loading: np.ndarray | None = None
    shape: object = None
    action: str = "random"
    targets: tuple[tuple[int, ...], ...] = ((0,), (1,), (2,), (3,), (4,), (5,), (6,), (7,))
    binary_roots: bool = False
    layer_of: np.ndarray | None = None

    def draw(self, n_samples=N, seed=0):
        """Samples in equal parts of an observational regime and of one per target."""
        rng = np.random.default_rng(seed)
        n = self.scm.graph.n_variables
        regime = np.sort(np.arange(n_samples) % (1 + len(self.targets)))
        acted = np.zeros((1 + len(self.targets), n), dtype=bool)
        for row, target in enumerate(self.targets, 1):
            acted[row, list(target)] = True
        acted = acted[regime]
        u = rng.standard_normal((n_samples, n)) * self.scm.noise_scale.numpy()
        if self.binary_roots:
            roots = self.scm.graph.roots
            u[:, roots] = rng.choice([-1.0, 1.0], (n_samples, len(roots)))
        hidden = rng.standard_normal((n_samples, 1))
        drawn = rng.standard_normal((n_samples, n))
        x = np.zeros((n_samples, n))
        for _ in range(n + 1):
            made = self.scm.expected_variables(self.scm.state_map(x)).numpy()
            own = (made if self.shape is None else self.shape(made)) + u
            own = own + (0 if self.direct is None else x @ self.direct)
            own = own + (0 if self.loading is None else hidden * self.loading)
            set_to = {"random": drawn, "constant": np.full_like(own, 2.0), "shift": own + 1.0}
            set_to["roughly"] = 2.0 + 0.1 * drawn
            x = np.where(acted, set_to[self.action], own)
        names = self.scm.graph.variable_names
        return InterventionalData(x, acted, regime, names, self.layer_of, is_part=True)


def certificate(scm, system, *, n_samples=N, seed=0, **options):
    """The certificate of a model on samples of a system, a quarter of them held out."""
    parts = system.draw(n_samples, seed).split(0.75, 0.25, seed=seed)
    return certify(scm, parts.train, held_out=parts.validation, **options)


def samples_of(scm, system, *, n_samples=N, seed=0, held_out=True):
    """What the tests look at: samples of a system under a model."""
    data = system.draw(n_samples, seed)
    if not held_out:
        return TestSamples.of(scm, data, None, seed)
    parts = data.split(0.75, 0.25, seed=seed)
    return TestSamples.of(scm, parts.train, parts.validation, seed)


def observed(scm, x):
    """Samples without interventions, as they are."""
    data = InterventionalData(
        x,
        np.zeros(x.shape, dtype=bool),
        np.zeros(len(x), dtype=np.int64),
        scm.graph.variable_names,
        is_part=True,
    )
    return TestSamples.of(scm, data, None, 0)


def refitted(scm, data):
    """The model with linear F_X, fitted by least squares where each variable is free."""
    z = scm.state_map(data.x).numpy()
    weight = np.zeros(scm.graph.R.shape)
    bias, noise = np.zeros((2, scm.graph.n_variables))
    for j, factors in enumerate(scm.graph.R):
        free = ~data.is_intervened[:, j]
        columns = np.column_stack([z[free][:, factors], np.ones(free.sum())])
        w = np.linalg.lstsq(columns, data.x[free, j], rcond=None)[0]
        weight[j, factors], bias[j] = w[:-1], w[-1]
        noise[j] = (data.x[free, j] - columns @ w).std()
    F_X = LinearMechanism(torch.from_numpy(weight), torch.from_numpy(bias))
    return replace(scm, variable_mechanism=F_X, noise_scale=torch.from_numpy(noise))


def direct_edge(cause, effect, strength=0.6, n_variables=8):
    """An effect of one variable on another that goes through no factor."""
    direct = np.zeros((n_variables, n_variables))
    direct[cause, effect] = strength
    return direct


def answers(found):
    """What may be claimed, by name."""
    return {one.what: one.answer.value for one in found.permissions}
