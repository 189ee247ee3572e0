"""Random f-SCMs and interventional data from them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int

from ucad._types import LayerOf, VariablesByFactors
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError, SimulationError
from ucad.graph import FactorGraph, in_anchors, out_anchors
from ucad.scm import FactorSCM, LinearMechanism, MLPMechanism, hard

__all__ = [
    "GraphRecipe",
    "MechanismRecipe",
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
        n_unanchored: how many factors must lack one of the two instead, no more and no fewer.
        max_attempts: draws before giving up.
    """

    n_variables: int
    n_factors: int
    edge_probability: float = 0.1
    layer_sizes: tuple[int, ...] | None = None
    min_parents: int = 1
    anchored: bool = True
    n_unanchored: int = 0
    max_attempts: int = 100_000

    def __post_init__(self) -> None:
        self._require(self.n_factors >= 1, "'n_factors' must be at least 1", self.n_factors)
        p = self.edge_probability
        self._require(0 < p <= 1, "'edge_probability' must be above 0 and at most 1", p)
        self._require(self.min_parents >= 1, "'min_parents' must be at least 1", self.min_parents)
        ok = 0 <= self.n_unanchored <= self.n_factors * self.anchored
        rule = "'n_unanchored' must be from 0 to the number of factors, and 0 unless 'anchored'"
        self._require(ok, rule, self.n_unanchored)
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
    failures: Counter[str] = Counter()
    for _ in range(recipe.max_attempts):
        Q, R = _draw_edges(recipe, rng)
        failed = _failed_conditions(recipe, Q, R)
        if not failed:
            return FactorGraph(Q, R)
        failures.update(failed)
    rates = ", ".join(
        f"{name} in {count / recipe.max_attempts:.2%}" for name, count in failures.most_common()
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
    if not R.any(axis=0).all():
        failed.append("children")
    if recipe.anchored:
        no_in, no_out = (~found.any(axis=0) for found in (in_anchors(Q), out_anchors(R)))
        if recipe.n_unanchored:
            if (no_in | no_out).sum() != recipe.n_unanchored:
                failed.append("unanchored factors")
            return failed
        failed += ["in-anchors"] * bool(no_in.any()) + ["out-anchors"] * bool(no_out.any())
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
