"""Pairs whose right answer is the network's own: on hybrid inputs, or with a state swapped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ucad.errors import InvalidInputError
from ucad.networks.behaviour.reports import GapReport
from ucad.networks.decisions import Decide, decision
from ucad.networks.features import Feature, features_of, hybrid, named_features
from ucad.networks.inputs import Inputs
from ucad.networks.interchange import SwapPairs
from ucad.networks.steering import Steering
from ucad.networks.subject import Subject

__all__ = ["FoundConcept", "found_concepts", "own_pairs"]

MAX_ROUNDS = 32
"""Times as many pairs as wanted that are tried: swaps that change one decision in 64 give half."""

MIN_PAIRS = 20
"""Pairs of each kind without which there is no table: an accuracy would be known to a tenth."""

Expected = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class FoundConcept:
    """What a factor of `behaviour` stands for.

    Attributes:
        site: where the factor is read.
        features: the input features that carry the concept; none if it is the state of the site.
    """

    site: str
    features: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As in the reports of a fit."""
        return " ".join(self.features) or f"state of {self.site}"

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> FoundConcept:
        """From plain values, as a run folder keeps them."""
        return cls(str(values["site"]), tuple(map(str, values["features"])))


def found_concepts(gaps: Iterable[GapReport]) -> tuple[FoundConcept, ...]:
    """The concepts of a fit, each once although several gaps may carry it."""
    found: dict[str, FoundConcept] = {}
    for gap in gaps:
        for line in gap.factors:
            concept = FoundConcept(gap.site, line.features)
            found.setdefault(concept.name, concept)
    return tuple(found.values())


def own_pairs(  # noqa: PLR0913 - five of them are keywords
    steering: Steering,
    inputs: Inputs,
    concepts: Sequence[FoundConcept],
    *,
    decide: Decide = decision,
    n_pairs: int = 2000,
    seed: int = 0,
    parts: Mapping[str, Sequence[str]] | None = None,
) -> tuple[dict[str, SwapPairs], dict[str, str]]:
    """Pairs for a steering table without labels, and why some concepts have none.

    What a swap should do is what the network itself decides when the features that carry a
    concept are taken from the source, or the whole state of a site on its way to the next one.
    Half of the pairs change that decision.

    Args:
        steering: the network and its SCM.
        inputs: those that the pairs number.
        concepts: of the fit, from `found_concepts`.
        decide: from the network's output to its decision.
        n_pairs: for every concept.
        seed: of the draws.
        parts: features that the user named for the fit.
    """
    subject = Subject(
        steering.model, inputs, steering.sites, decide, steering.read_output, steering.batch_size
    )
    drawn: dict[str, SwapPairs] = {}
    left_out: dict[str, str] = {}
    features = named_features(inputs, parts) if parts else features_of(inputs)
    for concept in concepts:
        pairs = _drawn(subject, _expected(subject, concept, features), n_pairs, seed)
        if min(pairs.changes.sum(), (~pairs.changes).sum()) < MIN_PAIRS:
            left_out[concept.name] = "The network's own decision hardly ever changes, or always."
        else:
            drawn[concept.name] = pairs
    return drawn, left_out


def _expected(subject: Subject, concept: FoundConcept, features: Sequence[Feature]) -> Expected:
    if concept.features:
        of_name = {feature.name: feature for feature in features}
        unknown = [name for name in concept.features if name not in of_name]
        if unknown:
            raise InvalidInputError(
                f"The inputs have no feature '{unknown[0]}', which the run speaks of: give the "
                "inputs that it was fitted on."
            )
        block = [of_name[name] for name in concept.features]
        return lambda base, source: subject.decisions(
            hybrid(subject.rows(base), subject.rows(source), block)
        )
    site = [one.name for one in subject.sites].index(concept.site)

    def with_state(base: np.ndarray, source: np.ndarray) -> np.ndarray:
        given = subject.at(site).units(subject.rows(source))[0]
        child = subject.edge_values(subject.rows(base), site, given)
        return subject.decisions(subject.rows(base), site + 1, child)

    return with_state


def _drawn(subject: Subject, expected: Expected, n_pairs: int, seed: int) -> SwapPairs:
    """As many pairs that change the decision as pairs that do not, drawn in rounds."""
    rng, half = np.random.default_rng(seed), n_pairs // 2
    rounds: list[SwapPairs] = []
    for _ in range(MAX_ROUNDS):
        base, source = rng.integers(subject.n_inputs, size=(2, n_pairs))
        wanted = expected(base, source)
        changes = wanted != subject.decisions(subject.rows(base))
        rounds.append(SwapPairs(base, source, wanted, changes))
        n_changes = sum(int(one.changes.sum()) for one in rounds)
        if min(n_changes, n_pairs * len(rounds) - n_changes) >= half:
            break
    parts = [
        np.concatenate([getattr(one, name) for one in rounds])
        for name in ("base", "source", "expected", "changes")
    ]
    changes = parts[3]
    kept = np.concatenate([np.flatnonzero(changes == kind)[:half] for kind in (True, False)])
    return SwapPairs(*(part[kept] for part in parts))
