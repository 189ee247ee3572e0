"""`fit_behaviour`: factors of every gap by what the network does, each with its own certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ucad._types import Progress, ProgressEvent
from ucad.data.context import Context
from ucad.networks.behaviour.blocks import Blocks, find_blocks
from ucad.networks.behaviour.concepts import BlockConcept, Concept, state_concept
from ucad.networks.behaviour.discrete_factors import DecoderKind, fit_decoder, hidden_layer
from ucad.networks.behaviour.gap_fit import GapData, GapModel, GapParts
from ucad.networks.behaviour.gap_model import Gap, assemble_gaps
from ucad.networks.behaviour.judging import judged_factors
from ucad.networks.behaviour.partitions import MIN_READABLE, decoded_partition
from ucad.networks.behaviour.recombining import why_not_recombined
from ucad.networks.behaviour.reports import GapReport
from ucad.networks.diagnosis import Diagnosis
from ucad.networks.features import Feature, covariate_names, covariates_of, named_features
from ucad.networks.sites import columns_of, variable_names
from ucad.networks.subject import Subject
from ucad.scm import FactorSCM

__all__ = ["BehaviourFit", "BehaviourSettings", "fit_behaviour"]

FOLLOWS = 0.99
"""Share of decisions that follow a swapped site from which on the site decides alone: then there is
nothing later to tell its states apart, and concepts are looked for among blocks of inputs."""

MAX_STATES = 12
"""Classes of states up to which a site counts as discrete."""


@dataclass(frozen=True, kw_only=True)
class BehaviourSettings:
    """How concepts are looked for.

    Attributes:
        recombine: whether inputs may be recombined; None to judge by their correlations.
        parts: what is exchanged between inputs, if the user names it (`named_features`).
        n_train: inputs that read-outs and decoders are fitted to.
        n_held_out: inputs each to choose by and to report on.
        seed: of all draws.
    """

    recombine: bool | None = None
    parts: Mapping[str, Sequence[str]] | None = None
    n_train: int = 1500
    n_held_out: int = 750
    seed: int = 0


@dataclass(frozen=True, eq=False)
class BehaviourFit:
    """Factors found by behaviour; `scm` is None if there are none.

    Attributes:
        scm: the model of all sites' units, in the network's units.
        gaps: one report per pair of sites.
        blocks: of the inputs, if they were looked for.
        replaces: whether steering should replace children (`Steering.replaces`).
        notes: conditions under which the factors are claimed, one sentence each.
    """

    scm: FactorSCM | None
    gaps: tuple[GapReport, ...]
    blocks: Blocks | None
    replaces: bool
    notes: tuple[str, ...] = ()


def fit_behaviour(
    subject: Subject,
    diagnosis: Diagnosis,
    settings: BehaviourSettings | None = None,
    progress: Progress | None = None,
) -> BehaviourFit:
    """Finds the abstract states of a network from what it decides, and where it holds them.

    Where later inputs come in, two states of a site are equivalent if the network decides alike
    whatever comes later (Nerode). Where a site decides alone, blocks of input features are sought
    that the network sums up (`find_blocks`). Each class is then read out of the site by logistic
    regression, and decoded into the next site by the simplest decoder that keeps the decisions.

    The certificate needs no labels: a factor's swap must end in the decision that the network takes
    by itself, on a hybrid input or with the whole state swapped, for inputs that nothing was fitted
    to.
    """
    settings = BehaviourSettings() if settings is None else settings
    fitter = _Fitter(subject, diagnosis, settings, progress)
    found = [fitter.gap(i) for i in range(len(subject.sites) - 1)]
    return fitter.assembled(found)


@dataclass(frozen=True, eq=False)
class _Found:
    report: GapReport
    data: GapData | None = None
    model: GapModel | None = None


class _Fitter:
    def __init__(
        self,
        subject: Subject,
        diagnosis: Diagnosis,
        settings: BehaviourSettings,
        progress: Progress | None,
    ) -> None:
        self.subject, self.diagnosis, self.settings = subject, diagnosis, settings
        self.progress, self.blocks = progress, _Lazy()
        self.parts = _parts(subject, settings)
        self.columns = columns_of(subject.sites)

    def gap(self, i: int) -> _Found:
        line, following = self.diagnosis.sites[i], self.diagnosis.sites[i + 1].site
        report = GapReport(line.site, following)
        if self.progress is not None:
            done = ProgressEvent("Gaps", i, len(self.subject.sites) - 1)
            self.progress(done)
        if not line.can_steer:
            note = "taken as a whole from another input, the site changes no decision."
            return _Found(replace(report, note=note))
        concepts, note = self._concepts(i)
        if not concepts:
            return _Found(replace(report, note=note))
        return self._fitted(i, concepts, report)

    def _concepts(self, i: int) -> tuple[tuple[Concept, ...], str]:
        follows = self.diagnosis.sites[i].follows or 0.0
        if follows < FOLLOWS:
            state = state_concept(self.subject, i, self.settings.seed)
            if state.n_classes < 2:
                return (), "all states of the site lead to the same decisions."
            if state.n_classes > MAX_STATES:
                return (), f"the site has {state.n_classes} or more classes of states."
            return (state,), ""
        blocks, why = self._blocks()
        if blocks is None or not blocks.finest:
            return (), why or str(blocks)
        return tuple(map(BlockConcept, blocks.finest)), ""

    def _blocks(self) -> tuple[Blocks | None, str]:
        if not self.blocks.done:
            self.blocks.done = True
            features = self.diagnosis.features
            parts, told = self.settings.parts, self.settings.recombine
            if parts:
                features, told = named_features(self.subject.inputs, parts), True
            why = None if told else why_not_recombined(self.subject.inputs, features)
            why = "Inputs are not to be recombined." if told is False else why
            self.blocks.why = why or ""
            if why is None:
                self.blocks.value = find_blocks(
                    self.subject, features, self.settings.seed, are_named=bool(parts)
                )
        return self.blocks.value, self.blocks.why

    def _fitted(self, i: int, concepts: tuple[Concept, ...], report: GapReport) -> _Found:
        names = self._covariates(i)
        data = GapData(self.subject, i, concepts, self.parts, names, self.settings.seed)
        data, scores, (model, _, is_tuned) = decoded_partition(data, self.blocks.value)
        lines = judged_factors(data, model, scores)
        weak = [one.concept for one in lines if one.read_out < MIN_READABLE]
        note = f"The site does not hold {', '.join(weak)} for a linear read-out." if weak else ""
        report = replace(
            report,
            factors=lines,
            decoder=str(model.decoder.kind),
            tuned=is_tuned,
            kept=model.kept(data, self.parts.test),
            context=names,
            note=note,
        )
        return _Found(report, data, model)

    def _covariates(self, i: int) -> tuple[str, ...]:
        of_name: dict[str, Feature] = {one.name: one for one in self.diagnosis.features}
        context = [of_name[name] for name in self.diagnosis.sites[i].context]
        return tuple(c for one in context for c in covariate_names(one, self.subject.inputs))

    def assembled(self, found: Sequence[_Found]) -> BehaviourFit:
        names = iter(f"Z{k + 1}" for k in range(sum(len(one.report.factors) for one in found)))
        reports = tuple(
            replace(
                one.report,
                factors=tuple(replace(line, factor=next(names)) for line in one.report.factors),
            )
            for one in found
        )
        fitted = [one for one in found if one.model is not None]
        if not fitted:
            return BehaviourFit(None, reports, self.blocks.value, True)
        rows = self.parts.train
        inputs = self.subject.rows(rows)
        x = np.concatenate(self.subject.units(inputs), axis=1)
        known = tuple(dict.fromkeys(c for one in fitted for c in one.report.context))
        context = Context(known, covariates_of(inputs, known)) if known else None
        gaps = [self._gap(one, known) for one in fitted]
        scm = assemble_gaps(x, variable_names(self.subject.sites), gaps, context)
        return BehaviourFit(scm, reports, self.blocks.value, True, self._conditions(fitted))

    def _conditions(self, fitted: Sequence[_Found]) -> tuple[str, ...]:
        """What the concepts leave out, if they are blocks of inputs."""
        has_block = any(line.features for one in fitted for line in one.report.factors)
        blocks = self.blocks.value
        return (blocks.condition,) if has_block and blocks is not None else ()

    def _gap(self, found: _Found, known: tuple[str, ...]) -> Gap:
        data, model = found.data, found.model
        assert data is not None
        assert model is not None
        x, y, w = data.units(self.parts.train)
        z = model.factors(x)
        none = np.zeros((len(z), 0))
        kind = DecoderKind.AFFINE
        layer = hidden_layer(kind, model.readouts, none)
        if w.shape[1] == 0:
            average = model.decoder
        else:
            table = hidden_layer(DecoderKind.TABLE, model.readouts, none)
            kind = kind if table is None else DecoderKind.TABLE
            assert layer is not None
            average = fit_decoder(kind, table or layer, z, y)
        noise = np.sqrt(((y - model.act(model.children(z, w))) ** 2).mean(axis=0))
        columns = [np.arange(part.start, part.stop) for part in self.columns]
        return Gap(
            columns[data.site],
            columns[data.site + 1],
            model.readouts,
            model.decoder,
            average,
            np.array([known.index(name) for name in data.covariates], dtype=np.int64),
            noise,
        )


class _Lazy:
    """Blocks that are looked for at most once."""

    def __init__(self) -> None:
        self.done, self.why = False, ""
        self.value: Blocks | None = None


def _parts(subject: Subject, settings: BehaviourSettings) -> GapParts:
    """Inputs to learn from, to choose by and to report on: different ones, if there are enough."""
    order = np.random.default_rng(settings.seed).permutation(subject.n_inputs)
    n, sizes = len(order), np.array([settings.n_train, settings.n_held_out, settings.n_held_out])
    ends = np.cumsum(np.maximum((sizes * min(1.0, n / sizes.sum())).astype(int), 1))
    if ends[-1] > n:
        return GapParts(order, order, order)
    return GapParts(order[: ends[0]], order[ends[0] : ends[1]], order[ends[1] : ends[2]])
