"""Blocks of input features that a network sums up: bound sets, and which of them are concepts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np

from ucad.networks.behaviour.borders import rows_away_from_borders
from ucad.networks.behaviour.equivalence import (
    MIN_GAP_DISTANCE,
    N_CONTEXTS,
    N_SETTINGS,
    Classes,
    Resolution,
    block_signatures,
    find_classes,
)
from ucad.networks.features import Feature, hybrid
from ucad.networks.subject import Subject

__all__ = ["Block", "Blocks", "find_blocks"]

MAX_EXHAUSTIVE = 6
"""Relevant features up to which all blocks are tried: 56 blocks of 30,000 passes each."""

MAX_GREEDY = 40
"""Relevant features up to which blocks are grown one by one. Growing from every feature costs about
n³ / 6 blocks, most of which are known already; beyond, only pairs of neighbours are tried."""

MIN_RELEVANT = 0.01
"""Share of decisions that exchanging a feature must change for it to be relevant."""

MIN_OF_LARGEST = 0.15
"""The same as a part of the share of the most relevant feature: a network that is right 97 times in
100 lets idle features through at a tenth of that. Below, a feature must have classes with a gap
between them, as members of wide or deeply nested blocks do."""

MIN_COVERED = 0.8
"""Share of its settings that the classes of a bound set must hold. A set of continuous features
that is no concept scatters: half of its settings in a few classes, and the rest each by itself."""

N_PAIRS = 1000
"""Pairs of inputs in which every feature is exchanged: a share of 0.01 is then 10 pairs."""

UNSEEN = 3
"""Changes in `N_PAIRS` up to which none is seen with a chance of one in twenty (rule of three)."""

MAX_LISTED = 8
"""Inputs that are listed by name in a note."""

Members = frozenset[int]


@dataclass(frozen=True)
class Block:
    """Features that act on decisions through one variable with few values.

    Attributes:
        features: its members.
        classes: what the network makes of them.
        contexts: the numbers of the inputs in which that was seen.
    """

    features: tuple[Feature, ...]
    classes: Classes
    contexts: tuple[int, ...]

    @property
    def name(self) -> str:
        """The members' names."""
        return " ".join(feature.name for feature in self.features)

    @property
    def n_classes(self) -> int:
        """How many values the variable has."""
        return self.classes.n_classes


@dataclass(frozen=True)
class Blocks:
    """What was found about blocks of features.

    Attributes:
        relevant: features that change decisions.
        strong: bound sets that overlap no other except by inclusion, the smallest first.
        overlapping: bound sets that overlap others: no one of them is *the* concept.
        singles: every relevant feature by itself.
        exhaustive: whether all blocks were tried.
        failures: what a greedy search tried in vain, one phrase each.
        are_named: whether the user named the features: one of them may be a concept by itself.
        n_contexts: different inputs that settings were told apart in.
        idle: features that change some decisions but are in no block, as (name, share of the
            decisions that exchanging it changes), the largest first.
    """

    relevant: tuple[Feature, ...]
    strong: tuple[Block, ...]
    overlapping: tuple[Block, ...]
    singles: tuple[Block, ...]
    exhaustive: bool
    failures: tuple[str, ...] = ()
    are_named: bool = False
    idle: tuple[tuple[str, float], ...] = ()
    n_contexts: int = N_CONTEXTS

    @property
    def condition(self) -> str:
        """What the blocks leave out: inputs that act rarely, and what the draws cannot show."""
        left = ""
        if self.idle:
            each = ", ".join(f"{name} ({share:.3f})" for name, share in self.idle[:MAX_LISTED])
            more = len(self.idle) - MAX_LISTED
            left = f" In no block, though it changes this share of the decisions: {each}"
            left += f" and {more} more." if more > 0 else "."
        return (
            f"Blocks are told apart in {self.n_contexts} contexts: a difference in less than "
            f"{max(MIN_GAP_DISTANCE, UNSEEN / self.n_contexts):.0%} of them is not seen, nor an "
            f"input that changes fewer than {UNSEEN} in {N_PAIRS} decisions.{left}"
        )

    @cached_property
    def finest(self) -> tuple[Block, ...]:
        """The smallest strong blocks, and by themselves the features that are in none.

        Empty if no block is strong, unless the features are parts that the user named and the
        network sums up each: what it makes of half an image is a concept.
        """
        if not self.strong:
            parts = tuple(replace(one, classes=one.classes.apart()) for one in self.singles)
            summed_up = all(
                2 <= one.n_classes <= MAX_CLASSES and one.classes.covered >= MIN_COVERED
                for one in parts
            )
            return parts if self.are_named and summed_up and len(parts) > 1 else ()
        smallest = [
            one
            for one in self.strong
            if not any(set(other.features) < set(one.features) for other in self.strong)
        ]
        taken = {feature for block in smallest for feature in block.features}
        alone = [block for block in self.singles if block.features[0] not in taken]
        return (*smallest, *alone)

    def coarser(self, blocks: Sequence[Block], at: Block) -> tuple[Block, ...] | None:
        """The same partition with the next larger strong block in place of one; None if none is."""
        larger = [one for one in self.strong if set(at.features) < set(one.features)]
        if not larger:
            return None
        grown = min(larger, key=lambda one: len(one.features))
        rest = tuple(one for one in blocks if not set(one.features) & set(grown.features))
        return (grown, *rest)

    def __str__(self) -> str:
        if not self.strong and self.finest:
            parts = (f"{{{b.name}}} with {b.n_classes} values" for b in self.finest)
            found = f"Parts, each summed up: {'; '.join(parts)}."
        elif not self.strong:
            found = "No block of features is summed up by itself."
        else:
            blocks = (f"{{{b.name}}} with {b.n_classes} values" for b in self.strong)
            found = f"Blocks: {'; '.join(blocks)}."
        if self.overlapping:
            names = "; ".join(f"{{{block.name}}}" for block in self.overlapping[:6])
            found += f" Bound but overlapping, so not singled out: {names}."
        if self.failures:
            found += f" The search was greedy; in vain: {'; '.join(self.failures[:8])}."
        return found


def _exchanged(subject: Subject, features: Sequence[Feature], seed: int) -> np.ndarray:
    """The share of decisions that change when a feature is taken from another input."""
    base, source = np.random.default_rng(seed).integers(subject.n_inputs, size=(2, N_PAIRS))
    inputs, others = subject.rows(base), subject.rows(source)
    before = subject.decisions(inputs)
    mixed = (hybrid(inputs, others, [feature]) for feature in features)
    return np.array([float((subject.decisions(one) != before).mean()) for one in mixed])


def find_blocks(
    subject: Subject, features: Sequence[Feature], seed: int = 0, *, are_named: bool = False
) -> Blocks:
    """Finds the blocks of features that a network sums up, by running it on hybrid inputs.

    μ(S) is the number of classes of the settings of S: two are equivalent if the network decides
    alike in every context, the other features taken from other inputs. S is *bound* if
    2 ≤ |S| < the number of relevant features and 2 ≤ μ(S) ≤ max μ({i}) of its members: all that the
    network makes of S is then one variable with no more values than a feature has. Classes that
    leave out more than a fifth of the settings do not count. S is *strong*
    if no other bound set overlaps it except by inclusion; of parity, all sets are bound and none is
    strong. With at most six relevant features all sets are tried. With more, sets are grown from
    every feature by the one that leaves the fewest classes, and what was tried in vain is listed.
    Settings and contexts are inputs in which no continuous feature lies at a border of its values.
    Classes are first as fine as gaps between distances show them, which no wrong decision may
    disturb; if no set is strong then, they are coarse, and features that change few decisions idle.
    Not so where such a feature has clear classes: it is part of what the network computes, and
    blocks without it would be a claim about another function. Then nothing is singled out.

    Source: the decomposition of Ashenhurst and Curtis.

    Args:
        subject: the network.
        features: of its inputs, that are exchanged.
        seed: of the draws.
        are_named: whether they are parts that the user named (`Blocks.are_named`).
    """
    shares = _exchanged(subject, features, seed)
    often = shares >= max(MIN_RELEVANT, MIN_OF_LARGEST * shares.max(initial=0.0))
    pool = rows_away_from_borders(subject, [features[int(i)] for i in np.flatnonzero(often)], seed)
    some = np.flatnonzero(shares >= MIN_RELEVANT)
    search = _Search(subject, [features[int(i)] for i in some], pool, seed)
    fine = search.blocks(Resolution.FINE, often[some])
    chosen = fine
    if not fine.strong:
        clear = {one.features for one in fine.singles if one.classes.is_clear}
        coarse = search.blocks(Resolution.COARSE, often[some])
        is_whole = clear <= {one.features for one in coarse.singles}
        chosen = coarse if is_whole and (coarse.strong or are_named) else fine
    return replace(
        chosen,
        are_named=are_named,
        idle=_idle(features, shares, chosen.relevant),
        n_contexts=len(np.unique(search.contexts)),
    )


def _idle(
    features: Sequence[Feature], shares: np.ndarray, relevant: Sequence[Feature]
) -> tuple[tuple[str, float], ...]:
    """Features that change decisions although they are not among the relevant ones."""
    order = [int(i) for i in np.argsort(-shares, kind="stable") if shares[i] > 0]
    return tuple((features[i].name, float(shares[i])) for i in order if features[i] not in relevant)


def _some(pool: np.ndarray, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of inputs, drawn without repetition where there are enough."""
    return rng.permutation(pool)[:n_rows] if n_rows <= len(pool) else rng.choice(pool, size=n_rows)


def _overlap(one: Members, other: Members) -> bool:
    return bool(one & other) and not (one <= other or other <= one)


class _Search:
    """Numbers of classes of blocks, each found once."""

    def __init__(
        self, subject: Subject, features: Sequence[Feature], pool: np.ndarray, seed: int
    ) -> None:
        self.subject, self.features = subject, tuple(features)
        rng = np.random.default_rng(seed + 1)
        self.settings, self.contexts = (_some(pool, n, rng) for n in (N_SETTINGS, N_CONTEXTS))
        self.resolution = Resolution.FINE
        self.relevant: list[int] = []
        self.known: dict[Members, dict[Resolution, Classes]] = {}
        self.failures: list[str] = []

    def blocks(self, resolution: Resolution, is_frequent: np.ndarray) -> Blocks:
        """What there is at a resolution; rarely relevant features count if they have clear classes.

        Args:
            resolution: of classes.
            is_frequent: whether every feature changes many decisions.
        """
        self.resolution, self.failures = resolution, []
        singles = [self.classes(frozenset([i])) for i in range(len(self.features))]
        self.relevant = [
            i
            for i, (one, often) in enumerate(zip(singles, is_frequent, strict=True))
            if one.n_classes > 1 and (often or one.is_clear)
        ]
        exhaustive = len(self.relevant) <= MAX_EXHAUSTIVE
        tried = self.all_sets() if exhaustive else self.grown()
        bound = [S for S in dict.fromkeys(tried) if self.is_bound(S)]
        strong = [S for S in bound if not any(_overlap(S, other) for other in bound)]
        others = [S for S in bound if S not in strong]
        return Blocks(
            tuple(self.features[i] for i in self.relevant),
            tuple(self.block(S) for S in sorted(strong, key=len)),
            tuple(self.block(S) for S in sorted(others, key=len)),
            tuple(self.block(frozenset([i])) for i in self.relevant),
            exhaustive,
            tuple(self.failures),
        )

    def classes(self, members: Members) -> Classes:
        if members not in self.known:
            block = [self.features[i] for i in sorted(members)]
            found = block_signatures(self.subject, block, self.settings, self.contexts)
            self.known[members] = {one: find_classes(found, one) for one in Resolution}
        return self.known[members][self.resolution]

    def block(self, members: Members) -> Block:
        features = tuple(self.features[i] for i in sorted(members))
        return Block(features, self.classes(members), tuple(self.contexts.tolist()))

    def is_bound(self, members: Members) -> bool:
        if not 2 <= len(members) < len(self.relevant):
            return False
        most = max(self.classes(frozenset([i])).n_classes for i in members)
        found = self.classes(members)
        return 2 <= found.n_classes <= most and found.covered >= MIN_COVERED

    def all_sets(self) -> Iterator[Members]:
        for size in range(2, len(self.relevant)):
            yield from map(frozenset, combinations(self.relevant, size))

    def grown(self) -> Iterator[Members]:
        """Pairs, and from every feature ever larger sets, each by its cheapest member."""
        n = len(self.relevant)
        if n > MAX_GREEDY:
            yield from map(frozenset, pairwise(self.relevant))
            self.failures.append(f"{n} relevant features are too many: only neighbours were tried")
            return
        yield from map(frozenset, combinations(self.relevant, 2))
        for first in self.relevant:
            yield from self._grown_from(frozenset([first]))

    def _grown_from(self, members: Members) -> Iterator[Members]:
        start = self.features[min(members)].name
        found = False
        for _ in range(len(self.relevant) - 2):
            rest = [i for i in self.relevant if i not in members]
            counts = [self.classes(members | {i}).n_classes for i in rest]
            members = members | {rest[int(np.argmin(counts))]}
            found |= self.is_bound(members)
            yield members
            if min(counts) > MAX_CLASSES:
                break
        if not found:
            self.failures.append(f"no block grown from {start} is bound")


MAX_CLASSES = 12
"""Classes from which on a set is not grown any further: a feature has at most so many values."""
