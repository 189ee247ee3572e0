"""The lines of the table: every control of one concept, scored on the same unseen pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

import numpy as np
from jaxtyping import Bool

from ucad.networks.controls.bench import Bench, Gap
from ucad.networks.controls.prepared import PreparedGap
from ucad.networks.controls.readings import ICA, LEARNED, PCA, RANDOM, RAW_INPUT, UNTRAINED
from ucad.networks.controls.scores import ControlScore, Role, compared_anew, scored
from ucad.networks.features import Feature, features_of, hybrid
from ucad.networks.inputs import select_inputs
from ucad.networks.interchange import SwapPairs
from ucad.networks.sites import Site, columns_of
from ucad.networks.subspaces import SubspaceSettings, learn_subspace

__all__ = ["NOTHING", "SAME_DECODER", "Block", "Found", "blocks_of", "control_lines"]

NOTHING = "nothing is swapped"
"""The placebo that leaves everything as it is."""

SAME_DECODER = ", same decoder"
"""How the names of placebos end whose decoder is a network, which can compute."""

MAX_BLOCKS = 10
"""Blocks of a control's factors that are tried on the pairs to choose from: more than five factors
choose two are seldom asked for, and each costs a pass over the pairs."""

Right = Bool[np.ndarray, " pairs"]


@dataclass(frozen=True)
class Block:
    """Factors of one gap that are swapped together.

    Attributes:
        name: their names, with + between.
        gap: the number of the gap.
        own: which of the gap's factors.
        is_whole: whether they are all of several.
    """

    name: str
    gap: int
    own: tuple[int, ...]
    is_whole: bool = False


def blocks_of(gaps: Sequence[Gap]) -> tuple[Block, ...]:
    """Every factor alone, all but one, and all of a gap."""
    found = []
    for number, gap in enumerate(gaps):
        k = len(gap.factors)
        sizes = [size for size in dict.fromkeys((1, k - 1, k)) if size >= 1]
        for size in sizes:
            for own in combinations(range(k), size):
                name = "+".join(gap.factors[i] for i in own)
                found.append(Block(name, number, own, is_whole=size == k and k > 1))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Found:
    """The block that was chosen for a concept, and the pairs to compare on.

    Attributes:
        block: which factors.
        prepared: its gap.
        two_valued: its gap with every factor cut in two; None to leave that out.
        to_choose: the pairs that choices are made on.
        to_score: the pairs that scores are of.
        right: where the swap of the block is right, among the latter.
        seed: random seed.
    """

    block: Block
    prepared: PreparedGap
    two_valued: PreparedGap | None
    to_choose: SwapPairs
    to_score: SwapPairs
    right: Right
    seed: int

    @property
    def bench(self) -> Bench:
        """The network."""
        return self.prepared.bench

    @property
    def columns(self) -> list[int]:
        """The block's factors among all."""
        return [self.prepared.gap.columns[i] for i in self.block.own]

    def line(
        self, kind: str, role: Role, draws: Sequence[Right], own: Right | None, note: str = ""
    ) -> ControlScore:
        """A line of the largest of several draws, compared with `own` if given.

        That is the block with its own decoder, or with one that was trained anew.
        """
        changes = self.to_score.changes
        scores = [scored(right, changes) for right in draws]
        largest = int(np.argmax([score.mean for score in scores]))
        against = None
        if own is not None:
            against = compared_anew(own, self.right, draws[largest], changes)
        mean = float(np.mean([score.mean for score in scores]))
        return ControlScore(kind, role, scores[largest], mean, len(draws), against, note)


def control_lines(
    found: Found,
    *,
    hybrids: Sequence[Feature] = (),
    n_draws: int = 10,
    supervised: SubspaceSettings | None = None,
    n_directions: int = 1,
    n_starts: int = 2,
) -> Iterator[ControlScore]:
    """All controls of one concept.

    Args:
        found: the chosen block and the pairs.
        hybrids: the input features that carry the concept, where they are known.
        n_draws: of wrong blocks of features.
        supervised: how the supervised direction is learned; None to leave it out.
        n_directions: of the supervised subspace.
        n_starts: of its descent.
    """
    bench, pairs = found.bench, found.to_score
    yield found.line(NOTHING, Role.PLACEBO, [bench.unswapped(pairs)], found.right)
    yield found.line(
        "copy of the source's output", Role.PLACEBO, [bench.copied(pairs)], found.right
    )
    yield _permuted(found)
    yield from _read_otherwise(found)
    if found.two_valued is not None:
        yield from _two_valued(found, found.two_valued)
    yield from _site_swaps(found)
    if hybrids:
        yield from _hybrids(found, hybrids, n_draws)
    if supervised is not None:
        yield _supervised(found, supervised, n_directions, n_starts)


def _permuted(found: Found) -> ControlScore:
    """The block's values from the source of another pair: what the pairs alone give away."""
    pairs, bench = found.to_score, found.bench
    sources = np.random.default_rng(found.seed).permutation(pairs.source)
    values = bench.factor_values(pairs, found.columns, sources)
    right = bench.right(pairs, _children(found), values)
    return found.line("sources of other pairs", Role.PLACEBO, [right], found.right)


def _read_otherwise(found: Found) -> Iterator[ControlScore]:
    """The same decoder, trained anew: from the learned factors, and from others."""
    prepared, block, pairs = found.prepared, found.block.own, found.to_score
    (learned,) = prepared.of_kind(LEARNED)
    anew = prepared.right(learned, block, pairs)
    note = f"decoder's R² {prepared.decoders.r_squared[learned]:.2f}"
    yield found.line("learned, decoder trained anew", Role.REFERENCE, [anew], None, note)
    first = tuple(range(len(block)))
    for kind in (RANDOM, PCA, ICA, UNTRAINED, RAW_INPUT):
        numbers = prepared.of_kind(kind)
        if not numbers:
            continue
        draws = []
        for number in numbers:
            own = first if kind == RANDOM else _best_block(found, prepared, number)
            draws.append(prepared.right(number, own, pairs))
        explained = max(prepared.decoders.r_squared[number] for number in numbers)
        yield found.line(
            f"{kind}{SAME_DECODER}", Role.PLACEBO, draws, anew, f"decoder's R² {explained:.2f}"
        )


def _best_block(found: Found, prepared: PreparedGap, reading: int) -> tuple[int, ...]:
    """The block of a reading's factors that is best on the pairs to choose from, by its size."""
    pairs = found.to_choose
    sizes = combinations(range(len(prepared.gap.factors)), len(found.block.own))
    tried = list(islice(sizes, MAX_BLOCKS))
    if len(tried) == 1:
        return tried[0]
    return max(
        tried,
        key=lambda own: scored(prepared.right(reading, own, pairs), pairs.changes).mean,
    )


def _two_valued(found: Found, prepared: PreparedGap) -> Iterator[ControlScore]:
    """Every factor cut in two, so that the decoder is a table and cannot compute."""
    block, pairs = found.block.own, found.to_score
    first = tuple(range(len(block)))
    (learned,) = prepared.of_kind(LEARNED)
    own = prepared.right(learned, block, pairs)
    yield found.line("learned, two values and a table", Role.REFERENCE, [own], None)
    for kind in (RANDOM, PCA, ICA, UNTRAINED, RAW_INPUT):
        draws = [
            prepared.right(
                number, first if kind == RANDOM else _best_block(found, prepared, number), pairs
            )
            for number in prepared.of_kind(kind)
        ]
        if draws:
            yield found.line(f"{kind}, two values and a table", Role.RESTRICTED, draws, own)


def _site_swaps(found: Found) -> Iterator[ControlScore]:
    bench, pairs, gap = found.bench, found.to_score, found.prepared.gap
    for what, units in (("patched", gap.children), ("read", gap.parents)):
        right = bench.swapped_sites(pairs, units)
        yield found.line(f"whole site that is {what}", Role.REFERENCE, [right], None)


def _hybrids(found: Found, features: Sequence[Feature], n_draws: int) -> Iterator[ControlScore]:
    """The network's own decisions on inputs that have the concept's features of the source."""
    bench, pairs = found.bench, found.to_score
    base, source = (select_inputs(bench.inputs, rows) for rows in (pairs.base, pairs.source))

    def right(block: Sequence[Feature]) -> Right:
        return np.asarray(bench.decided_on(hybrid(base, source, block)) == pairs.expected)

    yield found.line("hybrid inputs", Role.REFERENCE, [right(features)], None)
    every, rng = features_of(base), np.random.default_rng(found.seed)
    names = {feature.name for feature in features}
    draws = []
    for _ in range(n_draws if len(every) > len(features) else 0):
        drawn = [every[i] for i in rng.permutation(len(every))[: len(features)]]
        if {feature.name for feature in drawn} != names:
            draws.append(right(drawn))
    if draws:
        yield found.line("hybrid inputs, wrong blocks", Role.REFERENCE, draws, None)


def _supervised(
    found: Found, settings: SubspaceSettings, n_directions: int, n_starts: int
) -> ControlScore:
    """Directions learned from labels at the patched site; the start that learned best is scored."""
    bench, steering = found.bench, found.bench.steering
    site = _largest_site(found)
    n_directions = min(n_directions, len(site.units or ()))

    def right(start: int) -> tuple[float, Callable[[], Right]]:
        swap = learn_subspace(
            steering.model,
            site,
            bench.inputs,
            found.to_choose,
            n_directions,
            replace(settings, seed=settings.seed + start),
            read_output=steering.read_output,
            decide=bench.decide,
        )

        def on(pairs: SwapPairs) -> Right:
            rows = (pairs.base, pairs.source)
            output = swap(*(select_inputs(bench.inputs, part) for part in rows))
            return np.asarray(bench.decide(output).cpu().numpy() == pairs.expected)

        learned = scored(on(found.to_choose), found.to_choose.changes).mean
        return learned, lambda: on(found.to_score)

    learned, best = max((right(start) for start in range(n_starts)), key=lambda one: one[0])
    note = f"best of {n_starts} starts, {learned:.3f} on the pairs it learned from"
    kind = f"supervised, {n_directions} direction{'s' * (n_directions > 1)}"
    return found.line(kind, Role.REFERENCE, [best()], None, note)


def _largest_site(found: Found) -> Site:
    steering, children = found.bench.steering, _children(found)
    counts = [int(children[columns].sum()) for columns in columns_of(steering.sites)]
    return steering.sites[counts.index(max(counts))]


def _children(found: Found) -> Bool[np.ndarray, " units"]:
    return np.asarray(found.bench.steering.scm.graph.R[:, found.columns].any(axis=1))
