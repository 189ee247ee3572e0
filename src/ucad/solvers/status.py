"""What a solver hands back: a model, and a plain account of how far to trust it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias

from ucad.claims.hidden_actions import HiddenAction, marked
from ucad.data import InterventionalData
from ucad.data.kinds import RegimeKind
from ucad.errors import FormatError, did_you_mean
from ucad.notebook import folded, paragraph
from ucad.scm import FactorSCM, at_average_context
from ucad.solvers.budget import Budget

__all__ = ["Fit", "FitResult", "FitStatus", "HistoryRow"]

HistoryRow: TypeAlias = dict[str, float | int | str]
"""Figures of one report of progress."""

_TEXTS = ("removed_edges", "advice", "notes", "guesses", "soft_regimes")
_PAIRS = "open_directions"


@dataclass(frozen=True, kw_only=True)
class FitStatus:
    """How a fit ended. Not converging is a value, and its text is the advice.

    Attributes:
        converged: the solver stopped because it was done, not because it ran out of something.
        feasible: every constraint holds for the model that is returned.
        interrupted: somebody stopped the fit; the model is the best found until then.
        reason: why it ended, in one sentence.
        violations: by how much each constraint that does not hold is missed.
        removed_edges: edges taken out to make the graph a DAG, written `cause -> effect`.
        advice: what to try next, one sentence each.
        notes: what else happened on the way, one sentence each.
        open_directions: low-level edges, (cause, effect) by name, whose direction the solver could
            not decide; the certificate then asks the interventions.
        guesses: what else the solver could not decide, one phrase each; nothing that depends on it
            is certified in full.
        soft_regimes: regimes whose kind was not told and that proved to be no clamps.

    >>> print(FitStatus(converged=True, feasible=True, reason="All constraints hold."))
    All constraints hold.
    >>> status = FitStatus(
    ...     converged=False,
    ...     feasible=False,
    ...     reason="Nothing became feasible.",
    ...     violations={"sparsity": 0.02},
    ...     advice=("Raise the tolerance above 0.25.",),
    ... )
    >>> print(status)
    Nothing became feasible. Violated: sparsity by 0.02. Raise the tolerance above 0.25.
    >>> FitStatus.from_json(status.to_json()) == status
    True
    """

    converged: bool
    feasible: bool
    interrupted: bool = False
    reason: str
    violations: Mapping[str, float] = field(default_factory=dict)
    removed_edges: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    open_directions: tuple[tuple[str, str], ...] = ()
    guesses: tuple[str, ...] = ()
    soft_regimes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "violations", dict(self.violations))

    def unless_cut_short(self, budget: Budget, interrupted: bool = False) -> FitStatus:
        """The same for a fit that was done; else a status that says what cut it short."""
        if not interrupted and not budget.cut_short:
            return self
        if interrupted:
            reason, advice = "Interrupted; this is the best model so far.", self.advice
        else:
            reason, advice = budget.reason, (budget.advice, *self.advice)
        return replace(self, converged=False, interrupted=interrupted, reason=reason, advice=advice)

    def __str__(self) -> str:
        parts = [self.reason]
        if self.violations:
            amounts = (f"{name} by {value:.3g}" for name, value in self.violations.items())
            parts.append(f"Violated: {', '.join(amounts)}.")
        if self.removed_edges:
            parts.append(f"Removed to get a DAG: {', '.join(self.removed_edges)}.")
        return " ".join([*parts, *self.advice])

    def _repr_html_(self) -> str:
        good = self.converged and self.feasible
        notes = "".join(map(paragraph, self.notes))
        mark = "✓" if good else "✗"
        return paragraph(str(self), strong=mark) + folded(f"{len(self.notes)} notes", notes)

    def to_json(self) -> dict[str, Any]:
        """Returns the status as plain dicts, lists, strings and numbers."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        plain["violations"] = dict(self.violations)
        for name in _TEXTS:
            plain[name] = list(plain[name])
        plain["open_directions"] = [list(pair) for pair in self.open_directions]
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> FitStatus:
        """Reads back what `to_json` wrote.

        Raises:
            FormatError: if a field is unknown or missing.
        """
        known = [f.name for f in fields(cls)]
        for name in plain:
            if name not in known:
                hint = did_you_mean(name, known)
                raise FormatError(f"A fit status has no field '{name}'.{hint} Fields: {known}.")
        missing = [name for name in ("converged", "feasible", "reason") if name not in plain]
        if missing:
            raise FormatError(f"A fit status must have the fields {missing}. Got {list(plain)}.")
        texts: dict[str, Any] = {name: tuple(plain.get(name, ())) for name in _TEXTS}
        pairs = tuple(tuple(map(str, pair)) for pair in plain.get(_PAIRS, ()))
        if any(len(pair) != 2 for pair in pairs):
            raise FormatError(f"In a fit status, '{_PAIRS}' must hold pairs of names.")
        return cls(**{**plain, **texts, _PAIRS: pairs})


@dataclass(frozen=True)
class FitResult:
    """A fitted model with the account of how it was found.

    Attributes:
        scm: the fitted model, with a true DAG.
        status: how the fit ended.
        validation_nll: negative log-likelihood per sample and variable on the validation data.
        history: one row of figures per report of progress.
        seconds: wall-clock time of the fit.
        kinds: what each regime did to its targets, as told or as found; empty if not asked.
        acts_on: what unmeasured targets act on, where that was inferred.
    """

    scm: FactorSCM
    status: FitStatus
    validation_nll: float
    history: tuple[HistoryRow, ...] = ()
    seconds: float = 0.0
    kinds: tuple[RegimeKind, ...] = ()
    acts_on: tuple[HiddenAction, ...] = ()

    def with_notes(self, *notes: str) -> FitResult:
        """The same with more notes; empty ones are left out."""
        more = (*self.status.notes, *(note for note in notes if note))
        return replace(self, status=replace(self.status, notes=more))

    def seen(self, scm: FactorSCM, data: InterventionalData) -> InterventionalData:
        """Samples as claims should see them: at the average context, with what is known of targets.

        Args:
            scm: the model, in the units of the data.
            data: the samples.
        """
        known = replace(data, kinds=self.kinds or data.kinds)
        return at_average_context(scm, marked(known, self.acts_on))


Fit: TypeAlias = Callable[[InterventionalData, InterventionalData], FitResult]
"""Fits samples; the second part is for validation."""
