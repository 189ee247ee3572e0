"""Gene networks by the chemical Langevin equation with Hill functions, as in SERGIO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ucad._types import FactorSamples, VariableSamples
from ucad.errors import InvalidInputError
from ucad.graph import FactorGraph
from ucad.simulate.worlds.experiment import Doing, Experiment, check_action, one_by_one
from ucad.simulate.worlds.measurements import log_normalised, read_counts, read_technically
from ucad.simulate.worlds.problem import (
    Measured,
    Source,
    Truth,
    Violation,
    WorldProblem,
    make_problem,
)
from ucad.simulate.worlds.settings import start
from ucad.simulate.worlds.system import Solution

__all__ = ["GeneNetwork", "Genes", "genes_problem"]

DECAY = 0.8
"""The rate at which a transcript decays, SERGIO's default; its inverse is the unit of time."""

HILL = 2.0
"""The Hill coefficient, SERGIO's default: how steeply a programme responds to a regulator."""

TIME_STEP = 0.05
"""Of the Euler–Maruyama scheme; decay per step is 4 %, so that halving it changes means by less
than a per cent."""

DURATION = 10.0
"""The simulated time: transcripts then forget their start to e^(−8)."""

BASAL_RATE = (2.0, 4.0)
"""The range of the production rate of a regulator that no programme drives: 2.5 to 5 transcripts
at rest, of the size of SERGIO's master regulators."""

STRENGTH = (1.0, 5.0)
"""The range of a programme's largest contribution to the production of a target, as in SERGIO."""

MIN_LEVEL = 1e-9
"""The level that stands for none when its logarithm is taken; no count comes from it."""


@dataclass(frozen=True, kw_only=True)
class Genes:
    """Programmes of regulators that drive targets; knock-outs propagate through the network.

    Attributes:
        n_programmes: each is a factor, the mean Hill response to its regulators.
        regulators: per programme; those of later programmes may be targets of earlier ones.
        targets: of all programmes together, without regulators.
        driven: the share of the regulators of all programmes but the first that an earlier
            programme drives.
        second_programme: the share of the targets that a second programme drives too.
        cell_spread: the standard deviation of the logarithm of the basal rates over cells.
        noise: the amplitude of the intrinsic noise. SERGIO's default, 1, leaves targets with
            correlations of 0.3 with their programme; at 0.5 it is 0.5, and factor analysis
            follows programmes at 0.86 without measurement noise and 0.70 at 2.7 counts per gene.
        n_control: cells in which nothing is acted on.
        n_knockouts: genes that are acted on, each alone: all regulators first, then targets.
        samples_per_regime: cells per knock-out.
        action: what is done to a target, one of `ACTIONS`.
        value: of the action, where it has one.
        counts: the mean count per gene, log-normalised; 0 for log(1 + x) without any
            measurement noise.
        technical: whether counts have the technical noise of SERGIO instead.
    """

    n_programmes: int = 7
    regulators: int = 2
    targets: int = 66
    driven: float = 0.4
    second_programme: float = 0.2
    cell_spread: float = 0.4
    noise: float = 0.5
    n_control: int = 1_500
    n_knockouts: int = 28
    samples_per_regime: int = 75
    action: str = "knockout"
    value: float = -3.0
    counts: float = 0.0
    technical: bool = False

    def __post_init__(self) -> None:
        check_action(self.action)
        n_genes = self.n_programmes * self.regulators + self.targets
        if not 0 <= self.n_knockouts <= n_genes:
            raise InvalidInputError(
                f"The 'n_knockouts' setting must be from 0 to {n_genes}, the number of genes. Got "
                f"{self.n_knockouts} instead."
            )
        if self.targets < 2 * self.n_programmes:
            raise InvalidInputError(
                f"The 'targets' setting must be at least {2 * self.n_programmes}, two per "
                f"programme. Got {self.targets} instead."
            )


class GeneNetwork(NamedTuple):
    """dx = (P − λ x) dt + q (√P dW₁ + √(λ x) dW₂), with production P = b + K z or b + K (1 − z).

    A programme is z_k = mean over its regulators of x^h / (x^h + c^h), with c the mean of the
    regulator, as in SERGIO.

    Attributes:
        graph: regulators to programmes (Q) and programmes to genes (R).
        basal: b, one rate per gene.
        strength: K, genes × programmes; negative where the programme represses the gene.
        half_response: c, one per gene.
        noise: q.
        cell_spread: the standard deviation of log b over cells, for genes without parents.
    """

    graph: FactorGraph
    basal: Float[np.ndarray, " genes"]
    strength: Float[np.ndarray, "genes programmes"]
    half_response: Float[np.ndarray, " genes"]
    noise: float
    cell_spread: float

    def programmes(self, x: VariableSamples) -> FactorSamples:
        """z: the mean Hill response to the regulators of every programme."""
        power = x**HILL
        response = power / (power + self.half_response**HILL)
        return response @ (self.graph.Q / self.graph.Q.sum(axis=0))

    def production(self, z: FactorSamples, basal: VariableSamples) -> VariableSamples:
        """P: basal production and what programmes activate or fail to repress."""
        activates, represses = np.maximum(self.strength, 0.0), np.maximum(-self.strength, 0.0)
        return basal + z @ activates.T + (1 - z) @ represses.T

    def sample(self, doing: Doing, rng: np.random.Generator) -> Solution:
        """Runs every cell to its steady state; an action changes production, not the cell."""
        shape = doing.keep.shape
        is_root = ~self.graph.R.any(axis=1)
        spread = self.cell_spread * is_root
        basal = self.basal * np.exp(spread * rng.standard_normal(shape) - spread**2 / 2)
        x = np.tile(self.half_response, (shape[0], 1))
        for _ in range(round(DURATION / TIME_STEP)):
            P = doing.keep * self.production(self.programmes(x), basal) + DECAY * doing.offset
            P = np.maximum(P, 0.0)
            # The two independent noises of one gene add up to one of the summed variance.
            spread_of_step = self.noise * np.sqrt((P + DECAY * x) * TIME_STEP)
            x = x + (P - DECAY * x) * TIME_STEP + spread_of_step * rng.standard_normal(shape)
            x = np.maximum(x, 0.0)
        return Solution(x, self.programmes(x))


def genes_problem(
    seed: int, settings: Genes | None = None, /, *, name: str = "genes", **changes: object
) -> WorldProblem:
    """Makes a gene network: graph, rates, cells and truth, from one seed.

    Args:
        seed: what makes it.
        settings: the network; the default one if None.
        name: of the world, for the result.
        changes: settings of `Genes` by name.
    """
    chosen, rng = start(settings or Genes(), changes, seed, name)
    graph = _graph(chosen, rng)
    network = _network(chosen, graph, rng)

    def measure(x: VariableSamples, rng: np.random.Generator) -> Measured:
        if chosen.technical:
            return log_normalised(read_technically(x, rng))
        if chosen.counts == 0:
            return Measured(np.log1p(x), {})
        log_rate = np.log(np.maximum(x, MIN_LEVEL) * chosen.counts / network.half_response.mean())
        return log_normalised(read_counts(log_rate, rng, dispersion=0.0))

    source = Source(network, _experiment(chosen, graph, rng), measure)
    counted = (
        (Violation.COUNTS, Violation.MEASUREMENT_NOISE) if chosen.counts or chosen.technical else ()
    )
    truth = Truth(
        graph=graph,
        adjacency=graph.variable_adjacency,
        violates=(Violation.MECHANISM_CLASS, Violation.NOISE_FAMILY, Violation.DYNAMICS, *counted),
    )
    return make_problem(name, seed, source, truth, rng)


def _graph(settings: Genes, rng: np.random.Generator) -> FactorGraph:
    """Regulators first in every programme's own block, then targets; genes in random order."""
    m, size = settings.n_programmes, settings.regulators
    n_regulators = m * size
    Q = np.zeros((n_regulators + settings.targets, m), dtype=bool)
    R = np.zeros_like(Q)
    Q[np.arange(n_regulators), np.repeat(np.arange(m), size)] = True
    for gene in range(size, n_regulators):
        if rng.random() < settings.driven:
            R[gene, rng.integers(gene // size)] = True
    genes = np.arange(n_regulators, len(Q))
    own = np.arange(settings.targets) % m
    R[genes, own] = True
    # The first two targets of a programme stay its own: out-anchors.
    shared = genes[2 * m :][rng.random(settings.targets - 2 * m) < settings.second_programme]
    R[shared, rng.integers(m, size=len(shared))] = True
    order = rng.permutation(len(Q))
    return FactorGraph(Q[order], R[order])


def _network(settings: Genes, graph: FactorGraph, rng: np.random.Generator) -> GeneNetwork:
    """Draws rates; the half-response of a gene is its expected level, as in SERGIO."""
    shape = graph.R.shape
    is_root = ~graph.R.any(axis=1)
    basal = np.where(is_root, rng.uniform(*BASAL_RATE, shape[0]), 0.0)
    strength = graph.R * rng.uniform(*STRENGTH, shape) * rng.choice([-1.0, 1.0], shape)
    # At half response a programme is at 1/2, and gives or takes half of its strength.
    level = (basal + np.abs(strength).sum(axis=1) / 2) / DECAY
    return GeneNetwork(graph, basal, strength, level, settings.noise, settings.cell_spread)


def _experiment(settings: Genes, graph: FactorGraph, rng: np.random.Generator) -> Experiment:
    is_regulator = graph.Q.any(axis=1)
    ranked: Int[np.ndarray, " genes"] = np.concatenate(
        [rng.permutation(np.flatnonzero(which)) for which in (is_regulator, ~is_regulator)]
    )
    targeted = np.sort(ranked[: settings.n_knockouts])
    targets, regime = one_by_one(
        targeted, graph.n_variables, settings.samples_per_regime, settings.n_control
    )
    return Experiment(targets=targets, regime=regime, action=settings.action, value=settings.value)
