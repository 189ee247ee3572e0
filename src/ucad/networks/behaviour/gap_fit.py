"""The fit of one gap: concepts read out of a site, and decoders into the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad.networks.activation import Activation
from ucad.networks.behaviour.concepts import Concept, Values
from ucad.networks.behaviour.discrete_factors import (
    ClassReadout,
    Decoder,
    DecoderKind,
    class_readout,
    fit_decoder,
    hidden_layer,
)
from ucad.networks.features import covariates_of
from ucad.networks.subject import Subject

__all__ = [
    "ENOUGH_KEPT",
    "GapData",
    "GapModel",
    "GapParts",
    "Quality",
    "Swaps",
    "fit_kind",
    "quality",
    "read_gap",
]

ENOUGH_KEPT = 0.99
"""Share of the network's decisions that a decoder must keep, of them and of its own swaps."""

N_PAIRS = 1000
"""Pairs of inputs on which swaps of a factor are compared with the network's own."""


@dataclass(frozen=True, eq=False)
class GapParts:
    """Numbers of inputs: to learn from, to choose by, and to report on."""

    train: Int[np.ndarray, " train"]
    validation: Int[np.ndarray, " validation"]
    test: Int[np.ndarray, " test"]


@dataclass(frozen=True, eq=False)
class GapData:
    """A site and the next one on all inputs that are used, and swaps with the network's answers.

    Attributes:
        subject: the network.
        site: the number of the earlier site.
        concepts: what is carried.
        parts: which inputs are for what.
        covariates: names of the context of the next site.
        seed: of the pairs.
    """

    subject: Subject
    site: int
    concepts: tuple[Concept, ...]
    parts: GapParts
    covariates: tuple[str, ...]
    seed: int

    def units(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The units of both sites, and the context."""
        inputs = self.subject.rows(rows)
        x, y = self.subject.at(self.site, self.site + 1).units(inputs)
        return x, y, covariates_of(inputs, self.covariates)

    def pairs(self, rows: np.ndarray, n_pairs: int = N_PAIRS) -> list[Swaps]:
        """Random swaps of every concept among some inputs."""
        rng = np.random.default_rng(self.seed)
        found = []
        for k, concept in enumerate(self.concepts):
            base, source = rng.choice(rows, size=(2, n_pairs))
            expected = concept.expected(self.subject, base, source)
            found.append(Swaps(self, k, base, source, expected))
        return found


@dataclass(frozen=True, eq=False)
class Swaps:
    """Pairs of inputs between which one concept is swapped, and what the network itself decides."""

    data: GapData
    factor: int
    base: Int[np.ndarray, " pairs"]
    source: Int[np.ndarray, " pairs"]
    expected: Int[np.ndarray, " pairs"]

    def agreement(
        self, model: GapModel, *, replaces: bool, among: Bool[np.ndarray, " pairs"] | None = None
    ) -> float:
        """How often the factor's swap ends in the same decision; doing nothing scores 0.5.

        The mean over pairs in which the network's own decision changes and those in which not.

        Args:
            model: whose factor is swapped.
            replaces: whether children are replaced, or the difference is added to them.
            among: the pairs that count; all if not given.
        """
        subject, site = self.data.subject, self.data.site
        x, y, w = self.data.units(self.base)
        z = model.factors(x)
        new = z.copy()
        new[:, self.factor] = model.readouts[self.factor](self.data.units(self.source)[0])
        child = model.children(new, w)
        if not replaces:
            child = y + child - model.children(z, w)
        inputs = subject.rows(self.base)
        decided = subject.decisions(inputs, site + 1, model.act(child))
        changes = self.expected != subject.decisions(inputs)
        right = decided == self.expected
        kinds = [kind if among is None else kind & among for kind in (changes, ~changes)]
        return float(np.mean([right[rows].mean() for rows in kinds if rows.any()]))

    def typical(self, rows: np.ndarray, values: Sequence[Values]) -> Bool[np.ndarray, " pairs"]:
        """Pairs whose answer follows from the concepts' values.

        The base is typical in all concepts, and the source in the one that is swapped.

        Args:
            rows: the numbers of the inputs that the pairs are of.
            values: of every concept on these.
        """
        place = {int(row): k for k, row in enumerate(rows)}
        base, source = ([place[int(row)] for row in part] for part in (self.base, self.source))
        every = np.all([one.are_typical for one in values], axis=0)
        return np.asarray(every[base] & values[self.factor].are_typical[source])


@dataclass(frozen=True, eq=False)
class GapModel:
    """Read-outs and a decoder.

    Attributes:
        readouts: one per concept.
        decoder: to the units of the next site.
        activation: what values those units can have.
    """

    readouts: tuple[ClassReadout, ...]
    decoder: Decoder
    activation: Activation

    def factors(self, x: Float[np.ndarray, "rows units"]) -> Float[np.ndarray, "rows factors"]:
        """The factors of given units."""
        return np.stack([one(x) for one in self.readouts], axis=1)

    def children(self, z: np.ndarray, w: np.ndarray) -> Float[np.ndarray, "rows _"]:
        """F_X(z, w)."""
        return self.decoder(np.c_[z, w])

    def act(self, values: np.ndarray) -> np.ndarray:
        """The nearest values that the units can have."""
        return np.maximum(values, 0.0) if self.activation is Activation.RELU else values

    def kept(self, data: GapData, rows: np.ndarray) -> float:
        """Share of decisions that stay when the next site is decoded from the factors alone."""
        inputs, (x, _, w) = data.subject.rows(rows), data.units(rows)
        child = self.act(self.children(self.factors(x), w))
        decided = data.subject.decisions(inputs, data.site + 1, child)
        return float((decided == data.subject.decisions(inputs)).mean())


def read_gap(data: GapData) -> tuple[tuple[ClassReadout, ...], tuple[float, ...]]:
    """Read-outs of all concepts, and how often each is right on unseen inputs, classes balanced."""
    train, held_out = data.parts.train, data.parts.validation
    x, seen = data.units(train)[0], data.units(held_out)[0]
    readouts, scores = [], []
    for concept in data.concepts:
        labels = concept.values(data.subject, train).labels
        found = class_readout(x, labels, concept.n_classes)
        wanted, got = concept.values(data.subject, held_out).labels, found.classes(seen)
        scores.append(float(np.mean([(got == c)[wanted == c].mean() for c in np.unique(wanted)])))
        readouts.append(found)
    return tuple(readouts), tuple(scores)


def fit_kind(data: GapData, readouts: Sequence[ClassReadout], kind: DecoderKind) -> GapModel | None:
    """A decoder of one kind, fitted to the next site; None if a table would be too large."""
    x, y, w = data.units(data.parts.train)
    z = np.stack([one(x) for one in readouts], axis=1)
    layer = hidden_layer(kind, readouts, w, data.seed)
    if layer is None:
        return None
    decoder = fit_decoder(kind, layer, np.c_[z, w], y)
    return GapModel(tuple(readouts), decoder, Activation.of(y))


def quality(data: GapData, model: GapModel, swaps: Sequence[Swaps]) -> Quality:
    """Agreement of the worst factor, and decisions kept, on inputs that choose."""
    agreement = min(one.agreement(model, replaces=True) for one in swaps)
    return Quality(agreement, model.kept(data, data.parts.validation))


class Quality(NamedTuple):
    """What a decoder is chosen by.

    Attributes:
        agreement: of the worst factor's swaps with the network's own answers.
        kept: share of decisions kept.
    """

    agreement: float
    kept: float

    @property
    def is_enough(self) -> bool:
        """Whether nothing richer need be tried."""
        return min(self) >= ENOUGH_KEPT

    def is_better(self, other: Quality) -> bool:
        """Whether it is better by more than pairs tell."""
        return sum(self) > sum(other) + BETTER


BETTER = 0.005
"""Agreement and share kept, together, by which a richer decoder must be better than a simpler one:
a thousand pairs tell no less."""
