"""Flaws: what can be wrong with an f-SCM beside the form of its equations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from ucad._types import BooleanMatrix, FactorSamples, VariableSamples
from ucad.graph import FactorGraph
from ucad.simulate.worlds.problem import Violation
from ucad.simulate.worlds.system import Context, DrawNoise, System

__all__ = ["FLAWS", "Draft"]

DIRECT_SHARE = 0.25
"""The number of direct edges, as a share of the number of variables."""

CONFOUNDED = 2
"""How many parents and how many children of one factor a hidden cause acts on."""

SELECTED_BY = 2
"""How many variables decide whether a sample is kept, where samples are selected."""

N_BATCHES = 3
"""Batches of a context that is known."""


@dataclass(frozen=True, eq=False)
class Draft:
    """A system with what is true of it so far.

    Attributes:
        system: the equations.
        graph: the f-DAG.
        adjacency: direct effects between variables; a row is a cause.
        is_scm: whether the equations are still those of a `FactorSCM`.
        violates: what has been broken.
    """

    system: System
    graph: FactorGraph
    adjacency: BooleanMatrix
    is_scm: bool = True
    violates: tuple[Violation, ...] = ()

    def with_sources(self, n_sources: int) -> DrawNoise:
        """The noise of the system and, as last columns, so many hidden N(0, 1) sources."""
        draw_noise = self.system.draw_noise

        def draw(n_samples: int, rng: np.random.Generator) -> Context:
            hidden = rng.standard_normal((n_samples, n_sources))
            return np.hstack([draw_noise(n_samples, rng), hidden])

        return draw

    def flawed(self, system: System, *violates: Violation, is_scm: bool = False) -> Draft:
        """The draft with another system and what that breaks."""
        return replace(self, system=system, is_scm=is_scm, violates=(*self.violates, *violates))


def _plus_direct(system: System, weight: Float[np.ndarray, "variables variables"]) -> System:
    """Adds x @ weight to the equations of the variables; a row of the weights is a cause."""

    def variables(x: VariableSamples, z: FactorSamples, u: Context) -> VariableSamples:
        return system.variables(x, z, u) + x @ weight

    return replace(system, variables=variables)


def _direct_edges(draft: Draft, strength: float, rng: np.random.Generator) -> Draft:
    """Adds effects of variables on variables, along an order that the graph allows."""
    graph = draft.graph
    n_variables = graph.n_variables
    order = np.lexsort([rng.random(n_variables), graph.variable_level])
    position = np.argsort(order)
    open_pairs = (position[:, None] < position) & ~draft.adjacency
    pairs = rng.permutation(np.argwhere(open_pairs))[: round(DIRECT_SHARE * n_variables)]
    weight = np.zeros((n_variables, n_variables))
    weight[tuple(pairs.T)] = strength * rng.choice([-1.0, 1.0], len(pairs))
    flawed = draft.flawed(_plus_direct(draft.system, weight), Violation.DIRECT_EDGE)
    return replace(flawed, adjacency=draft.adjacency | (weight != 0))


def _feedback(draft: Draft, strength: float, rng: np.random.Generator) -> Draft:
    """Lets a child of a factor act weakly on a parent of the same factor."""
    graph = draft.graph
    k = int(rng.integers(graph.n_factors))
    child, parent = (rng.choice(np.flatnonzero(edges[:, k])) for edges in (graph.R, graph.Q))
    weight = np.zeros(draft.adjacency.shape)
    weight[child, parent] = strength
    flawed = draft.flawed(_plus_direct(draft.system, weight), Violation.FEEDBACK)
    return replace(flawed, adjacency=draft.adjacency | (weight != 0))


def _mutual_children(draft: Draft, strength: float, rng: np.random.Generator) -> Draft:
    """Lets two children of one factor act on each other."""
    graph = draft.graph
    k = int(rng.choice(np.flatnonzero(graph.R.sum(axis=0) > 1)))
    first, second = rng.permutation(np.flatnonzero(graph.R[:, k]))[:2]
    weight = np.zeros(draft.adjacency.shape)
    weight[first, second] = weight[second, first] = strength
    system = _plus_direct(draft.system, weight)
    flawed = draft.flawed(system, Violation.DIRECT_EDGE, Violation.FEEDBACK)
    return replace(flawed, adjacency=draft.adjacency | (weight != 0))


def _plus_sources(draft: Draft, loadings: Float[np.ndarray, "sources variables"]) -> System:
    """Adds hidden sources to the noise of the variables."""
    n_variables = draft.graph.n_variables
    draw_more = draft.with_sources(len(loadings))

    def draw(n_samples: int, rng: np.random.Generator) -> Context:
        u = draw_more(n_samples, rng)
        return np.hstack(
            [u[:, :n_variables] + u[:, -len(loadings) :] @ loadings, u[:, n_variables:]]
        )

    return replace(draft.system, draw_noise=draw)


def _hidden_cause(draft: Draft, strength: float, rng: np.random.Generator) -> Draft:
    """Adds one hidden source to parents and children of one factor."""
    k = int(rng.integers(draft.graph.n_factors))
    hit: list[Int[np.ndarray, " variables"]] = [
        rng.permutation(np.flatnonzero(edges[:, k]))[:CONFOUNDED]
        for edges in (draft.graph.Q, draft.graph.R)
    ]
    loadings = np.zeros((1, draft.graph.n_variables))
    loadings[0, np.concatenate(hit)] = strength
    return draft.flawed(_plus_sources(draft, loadings), Violation.HIDDEN_CAUSE)


def _correlated_roots(draft: Draft, strength: float, _rng: np.random.Generator) -> Draft:
    """Gives all roots one correlation, and leaves their variance as it is."""
    is_root = ~draft.graph.R.any(axis=1)
    keep = np.where(is_root, np.sqrt(1 - strength), 1.0)
    n_variables = len(keep)
    draw_more = draft.with_sources(1)

    def draw(n_samples: int, rng: np.random.Generator) -> Context:
        u = draw_more(n_samples, rng)
        shared = np.sqrt(strength) * u[:, -1:] * is_root
        return np.hstack([u[:, :n_variables] * keep + shared, u[:, n_variables:]])

    system = replace(draft.system, draw_noise=draw)
    return draft.flawed(system, Violation.CORRELATED_ROOTS, is_scm=draft.is_scm)


def _two_populations(draft: Draft, strength: float, rng: np.random.Generator) -> Draft:
    """Moves half of the roots up in one half of the samples, and down in the other."""
    roots = rng.permutation(draft.graph.roots)
    loadings = np.zeros(draft.graph.n_variables)
    loadings[roots[: max(1, len(roots) // 2)]] = strength
    draw_noise = draft.system.draw_noise

    def draw(n_samples: int, rng: np.random.Generator) -> Context:
        population = rng.choice([-1.0, 1.0], (n_samples, 1))
        u = draw_noise(n_samples, rng)
        u[:, : len(loadings)] += population * loadings
        return u

    return draft.flawed(replace(draft.system, draw_noise=draw), Violation.MIXTURE)


def _known_context(draft: Draft, strength: float, rng: np.random.Generator) -> Draft:
    """Lets a batch and a number that are known of every sample act on all mechanisms."""
    n_variables = draft.graph.n_variables
    by_batch = strength * rng.standard_normal((N_BATCHES, n_variables))
    by_number = strength * rng.standard_normal(n_variables)
    draw_noise = draft.system.draw_noise

    def draw(n_samples: int, rng: np.random.Generator) -> Context:
        batch, number = rng.integers(N_BATCHES, size=n_samples), rng.standard_normal(n_samples)
        u = draw_noise(n_samples, rng)
        u[:, :n_variables] += by_batch[batch] + number[:, None] * by_number
        return np.hstack([u, batch[:, None], number[:, None]])

    observed = {**draft.system.observed, "batch": -2, "number": -1}
    system = replace(draft.system, draw_noise=draw, observed=observed)
    return draft.flawed(system, Violation.BATCH)


def _noisy_factors(draft: Draft, strength: float, _rng: np.random.Generator) -> Draft:
    """Adds a hidden source of its own to every factor."""
    system, n_factors = draft.system, draft.graph.n_factors

    def factors(x: VariableSamples, u: Context) -> FactorSamples:
        return system.factors(x, u) + strength * u[:, -n_factors:]

    noisy = replace(system, factors=factors, draw_noise=draft.with_sources(n_factors))
    return draft.flawed(noisy, Violation.NOISY_FACTOR)


def _confounded_factors(draft: Draft, strength: float, rng: np.random.Generator) -> Draft:
    """Lets one hidden source act on two factors."""
    system, n_factors = draft.system, draft.graph.n_factors
    hit = np.isin(np.arange(n_factors), rng.permutation(n_factors)[:CONFOUNDED])

    def factors(x: VariableSamples, u: Context) -> FactorSamples:
        return system.factors(x, u) + strength * u[:, -1:] * hit

    confounded = replace(system, factors=factors, draw_noise=draft.with_sources(1))
    return draft.flawed(confounded, Violation.HIDDEN_CAUSE)


def _selected(draft: Draft, strength: float, rng: np.random.Generator) -> Draft:
    """Keeps a sample with the probability 1 / (1 + exp(−strength · Σ x)) over two variables."""
    chosen = rng.permutation(draft.graph.n_variables)[:SELECTED_BY]

    def keeps(x: VariableSamples) -> Float[np.ndarray, " samples"]:
        return np.asarray(1 / (1 + np.exp(-strength * x[:, chosen].sum(axis=1))))

    return draft.flawed(replace(draft.system, keeps=keeps), Violation.SELECTED)


def _exogenous_factors(draft: Draft, strength: float, _rng: np.random.Generator) -> Draft:
    """Replaces every factor by a hidden source that no variable feeds."""
    graph = draft.graph

    def factors(_x: VariableSamples, u: Context) -> FactorSamples:
        return strength * u[:, -graph.n_factors :]

    hidden = replace(draft.system, factors=factors, draw_noise=draft.with_sources(graph.n_factors))
    flawed = draft.flawed(hidden, Violation.HIDDEN_CAUSE)
    unfed = FactorGraph(np.zeros_like(graph.Q), graph.R)
    return replace(flawed, graph=unfed, adjacency=unfed.variable_adjacency)


FLAWS: dict[str, Callable[[Draft, float, np.random.Generator], Draft]] = {
    "direct-edges": _direct_edges,
    "feedback": _feedback,
    "mutual-children": _mutual_children,
    "hidden-cause": _hidden_cause,
    "correlated-roots": _correlated_roots,
    "two-populations": _two_populations,
    "known-context": _known_context,
    "noisy-factors": _noisy_factors,
    "exogenous-factors": _exogenous_factors,
    "confounded-factors": _confounded_factors,
    "selected": _selected,
}
"""Flaws by name; each takes a strength, in standard deviations of a variable."""
