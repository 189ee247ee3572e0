"""`steering_table`: how well factors steer every concept, beside all controls, on unseen pairs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from ucad.errors import InvalidInputError, did_you_mean
from ucad.networks.controls.bench import Bench, Gap
from ucad.networks.controls.lines import (
    NOTHING,
    SAME_DECODER,
    Block,
    Found,
    blocks_of,
    control_lines,
)
from ucad.networks.controls.prepared import PreparedGap
from ucad.networks.controls.scores import ControlScore, Role, Score, Verdict, compared, scored
from ucad.networks.decisions import Decide, decision
from ucad.networks.features import Feature, features_of
from ucad.networks.inputs import Inputs, n_inputs, select_inputs
from ucad.networks.interchange import SwapPairs
from ucad.networks.steering import Steering
from ucad.networks.subspaces import SubspaceSettings

__all__ = ["ConceptSteering", "SteeringSettings", "SteeringTable", "steering_table"]

MAX_SEEN = 5000
"""Inputs that are looked at to tell their features."""

MIN_RIGHT = 0.9
"""Share of the pairs that should not change on which the network, left alone, must decide as they
expect: below, pairs and network are about different outcomes."""


@dataclass(frozen=True, kw_only=True)
class SteeringSettings:
    """How much goes into the controls.

    Attributes:
        n_draws: random factors, and wrong blocks of inputs; untrained networks are made a third as
            often.
        ceiling_directions: dimension of the supervised subspace; 0 leaves it out.
        n_starts: of the supervised descent, which ends in local optima.
        subspace: how that is learned.
        two_valued: whether factors cut in two are compared, too.
        max_fitted: inputs that decoders and methods of the controls learn from.
        seed: random seed of the controls and of the halves of the pairs.
    """

    n_draws: int = 10
    ceiling_directions: int = 1
    n_starts: int = 2
    subspace: SubspaceSettings = field(default_factory=SubspaceSettings)
    two_valued: bool = True
    max_fitted: int = 5000
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("n_draws", "n_starts", "max_fitted"):
            if getattr(self, name) < 1:
                raise InvalidInputError(
                    f"The '{name}' setting of SteeringSettings must be at least 1. "
                    f"Got {getattr(self, name)} instead."
                )


@dataclass(frozen=True)
class ConceptSteering:
    """How well factors steer one concept.

    Attributes:
        concept: its name.
        best: the factor, or the block of factors of one gap (Z2+Z3), that is best on one half of
            the pairs. All factors of a gap together are not chosen, unless there is one.
        by_factor: the scores of every factor and block on the other half.
        controls: what else was tried, on that half.
        two_valued: whether the chosen factors have two values, and steer as well if the others of
            their gap are cut in two. Readings are then compared cut in two, with a table: a decoder
            that computes would be another method.
    """

    concept: str
    best: str
    by_factor: Mapping[str, Score]
    controls: tuple[ControlScore, ...] = ()
    two_valued: bool = False

    @property
    def score(self) -> Score:
        """Of the chosen factors, on pairs that they were not chosen on."""
        return self.by_factor[self.best]

    @property
    def verdict(self) -> Verdict:
        """What all placebos together say: copies of the output and other readings, too."""
        return _verdict(self._placebos)

    @property
    def restricted_verdict(self) -> Verdict | None:
        """The same for factors cut in two, whose decoder is a table; None if that was left out."""
        return _verdict(self._restricted) if self._restricted else None

    @property
    def beats_placebos(self) -> bool:
        """Whether the chosen factors score higher than the largest placebo of every kind."""
        return self.verdict is Verdict.ABOVE

    @property
    def ties(self) -> tuple[str, ...]:
        """The placebos that are not below."""
        return tuple(
            line.kind
            for line in self._placebos
            if line.against is not None and line.against.verdict is not Verdict.ABOVE
        )

    @property
    def _restricted(self) -> list[ControlScore]:
        return [line for line in self.controls if line.role is Role.RESTRICTED]

    @property
    def _placebos(self) -> list[ControlScore]:
        """The placebos that the verdict is about."""
        lines = [line for line in self.controls if line.role is Role.PLACEBO]
        if not self.two_valued or not self._restricted:
            return lines
        kept = [line for line in lines if not line.kind.endswith(SAME_DECODER)]
        return [*kept, *self._restricted]

    def control(self, kind: str) -> ControlScore:
        """A line by its name."""
        for line in self.controls:
            if line.kind == kind:
                return line
        kinds = [line.kind for line in self.controls]
        raise InvalidInputError(f"There is no control '{kind}'.{did_you_mean(kind, kinds)}")

    @property
    def _terms(self) -> str:
        """On what terms factors with two values are compared, and what else steers as well."""
        computing = [
            line.kind.removesuffix(SAME_DECODER).rstrip(", ")
            for line in self.controls
            if line.kind.endswith(SAME_DECODER)
            and line.against is not None
            and line.against.verdict is not Verdict.ABOVE
        ]
        more = f"; a decoder that computes does as well from {', '.join(computing)}"
        return "all with two values and a table" + (more if computing else "")

    def __str__(self) -> str:
        ties = f": {', '.join(self.ties)}" if self.ties else ""
        kind = f" ({self._terms})" if self.two_valued else ""
        lines = [f"{self.concept}: best factor {self.best}, {self.verdict}{kind}{ties}"]
        lines += [f"  {name:<38} {score}" for name, score in self.by_factor.items()]
        lines += [f"  {line}" for line in self.controls]
        return "\n".join(lines)


def _verdict(lines: Sequence[ControlScore]) -> Verdict:
    return Verdict.of(line.against for line in lines if line.against is not None)


@dataclass(frozen=True)
class SteeringTable:
    """One line per concept.

    Attributes:
        concepts: the lines.
        left_out: concepts without a line, and why: one that changes no decision, for example.
        notes: what the table does not say.
    """

    concepts: tuple[ConceptSteering, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __getitem__(self, concept: str) -> ConceptSteering:
        """The line of a concept."""
        for line in self.concepts:
            if line.concept == concept:
                return line
        raise InvalidInputError(f"The table has no concept '{concept}'.")

    def to_json(self) -> str:
        """The lines as JSON."""
        whole = asdict(self)
        for line, row in zip(self.concepts, whole["concepts"], strict=True):
            row |= {"verdict": line.verdict, "ties": line.ties}
            row["restricted_verdict"] = line.restricted_verdict
        return json.dumps(whole, indent=1, ensure_ascii=False)

    def __str__(self) -> str:
        lines = [str(line) for line in self.concepts]
        lines += [f"{concept}: left out. {why}" for concept, why in self.left_out.items()]
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])


def steering_table(
    steering: Steering,
    inputs: Inputs,
    concepts: Mapping[str, SwapPairs],
    *,
    settings: SteeringSettings | None = None,
    decide: Decide = decision,
    blocks: Mapping[str, Sequence[str]] | None = None,
) -> SteeringTable:
    """Swaps every factor for every concept, and compares with all that could do as well.

    The network runs once on every input; each factor and each control is one patched pass over the
    pairs. Factors with two values are compared with readings that are cut in two as well, and a
    table for a decoder; others with readings whose decoder is trained anew. Half of the pairs
    chooses the factor (or the block of factors) and what a control may choose, the other half
    scores. A tie with the largest placebo reads "not distinguished".

    Args:
        steering: the network and its SCM.
        inputs: those that the pairs number.
        concepts: the pairs of every concept, from `swap_pairs`.
        settings: numbers of draws.
        decide: from the network's output to its decision.
        blocks: where it is known which input entries carry a concept (`input[3]`, as
            `features_of` names them): then hybrid inputs are the network's own ceiling.

    Raises:
        InvalidInputError: no factor acts on a unit.
    """
    settings = SteeringSettings() if settings is None else settings
    if not Gap.all_of(steering):
        raise InvalidInputError(
            "The model has no factor with children to steer with. Fit it with another solver."
        )
    total = n_inputs(inputs)
    evenly = np.arange(0, total, -(-total // settings.max_fitted))
    used = [part for pairs in concepts.values() for part in (pairs.base, pairs.source)]
    bench = Bench.of(steering, inputs, [evenly, *used], decide)
    work = _Work(bench, bench.at(evenly), settings, _features(inputs, blocks or {}))
    lines = tuple(work.line(name, pairs) for name, pairs in concepts.items())
    return SteeringTable(lines, notes=tuple(_disagreements(lines)))


def _disagreements(lines: Sequence[ConceptSteering]) -> Iterator[str]:
    """Concepts whose pairs expect what the network does not decide even where nothing changes."""
    for line in lines:
        kept = next(one.score.on_keeps for one in line.controls if one.kind == NOTHING)
        if kept < MIN_RIGHT:
            yield (
                f"{line.concept}: left alone, the network decides as the labels say on {kept:.3f} "
                "of the pairs that should not change. It does not compute this outcome."
            )


class _Work:
    """What the concepts share: the network's passes, and the gaps that were prepared."""

    def __init__(
        self,
        bench: Bench,
        fitted: np.ndarray,
        settings: SteeringSettings,
        features: Mapping[str, Sequence[Feature]],
    ) -> None:
        self.bench, self.fitted, self.settings, self.features = bench, fitted, settings, features
        self.gaps = Gap.all_of(bench.steering)
        self.blocks = blocks_of(self.gaps)
        self._prepared: dict[int, tuple[PreparedGap, PreparedGap | None]] = {}

    def line(self, concept: str, pairs: SwapPairs) -> ConceptSteering:
        settings = self.settings
        order = np.random.default_rng(settings.seed).permutation(len(pairs))
        to_choose, to_score = order[: len(pairs) // 2], order[len(pairs) // 2 :]
        right = {block.name: self._right(block, pairs) for block in self.blocks}
        on_choice = {
            block: scored(right[block.name][to_choose], pairs.changes[to_choose]).mean
            for block in self.blocks
            if not block.is_whole
        }
        best = max(on_choice, key=lambda block: on_choice[block])
        found = Found(
            best,
            *self._prepare(best.gap),
            to_choose=pairs.select(to_choose),
            to_score=pairs.select(to_score),
            right=right[best.name][to_score],
            seed=settings.seed,
        )
        controls = control_lines(
            found,
            hybrids=self.features.get(concept, ()),
            n_draws=settings.n_draws,
            supervised=settings.subspace if settings.ceiling_directions else None,
            n_directions=settings.ceiling_directions,
            n_starts=settings.n_starts,
        )
        changes = pairs.changes[to_score]
        scores = {name: scored(one[to_score], changes) for name, one in right.items()}
        cut = self._is_two_valued(found)
        return ConceptSteering(concept, best.name, scores, tuple(controls), two_valued=cut)

    def _is_two_valued(self, found: Found) -> bool:
        """Whether the chosen factors have two values, and steer as well when all are cut in two.

        Beside factors with many values, which lose them in the cut, nothing could be compared.
        """
        learned, own = found.prepared.readings[0], found.block.own
        if found.two_valued is None or not learned.has_two_values(self.fitted, own):
            return False
        right = found.two_valued.right(0, own, found.to_score)
        kept = compared(right, found.right, found.to_score.changes)
        return kept.verdict is not Verdict.BELOW

    def _right(self, block: Block, pairs: SwapPairs) -> np.ndarray:
        columns = [self.gaps[block.gap].columns[i] for i in block.own]
        children = np.asarray(self.bench.steering.scm.graph.R[:, columns].any(axis=1))
        return self.bench.right(pairs, children, self.bench.factor_values(pairs, columns))

    def _prepare(self, number: int) -> tuple[PreparedGap, PreparedGap | None]:
        if number not in self._prepared:
            draws, seed = self.settings.n_draws, self.settings.seed
            gap = PreparedGap.of(
                self.bench, self.gaps[number], self.fitted, n_draws=draws, seed=seed
            )
            cut = gap.two_valued(self.fitted, seed) if self.settings.two_valued else None
            self._prepared[number] = (gap, cut)
        return self._prepared[number]


def _features(
    inputs: Inputs, blocks: Mapping[str, Sequence[str]]
) -> dict[str, tuple[Feature, ...]]:
    """The features that carry each concept, by the names of features or of their entries."""
    few = select_inputs(inputs, np.arange(min(MAX_SEEN, n_inputs(inputs))))
    every = features_of(few) if blocks else ()
    names = {name: f for f in every for name in (f.name, *f.entries)}
    for wanted in blocks.values():
        unknown = [name for name in wanted if name not in names]
        if unknown:
            raise InvalidInputError(
                f"The inputs have no entry '{unknown[0]}'.{did_you_mean(unknown[0], names)}"
            )
    return {
        concept: tuple({names[name].name: names[name] for name in wanted}.values())
        for concept, wanted in blocks.items()
    }
