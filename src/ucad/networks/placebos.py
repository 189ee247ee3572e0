"""What chance would give: swaps and factors that have nothing to do with what was learned."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from ucad._types import FactorSamples, VariableSamples
from ucad.data import Scaling
from ucad.errors import InvalidInputError
from ucad.metrics.chance import rotate
from ucad.networks.decisions import Decide, decision
from ucad.networks.interchange import Swap, SwapPairs, interchange_score
from ucad.networks.passes import Inputs, n_inputs, select_inputs
from ucad.networks.sites import columns_of
from ucad.networks.steering import Steering
from ucad.networks.subspaces import SubspaceSwap, orthonormal
from ucad.scm import LinearMechanism

__all__ = [
    "PlaceboScore",
    "factors_of_the_same_gap",
    "placebo_score",
    "random_direction_swaps",
    "random_factor_swaps",
    "random_linear_factors",
    "random_live_units",
    "random_rotations",
    "rotated_factor_swaps",
    "untrained_like",
]


_ENOUGH = 5000
"""Inputs from which the units of a placebo are judged: shares are then known to a hundredth."""


@dataclass(frozen=True)
class PlaceboScore:
    """Interchange scores of several placebos of one kind."""

    mean: float
    largest: float
    n_draws: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} (most {self.largest:.3f} of {self.n_draws})"


def placebo_score(
    swaps: Iterable[Swap], inputs: Inputs, pairs: SwapPairs, decide: Decide = decision
) -> PlaceboScore:
    """The mean and the largest interchange score of placebo swaps."""
    scores = [interchange_score(swap, inputs, pairs, decide).mean for swap in swaps]
    if not scores:
        raise InvalidInputError("A placebo must have at least one draw. Got none.")
    return PlaceboScore(float(np.mean(scores)), max(scores), len(scores))


def factors_of_the_same_gap(steering: Steering, factor: str) -> tuple[str, ...]:
    """The factors whose children lie in the same sites as the given factor's."""
    graph = steering.scm.graph

    def sites(name: str) -> tuple[bool, ...]:
        children = graph.R[:, graph.factor_index(name)]
        return tuple(bool(children[columns].any()) for columns in columns_of(steering.sites))

    return tuple(name for name in graph.factor_names if sites(name) == sites(factor))


def rotated_factor_swaps(
    steering: Steering, factors: Sequence[str], *, n_draws: int = 10, seed: int = 0
) -> Iterator[Swap]:
    """Swaps along random directions of the learned factors' own space, decoded through F_X.

    The factors' space is right and its axes are random: what remains is what the axes are worth.
    """
    rng = np.random.default_rng(seed)
    for _ in range(n_draws):
        direction = torch.from_numpy(rng.standard_normal((len(factors), 1)))
        direction = direction / direction.norm()

        def swap(base: Inputs, source: Inputs, direction: Tensor = direction) -> Tensor:
            return steering.interchange(base, source, factors, direction).after.output

        yield swap


def random_direction_swaps(
    steering: Steering,
    factor: str,
    inputs: Inputs,
    *,
    n_directions: int = 1,
    n_draws: int = 10,
    seed: int = 0,
) -> Iterator[Swap]:
    """Swaps of random subspaces of the units at the site where the factor has most children.

    Directions are uniform once every unit is divided by its standard deviation on (5,000 of) the
    inputs.
    """
    columns = columns_of(steering.sites)
    children = steering.scm.graph.R[:, steering.scm.graph.factor_index(factor)].copy()
    i = int(np.argmax([children[part].sum() for part in columns]))
    site = replace(
        steering.sites[i],
        units=tuple(np.array(steering.sites[i].units)[children[columns[i]]].tolist()),
    )
    scale = steering.run(_few(inputs)).x[:, columns[i]].std(dim=0)[children[columns[i]]]
    rng = np.random.default_rng(seed)
    for _ in range(n_draws):
        drawn = torch.from_numpy(rng.standard_normal((len(scale), min(n_directions, len(scale)))))
        yield SubspaceSwap(
            steering.model,
            site,
            orthonormal(drawn),
            torch.where(scale > 0, scale, 1.0),
            steering.read_output,
        )


def random_factor_swaps(
    steering: Steering, factor: str, inputs: Inputs, *, n_draws: int = 10, seed: int = 0
) -> Iterator[Swap]:
    """Swaps of factors of the same size: random sums of the same parents, for the same children.

    All factors are replaced, and F_X becomes the least-squares map from them to their children on
    (5,000 of) the inputs: what a linear abstraction with the same graph and arbitrary factors does.
    """
    x = steering.standard(steering.run(_few(inputs)).x)
    rng = np.random.default_rng(seed)
    for _ in range(n_draws):
        placebo = _with_random_factors(steering, x, rng)

        def swap(base: Inputs, source: Inputs, placebo: Steering = placebo) -> Tensor:
            return placebo.interchange(base, source, factor).after.output

        yield swap


def untrained_like(model: nn.Module, seed: int = 0) -> nn.Module:
    """A copy of the network with new random weights, as if it had just been made.

    Modules draw their weights as they do when they are made; parameters of modules that cannot are
    shuffled. The process's own random numbers are not touched. For steering, use
    `dataclasses.replace(steering, model=untrained_like(model))`; for concepts, record the copy.
    """
    fresh = copy.deepcopy(model)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        for module in fresh.modules():
            reset = getattr(module, "reset_parameters", getattr(module, "_reset_parameters", None))
            if callable(reset):
                reset()
                continue
            for parameter in module.parameters(recurse=False):
                order = torch.randperm(parameter.numel()).to(parameter.device)
                parameter.copy_(parameter.reshape(-1)[order].reshape(parameter.shape))
    return fresh


def random_live_units(
    x: VariableSamples, n_factors: int, *, n_draws: int = 10, seed: int = 0
) -> list[FactorSamples]:
    """Sets of units drawn at random among those that change, in place of factors."""
    live = np.flatnonzero(x.min(axis=0) < x.max(axis=0))
    if len(live) < n_factors:
        raise InvalidInputError(
            f"There must be at least {n_factors} units that change. Got {len(live)} instead."
        )
    rng = np.random.default_rng(seed)
    return [x[:, rng.choice(live, size=n_factors, replace=False)] for _ in range(n_draws)]


def random_linear_factors(
    x: VariableSamples, n_factors: int, *, n_draws: int = 10, seed: int = 0
) -> list[FactorSamples]:
    """Random linear combinations of all standardised units, in place of factors."""
    rng, standard = np.random.default_rng(seed), _standardised(x)
    return [standard @ rng.standard_normal((x.shape[1], n_factors)) for _ in range(n_draws)]


def random_rotations(
    factors: FactorSamples, *, n_draws: int = 10, seed: int = 0
) -> list[FactorSamples]:
    """The learned factors, standardised and rotated at random."""
    rng, standard = np.random.default_rng(seed), _standardised(factors)
    return [rotate(standard, rng) for _ in range(n_draws)]


def _few(inputs: Inputs) -> Inputs:
    """Enough inputs for moments, evenly spread."""
    total = n_inputs(inputs)
    return select_inputs(inputs, np.arange(0, total, -(-total // _ENOUGH)))


def _standardised(values: Float[np.ndarray, "samples columns"]) -> np.ndarray:
    mean, scale = Scaling.of(values)
    return np.asarray((values - mean) / scale)


def _with_random_factors(steering: Steering, x: Tensor, rng: np.random.Generator) -> Steering:
    graph = steering.scm.graph
    scale = torch.where(x.std(dim=0) > 0, x.std(dim=0), 1.0)
    drawn = torch.from_numpy(rng.standard_normal(graph.Q.T.shape) * graph.Q.T).to(x)
    F_Z = LinearMechanism(drawn / scale, x.new_zeros(graph.n_factors))
    z = torch.cat([F_Z(x), torch.ones_like(x[:, :1])], dim=1)
    weight, bias = x.new_zeros(graph.R.shape), x.mean(dim=0)
    for parents in np.unique(graph.R[graph.R.any(axis=1)], axis=0):
        children = np.flatnonzero((parents == graph.R).all(axis=1)).tolist()
        used = [*np.flatnonzero(parents).tolist(), graph.n_factors]
        fitted = torch.linalg.lstsq(z[:, used].cpu(), x[:, children].cpu(), driver="gelsd").solution
        weight[np.ix_(children, used[:-1])] = fitted[:-1].T.to(x)
        bias[children] = fitted[-1].to(x)
    scm = replace(
        steering.scm, factor_mechanism=F_Z, variable_mechanism=LinearMechanism(weight, bias)
    )
    return replace(steering, scm=scm)
