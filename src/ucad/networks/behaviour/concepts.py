"""Concepts of a gap: what a network's behaviour says is carried from a site to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int

from ucad.networks.behaviour.blocks import Block
from ucad.networks.behaviour.equivalence import (
    N_CONTEXTS,
    N_SETTINGS,
    Classes,
    Resolution,
    Signatures,
    block_signatures,
    find_classes,
    state_signatures,
)
from ucad.networks.features import hybrid
from ucad.networks.subject import Subject

__all__ = ["BlockConcept", "Concept", "StateConcept", "Values", "state_concept"]

N_LABEL_CONTEXTS = 60
"""Contexts by which inputs are given to classes that are known, of those that tell them apart."""


class Values(NamedTuple):
    """The value of a concept on some inputs.

    Attributes:
        labels: its class.
        are_typical: whether the input decides as its class does; not so at a threshold.
    """

    labels: Int[np.ndarray, " rows"]
    are_typical: Bool[np.ndarray, " rows"]

    @classmethod
    def of(cls, classes: Classes, signatures: Signatures) -> Values:
        """From decisions over the contexts that the classes were seen in."""
        return cls(classes.labels(signatures), classes.are_typical(signatures))


@runtime_checkable
class Concept(Protocol):
    """A variable with few values that a network's behaviour shows."""

    @property
    def name(self) -> str:
        """What it is a variable of."""
        ...

    @property
    def n_classes(self) -> int:
        """How many values it has."""
        ...

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The input features that carry it; none if it is a state."""
        ...

    def values(self, subject: Subject, rows: np.ndarray) -> Values:
        """Its value on every given input."""
        ...

    def expected(
        self, subject: Subject, base: np.ndarray, source: np.ndarray
    ) -> Int[np.ndarray, " rows"]:
        """What the network itself decides on base inputs with the sources' value of it."""
        ...


@dataclass(frozen=True)
class BlockConcept:
    """What the network makes of a block of features; exchanging those features exchanges it."""

    block: Block

    @property
    def name(self) -> str:
        """The names of the features."""
        return self.block.name

    @property
    def n_classes(self) -> int:
        """How many values it has."""
        return self.block.n_classes

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features, one by one."""
        return tuple(feature.name for feature in self.block.features)

    def values(self, subject: Subject, rows: np.ndarray) -> Values:
        """The class of the block on every given input."""
        some = self.block.classes.telling(N_LABEL_CONTEXTS)
        contexts = np.array(self.block.contexts)[some]
        found = block_signatures(subject, self.block.features, rows, contexts)
        return Values.of(self.block.classes.seen_in(some), found)

    def expected(
        self, subject: Subject, base: np.ndarray, source: np.ndarray
    ) -> Int[np.ndarray, " rows"]:
        """Decisions on hybrid inputs."""
        mixed = hybrid(subject.rows(base), subject.rows(source), self.block.features)
        return subject.decisions(mixed)


@dataclass(frozen=True, eq=False)
class StateConcept:
    """The state of a site: what all that came before leaves for what comes later.

    Attributes:
        site: its number.
        site_name: its name.
        classes: of states, by what the network decides later.
        contexts: the numbers of the inputs in which that was seen.
    """

    site: int
    site_name: str
    classes: Classes
    contexts: tuple[int, ...]

    @property
    def name(self) -> str:
        """The state of the site."""
        return f"state of {self.site_name}"

    @property
    def n_classes(self) -> int:
        """How many values it has."""
        return self.classes.n_classes

    @property
    def feature_names(self) -> tuple[str, ...]:
        """None: all that came before carries it."""
        return ()

    def values(self, subject: Subject, rows: np.ndarray) -> Values:
        """The class of the state on every given input."""
        some = self.classes.telling(N_LABEL_CONTEXTS)
        found = state_signatures(subject, self.site, rows, np.array(self.contexts)[some])
        return Values.of(self.classes.seen_in(some), found)

    def expected(
        self, subject: Subject, base: np.ndarray, source: np.ndarray
    ) -> Int[np.ndarray, " rows"]:
        """Decisions with the whole site taken from the source, on its way to the next site."""
        inputs = subject.rows(base)
        given = subject.at(self.site).units(subject.rows(source))[0]
        child = subject.edge_values(inputs, self.site, given)
        return subject.decisions(inputs, self.site + 1, child)


def state_concept(subject: Subject, site: int, seed: int = 0) -> StateConcept:
    """Finds the classes of a site's states."""
    rng = np.random.default_rng(seed)
    settings, contexts = subject.draw(N_SETTINGS, rng), subject.draw(N_CONTEXTS, rng)
    found = state_signatures(subject, site, settings, contexts)
    classes = find_classes(found)
    if classes.n_classes < 2:
        classes = find_classes(found, Resolution.FINE)
    return StateConcept(site, subject.sites[site].name, classes, tuple(contexts.tolist()))
