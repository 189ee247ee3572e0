"""Random f-SCMs and interventional data; the paper's settings a … i by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ucad._types import FactorSamples, LayerOf, VariablesByFactors
from ucad.data import OBSERVATIONAL, InterventionalData, Split
from ucad.errors import InvalidInputError, SimulationError, did_you_mean
from ucad.graph import FactorGraph, has_anchors, in_anchors, out_anchors
from ucad.scm import FactorSCM, LinearMechanism, MLPMechanism, hard

__all__ = [
    "SETTINGS",
    "SIZES",
    "GraphRecipe",
    "MechanismRecipe",
    "Problem",
    "Setting",
    "paper_problem",
    "random_factor_graph",
    "random_factor_scm",
    "random_targets",
    "simulate",
]


@dataclass(frozen=True, kw_only=True)
class GraphRecipe:
    """How a random f-DAG is drawn.

    Attributes:
        n_variables: the paper's n.
        n_factors: the paper's m.
        edge_probability: of each edge that the causal order allows.
        layer_sizes: the number of variables in each layer; None for no layers.
        min_parents: the least number of parents of a factor (2 for the paper's assumption under
            which the low-level graph is identifiable from observations).
        anchored: whether every factor must have an in-anchor and an out-anchor.
        max_attempts: draws before giving up.
    """

    n_variables: int
    n_factors: int
    edge_probability: float = 0.1
    layer_sizes: tuple[int, ...] | None = None
    min_parents: int = 1
    anchored: bool = True
    max_attempts: int = 100_000

    def __post_init__(self) -> None:
        self._require(self.n_factors >= 1, "'n_factors' must be at least 1", self.n_factors)
        p = self.edge_probability
        self._require(0 < p <= 1, "'edge_probability' must be above 0 and at most 1", p)
        self._require(self.min_parents >= 1, "'min_parents' must be at least 1", self.min_parents)
        # The in-anchors of m factors and the out-anchor of the last are m + 1 different variables.
        least = self.n_factors + 1 if self.anchored else 2
        self._require(
            self.n_variables >= least,
            f"{self.n_factors} factors need at least {least} variables",
            self.n_variables,
        )
        if self.layer_sizes is not None:
            ok = len(self.layer_sizes) >= 2 and sum(self.layer_sizes) == self.n_variables
            rule = f"'layer_sizes' must be two or more that sum to {self.n_variables}"
            self._require(ok, rule, self.layer_sizes)

    def _require(self, condition: bool, rule: str, got: object) -> None:
        if not condition:
            raise InvalidInputError(f"{rule} (GraphRecipe). Got {got} instead.")

    @property
    def layer_of(self) -> LayerOf | None:
        """The layer of every variable."""
        if self.layer_sizes is None:
            return None
        return np.repeat(np.arange(len(self.layer_sizes)), self.layer_sizes)


def random_factor_graph(recipe: GraphRecipe, rng: np.random.Generator) -> FactorGraph:
    """Draws an f-DAG, again and again until the recipe's conditions hold.

    Without layers, nodes are put in a random order and every variable–factor pair gets an edge
    along it with the given probability. With layers, every factor draws a cut between two layers;
    its parents come from before it and its children from after it.

    Raises:
        SimulationError: no draw fulfilled the conditions; the message says which one failed.
    """
    failures = {"parents": 0, "in-anchors": 0, "out-anchors": 0}
    for _ in range(recipe.max_attempts):
        Q, R = _draw_edges(recipe, rng)
        failed = _failed_conditions(recipe, Q, R)
        if not failed:
            return FactorGraph(Q, R)
        for condition in failed:
            failures[condition] += 1
    rates = ", ".join(
        f"{name} in {count / recipe.max_attempts:.2%}" for name, count in failures.items() if count
    )
    raise SimulationError(
        f"None of {recipe.max_attempts} random graphs fulfilled the conditions. Too few {rates} of "
        f"them. Use more variables, fewer factors, or another edge probability than "
        f"{recipe.edge_probability}."
    )


def _draw_edges(
    recipe: GraphRecipe, rng: np.random.Generator
) -> tuple[VariablesByFactors, VariablesByFactors]:
    shape = (recipe.n_variables, recipe.n_factors)
    layer_of = recipe.layer_of
    if layer_of is None:
        position = rng.permutation(sum(shape))
        comes_first = position[: shape[0], None] < position[None, shape[0] :]
    else:
        cut = rng.integers(1, layer_of.max() + 1, size=shape[1])
        comes_first = layer_of[:, None] < cut[None]
    drawn = rng.random(shape) < recipe.edge_probability
    return drawn & comes_first, drawn & ~comes_first


def _failed_conditions(
    recipe: GraphRecipe, Q: VariablesByFactors, R: VariablesByFactors
) -> list[str]:
    failed = []
    if (Q.sum(axis=0) < recipe.min_parents).any():
        failed.append("parents")
    if recipe.anchored and not in_anchors(Q).any(axis=0).all():
        failed.append("in-anchors")
    if not (out_anchors(R) if recipe.anchored else R).any(axis=0).all():
        failed.append("out-anchors")
    assert failed or not recipe.anchored or has_anchors(Q, R)
    return failed


@dataclass(frozen=True, kw_only=True)
class MechanismRecipe:
    """How the mechanisms and the noise are drawn.

    Attributes:
        linear_factors: whether F_Z is linear, weights uniform in ±[0.25, 1], or a network with
            standard normal weights, w2 · tanh(W1 v).
        linear_variables: the same for F_X.
        hidden: the number of hidden units.
        root_scale: the standard deviation of variables without parents.
        noise_scale: that of the noise added to every variable.
    """

    linear_factors: bool = True
    linear_variables: bool = True
    hidden: int = 16
    root_scale: float = 1.0
    noise_scale: float = 0.0


def random_factor_scm(
    graph: FactorGraph, recipe: MechanismRecipe, rng: np.random.Generator
) -> FactorSCM:
    """Draws mechanisms on a graph."""
    draw_F_Z = _random_linear if recipe.linear_factors else _random_mlp
    draw_F_X = _random_linear if recipe.linear_variables else _random_mlp
    is_root = torch.from_numpy(~graph.R.any(axis=1))
    variance = recipe.noise_scale**2 + is_root * recipe.root_scale**2
    return FactorSCM(
        graph,
        draw_F_Z(graph.Q.T, recipe.hidden, rng),
        draw_F_X(graph.R, recipe.hidden, rng),
        variance.sqrt().to(torch.float64),
    )


def _random_linear(
    mask: Bool[np.ndarray, "targets inputs"], _hidden: int, rng: np.random.Generator
) -> LinearMechanism:
    weight = rng.uniform(0.25, 1.0, mask.shape) * rng.choice([-1.0, 1.0], mask.shape) * mask
    return LinearMechanism(torch.from_numpy(weight), torch.zeros(len(mask), dtype=torch.float64))


def _random_mlp(
    mask: Bool[np.ndarray, "targets inputs"], hidden: int, rng: np.random.Generator
) -> MLPMechanism:
    n_targets, n_inputs = mask.shape
    w1 = torch.from_numpy(rng.standard_normal((n_targets, hidden, n_inputs)) * mask[:, None])
    w2 = torch.from_numpy(rng.standard_normal((n_targets, hidden)))
    return MLPMechanism(w1, torch.zeros_like(w2), w2, torch.zeros_like(w2[:, 0]))


def random_targets(
    n_regimes: int, n_variables: int, rng: np.random.Generator, *, most: int = 3
) -> Bool[np.ndarray, "regimes variables"]:
    """What each regime clamps: nothing in the first, then 1 to `most` variables each."""
    targets = np.zeros((n_regimes + 1, n_variables), dtype=bool)
    for row in targets[1:]:
        size = rng.integers(1, min(most, n_variables) + 1)
        row[rng.choice(n_variables, size, replace=False)] = True
    return targets


def simulate(
    scm: FactorSCM,
    targets: Bool[np.ndarray, "regimes variables"],
    regime: Int[np.ndarray, " samples"],
    seed: int,
    *,
    layer_of: LayerOf | None = None,
) -> InterventionalData:
    """Samples from a model, regime by regime; a clamped variable is set to fresh N(0, 1) draws."""
    generator = torch.Generator().manual_seed(seed)
    names = scm.graph.variable_names
    x = torch.empty(len(regime), len(names), dtype=scm.noise_scale.dtype)
    for label in np.unique(regime):
        rows = torch.from_numpy(np.flatnonzero(regime == label))
        clamped = [names[j] for j in np.flatnonzero(targets[label])]
        draws = torch.randn(len(clamped), len(rows), generator=generator, dtype=x.dtype)
        do = hard(dict(zip(clamped, draws, strict=True)))
        x[rows] = scm.do(do).sample(len(rows), generator).x
    return InterventionalData(
        x.numpy(), targets[regime], regime.astype(np.int64), names, layer_of, is_part=True
    )


class Setting(NamedTuple):
    """One of the paper's synthetic settings."""

    description: str
    layered: bool = False
    linear_factors: bool = True
    linear_variables: bool = True
    noise_scale: float = 0.0
    observational_only: bool = False
    unseen_regimes: bool = False


SETTINGS = {
    "a": Setting("linear, noiseless, layered", layered=True),
    "b": Setting("linear, noiseless"),
    "c": Setting("nonlinear F_Z, noiseless, layered", layered=True, linear_factors=False),
    "d": Setting("nonlinear F_Z, noiseless", linear_factors=False),
    "e": Setting("nonlinear F_Z, noisy", linear_factors=False, noise_scale=0.4),
    "f": Setting("nonlinear F_X, noisy", linear_variables=False, noise_scale=0.4),
    "g": Setting(
        "nonlinear F_Z and F_X, noisy",
        linear_factors=False,
        linear_variables=False,
        noise_scale=0.4,
    ),
    "h": Setting("as b, trained on observations only", observational_only=True),
    "i": Setting("as b, tested on unseen regimes", unseen_regimes=True),
}
"""The paper's settings, by letter."""

SIZES = {"16-3": (4, 8, 4), "64-6": (16, 32, 16), "128-8": (32, 64, 32)}
"""The paper's sizes, variables-factors, with the sizes of the layers where there are layers."""

Chosen = TypeVar("Chosen")
N_SAMPLES = 10_000
N_TEST = 2_000
VALIDATION_SHARE = 0.2


@dataclass(frozen=True)
class Problem:
    """A simulated problem with its truth, in standardised units.

    Attributes:
        train: 80 % of the samples.
        validation: the other 20 %; whole regimes of their own in setting i.
        test: fresh observational samples; unseen regimes in setting i.
        scm: the true model, in the units of the data.
        factors: the true factors of the test samples.
        setting: the letter.
        size: variables-factors.
        seed: what made it.
    """

    train: InterventionalData
    validation: InterventionalData
    test: InterventionalData
    scm: FactorSCM
    factors: FactorSamples
    setting: str
    size: str
    seed: int

    @property
    def n_factors(self) -> int:
        """The true number of factors."""
        return self.scm.graph.n_factors


def paper_problem(
    setting: str, size: str, seed: int, *, n_samples: int = N_SAMPLES, min_parents: int = 1
) -> Problem:
    """Makes one of the paper's problems: graph, mechanisms, data and truth, from one seed.

    >>> problem = paper_problem("b", "16-3", seed=0, n_samples=500)
    >>> problem.train, problem.scm.graph.n_factors
    (InterventionalData(398 samples × 16 variables, 17 regimes), 3)
    """
    chosen = _choose("setting", setting, SETTINGS)
    layer_sizes = _choose("size", size, SIZES)
    n_variables, n_factors = (int(part) for part in size.split("-"))
    rng = np.random.default_rng([seed, *map(ord, setting + size)])
    graph_recipe = GraphRecipe(
        n_variables=n_variables,
        n_factors=n_factors,
        layer_sizes=layer_sizes if chosen.layered else None,
        min_parents=min_parents,
    )
    mechanism_recipe = MechanismRecipe(
        linear_factors=chosen.linear_factors,
        linear_variables=chosen.linear_variables,
        noise_scale=chosen.noise_scale,
    )
    graph = random_factor_graph(graph_recipe, rng)
    scm = random_factor_scm(graph, mechanism_recipe, rng)
    n_regimes = 0 if chosen.observational_only else n_variables
    targets = random_targets(n_regimes, n_variables, rng)

    def draw(regime: Int[np.ndarray, " samples"]) -> InterventionalData:
        data_seed = int(rng.integers(2**31))
        return simulate(scm, targets, regime, data_seed, layer_of=graph_recipe.layer_of)

    parts = _parts(chosen, draw, n_regimes, n_samples, int(rng.integers(2**31)))
    scaling = parts.train.standardised().scaling
    assert scaling is not None
    train, validation, test = (part.standardised(scaling) for part in parts)
    scm = scm.in_standard_units(scaling)
    factors: Float[Tensor, "samples factors"] = scm.state_map(test.x)
    return Problem(train, validation, test, scm, factors.numpy(), setting, size, seed)


def _parts(
    setting: Setting,
    draw: Callable[[Int[np.ndarray, " samples"]], InterventionalData],
    n_regimes: int,
    n_samples: int,
    split_seed: int,
) -> Split:
    """Train, validation and test; setting i holds 6 and 12 of 64 regimes back, as in the paper."""
    regime = np.sort(np.arange(n_samples) % (n_regimes + 1))
    if setting.unseen_regimes:
        held_out = (round(n_regimes * 6 / 64), round(n_regimes * 12 / 64))
        return draw(regime).split_regimes(*held_out, seed=split_seed)
    data = draw(regime)
    split = data.split(1 - VALIDATION_SHARE, VALIDATION_SHARE, seed=split_seed)
    return split._replace(test=draw(np.full(N_TEST, OBSERVATIONAL)))


def _choose(what: str, name: str, choices: Mapping[str, Chosen]) -> Chosen:
    if name not in choices:
        raise InvalidInputError(
            f"The {what} must be one of {', '.join(choices)}. Got '{name}' instead."
            f"{did_you_mean(name, choices)}"
        )
    return choices[name]
