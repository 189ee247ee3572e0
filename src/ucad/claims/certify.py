"""`certify`: asks every question about a fitted model that can be asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ucad.claims.adequacy import Adequacy, Level
from ucad.claims.answers import Claim
from ucad.claims.certificate import Certificate
from ucad.claims.clamps import clamps
from ucad.claims.directions import directions
from ucad.claims.edges import edge_worth
from ucad.claims.feedback import feedback
from ucad.claims.leftover_claim import nothing_left
from ucad.claims.mechanism_class import values
from ucad.claims.own_noise import own_noise
from ucad.claims.prediction import abstraction_error, exactness, held_out_fit
from ucad.claims.readings import drawn_behind, has_noisy_readings, without_reading_noise
from ucad.claims.regimes import held_out_regimes, predicted_effects
from ucad.claims.samples import TestSamples
from ucad.claims.silent_regimes import moving_without_targets
from ucad.claims.structure import acyclicity, anchors, distinctness, uniqueness
from ucad.claims.suggestions import Evidence, Suggestion, suggestions
from ucad.claims.upstream import upstream
from ucad.claims.verdict import permissions, verdict
from ucad.claims.weights import Weights
from ucad.data import InterventionalData
from ucad.data.kinds import RegimeKind
from ucad.errors import InvalidInputError
from ucad.scm import FactorSCM

__all__ = ["SolverAccount", "SolverNotes", "certify"]

NO_FACTORS = "The model has no factors: there is nothing to claim."
"""The verdict on a model of independent variables."""


@runtime_checkable
class SolverAccount(Protocol):
    """What a solver says of its own result; `FitStatus` is one."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What happened on the way, one sentence each."""

    @property
    def open_directions(self) -> tuple[tuple[str, str], ...]:
        """Low-level edges (cause, effect) whose direction the solver could not decide."""

    @property
    def guesses(self) -> tuple[str, ...]:
        """What else it could not decide, one phrase each."""

    @property
    def soft_regimes(self) -> tuple[str, ...]:
        """Regimes whose kind nobody told it and that it found to be no clamps."""


@dataclass(frozen=True, kw_only=True)
class SolverNotes:
    """A `SolverAccount` by itself."""

    notes: tuple[str, ...] = ()
    open_directions: tuple[tuple[str, str], ...] = ()
    guesses: tuple[str, ...] = ()
    soft_regimes: tuple[str, ...] = ()


def certify(
    scm: FactorSCM,
    data: InterventionalData,
    *,
    held_out: InterventionalData | None = None,
    train: InterventionalData | None = None,
    notes: SolverAccount | Sequence[str] = (),
    seed: int = 0,
) -> Certificate:
    """Tests on unseen samples what can be tested, and says which theorem then applies.

    About 1 s for 20 variables and 8,000 samples, 3 s for 1,000 variables.

    Args:
        scm: the model.
        data: all data, in the units of the model.
        held_out: samples that helped neither to fit nor to choose the model, in the same units.
            Without them the tests split `data`, and at most "partly" is answered.
        train: samples that the functions of the tests may be fitted on; `data` without
            `held_out` if there is such a thing, that is: give what the model was fitted to.
        notes: the solver's account of what it could not decide, or only its notes.
        seed: for splits, plants and drawn noise.

    Raises:
        InvalidInputError: the data have other variables than the model.
    """
    for name, part in (("data", data), ("held_out", held_out), ("train", train)):
        _check_variables(scm, name, part)
    account = SolverNotes(notes=tuple(notes)) if isinstance(notes, Sequence) else notes
    train, is_noisy = data if train is None else train, has_noisy_readings(scm)
    if is_noisy:
        data, train = (drawn_behind(scm, part, seed) for part in (data, train))
        held_out = None if held_out is None else drawn_behind(scm, held_out, seed + 1)
        scm = without_reading_noise(scm)
    samples = TestSamples.of(scm, train, held_out, seed)
    tests = _Tests(samples, Weights(samples), Adequacy(samples), seed)
    found = tests.claims(data, train if held_out is None else held_out, account.open_directions)
    by_key = {claim.key: claim for claim in found}
    given = permissions(
        by_key, held_out=samples.held_out, guesses=account.guesses, noisy_readings=is_noisy
    )
    suggested = tests.suggestions(by_key, account.soft_regimes, _called_soft(data))
    said = verdict(given, suggested) if scm.graph.n_factors else NO_FACTORS
    return Certificate(said, given, found, suggested, tuple(account.notes))


@dataclass(frozen=True, eq=False)
class _Tests:
    """All tests of one model on one split of the samples."""

    samples: TestSamples
    weights: Weights
    adequacy: Adequacy
    seed: int

    def claims(
        self,
        data: InterventionalData,
        unseen: InterventionalData,
        open_directions: Sequence[tuple[str, str]],
    ) -> tuple[Claim, ...]:
        """Every claim, in the order in which a reader meets them."""
        samples, weights, adequacy, seed = self.samples, self.weights, self.adequacy, self.seed
        scm = samples.scm
        shape, left = (
            [one.variable for one in adequacy.at(level)] for level in (Level.SHAPE, Level.GRAPH)
        )
        soft = [n for r, n in enumerate(data.regime_names) if data.kind_of(r).may_listen]
        return (
            held_out_fit(samples),
            nothing_left(adequacy, weights, seed),
            clamps(samples, soft),
            upstream(samples, soft),
            own_noise(samples),
            feedback(samples, soft),
            edge_worth(samples),
            acyclicity(scm.graph, data),
            directions(samples, data, open_directions, soft),
            anchors(scm.graph, weights),
            uniqueness(scm.graph),
            distinctness(weights),
            values(weights, shape, left),
            exactness(scm, data, seed),
            predicted_effects(samples, seed),
            abstraction_error(scm, unseen, seed),
            held_out_regimes(samples, seed),
        )

    def suggestions(
        self,
        by_key: Mapping[str, Claim],
        proved_soft: Sequence[str],
        called_soft: Sequence[str],
    ) -> tuple[Suggestion, ...]:
        """What the findings suggest.

        Regimes that nobody called soft and that proved to be (`proved_soft`) are worth a word.
        Where edges are contradicted and some regimes are called soft, others may be, too.
        Residuals that go together tell of a hidden cause or, of one below the other, of feedback.
        """
        clamped, contradicted = (by_key[key].details for key in ("clamps", "directions"))
        soft = called_soft if contradicted["edges_contradicted"] else []
        shared = by_key["noise"].details["shared"]
        together = [pair[end] for pair in shared for end in ("first", "second")]
        evidence = Evidence(
            not_clamped=[*clamped["not_clamped"], *proved_soft, *soft],
            contradicted=contradicted["edges_contradicted"],
            moved=by_key["upstream"].details["moved"],
            noisy=[*by_key["scale"].details["with_shared_noise"], *together],
            back=by_key["feedback"].details["back"],
            silent=moving_without_targets(self.samples),
        )
        return suggestions(self.adequacy, self.weights, evidence)


def _called_soft(data: InterventionalData) -> list[str]:
    """The regimes that are said to be shifts or soft; what is said to be unknown is no evidence."""
    soft = (RegimeKind.SHIFT, RegimeKind.SOFT)
    return [name for r, name in enumerate(data.regime_names) if data.kind_of(r) in soft]


def _check_variables(scm: FactorSCM, name: str, part: InterventionalData | None) -> None:
    if part is not None and part.variable_names != scm.graph.variable_names:
        raise InvalidInputError(
            f"The '{name}' must have the variables of the model, in its order. Got "
            f"{part.n_variables} variables against {scm.graph.n_variables}, or other names."
        )
