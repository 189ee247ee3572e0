"""`steering_table`: every factor's interchange scores for every concept, beside the placebos."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from ucad.errors import InvalidInputError
from ucad.networks.decisions import Decide, decision
from ucad.networks.interchange import (
    InterchangeScore,
    SwapPairs,
    factor_swap,
    interchange_score,
)
from ucad.networks.passes import Inputs
from ucad.networks.placebos import (
    PlaceboScore,
    factors_of_the_same_gap,
    placebo_score,
    random_direction_swaps,
    random_factor_swaps,
    rotated_factor_swaps,
    untrained_like,
)
from ucad.networks.sites import columns_of
from ucad.networks.steering import Steering
from ucad.networks.subspaces import SubspaceSettings, learn_subspace

__all__ = ["ConceptSteering", "SteeringSettings", "SteeringTable", "steering_table"]


@dataclass(frozen=True, kw_only=True)
class SteeringSettings:
    """How much goes into placebos and ceiling.

    Attributes:
        n_draws: of every kind of placebo; untrained networks are made a third as often.
        ceiling_directions: dimension of the supervised subspace; 0 leaves the ceiling out.
        subspace: how that is learned.
        seed: of the placebos and of the ceiling's halves.
    """

    n_draws: int = 10
    ceiling_directions: int = 1
    subspace: SubspaceSettings = field(default_factory=SubspaceSettings)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n_draws < 1:
            raise InvalidInputError(
                "The 'n_draws' setting of SteeringSettings must be at least 1. "
                f"Got {self.n_draws} instead."
            )


@dataclass(frozen=True)
class ConceptSteering:
    """How well factors steer one concept.

    Attributes:
        concept: its name.
        by_factor: the interchange score of every factor.
        placebos: scores of random directions of the children of the best factor, random factors
            of the same size, random rotations of the factors of its gap, and the same factor in
            untrained networks.
        ceiling: the supervised subspace at the best factor's children, on held-out pairs.
    """

    concept: str
    by_factor: Mapping[str, InterchangeScore]
    placebos: Mapping[str, PlaceboScore]
    ceiling: InterchangeScore | None

    @property
    def best(self) -> str:
        """The factor with the highest score."""
        return max(self.by_factor, key=lambda name: self.by_factor[name].mean)

    @property
    def beats_placebos(self) -> bool:
        """Whether the best factor scores higher than every placebo."""
        return self.by_factor[self.best].mean > max(p.largest for p in self.placebos.values())


@dataclass(frozen=True)
class SteeringTable:
    """One line per concept.

    Attributes:
        concepts: the lines.
        left_out: concepts without a line, and why: one that changes no decision, for example.
    """

    concepts: tuple[ConceptSteering, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, concept: str) -> ConceptSteering:
        """The line of a concept."""
        for line in self.concepts:
            if line.concept == concept:
                return line
        raise InvalidInputError(f"The table has no concept '{concept}'.")

    def to_json(self) -> str:
        """The lines as JSON."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False)

    def __str__(self) -> str:
        lines = []
        for line in self.concepts:
            lines.append(f"{line.concept}: best factor {line.best}")
            lines += [f"  {name:<22} {score}" for name, score in line.by_factor.items()]
            lines += [f"  {name:<22} {score}" for name, score in line.placebos.items()]
            if line.ceiling is not None:
                lines.append(f"  {'supervised ceiling':<22} {line.ceiling}")
        lines += [f"{concept}: left out. {why}" for concept, why in self.left_out.items()]
        return "\n".join(lines)


def steering_table(
    steering: Steering,
    inputs: Inputs,
    concepts: Mapping[str, SwapPairs],
    *,
    settings: SteeringSettings | None = None,
    decide: Decide = decision,
) -> SteeringTable:
    """Swaps every factor for every concept, and compares with placebos and a supervised ceiling.

    The best of several factors is chosen on the same pairs, so compare it with the placebos'
    largest score rather than with their mean.

    Args:
        steering: the network and its SCM.
        inputs: those that the pairs number.
        concepts: the pairs of every concept, from `swap_pairs`.
        settings: numbers of draws.
        decide: from the network's output to its decision.
    """
    settings = SteeringSettings() if settings is None else settings
    lines = []
    for concept, pairs in concepts.items():
        scores = {
            name: interchange_score(factor_swap(steering, name), inputs, pairs, decide)
            for name in steering.scm.graph.factor_names
        }
        line = ConceptSteering(concept, scores, {}, None)
        lines.append(
            replace(
                line,
                placebos=_placebos(steering, line.best, inputs, pairs, settings, decide),
                ceiling=_ceiling(steering, line.best, inputs, pairs, settings, decide),
            )
        )
    return SteeringTable(tuple(lines))


def _placebos(
    steering: Steering,
    factor: str,
    inputs: Inputs,
    pairs: SwapPairs,
    settings: SteeringSettings,
    decide: Decide,
) -> dict[str, PlaceboScore]:
    n_draws, seed = settings.n_draws, settings.seed
    untrained = (
        factor_swap(replace(steering, model=untrained_like(steering.model, seed + k)), factor)
        for k in range(max(1, n_draws // 3))
    )
    gap = factors_of_the_same_gap(steering, factor)
    swaps = {
        "random directions": random_direction_swaps(
            steering, factor, inputs, n_draws=n_draws, seed=seed
        ),
        "random factors": random_factor_swaps(steering, factor, inputs, n_draws=n_draws, seed=seed),
        "untrained networks": untrained,
    }
    if len(gap) > 1:
        swaps["rotated factors"] = rotated_factor_swaps(steering, gap, n_draws=n_draws, seed=seed)
    return {name: placebo_score(drawn, inputs, pairs, decide) for name, drawn in swaps.items()}


def _ceiling(
    steering: Steering,
    factor: str,
    inputs: Inputs,
    pairs: SwapPairs,
    settings: SteeringSettings,
    decide: Decide,
) -> InterchangeScore | None:
    if not settings.ceiling_directions:
        return None
    children = steering.scm.graph.R[:, steering.scm.graph.factor_index(factor)]
    counts = [int(children[columns].sum()) for columns in columns_of(steering.sites)]
    site = steering.sites[counts.index(max(counts))]
    train, test = pairs.halves(settings.seed)
    n_directions = min(settings.ceiling_directions, len(site.units or ()))
    learned = learn_subspace(
        steering.model,
        site,
        inputs,
        train,
        n_directions,
        settings.subspace,
        read_output=steering.read_output,
        decide=decide,
    )
    return interchange_score(learned, inputs, test, decide)
